//! An agent that does whatever its message says, the worst included. Built on
//! the raw bindings, so that nothing of the SDK softens it.
#![cfg(target_arch = "wasm32")]

wit_bindgen::generate!({
    path: "../../../wit",
    world: "agent-plugin",
});

use exports::keepsake::host::agent::{Description, Guest, Reply, Turn};
use keepsake::host::log::{Level, log};
use keepsake::host::memory::{Layer, NewFact, RecallMode, RecallOptions, Scope};
use keepsake::host::sandbox::Command;
use keepsake::host::types::{EntryRef, Error};
use keepsake::host::{agents, embeddings, model, session};

struct Unruly;

export!(Unruly);

impl Guest for Unruly {
    fn describe() -> Description {
        Description {
            name: "unruly-agent".into(),
            version: "0.1.0".into(),
            summary: "Does what it is told, the worst included.".into(),
            profile_schema: Some(
                r#"{"type":"object","properties":{"plan":{"enum":["Free","Pro"]}}}"#.into(),
            ),
            extras: None,
        }
    }

    fn handle(turn: Turn) -> Result<Reply, Error> {
        let (verb, rest) = turn.message.split_once(' ').unwrap_or((&turn.message, ""));
        let text = match verb {
            "panic" => panic!("the guest's own words"),
            "loop" => endless(),
            "recurse" => recurse(1).to_string(),
            "allocate" => allocate(),
            "flood-stderr" => flood_standard_error(),
            "flood-log" => flood_log(),
            "exit" => std::process::exit(3),
            "refuse" => return Err(Error::Invalid("I do not like this message".into())),
            "emit" => {
                for chunk in rest.split_inclusive(' ') {
                    session::emit(chunk)?;
                }
                rest.to_owned()
            }
            "emit-other" => {
                session::emit(rest)?;
                "something else".into()
            }
            "emit-flood" => emit_flood(),
            "bad-json" => {
                return Ok(Reply {
                    text: "my data is broken".into(),
                    data: Some("{\"a\": ".into()),
                });
            }
            "huge-reply" => "x".repeat(2 << 20),
            "escapes" => "red \u{1b}[31malert\u{7}".into(),
            "exec" => exec(rest)?,
            "sandbox" => session::open_sandbox()?.id(),
            "source" => remember_with_source(rest)?,
            "remember" => {
                let scope = session::open_scope()?;
                let remembered = scope.remember(&fact(rest))?;
                format!("{:?} {}", remembered.outcome, remembered.fact.id)
            }
            "recall" => recall(&session::open_scope()?, rest, false)?,
            "wider" => recall(&session::open_scope()?, rest, true)?,
            "account" => match session::open_account_scope()? {
                Some(scope) => with_scope(&scope, rest)?,
                None => "no account".into(),
            },
            "team" => match session::open_team_scope()? {
                Some(scope) => with_scope(&scope, rest)?,
                None => "no team".into(),
            },
            "set" => {
                let (key, value) = rest.split_once(' ').unwrap_or((rest, "null"));
                session::open_scope()?.set(key, value)?;
                "set".into()
            }
            "fill" => fill(rest)?,
            "get" => format!("{:?}", session::open_scope()?.get(rest)?),
            "profile" => session::open_scope()?.update_profile(rest)?,
            "embed" => {
                let vectors = embeddings::embed(&[rest.to_owned()], embeddings::Kind::Query)?;
                format!("{} numbers", vectors[0].len())
            }
            "chat" => chat(rest)?,
            "chat-on" => chat_on(rest),
            "spawn" => {
                start(rest)?;
                "spawned".into()
            }
            // NAME MESSAGE: what a child tells to it.
            "child" => {
                let (name, message) = rest.split_once(' ').unwrap_or((rest, ""));
                told_by(&start(name)?, message)?
            }
            // NAME NUMBER: so many at once, and how many there were.
            "children" => {
                let (name, number) = rest.split_once(' ').unwrap_or((rest, "1"));
                let mut children = Vec::new();
                let refused = loop {
                    match start(name) {
                        Ok(child) => children.push(child),
                        Err(Error::Limit(limit)) => break limit.name,
                        Err(error) => return Err(error),
                    }
                };
                format!("{} of {number}, then {refused}", children.len())
            }
            "fork" => {
                session::open_scope()?.fork(rest)?;
                "forked".into()
            }
            "world" => world(),
            other => format!("I do not know how to {other}"),
        };
        Ok(Reply { text, data: None })
    }
}

fn start(agent: &str) -> Result<agents::Child, Error> {
    let options = agents::SpawnOptions {
        fork_sandbox: false,
        settings: None,
        extras: None,
    };
    agents::spawn(agent, &options)
}

/// What a child tells to a message, or why it does not.
fn told_by(child: &agents::Child, message: &str) -> Result<String, Error> {
    let mut told = Vec::new();
    child.send(message)?;
    loop {
        match child.next() {
            Ok(Some(agents::ChildEvent::Emitted(chunk))) => told.push(format!("emitted {chunk}")),
            Ok(Some(agents::ChildEvent::Reply(reply))) => told.push(format!("reply {reply}")),
            Ok(None) => return Ok(told.join(", ")),
            Err(Error::Other(other)) => told.push(format!("failed {}", other.code)),
            Err(error) => return Err(error),
        }
    }
}

#[allow(clippy::empty_loop, reason = "what it is for")]
fn endless() -> String {
    let mut count = 0_u64;
    loop {
        count = std::hint::black_box(count.wrapping_add(1));
    }
}

#[allow(unconditional_recursion, reason = "what it is for")]
#[inline(never)]
fn recurse(depth: u64) -> u64 {
    let filler = std::hint::black_box([depth; 32]);
    recurse(depth + 1) + filler[7]
}

fn allocate() -> String {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        kept.push(std::hint::black_box(vec![1_u8; 1 << 20]));
    }
}

fn flood_standard_error() -> String {
    for number in 0..100_000 {
        eprintln!("line {number} of a flood of lines that nobody will ever read");
    }
    "I said a lot".into()
}

fn flood_log() -> String {
    for number in 0..100_000 {
        log(Level::Error, &format!("log line {number}"), None);
    }
    "I logged a lot".into()
}

fn emit_flood() -> String {
    let chunk = "x".repeat(64 << 10);
    for number in 0..1_000 {
        if let Err(error) = session::emit(&chunk) {
            return format!("stopped after {number}: {error:?}");
        }
    }
    "never stopped".into()
}

fn exec(line: &str) -> Result<String, Error> {
    let sandbox = session::open_sandbox()?;
    let result = sandbox.exec(&Command {
        line: line.into(),
        directory: None,
        environment: Vec::new(),
        stdin: None,
        timeout_ms: None,
    })?;
    Ok(format!(
        "{:?} stdout {} stderr {} truncated {} entry {}",
        result.status,
        excerpt(&result.stdout),
        excerpt(&result.stderr),
        result.truncated,
        result.entry.index
    ))
}

fn excerpt(bytes: &[u8]) -> String {
    let beginning = String::from_utf8_lossy(&bytes[..bytes.len().min(2_000)]).into_owned();
    format!("{}:{beginning}", bytes.len())
}

fn fact(content: &str) -> NewFact {
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

/// `source SESSION INDEX`: remembers with an entry that it names itself.
fn remember_with_source(arguments: &str) -> Result<String, Error> {
    let (named, index) = arguments.split_once(' ').unwrap_or((arguments, "0"));
    let scope = session::open_scope()?;
    let remembered = scope.remember(&NewFact {
        source: Some(EntryRef {
            session: named.into(),
            index: index.parse().unwrap_or(0),
            hash: None,
        }),
        ..fact(&format!("learned from {arguments}"))
    })?;
    Ok(format!("{:?}", remembered.fact.verification))
}

/// `remember TEXT`, `source TEXT` or `recall QUERY` in a memory that was granted.
/// `source` remembers with the message itself as the source.
fn with_scope(scope: &Scope, message: &str) -> Result<String, Error> {
    let (verb, rest) = message.split_once(' ').unwrap_or((message, ""));
    match verb {
        "remember" => {
            let remembered = scope.remember(&fact(rest))?;
            Ok(format!("{:?}", remembered.outcome))
        }
        "source" => {
            let remembered = scope.remember(&NewFact {
                source: Some(EntryRef {
                    session: session::info().session,
                    index: 1,
                    hash: None,
                }),
                ..fact(rest)
            })?;
            Ok(format!("{:?}", remembered.fact.verification))
        }
        _ => recall(scope, rest, true),
    }
}

fn recall(scope: &Scope, query: &str, wider: bool) -> Result<String, Error> {
    let found = scope.recall(
        query,
        &RecallOptions {
            limit: 5,
            mode: RecallMode::Hybrid,
            min_score: None,
            metadata: None,
            since: None,
            until: None,
            as_of: None,
            verified_only: false,
            include_superseded: false,
            wider,
            extras: None,
        },
    )?;
    let contents: Vec<_> = found
        .facts
        .iter()
        .map(|recalled| match recalled.layer {
            Layer::This => recalled.fact.content.clone(),
            Layer::Account => format!("account: {}", recalled.fact.content),
            Layer::Team => format!("team: {}", recalled.fact.content),
        })
        .collect();
    Ok(format!("found {contents:?}"))
}

/// `fill N`: sets N keys, and tells where it was stopped.
fn fill(count: &str) -> Result<String, Error> {
    let scope = session::open_scope()?;
    for number in 0..count.parse::<u32>().unwrap_or(0) {
        scope.set(&format!("key-{number}"), "1")?;
    }
    Ok(format!("set {count}"))
}

fn chat(message: &str) -> Result<String, Error> {
    let completion = model::chat(&model::Request {
        messages: vec![model::Message {
            role: model::Role::User,
            content: message.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
        }],
        tools: Vec::new(),
        temperature: None,
        max_tokens: None,
        stop: Vec::new(),
        extras: None,
    })?;
    let mut text = String::new();
    while let Some(delta) = completion.next()? {
        if let model::Delta::Text(piece) = delta {
            text.push_str(&piece);
        }
    }
    let response = completion.finish()?;
    Ok(format!("{text} / {}", response.message.content))
}

/// Asks the model for as long as it is answered, and a few times more.
fn chat_on(message: &str) -> String {
    let mut answers = 0;
    let mut refusals = Vec::new();
    while refusals.len() < 3 {
        match chat(message) {
            Ok(_) => answers += 1,
            Err(error) => refusals.push(match error {
                Error::Limit(limit) => limit.name,
                other => format!("{other:?}"),
            }),
        }
    }
    format!("{answers} answers, then {}", refusals.join(" "))
}

/// What a plugin sees of the machine: nothing.
fn world() -> String {
    let variables = std::env::vars().count();
    let arguments = std::env::args().count();
    let file = std::fs::read_to_string("/etc/passwd").is_ok();
    let folder = std::fs::read_dir("/").is_ok();
    let network = std::net::TcpStream::connect("127.0.0.1:80").is_ok();
    format!(
        "variables {variables}, arguments {arguments}, file {file}, folder {folder}, network {network}"
    )
}
