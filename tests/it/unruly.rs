//! Agents that misbehave: the turn ends with the reason, the session and the
//! memory go on.

use std::time::{Duration, Instant};

use keepsake_test_artifacts::UNRULY_AGENT;
use serde_json::Value;

use crate::program::Folder;

/// The next turn of the same session and what was remembered before it are
/// untouched by what the turn in the middle does.
#[track_caller]
fn nothing_is_lost(folder: &Folder, misdeed: &str) -> Value {
    let input = format!("remember a fact from before\n{misdeed}\nrecall fact before\n");
    let ran = folder.host_with_input(
        &["run", UNRULY_AGENT, "--resource", "jordan", "--json"],
        input.as_bytes(),
    );
    assert_eq!(ran.code, Some(4), "{ran:#?}");
    let turns: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(turns.len(), 3, "{ran:#?}");
    assert!(
        turns[2]["reply"]
            .as_str()
            .unwrap()
            .contains("a fact from before"),
        "{ran:#?}"
    );
    let ledger = folder
        .host(&["ledger", "verify", "--json"])
        .succeeded()
        .json();
    assert_eq!(ledger["intact"], true);
    assert_eq!(folder.entries("turn-failed").len(), 1);
    turns[1]["error"].clone()
}

#[test]
fn a_panic_is_told_in_the_guests_own_words_with_its_backtrace() {
    let folder = Folder::new();
    let ran = folder.unruly("panic").failed(4, &["the guest's own words"]);
    assert!(
        ran.stderr.contains("unruly_agent"),
        "no readable backtrace: {}",
        ran.stderr
    );
    assert!(
        !ran.stderr.contains("_ZN") && !ran.stderr.contains("_RNv"),
        "{}",
        ran.stderr
    );
    let error = nothing_is_lost(&Folder::new(), "panic");
    assert_eq!(error["code"], "panic");
}

#[test]
fn a_guest_that_loops_for_ever_is_interrupted() {
    let folder = Folder::configured("[limits]\nturn-cpu-seconds = 0.5\n");
    let began = Instant::now();
    let error = nothing_is_lost(&folder, "loop");
    assert!(began.elapsed() < Duration::from_secs(60));
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("0.5") && message.contains("limits.turn-cpu-seconds"),
        "{message}"
    );
}

#[test]
fn a_guest_that_waits_for_too_long_is_interrupted_too() {
    let folder = Folder::configured("[limits]\nturn-seconds = 2\n");
    let error = nothing_is_lost(&folder, "exec sleep 100");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("limits.turn-seconds"), "{message}");
    // What the turn had started does not outlive it.
    assert_eq!(folder.entries("sandbox-closed").len(), 1);
}

#[test]
fn endless_recursion_ends_the_turn() {
    let error = nothing_is_lost(&Folder::new(), "recurse");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("recurs") || message.contains("stack"),
        "{message}"
    );
}

#[test]
fn endless_allocation_ends_the_turn() {
    let folder = Folder::configured("[limits]\nmemory-mib = 16\n");
    let error = nothing_is_lost(&folder, "allocate");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("16") && message.contains("limits.memory-mib"),
        "{message}"
    );
}

#[test]
fn a_flood_on_standard_error_is_cut_and_harms_nothing() {
    let ran = Folder::new().unruly("flood-stderr").succeeded();
    assert!(ran.stdout.contains("I said a lot"));
    assert!(
        ran.stderr.len() < 100_000,
        "{} bytes came through",
        ran.stderr.len()
    );
}

#[test]
fn a_flood_of_log_lines_is_cut_and_harms_nothing() {
    let ran = Folder::new().unruly("flood-log").succeeded();
    assert!(ran.stdout.contains("I logged a lot"));
    assert!(
        ran.stderr.len() < 200_000,
        "{} bytes came through",
        ran.stderr.len()
    );
    assert!(
        ran.stderr.contains("more"),
        "nothing tells that lines were left out"
    );
}

#[test]
fn a_guest_that_exits_has_given_no_reply() {
    let error = nothing_is_lost(&Folder::new(), "exit");
    assert!(
        error["message"].as_str().unwrap().contains("exit"),
        "{error}"
    );
}

#[test]
fn an_agents_own_error_is_shown_and_the_session_goes_on() {
    let error = nothing_is_lost(&Folder::new(), "refuse");
    assert_eq!(error["code"], "invalid");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("I do not like this message")
    );
}

#[test]
fn a_reply_with_broken_json_is_refused() {
    let error = nothing_is_lost(&Folder::new(), "bad-json");
    assert_eq!(error["code"], "bad-reply");
    assert!(
        error["message"].as_str().unwrap().contains("JSON"),
        "{error}"
    );
}

#[test]
fn a_reply_without_bounds_is_refused() {
    let error = nothing_is_lost(&Folder::new(), "huge-reply");
    assert!(
        error["message"].as_str().unwrap().contains("reply-bytes"),
        "{error}"
    );
}

#[test]
fn output_without_bounds_is_stopped() {
    let ran = Folder::new().unruly("emit-flood").succeeded();
    assert!(ran.stdout.contains("emitted-bytes"), "it was never stopped");
    assert!(ran.stdout.len() < 2 << 20);
}

#[test]
fn what_a_plugin_says_cannot_command_the_terminal() {
    let ran = Folder::new().unruly("escapes").succeeded();
    assert!(
        !ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{7}'),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("\\u{1b}[31malert"), "{ran:?}");
}

#[test]
fn a_plugin_sees_nothing_of_the_machine() {
    let ran = Folder::new().unruly("world").succeeded();
    assert_eq!(
        ran.stdout.trim(),
        "variables 0, arguments 0, file false, folder false, network false"
    );
}

#[test]
fn arguments_that_break_a_rule_are_errors_that_the_guest_can_act_on() {
    let folder = Folder::new();
    for (message, code) in [
        ("set key {broken", "invalid"),
        ("profile [1]", "invalid"),
        ("profile {\"plan\": \"Gold\"}", "invalid"),
        ("get \u{1}", "invalid"),
        ("remember  ", "invalid"),
    ] {
        let ran = folder.host(&[
            "run",
            UNRULY_AGENT,
            "--resource",
            "jordan",
            "--json",
            "-m",
            message,
        ]);
        assert_eq!(ran.code, Some(4), "{message}: {ran:?}");
        assert_eq!(ran.json()["error"]["code"], code, "{message}: {ran:?}");
    }
    let ran = folder.unruly("profile {\"plan\": \"Gold\"}");
    assert!(
        ran.stderr.contains("plan"),
        "the path is not named: {ran:?}"
    );
}

#[test]
fn a_source_that_does_not_hold_is_refused_and_nothing_is_remembered() {
    let folder = Folder::new();
    let theirs = folder
        .say(
            UNRULY_AGENT,
            "exec echo secret",
            &["--resource", "robin", "--json"],
        )
        .succeeded()
        .json();
    let theirs = theirs["session"].as_str().unwrap();
    for source in ["source nowhere 0".to_owned(), format!("source {theirs} 5")] {
        let ran = folder.unruly(&source);
        assert_eq!(ran.code, Some(4), "{source}: {ran:?}");
        assert!(ran.stderr.contains("source"), "{source}: {ran:?}");
    }
    assert!(folder.facts("jordan").is_empty());
}
