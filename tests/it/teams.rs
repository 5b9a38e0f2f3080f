//! What a team and an account know, and who is granted it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::program::{Folder, Ran};

/// One message to the agent that does what it is told.
fn say(folder: &Folder, message: &str, grants: &[&str]) -> String {
    let mut arguments = vec!["--resource", "jordan"];
    arguments.extend(grants);
    let ran = folder.say(keepsake_test_artifacts::UNRULY_AGENT, message, &arguments);
    ran.succeeded().stdout.trim().to_owned()
}

fn memory(folder: &Folder, arguments: &[&str]) -> Ran {
    let mut all = vec!["memory"];
    all.extend(arguments);
    folder.host(&all)
}

fn contents(answer: &Value) -> Vec<&str> {
    let facts = answer["facts"].as_array().unwrap();
    let contents = facts.iter().map(|fact| fact["content"].as_str().unwrap());
    contents.collect()
}

#[test]
fn a_teams_memory_is_reached_only_by_sessions_that_were_granted_it() {
    let folder = Folder::new();
    let acme = ["--team", "acme"];
    assert_eq!(
        say(&folder, "team remember Refunds take 14 days", &[]),
        "no team"
    );
    assert!(
        say(&folder, "team remember Refunds take 14 days", &acme).starts_with("Outcome::Stored")
    );
    let asked = "team recall how long do refunds take";
    assert_eq!(
        say(&folder, asked, &acme),
        "found [\"Refunds take 14 days\"]"
    );
    assert_eq!(say(&folder, asked, &["--team", "other"]), "found []");
    assert_eq!(say(&folder, asked, &[]), "no team");
    // Neither the customer's own memory nor that of the same name elsewhere has it.
    for grants in [&acme[..], &[]] {
        assert_eq!(
            say(&folder, "recall how long do refunds take", grants),
            "found []"
        );
    }
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn a_customer_of_a_team_is_another_one_than_without_it() {
    let folder = Folder::new();
    say(&folder, "remember Jordan likes tea", &["--team", "acme"]);
    say(&folder, "remember Jordan likes coffee", &[]);
    let list = |more: &[&str]| {
        let mut arguments = vec!["list", "--resource", "jordan", "--json"];
        arguments.extend(more);
        memory(&folder, &arguments).succeeded().json()
    };
    assert_eq!(contents(&list(&["--team", "acme"])), ["Jordan likes tea"]);
    assert_eq!(list(&["--team", "acme"])["team"], "acme");
    assert_eq!(contents(&list(&[])), ["Jordan likes coffee"]);
    // A team in the configuration is granted to every command, and an empty name
    // takes it back.
    folder.write("host.toml", "team = \"acme\"\n");
    assert_eq!(contents(&list(&[])), ["Jordan likes tea"]);
    assert_eq!(contents(&list(&["--team", ""])), ["Jordan likes coffee"]);
    assert_eq!(
        say(&folder, "recall what Jordan likes", &[]),
        "found [\"Jordan likes tea\"]"
    );
}

#[test]
fn a_customer_is_answered_from_the_nearest_memory_that_knows() {
    let folder = Folder::new();
    let mut lines = String::new();
    for (resource, subject, content) in [
        ("", "refunds", "Refunds take 14 days"),
        ("", "support", "Support is open from nine to five"),
        ("initech", "refunds", "Refunds take 30 days"),
        (
            "initech",
            "invoices",
            "Invoices go to billing@initech.example",
        ),
        ("jordan", "refunds", "Refunds take 60 days"),
    ] {
        let line = json!({
            "resource": resource, "content": content, "subject": subject, "attribute": "rule",
        });
        let _ = writeln!(lines, "{line}");
    }
    folder.write("facts.jsonl", lines);
    memory(
        &folder,
        &["import", "--team", "acme", "--file", "facts.jsonl"],
    )
    .succeeded();
    let recall = |query: &str, more: &[&str]| {
        let mut arguments = vec!["recall", "--team", "acme", query, "--json"];
        arguments.extend(more);
        memory(&folder, &arguments).succeeded().json()
    };
    let all = ["--resource", "jordan", "--wider", "--account", "initech"];
    let (robin, others) = (["--resource", "robin", "--wider"], ["--account", "initech"]);
    let refunds = "how long do refunds take";
    let jordan = recall(refunds, &all);
    assert_eq!(contents(&jordan), ["Refunds take 60 days"]);
    assert_eq!(jordan["facts"][0].get("layer"), None);
    let with_account = recall(refunds, &[&robin[..], &others].concat());
    assert_eq!(contents(&with_account), ["Refunds take 30 days"]);
    assert_eq!(with_account["facts"][0]["layer"], "account");
    let with_team = recall(refunds, &robin);
    assert_eq!(contents(&with_team), ["Refunds take 14 days"]);
    assert_eq!(with_team["facts"][0]["layer"], "team");
    assert!(contents(&recall(refunds, &["--resource", "robin"])).is_empty());
    // The nearer value stands even where it was not asked for by its words.
    assert!(
        contents(&recall("14 days", &all))
            .iter()
            .all(|one| !one.contains("14"))
    );
    assert_eq!(
        contents(&recall("where do invoices go", &all)),
        ["Invoices go to billing@initech.example"]
    );

    let grants = ["--team", "acme", "--account", "initech"];
    assert_eq!(
        say(&folder, "wider when is support open", &grants),
        "found [\"team: Support is open from nine to five\"]"
    );
    assert_eq!(
        say(&folder, "account recall how long do refunds take", &grants),
        "found [\"Refunds take 30 days\"]"
    );
    assert_eq!(
        say(&folder, "account recall refunds", &["--team", "acme"]),
        "no account"
    );
}

#[test]
fn a_receipt_explains_facts_of_wider_memories_too() {
    let folder = Folder::new();
    let acme = ["--team", "acme"];
    say(&folder, "team remember Refunds take 14 days", &acme);
    say(&folder, "wider how long do refunds take", &acme);
    let receipt = folder.entries("recalled").pop().unwrap();
    let (index, session) = (receipt["index"].to_string(), &receipt["session"]);
    let session = session.as_str().unwrap();
    let why = memory(&folder, &["why", &index, "--session", session]).succeeded();
    assert!(why.stdout.contains("\"Refunds take 14 days\""), "{why:#?}");
    assert!(why.stdout.contains("of the team"), "{why:#?}");
}

#[test]
fn a_fact_that_a_session_taught_its_team_is_verified_by_what_that_session_did() {
    let folder = Folder::new();
    let acme = ["--team", "acme"];
    assert_eq!(
        say(&folder, "team source Refunds take 14 days", &acme),
        "Verification::Verified"
    );
    let robin = folder.say(
        keepsake_test_artifacts::UNRULY_AGENT,
        "team recall how long do refunds take",
        &["--resource", "robin", "--team", "acme"],
    );
    assert!(robin.succeeded().stdout.contains("Refunds take 14 days"));
    let list = memory(&folder, &["list", "--team", "acme", "--json"]);
    let list = list.succeeded().json();
    assert_eq!(list["facts"][0]["verified"], true, "{list}");
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn a_teams_memory_is_exported_restored_and_erased_by_its_name() {
    let folder = Folder::new();
    let acme = ["--team", "acme"];
    say(&folder, "team remember Refunds take 14 days", &acme);
    say(&folder, "remember Jordan likes tea", &acme);
    let export = memory(&folder, &["export", "--team", "acme"]).succeeded();
    assert!(!export.stdout.contains("Jordan"), "{export:#?}");
    let other = Folder::new();
    other.write("team.jsonl", export.stdout);
    memory(&other, &["import", "--file", "team.jsonl"]).succeeded();
    let list = memory(&other, &["list", "--team", "acme", "--json"]);
    assert_eq!(contents(&list.succeeded().json()), ["Refunds take 14 days"]);

    memory(&folder, &["erase", "--team", "acme", "--yes"]).succeeded();
    let list = memory(&folder, &["list", "--team", "acme", "--json"]);
    assert!(contents(&list.succeeded().json()).is_empty());
    let jordan = ["list", "--resource", "jordan", "--team", "acme", "--json"];
    assert_eq!(
        contents(&memory(&folder, &jordan).succeeded().json()),
        ["Jordan likes tea"]
    );
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn a_session_goes_on_with_the_grants_that_it_began_with() {
    let folder = Folder::new();
    let grants = ["--team", "acme", "--account", "initech", "--session", "one"];
    say(&folder, "account remember Initech pays yearly", &grants);
    let again = ["--team", "acme", "--session", "one"];
    assert_eq!(
        say(&folder, "account recall how does Initech pay", &again),
        "found [\"Initech pays yearly\"]"
    );
    for (more, told) in [
        (
            &["--team", "acme", "--account", "other"][..],
            "account `other`",
        ),
        (&["--team", "other"], "jordan of team acme"),
        (&[], "jordan of team acme"),
    ] {
        let mut arguments = vec!["--resource", "jordan", "--session", "one"];
        arguments.extend(more);
        folder
            .say(
                keepsake_test_artifacts::UNRULY_AGENT,
                "recall x",
                &arguments,
            )
            .failed(2, &[told]);
    }
}

#[test]
fn whose_memory_is_meant_must_be_said() {
    let folder = Folder::new();
    memory(&folder, &["list"]).failed(2, &["--resource"]);
    memory(&folder, &["list", "--team", ""]).failed(2, &["--resource", "--team"]);
    memory(
        &folder,
        &["recall", "--resource", "jordan", "x", "--account", "a"],
    )
    .failed(2, &["--wider"]);
}
