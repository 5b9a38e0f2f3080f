//! More of everything than anyone could want.

use crate::keepsake::host::embeddings::{self, Kind};
use crate::keepsake::host::log::{Level, log};
use crate::keepsake::host::types::Error;
use crate::keepsake::host::{model, session};
use crate::{fact, told, words};

/// Calls the host without end.
pub(crate) fn calls() -> String {
    loop {
        std::hint::black_box(session::info());
    }
}

/// The same with a function of WASI.
pub(crate) fn wasi_calls() -> String {
    loop {
        std::hint::black_box(std::time::Instant::now());
    }
}

pub(crate) fn log_lines() -> String {
    for number in 0..100_000 {
        log(
            Level::Error,
            &format!("\u{1b}[2Jline\r\n{number}\u{9b}31m"),
            Some("{\"a\": \"\u{1b}[31m\"}"),
        );
    }
    "logged".into()
}

pub(crate) fn emit() -> String {
    let chunk = format!("\u{1b}[2J{}", "x".repeat(64 << 10));
    loop {
        if let Err(error) = session::emit(&chunk) {
            return told(error);
        }
    }
}

pub(crate) fn print() -> String {
    for _ in 0..20_000 {
        println!("\u{1b}[31mout");
        eprintln!("\u{1b}[31merr");
    }
    "printed".into()
}

/// 100,000 facts in ten calls.
pub(crate) fn facts_in_lists() -> Result<String, Error> {
    let scope = session::open_scope()?;
    for list in 0..10 {
        let facts: Vec<_> = (0..10_000)
            .map(|number| fact(&format!("f{list}x{number}")))
            .collect();
        if let Err(error) = scope.remember_many(&facts) {
            return Ok(format!("stopped in list {list}: {}", told(error)));
        }
    }
    Ok("never stopped".into())
}

pub(crate) fn facts_one_by_one(count: u32) -> Result<String, Error> {
    let scope = session::open_scope()?;
    for number in 0..count {
        if let Err(error) = scope.remember(&fact(&format!("f{number}"))) {
            return Ok(format!("stopped at {number}: {}", told(error)));
        }
    }
    Ok("never stopped".into())
}

/// Texts to be embedded, list by list.
pub(crate) fn texts() -> String {
    let texts = vec!["a".to_owned(); 10];
    for call in 0..100_000 {
        if let Err(error) = embeddings::embed(&texts, Kind::Passage) {
            return format!("stopped at {call}: {}", told(error));
        }
    }
    "never stopped".into()
}

/// Questions to memory, each of which has to be embedded.
pub(crate) fn queries() -> String {
    let Ok(scope) = session::open_scope() else {
        return "no scope".into();
    };
    let mut options = words(1);
    options.mode = crate::keepsake::host::memory::RecallMode::Hybrid;
    for call in 0..100_000 {
        if let Err(error) = scope.recall(&format!("question {call}"), &options) {
            return format!("stopped at {call}: {}", told(error));
        }
    }
    "never stopped".into()
}

/// Reads an answer of a model that may have no end.
pub(crate) fn questions() -> String {
    let completion = match model::chat(&crate::handles::question()) {
        Ok(completion) => completion,
        Err(error) => return told(error),
    };
    let mut pieces = 0_u64;
    loop {
        match completion.next() {
            Ok(Some(_)) => pieces += 1,
            Ok(None) => return format!("{pieces} pieces"),
            Err(error) => return format!("stopped: {}", told(error)),
        }
    }
}

/// A list of a million texts.
pub(crate) fn huge_list() -> Result<String, Error> {
    let texts = vec![String::new(); 1_000_000];
    match embeddings::embed(&texts, Kind::Passage) {
        Ok(vectors) => Ok(format!("{} vectors", vectors.len())),
        Err(error) => Ok(told(error)),
    }
}

/// A fact of 40 MiB.
pub(crate) fn huge_string() -> Result<String, Error> {
    let text = "x".repeat(40 << 20);
    match session::open_scope()?.remember(&fact(&text)) {
        Ok(_) => Ok("remembered".into()),
        Err(error) => Ok(told(error)),
    }
}

/// The same text of 8 MiB many times, in one call: little of the guest's memory
/// and much of the host's.
pub(crate) fn huge_call() -> Result<String, Error> {
    let text = "x".repeat(4 << 20);
    // Each repeats the same pointer, which the lists of the SDK would not allow.
    let texts: Vec<String> = (0..4).map(|_| text.clone()).collect();
    match embeddings::embed(&texts, Kind::Passage) {
        Ok(vectors) => Ok(format!("{} vectors", vectors.len())),
        Err(error) => Ok(told(error)),
    }
}

pub(crate) fn huge_value() -> Result<String, Error> {
    let value = format!("\"{}\"", "x".repeat(8 << 20));
    match session::open_scope()?.set("key", &value) {
        Ok(()) => Ok("set".into()),
        Err(error) => Ok(told(error)),
    }
}
