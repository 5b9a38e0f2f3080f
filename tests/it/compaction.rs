//! Facts that are let go, by command, by an agent and by themselves.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use keepsake_test_artifacts::{SUMMARISING_AGENT, UNRULY_AGENT};
use serde_json::{Value, json};

use crate::program::{Folder, Ran};

/// Messages of one session, a line each.
fn talk(folder: &Folder, lines: &[&str]) -> Ran {
    folder.host_with_input(
        &["run", SUMMARISING_AGENT, "--resource", "jordan", "--json"],
        lines.join("\n").as_bytes(),
    )
}

fn replies(ran: &Ran) -> Vec<String> {
    ran.stdout
        .lines()
        .map(|line| {
            let turn: Value = serde_json::from_str(line).unwrap();
            turn["reply"].as_str().unwrap_or_default().to_owned()
        })
        .collect()
}

fn contents(folder: &Folder) -> Vec<String> {
    folder
        .facts("jordan")
        .iter()
        .map(|fact| fact["content"].as_str().unwrap().to_owned())
        .collect()
}

fn compact(folder: &Folder, more: &[&str]) -> Value {
    let mut arguments = vec!["memory", "compact", "--resource", "jordan", "--json"];
    arguments.extend(more);
    folder.host(&arguments).succeeded().json()
}

#[test]
fn an_operator_lets_the_oldest_facts_go_by_number_and_age() {
    let folder = Folder::new();
    let facts = [
        "remember One is red.",
        "remember Two is blue.",
        "remember Six is pink.",
    ];
    talk(&folder, &facts).succeeded();
    let nothing = compact(&folder, &[]);
    assert_eq!(nothing["removed"], 0);
    assert_eq!(nothing["remaining"], 3);
    assert_eq!(
        compact(&folder, &["--max-facts", "2", "--max-age", "1d"]),
        json!({ "resource": "jordan", "removed": 1, "summarised": 0, "remaining": 2 })
    );
    assert_eq!(contents(&folder), ["Six is pink.", "Two is blue."]);
    assert_eq!(compact(&folder, &["--max-age", "0s"])["remaining"], 0);
    folder.host(&["ledger", "verify"]).succeeded();
    folder
        .host(&[
            "memory",
            "compact",
            "--resource",
            "jordan",
            "--max-age",
            "soon",
        ])
        .failed(2, &["such as 90d"]);
}

#[test]
fn facts_cease_to_hold_when_an_operator_says_so() {
    let folder = Folder::new();
    talk(&folder, &["remember One is red.", "remember Two is blue."]).succeeded();
    let facts = folder.facts("jordan");
    let id = facts[0]["id"].as_str().unwrap();
    let expire = |more: &[&str]| {
        let mut arguments = vec!["memory", "expire", "--resource", "jordan", "--json"];
        arguments.extend(more);
        folder.host(&arguments)
    };
    let later = expire(&[id, "--at", "2100-01-01"]).succeeded().json();
    assert_eq!(later["at"], 4_102_444_800_000_u64);
    assert_eq!(contents(&folder).len(), 2);
    assert_eq!(expire(&[id]).succeeded().json()["expired"], 1);
    assert_eq!(contents(&folder), ["One is red."]);
    expire(&["0198c0de-0000-7000-8000-000000000000"]).failed(1, &["1 of 1 are not known"]);
}

#[test]
fn an_agent_puts_a_summary_in_place_of_what_it_lets_go() {
    let folder = Folder::new();
    let ran = talk(
        &folder,
        &[
            "remember Tea is green.",
            "remember Snow is white.",
            "remember Coal is black.",
            "compact 2",
            "recall what is green",
        ],
    )
    .succeeded();
    let replies = replies(&ran);
    assert_eq!(replies[3], "removed 2, summarised 2, remaining 2");
    assert!(
        replies[4].contains("In short: Tea is green. Snow is white."),
        "{replies:?}"
    );
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn a_summary_of_verified_facts_is_verified() {
    let folder = Folder::new();
    talk(
        &folder,
        &[
            "learn Tea is green.",
            "learn Snow is white.",
            "learn Coal is black.",
            "compact 1",
        ],
    )
    .succeeded();
    let facts = folder.facts("jordan");
    assert_eq!(facts.len(), 1);
    assert_eq!(facts[0]["verified"], true, "{facts:?}");
    assert_eq!(facts[0]["summary_of"], 3);
    let shown = folder.host(&["memory", "list", "--resource", "jordan"]);
    assert!(shown.succeeded().stdout.contains("summary of 3 facts"));
}

#[test]
fn an_agent_without_a_summarizer_compacts_as_well() {
    let folder = Folder::new();
    folder.unruly("remember Tea is green.").succeeded();
    folder.unruly("remember Coal is black.").succeeded();
    assert_eq!(compact(&folder, &["--max-facts", "1"])["removed"], 1);
    folder
        .host(&[
            "memory",
            "compact",
            "--resource",
            "jordan",
            "--max-facts",
            "0",
            "--agent",
            UNRULY_AGENT,
        ])
        .failed(3, &["does not summarise", "register_summarizer!"]);
}

#[test]
fn an_operator_has_an_agent_summarise() {
    let folder = Folder::new();
    talk(&folder, &["many 60"]).succeeded();
    let done = compact(
        &folder,
        &["--max-facts", "20", "--agent", SUMMARISING_AGENT],
    );
    // There was room for more summaries than the agent made.
    let remaining = done["remaining"].as_u64().unwrap();
    assert!((15..=20).contains(&remaining), "{done}");
    assert!(done["summarised"].as_u64().unwrap() > 40, "{done}");
    assert!(contents(&folder)[0].starts_with("In short:"));
    // However young facts may be: the summaries of this compaction are younger.
    let done = compact(&folder, &["--max-age", "0s", "--agent", SUMMARISING_AGENT]);
    let remaining = done["remaining"].as_u64().unwrap();
    assert!((1..=2).contains(&remaining), "{done}");
}

#[test]
fn facts_stay_where_the_summarizer_fails() {
    for (fact, said) in [
        ("Do panic.", "the summarizer's own words"),
        ("Do flood.", "room for 1"),
        ("Do compact again.", "denied"),
    ] {
        let folder = Folder::new();
        let remember = format!("remember {fact}");
        let lines = [
            &remember,
            "remember Tea is green.",
            "remember Coal is black.",
            "compact 2",
        ];
        let ran = talk(&folder, &lines.map(|line: &str| line));
        assert_eq!(ran.code, Some(4), "{ran:#?}");
        assert!(ran.stdout.contains("the facts stay"), "{ran:#?}");
        assert_eq!(contents(&folder).len(), 3);
        let failed = folder.entries("facts-compacted");
        let error = failed[0]["payload"]["error"].as_str().unwrap();
        assert!(error.contains(said), "{error}");
        folder.host(&["ledger", "verify"]).succeeded();
    }
}

#[test]
fn a_memory_is_compacted_by_itself_after_so_many_facts() {
    let folder = Folder::configured("[memory]\ncompact-after = 4\nmax-facts = 3\n");
    for name in ["Ann", "Bob", "Cy"] {
        folder
            .unruly(&format!("remember {name} has a dog."))
            .succeeded();
    }
    assert_eq!(contents(&folder).len(), 3);
    assert!(folder.entries("facts-compacted").is_empty());
    // The count outlasts the process, and a bulk write counts as each of its facts.
    folder.unruly("remember Di has a dog.").succeeded();
    assert_eq!(contents(&folder).len(), 3);
    assert_eq!(folder.entries("facts-compacted").len(), 1);
    talk(&folder, &["many 30"]).succeeded();
    assert!((1..=3).contains(&contents(&folder).len()));
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn no_turn_waits_for_a_summarizer_that_is_slow_or_fails() {
    let folder = Folder::configured(
        "[memory]\ncompact-after = 3\nmax-facts = 2\n[limits]\nturn-cpu-seconds = 4\n",
    );
    let mut command = folder.command(&["run", SUMMARISING_AGENT, "--resource", "jordan", "--json"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut asked = Instant::now();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for line in [
        "remember Do stall.",
        "remember Tea is green.",
        "remember Coal is black.",
        "recall tea",
    ] {
        asked = Instant::now();
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert!(answer.contains("\"reply\""), "{answer}");
    }
    // The summarizer began after the last fact, and computes for 4 s.
    assert!(asked.elapsed() < Duration::from_secs(3), "{asked:?}");
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!(contents(&folder).len(), 3);
    let told = folder.entries("facts-compacted");
    assert!(told[0]["payload"]["error"].is_string(), "{told:?}");
}

#[test]
fn what_may_stay_has_to_be_said() {
    let folder = Folder::configured("[memory]\ncompact-after = 4\n");
    folder
        .unruly("remember Tea is green.")
        .failed(2, &["max-facts", "max-age"]);
    let folder = Folder::configured("[memory]\nmax-fact = 4\n");
    folder
        .unruly("remember Tea is green.")
        .failed(2, &["did you mean `memory.max-facts`?"]);
}
