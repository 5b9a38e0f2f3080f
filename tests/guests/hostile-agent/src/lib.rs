//! An agent that attacks its host in the way that its message names. Built on the
//! raw bindings, so that nothing of the SDK softens it.
#![cfg(target_arch = "wasm32")]

mod floods;
mod handles;
mod texts;

wit_bindgen::generate!({
    path: "../../../wit",
    world: "agent-plugin",
});

use exports::keepsake::host::agent::{Description, Guest, Reply, Turn};
use keepsake::host::memory::{NewFact, RecallMode, RecallOptions};
use keepsake::host::session;
use keepsake::host::types::Error;

struct Hostile;

export!(Hostile);

impl Guest for Hostile {
    fn describe() -> Description {
        Description {
            name: "hostile-agent".into(),
            version: "0.1.0".into(),
            summary: "Attacks its host as it is told.".into(),
            profile_schema: None,
            extras: None,
        }
    }

    fn handle(turn: Turn) -> Result<Reply, Error> {
        let (verb, rest) = turn.message.split_once(' ').unwrap_or((&turn.message, ""));
        let count = rest.parse().unwrap_or(1_000_000);
        let mut data = None;
        let text = match verb {
            "remember" => {
                session::open_scope()?.remember(&fact(rest))?;
                "remembered".into()
            }
            "recall" => recall(rest)?,
            "loop" => endless(),
            "sleep" => sleep(),
            "recurse" => recurse(1).to_string(),
            "memory-in-steps" => memory_in_steps(),
            "memory-at-once" => memory_at_once(),
            "abort" => std::process::abort(),
            "exit" => std::process::exit(0),
            "panic" => panic!("escape \u{1b}]0;owned\u{7} from the guest"),
            "calls" => floods::calls(),
            "wasi-calls" => floods::wasi_calls(),
            "log" => floods::log_lines(),
            "emit" => floods::emit(),
            "print" => floods::print(),
            "facts-in-lists" => floods::facts_in_lists()?,
            "facts-one-by-one" => floods::facts_one_by_one(count)?,
            "texts" => floods::texts(),
            "queries" => floods::queries(),
            "questions" => floods::questions(),
            "huge-list" => floods::huge_list()?,
            "huge-string" => floods::huge_string()?,
            "huge-call" => floods::huge_call()?,
            "huge-value" => floods::huge_value()?,
            "deep-value" => texts::deep_value()?,
            "deep-reply" => {
                data = Some(texts::deep(100_000));
                "deep".into()
            }
            "scopes" => handles::scopes(count),
            "completions" => handles::completions(),
            "sandboxes" => handles::sandboxes()?,
            "commands" => handles::commands()?,
            "panic-with-sandbox" => handles::panic_with_sandbox()?,
            "panic-with-completion" => handles::panic_with_completion()?,
            "names" => texts::names(),
            "escapes" => texts::escapes()?,
            "inject" => texts::inject()?,
            "time" => texts::time(),
            other => format!("I do not know how to {other}"),
        };
        Ok(Reply { text, data })
    }
}

pub(crate) fn fact(content: &str) -> NewFact {
    NewFact {
        content: content.into(),
        metadata: None,
        source: None,
        quote: None,
        subject: None,
        attribute: None,
        supersedes: Vec::new(),
        valid_from: None,
        expires_at: None,
        thread: None,
        position: None,
        extras: None,
    }
}

fn recall(query: &str) -> Result<String, Error> {
    let found = session::open_scope()?.recall(query, &words(5))?;
    let contents: Vec<_> = found
        .facts
        .iter()
        .map(|recalled| recalled.fact.content.as_str())
        .collect();
    Ok(format!("found {contents:?}"))
}

pub(crate) fn words(limit: u32) -> RecallOptions {
    RecallOptions {
        limit,
        mode: RecallMode::Words,
        min_score: None,
        metadata: None,
        since: None,
        until: None,
        as_of: None,
        verified_only: false,
        include_superseded: false,
        wider: false,
        extras: None,
    }
}

/// What a refusal says, short.
pub(crate) fn told(error: Error) -> String {
    match error {
        Error::Limit(limit) => format!("limit {}", limit.name),
        Error::Invalid(_) => "invalid".into(),
        other => format!("{other:?}"),
    }
}

fn endless() -> String {
    let mut count = 0_u64;
    loop {
        count = std::hint::black_box(count.wrapping_add(1));
    }
}

fn sleep() -> String {
    std::thread::sleep(std::time::Duration::from_secs(100_000));
    "slept".into()
}

#[allow(unconditional_recursion, reason = "what it is for")]
#[inline(never)]
fn recurse(depth: u64) -> u64 {
    let filler = std::hint::black_box([depth; 32]);
    recurse(depth + 1) + filler[7]
}

fn memory_in_steps() -> String {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        kept.push(std::hint::black_box(vec![1_u8; 64 << 10]));
    }
}

fn memory_at_once() -> String {
    let bytes = std::hint::black_box(vec![1_u8; 2_000_000_000]);
    format!("{} bytes", bytes.len())
}
