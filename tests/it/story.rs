//! The main story: what a customer said in one process is known, verified, in
//! a later one with a new sandbox.

use serde_json::json;

use crate::program::{Folder, finish};

const UPGRADE: &str = "Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd.";
const QUESTION: &str = "Which plan am I on?";

fn ask(folder: &Folder, resource: &str, message: &str) -> serde_json::Value {
    folder
        .say(
            "support-agent",
            message,
            &["--resource", resource, "--json"],
        )
        .succeeded()
        .json()
}

#[test]
fn a_later_process_with_a_new_sandbox_knows_the_customer() {
    let folder = Folder::new();
    let first = ask(&folder, "jordan", UPGRADE);
    let second = ask(&folder, "jordan", QUESTION);

    assert_ne!(first["session"], second["session"]);
    assert!(first["sandbox"].is_string(), "{first}");
    assert!(second["sandbox"].is_string(), "{second}");
    assert_ne!(first["sandbox"], second["sandbox"]);

    let reply = second["reply"].as_str().unwrap();
    assert!(reply.contains("Jordan is on the Pro plan."), "{reply}");
    assert!(reply.contains("3rd"), "{reply}");
    assert!(reply.contains("(verified)"), "{reply}");

    let memory = folder
        .host(&["memory", "list", "--resource", "jordan", "--json"])
        .succeeded()
        .json();
    assert_eq!(memory["resource"], "jordan");
    assert_eq!(
        memory["profile"],
        json!({ "name": "Jordan", "plan": "Pro" })
    );
    assert_eq!(memory["working"]["profile"], memory["profile"]);
    let facts = memory["facts"].as_array().unwrap();
    assert_eq!(facts.len(), 1, "{facts:#?}");
    assert_eq!(facts[0]["verified"], true);
    assert_eq!(facts[0]["source"]["session"], first["session"]);
}

#[test]
fn the_steps_of_a_later_session_show_the_facts_that_its_snippet_brought() {
    let folder = Folder::new();
    let first = folder
        .say(
            "support-agent",
            UPGRADE,
            &["--resource", "jordan", "--steps"],
        )
        .succeeded();
    assert!(
        first.stderr.contains(", source entry 10 (verified)"),
        "{}",
        first.stderr
    );
    let mut command = folder.command(&[
        "run",
        "support-agent",
        "--resource",
        "jordan",
        "--steps",
        "-m",
        QUESTION,
    ]);
    // One file for both, as a terminal shows them.
    let path = folder.path().join("terminal");
    let file = std::fs::File::create(&path).unwrap();
    command.stdout(file.try_clone().unwrap()).stderr(file);
    finish(command.spawn().unwrap()).succeeded();

    let shown = std::fs::read_to_string(path).unwrap();
    let lines: Vec<_> = shown.lines().map(str::trim).collect();
    let place = |wanted: &str| {
        lines
            .iter()
            .position(|line| line.starts_with(wanted))
            .unwrap_or_else(|| panic!("no line begins with {wanted}: {shown}"))
    };
    let snippet = lines.iter().position(|line| line.contains("snippet-built"));
    let fact = place("\u{2022} Jordan is on the Pro plan. Upgraded on the 3rd. (verified)");
    let reply = place("You are on the Pro plan.");
    assert_eq!(snippet.map(|line| line + 1), Some(fact), "{shown}");
    // The reply is whole, on a line of its own, after the last step.
    assert_eq!(reply, lines.len() - 1, "{shown}");
    assert!(lines[reply].ends_with("(verified)."), "{shown}");
}

#[test]
fn the_source_of_a_fact_is_the_command_that_really_ran() {
    let folder = Folder::new();
    let turn = ask(&folder, "jordan", UPGRADE);
    let fact = &folder.facts("jordan")[0];
    let completed = folder.entries("exec-completed");
    let source = completed
        .iter()
        .find(|entry| entry["index"] == fact["source"]["index"])
        .unwrap_or_else(|| panic!("{fact} has no command among {completed:#?}"));
    assert_eq!(source["session"], turn["session"]);
    assert_eq!(source["payload"]["status"], json!({ "code": 0 }));
    assert!(
        source["payload"]["stdout"]
            .as_str()
            .unwrap()
            .contains("I upgraded to the Pro plan")
    );
    let opened = folder.entries("sandbox-opened");
    assert_eq!(opened[0]["payload"]["sandbox"], turn["sandbox"]);
    assert_eq!(opened[0]["payload"]["isolated"], true);
    assert_eq!(folder.entries("sandbox-closed").len(), opened.len());
}

#[test]
fn a_customer_who_repeats_themselves_is_remembered_once() {
    let folder = Folder::new();
    ask(&folder, "jordan", UPGRADE);
    ask(&folder, "jordan", UPGRADE);
    assert_eq!(folder.facts("jordan").len(), 1);
    assert!(
        ask(&folder, "jordan", QUESTION)["reply"]
            .as_str()
            .unwrap()
            .contains("Pro")
    );
}

#[test]
fn another_customer_learns_nothing_of_it() {
    let folder = Folder::new();
    ask(&folder, "jordan", UPGRADE);
    let reply = ask(&folder, "robin", QUESTION)["reply"].to_string();
    assert!(
        !reply.contains("Pro") && !reply.contains("Jordan"),
        "{reply}"
    );
    assert!(folder.facts("robin").is_empty());
}

#[test]
fn a_new_plan_takes_the_place_of_the_old_one() {
    let folder = Folder::new();
    ask(&folder, "jordan", UPGRADE);
    ask(&folder, "jordan", "I downgraded to the Free plan today.");
    let reply = ask(&folder, "jordan", QUESTION)["reply"].to_string();
    assert!(reply.contains("Free") && !reply.contains("Pro"), "{reply}");
}

#[test]
fn a_fact_whose_source_was_altered_is_not_verified_any_more() {
    let folder = Folder::new();
    ask(&folder, "jordan", UPGRADE);
    assert_eq!(folder.facts("jordan")[0]["verified"], true);
    let database = rusqlite::Connection::open(folder.database()).unwrap();
    let changed = database
        .execute(
            "UPDATE entries SET payload = replace(payload, 'Pro plan', 'Max plan') WHERE kind = 'exec-completed'",
            [],
        )
        .unwrap();
    assert!(changed > 0);
    let fact = &folder.facts("jordan")[0];
    assert_eq!(fact["verified"], false);
    assert_eq!(fact["verification"], "tampered");
    let reply = ask(&folder, "jordan", QUESTION)["reply"].to_string();
    assert!(!reply.contains("(verified)"), "{reply}");
}

#[test]
fn the_story_is_told_from_any_folder_by_the_bare_program() {
    let folder = Folder::new();
    let elsewhere = Folder::new();
    let program = elsewhere.path().join("host");
    std::fs::copy(crate::program::executable(), &program).unwrap();
    let output = std::process::Command::new(program)
        .args([
            "run",
            "support-agent",
            "--resource",
            "jordan",
            "--message",
            UPGRADE,
        ])
        .current_dir(folder.path())
        .env("HOST_CACHE", "")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(folder.database().is_file());
}
