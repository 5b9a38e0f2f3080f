//! `host run`: one message, a pipe, JSON, sessions that are continued.

use keepsake_test_artifacts::UNRULY_AGENT;
use serde_json::Value;

use crate::program::Folder;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn one_message_gives_one_reply_on_standard_output_and_nothing_else() {
    let ran = Folder::new().unruly("emit hello there").succeeded();
    assert_eq!(ran.stdout, "hello there\n");
    assert_eq!(ran.stderr, "");
}

#[test]
fn what_was_emitted_is_not_said_twice() {
    let ran = Folder::new().unruly("emit-other first words").succeeded();
    assert_eq!(ran.stdout, "first words\nsomething else\n");
}

#[test]
fn a_pipe_gives_one_turn_a_line_in_one_session() {
    let folder = Folder::new();
    let ran = folder
        .host_with_input(
            &["run", UNRULY_AGENT, "--resource", "jordan", "--json"],
            b"emit one\n\n  \nemit two\r\nemit three",
        )
        .succeeded();
    let turns = lines(&ran.stdout);
    let replies: Vec<_> = turns
        .iter()
        .map(|turn| turn["reply"].as_str().unwrap())
        .collect();
    assert_eq!(replies, ["one", "two", "three"]);
    assert!(
        turns
            .iter()
            .all(|turn| turn["session"] == turns[0]["session"])
    );
    let numbers: Vec<_> = turns
        .iter()
        .map(|turn| turn["turn"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [0, 1, 2]);
    let sessions = folder.host(&["sessions", "--json"]).succeeded().json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(sessions["sessions"][0]["status"], "ended");
}

#[test]
fn an_empty_pipe_is_no_turn() {
    let folder = Folder::new();
    let ran = folder
        .host_with_input(&["run", UNRULY_AGENT], b"")
        .succeeded();
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_line_that_is_no_text_costs_that_message_and_no_other() {
    let folder = Folder::new();
    let input = b"emit one\n\xff\xfe\nemit three\n";
    let ran = folder.host_with_input(&["run", UNRULY_AGENT], input);
    assert!(
        ran.stdout.contains("one") && ran.stdout.contains("three"),
        "{ran:?}"
    );
    // A message that got no reply is told at the end.
    ran.failed(4, &["line 2", "not UTF-8", "iconv"]);
    let ran = folder.host_with_input(&["run", UNRULY_AGENT, "--json"], input);
    let objects: Vec<serde_json::Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(objects.len(), 3, "{ran:?}");
    assert_eq!(objects[1]["error"]["code"], "message");
    assert_eq!(objects[2]["reply"], "three");
    let sessions = folder.host(&["sessions", "--json"]).succeeded().json();
    assert_eq!(sessions["sessions"][0]["status"], "ended");
}

#[test]
fn a_message_that_is_too_long_is_refused_with_its_bound() {
    let folder = Folder::new();
    let long = format!("{}\nemit after\n", "x".repeat(300 * 1024));
    let ran = folder.host_with_input(&["run", UNRULY_AGENT], long.as_bytes());
    assert_eq!(ran.stdout.trim(), "after");
    ran.failed(4, &["line 1", "262144", "message-bytes"]);
}

#[test]
fn a_session_goes_on_where_it_was_left() {
    let folder = Folder::new();
    let first = folder
        .say(
            UNRULY_AGENT,
            "emit one",
            &["--resource", "jordan", "--session", "case-7", "--json"],
        )
        .succeeded()
        .json();
    let second = folder
        .say(
            UNRULY_AGENT,
            "emit two",
            &["--resource", "jordan", "--session", "case-7", "--json"],
        )
        .succeeded()
        .json();
    assert_eq!(
        (&first["session"], &second["session"]),
        (&"case-7".into(), &"case-7".into())
    );
    assert_eq!(
        (first["turn"].as_u64(), second["turn"].as_u64()),
        (Some(0), Some(1))
    );
    folder
        .say(
            UNRULY_AGENT,
            "emit three",
            &["--resource", "robin", "--session", "case-7"],
        )
        .failed(2, &["case-7", "robin"]);
}

#[test]
fn without_a_resource_the_memory_is_the_agents_own() {
    let folder = Folder::new();
    let ran = folder
        .say(UNRULY_AGENT, "emit hello", &["--json"])
        .succeeded();
    assert_eq!(ran.json()["resource"], "unruly-agent");
}

#[test]
fn a_resource_that_is_no_name_is_refused() {
    let folder = Folder::new();
    for resource in ["", "a\nb", &"x".repeat(300)] {
        let ran = folder.say(UNRULY_AGENT, "emit hello", &["--resource", resource]);
        assert_eq!(ran.code, Some(2), "{resource:?}: {ran:?}");
    }
    assert!(!folder.path().join(".keepsake").exists());
}

#[test]
fn the_steps_of_a_turn_are_shown_on_request_on_standard_error() {
    let ran = Folder::new()
        .say(
            UNRULY_AGENT,
            "exec echo seen",
            &["--resource", "jordan", "--steps"],
        )
        .succeeded();
    for step in [
        "turn-started",
        "sandbox-opened",
        "exec-started",
        "$ echo seen",
        "exec-completed",
        "exit 0",
    ] {
        assert!(
            ran.stderr.contains(step),
            "{step} is missing: {}",
            ran.stderr
        );
    }
    assert!(!ran.stdout.contains("sandbox-opened"));
}

#[test]
fn a_broken_pipe_ends_the_program_quietly() {
    use std::io::Read;
    let folder = Folder::new();
    let mut child = folder
        .command(&[
            "run",
            UNRULY_AGENT,
            "--resource",
            "jordan",
            "-m",
            "emit-flood",
        ])
        .spawn()
        .unwrap();
    // Takes a little, then closes.
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    let ran = crate::program::finish(child);
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    let sessions = folder.host(&["sessions", "--json"]).succeeded().json();
    assert_eq!(
        sessions["sessions"][0]["status"], "ended",
        "the session was left open"
    );
}

#[test]
fn two_programs_work_on_one_memory_at_once() {
    let folder = Folder::new();
    let children: Vec<_> = (0..4)
        .map(|number| {
            folder
                .command(&[
                    "run",
                    UNRULY_AGENT,
                    "--resource",
                    "jordan",
                    "--json",
                    "-m",
                    &format!("remember fact number {number}"),
                ])
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        crate::program::finish(child).succeeded();
    }
    assert_eq!(folder.facts("jordan").len(), 4);
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn a_second_run_of_unchanged_plugins_compiles_nothing() {
    let folder = Folder::new();
    let compiled = || {
        let mut command = folder.command(&[
            "run",
            UNRULY_AGENT,
            "--resource",
            "jordan",
            "-vv",
            "-m",
            "emit hello",
        ]);
        command.env("HOST_CACHE", folder.path().join("cache"));
        let ran = crate::program::finish(command.spawn().unwrap()).succeeded();
        ran.stderr.matches("was compiled").count()
    };
    assert_eq!(compiled(), 3, "an agent, an embedding and a model provider");
    assert_eq!(compiled(), 0);
}

#[test]
fn a_standard_error_that_cannot_be_written_costs_no_reply() {
    let folder = Folder::new();
    let full = || {
        std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    let mut command = folder.command(&[
        "run",
        UNRULY_AGENT,
        "--resource",
        "jordan",
        "--steps",
        "-vv",
        "-m",
        "emit hello",
    ]);
    command.stderr(full());
    let ran = crate::program::finish(command.spawn().unwrap()).succeeded();
    assert_eq!(ran.stdout.trim(), "hello");
    let sessions = folder.host(&["sessions", "--json"]).succeeded().json();
    assert_eq!(sessions["sessions"][0]["status"], "ended");

    let mut command = folder.command(&["inspect", "nope"]);
    command.stderr(full());
    let ran = crate::program::finish(command.spawn().unwrap());
    assert_eq!(ran.code, Some(3), "{ran:?}");
}
