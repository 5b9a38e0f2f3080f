//! What a start of the program does, and what it does not wait for.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use keepsake_test_artifacts::{BENCH_AGENT, UNRULY_AGENT};

use crate::program::{Folder, finish};

/// How many components were compiled, by what is in a cache of their own.
fn compiled(folder: &Folder, arguments: &[&str]) -> usize {
    let cache = folder.path().join("cache");
    let mut command = folder.command(arguments);
    command.env("HOST_CACHE", &cache);
    finish(command.spawn().unwrap()).succeeded();
    let files = std::fs::read_dir(cache).unwrap().flatten();
    files
        .filter(|file| file.path().extension().is_some_and(|end| end == "cwasm"))
        .count()
}

#[test]
fn providers_that_the_agent_cannot_use_are_not_loaded() {
    let folder = Folder::new();
    let arguments = [
        "run",
        BENCH_AGENT,
        "--resource",
        "jordan",
        "--sandbox",
        "none",
        "-m",
        "list 1",
    ];
    assert_eq!(compiled(&folder, &arguments), 1);
    let arguments = [
        "run",
        UNRULY_AGENT,
        "--resource",
        "jordan",
        "--sandbox",
        "none",
        "-m",
        "embed hello",
    ];
    assert!(compiled(&folder, &arguments) > 2);
}

#[test]
fn a_provider_that_is_named_wrongly_is_told_even_where_it_is_not_needed() {
    let folder = Folder::new();
    for option in ["--embeddings", "--model"] {
        let mut arguments = vec!["run", BENCH_AGENT, "--resource", "jordan", "-m", "nothing"];
        arguments.extend([option, "nosuch.wasm"]);
        folder.host(&arguments).failed(3, &["nosuch.wasm"]);
    }
    assert!(!folder.path().join(".keepsake").exists());
}

#[test]
fn a_plugin_that_is_no_provider_is_told_before_the_first_turn() {
    let folder = Folder::new();
    for option in ["--embeddings", "--model"] {
        let mut arguments = vec!["run", UNRULY_AGENT, "--resource", "jordan", "-m", "hello"];
        arguments.extend([option, BENCH_AGENT]);
        folder.host(&arguments).failed(3, &["agent"]);
    }
    assert!(!folder.path().join(".keepsake").exists());
}

const TALK: [&str; 7] = [
    "run",
    UNRULY_AGENT,
    "--resource",
    "jordan",
    "--session",
    "case-7",
    "--json",
];

#[test]
fn a_session_belongs_to_one_program_and_a_killed_one_leaves_it() {
    let folder = Folder::new();
    let mut first = folder.command(&TALK).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = first.stdin.take().unwrap();
    let mut stdout = BufReader::new(first.stdout.take().unwrap());
    let mut line = String::new();
    writeln!(stdin, "remember Jordan likes green tea").unwrap();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("Stored"), "{line}");

    // The second is refused, and takes nothing from the first.
    let mut arguments = TALK.to_vec();
    arguments.extend(["-m", "hello"]);
    folder
        .host(&arguments)
        .failed(5, &["case-7", "another program"]);
    line.clear();
    writeln!(stdin, "remember Jordan likes black coffee").unwrap();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("Stored"), "{line}");

    // Killed in the middle of a turn.
    writeln!(stdin, "loop").unwrap();
    let began = std::time::Instant::now();
    while folder.entries("turn-started").len() < 3 {
        assert!(began.elapsed().as_secs() < 60, "the turn never began");
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(folder.entries("turn-failed").is_empty());

    // The next program, in a session of its own, tells what became of it.
    let told = folder.unruly("recall tea").stderr;
    assert!(told.contains("case-7"), "{told}");
    let failed = folder.entries("turn-failed");
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["session"], "case-7");
    assert_eq!(failed[0]["payload"]["code"], "host-ended");
    assert_eq!(failed[0]["payload"]["turn"], 2);
    let sessions = folder.host(&["sessions", "--json"]).succeeded().stdout;
    assert!(!sessions.contains("running"), "{sessions}");
    folder.host(&["ledger", "verify"]).succeeded();
    // It can go on.
    folder.host(&arguments);
    assert_eq!(folder.entries("session-resumed").len(), 1);
    let left = std::fs::read_dir(folder.path().join(".keepsake")).unwrap();
    let locks = left
        .flatten()
        .filter(|file| file.file_name().to_string_lossy().contains("-session-"));
    assert_eq!(locks.count(), 0);
}

#[test]
fn misspelt_settings_and_variables_are_told() {
    let folder = Folder::configured("[settings.embed-statc]\ncolour = \"red\"\n");
    let mut command = folder.command(&[
        "run",
        UNRULY_AGENT,
        "--resource",
        "jordan",
        "-m",
        "recall tea",
    ]);
    command.env("HOST_EMBEDINGS", "nosuch");
    let told = finish(command.spawn().unwrap()).stderr;
    assert!(
        told.contains("did you mean [settings.embed-static]?"),
        "{told}"
    );
    assert!(told.contains("did you mean HOST_EMBEDDINGS?"), "{told}");

    let mut command = folder.command(&["doctor", "--json"]);
    command.env("HOST_MODLE", "nosuch");
    let doctor = finish(command.spawn().unwrap());
    assert!(
        doctor.stderr.contains("did you mean HOST_MODEL?"),
        "{doctor:?}"
    );
    let report = doctor.json();
    let configuration = &report["findings"][0];
    assert_eq!(configuration["what"], "configuration");
    let text = configuration["text"].as_str().unwrap();
    assert!(
        text.contains("did you mean [settings.embed-static]?"),
        "{text}"
    );
}

#[test]
fn what_is_not_there_and_what_is_wrong_have_their_exit_codes() {
    let folder = Folder::new();
    folder.unruly("remember Jordan likes green tea").succeeded();
    for command in ["show", "verify"] {
        let ran = folder.host(&["ledger", command, "--session", "nosuch"]);
        ran.failed(1, &["nosuch", "host sessions"]);
    }
    let empty = folder.host(&["memory", "recall", "--resource", "jordan", ""]);
    assert_eq!(empty.code, Some(2), "{empty:?}");
}
