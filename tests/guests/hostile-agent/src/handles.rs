//! Handles that are never given back.

use crate::keepsake::host::sandbox::Command;
use crate::keepsake::host::types::Error;
use crate::keepsake::host::{model, session};
use crate::told;

/// Opens its memory again and again.
pub(crate) fn scopes(count: u32) -> String {
    let mut held = Vec::new();
    for number in 0..count {
        match session::open_scope() {
            Ok(scope) => held.push(scope),
            Err(error) => return format!("stopped at {number}: {}", told(error)),
        }
    }
    format!("holds {}", held.len())
}

pub(crate) fn question() -> model::Request {
    model::Request {
        messages: vec![model::Message {
            role: model::Role::User,
            content: "hello".into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
        }],
        tools: Vec::new(),
        temperature: None,
        max_tokens: None,
        stop: Vec::new(),
        extras: None,
    }
}

/// Asks the model for answers that it never reads.
pub(crate) fn completions() -> String {
    let mut held = Vec::new();
    loop {
        match model::chat(&question()) {
            Ok(completion) => held.push(completion),
            Err(error) => return format!("stopped at {}: {}", held.len(), told(error)),
        }
    }
}

/// Forks its sandbox and holds every fork.
pub(crate) fn sandboxes() -> Result<String, Error> {
    let own = session::open_sandbox()?;
    let mut held = Vec::new();
    loop {
        match own.fork(None) {
            Ok(fork) => held.push(fork),
            Err(error) => return Ok(format!("stopped at {}: {}", held.len(), told(error))),
        }
    }
}

fn sleeping() -> Command {
    Command {
        line: "sleep 1000".into(),
        directory: None,
        environment: Vec::new(),
        stdin: None,
        timeout_ms: None,
    }
}

/// Starts commands that do not end.
pub(crate) fn commands() -> Result<String, Error> {
    let own = session::open_sandbox()?;
    let mut held = Vec::new();
    loop {
        match own.start(&sleeping()) {
            Ok(execution) => held.push(execution),
            Err(error) => return Ok(format!("stopped at {}: {}", held.len(), told(error))),
        }
    }
}

/// Panics while its sandbox and a command in it run.
pub(crate) fn panic_with_sandbox() -> Result<String, Error> {
    let own = session::open_sandbox()?;
    let _fork = own.fork(None)?;
    let _running = own.start(&sleeping())?;
    panic!("with a sandbox in hand");
}

/// Panics while an answer of a model is read.
pub(crate) fn panic_with_completion() -> Result<String, Error> {
    let completion = model::chat(&question())?;
    completion.next()?;
    panic!("with an answer in hand");
}
