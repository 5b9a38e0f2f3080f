//! Ctrl-C and the like end the turn, then the program, and close the sandbox.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use keepsake_test_artifacts::UNRULY_AGENT;

use crate::program::{Folder, Ran, finish};

/// Starts a command that hangs in a sandbox, sends the signal once it runs,
/// and gives how the program ended.
fn interrupted(folder: &Folder, signal: &str) -> Ran {
    let child = folder
        .command(&[
            "run",
            UNRULY_AGENT,
            "--resource",
            "jordan",
            "--session",
            "case-7",
            "--json",
            "-m",
            "exec touch /work/began; sleep 1000",
        ])
        .spawn()
        .unwrap();
    let began = Instant::now();
    loop {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "the command never began"
        );
        let shown = folder.host(&["ledger", "show", "--json"]);
        if shown.stdout.contains("exec-started") {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let sent = Command::new("kill")
        .arg(signal)
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(sent.success());
    finish(child)
}

#[track_caller]
fn is_tidy(folder: &Folder) {
    assert_eq!(
        folder.entries("turn-failed")[0]["payload"]["code"],
        "interrupted"
    );
    assert_eq!(folder.entries("sandbox-closed").len(), 1);
    assert_eq!(folder.entries("session-ended").len(), 1);
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn ctrl_c_ends_the_turn_then_the_program_and_closes_the_sandbox() {
    let folder = Folder::new();
    interrupted(&folder, "-INT").failed(130, &["interrupted"]);
    is_tidy(&folder);
}

#[test]
fn a_termination_does_the_same() {
    let folder = Folder::new();
    interrupted(&folder, "-TERM").failed(130, &["interrupted"]);
    is_tidy(&folder);
}

#[test]
fn ctrl_c_while_nothing_runs_ends_the_program() {
    let folder = Folder::new();
    let mut child = folder
        .command(&["run", UNRULY_AGENT, "--resource", "jordan", "--json"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"emit hello\n").unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("hello"), "{line}");
    Command::new("kill")
        .arg("-INT")
        .arg(child.id().to_string())
        .status()
        .unwrap();
    let ran = finish(child);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert_eq!(folder.entries("session-ended").len(), 1);
}
