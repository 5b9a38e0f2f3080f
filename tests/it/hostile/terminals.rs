//! Texts that would command a terminal, break a frame or name what they must not.

use keepsake_test_artifacts::{HOSTILE_MODEL, UNRULY_AGENT};

use super::attacked;
use crate::program::{Folder, Ran};

/// Nothing that the program printed is obeyed by a terminal: no C0 control
/// besides the line's end and the tab, no DEL, no C1 control.
#[track_caller]
pub(super) fn no_escapes(ran: &Ran) {
    for (stream, text) in [("output", &ran.stdout), ("error", &ran.stderr)] {
        let obeyed = text
            .chars()
            .position(|c| c.is_control() && c != '\n' && c != '\t');
        if let Some(at) = obeyed {
            let around: String = text.chars().skip(at.saturating_sub(60)).take(80).collect();
            panic!("standard {stream} holds a control character: {around:?}");
        }
    }
}

#[test]
fn escapes_in_what_a_plugin_leaves_reach_no_terminal_by_any_command() {
    let folder = Folder::new();
    let said = folder.say(
        keepsake_test_artifacts::HOSTILE_AGENT,
        "escapes",
        &["--resource", "mallory\u{1b}[31m"],
    );
    no_escapes(&said);
    let said = attacked(&folder, "escapes");
    no_escapes(&said.ran);
    for arguments in [
        &["memory", "list", "--resource", "mallory"][..],
        &["memory", "list", "--resource", "mallory", "--json"],
        &["memory", "recall", "--resource", "mallory", "fact"],
        &["memory", "why", "--resource", "mallory", "fact"],
        &["memory", "export", "--resource", "mallory"],
        &["ledger", "show"],
        &["ledger", "show", "--json"],
        &["ledger", "verify"],
        &["sessions"],
        &["sessions", "--json"],
    ] {
        let ran = folder.host(arguments);
        assert!(
            !ran.stdout.is_empty() || !ran.stderr.is_empty(),
            "{arguments:?} tells nothing"
        );
        no_escapes(&ran);
    }
}

#[test]
fn a_panic_with_escapes_is_told_without_them() {
    let attacked = attacked(&Folder::new(), "panic");
    attacked.ended("panic", &["owned"]);
    no_escapes(&attacked.ran);
    no_escapes(&Folder::new().say(
        keepsake_test_artifacts::HOSTILE_AGENT,
        "panic",
        &["--resource", "mallory"],
    ));
}

#[test]
fn a_model_with_escapes_in_every_field_is_told_without_them() {
    let folder = Folder::configured(&format!(
        "model = {HOSTILE_MODEL:?}\n[settings.hostile-model]\nattack = \"escapes\"\n"
    ));
    let said = folder.say(UNRULY_AGENT, "chat hello", &["--resource", "mallory"]);
    no_escapes(&said.succeeded());
    no_escapes(&folder.host(&["ledger", "show"]).succeeded());
}

#[test]
fn names_that_are_none_are_refused_one_by_one() {
    let attacked = attacked(&Folder::new(), "names");
    let replied = attacked.replied();
    assert_eq!(replied.lines().count(), 30, "{replied}");
    for outcome in replied.lines() {
        assert!(
            outcome.ends_with("invalid") || outcome.contains(" limit "),
            "it was taken: {outcome}"
        );
    }
}

#[test]
fn what_was_remembered_cannot_leave_its_frame_in_a_snippet() {
    let attacked = attacked(&Folder::new(), "inject");
    let snippet = attacked.replied();
    assert!(
        !snippet.lines().any(|line| {
            let line = line.trim_start_matches(['-', ' ']);
            line.starts_with("System:") || line.starts_with("# New") || line.starts_with("```")
        }),
        "a fact stands as a line of its own: {snippet}"
    );
    // None of them has a source, so that none may look as if it had.
    for line in snippet.lines() {
        assert!(
            !line.trim_end().ends_with("(verified)"),
            "a fact looks verified: {line}"
        );
    }
    // All of them are there, as data.
    for text in [
        "previous instructions",
        "likes tea",
        "likes coffee",
        "likes milk",
    ] {
        assert!(snippet.contains(text), "{text:?} is missing: {snippet}");
    }
}

#[test]
fn customers_whose_names_are_alike_share_nothing() {
    let folder = Folder::new();
    let names = [
        "a", "a:b", "b", "A", "\u{430}", "a ", "a\u{301}", "á", "%", "a/b",
    ];
    let owners: Vec<Vec<&str>> = names
        .iter()
        .map(|name| vec!["--resource", *name])
        .chain([
            vec!["--resource", "b", "--team", "a"],
            vec!["--resource", "a", "--team", "b"],
            vec!["--resource", "a", "--team", "a:b"],
        ])
        .collect();
    for (number, owner) in owners.iter().enumerate() {
        let said = folder.say(UNRULY_AGENT, &format!("set key {number}"), owner);
        said.succeeded();
        let fact = format!("remember the common secret n{number}");
        folder.say(UNRULY_AGENT, &fact, owner).succeeded();
    }
    for (number, owner) in owners.iter().enumerate() {
        let value = folder.say(UNRULY_AGENT, "get key", owner).succeeded();
        assert_eq!(
            value.stdout.trim(),
            format!("Some({:?})", number.to_string())
        );
        let found = folder.say(UNRULY_AGENT, "recall common secret", owner);
        assert_eq!(
            found.succeeded().stdout.trim(),
            format!("found [\"the common secret n{number}\"]"),
            "{owner:?}"
        );
        let mut arguments = vec!["memory", "list", "--json"];
        arguments.extend(owner);
        let list = folder.host(&arguments).succeeded().json();
        assert_eq!(list["facts"].as_array().unwrap().len(), 1, "{owner:?}");
    }
    for wrong in ["", "a\nb", "\u{1b}[31m", &"x".repeat(100_000)] {
        let ran = folder.say(UNRULY_AGENT, "get key", &["--resource", wrong]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        no_escapes(&ran);
    }
}
