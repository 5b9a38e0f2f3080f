//! Forks of memory, by an agent and by an operator.

use keepsake_test_artifacts::FORKING_AGENT;
use serde_json::{Value, json};

use crate::program::{Folder, Ran};

/// Messages of one session, a line each, and what the agent answered to each.
fn talk(folder: &Folder, resource: &str, lines: &[&str]) -> Vec<Value> {
    let ran = folder
        .host_with_input(
            &["run", FORKING_AGENT, "--resource", resource, "--json"],
            lines.join("\n").as_bytes(),
        )
        .succeeded();
    ran.stdout
        .lines()
        .map(|line| {
            let turn: Value = serde_json::from_str(line).unwrap();
            serde_json::from_str(turn["reply"].as_str().unwrap()).unwrap()
        })
        .collect()
}

fn memory(folder: &Folder, command: &str, fork: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["memory", command, "--resource", "jordan", "--fork", fork];
    arguments.extend(more);
    folder.host(&arguments)
}

fn contents(list: &Value) -> Vec<&str> {
    let facts = list["facts"].as_array().unwrap().iter();
    facts
        .map(|fact| fact["content"].as_str().unwrap())
        .collect()
}

#[test]
fn an_agent_tries_out_in_a_fork_and_brings_back_what_it_learned() {
    let folder = Folder::new();
    let answers = talk(
        &folder,
        "jordan",
        &[
            "learn Jordan lives in Oslo.",
            "plan Free",
            "fork draft",
            "in draft recall where does Jordan live",
            "in draft city Jordan lives in Bergen.",
            "in draft learn Jordan wants a refund.",
            "in draft plan Pro",
            "in draft set mood calm",
        ],
    );
    assert_eq!(answers[2], 1);
    // Verified by what the parent's session did, and found by its copied vector.
    assert_eq!(answers[3], json!([["Jordan lives in Oslo.", true, true]]));
    assert_eq!(answers[5], true);
    // In another session, and another process.
    let answers = talk(
        &folder,
        "jordan",
        &[
            "recall Jordan",
            "diff draft",
            "merge draft",
            "merge draft",
            "recall refund",
            "diff draft",
        ],
    );
    assert_eq!(answers[0], json!([["Jordan lives in Oslo.", true, true]]));
    let difference = &answers[1];
    assert_eq!(
        difference["added"],
        json!(["Jordan lives in Bergen.", "Jordan wants a refund."])
    );
    assert_eq!(difference["working"], json!(["mood"]));
    assert_eq!(difference["profile"], json!(["plan"]));
    let report = json!({ "added": 3, "changed": 1, "removed": 0, "conflicts": [] });
    assert_eq!(answers[2], report);
    let nothing = json!({ "added": 0, "changed": 0, "removed": 0, "conflicts": [] });
    assert_eq!(answers[3], nothing);
    assert_eq!(answers[4][0], json!(["Jordan wants a refund.", true, true]));
    assert_eq!(answers[5]["added"], json!([]));
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn what_both_sides_changed_is_told_to_the_agent_and_kept() {
    let folder = Folder::new();
    let answers = talk(
        &folder,
        "jordan",
        &[
            "plan Free",
            "in draft plan Max",
            "in draft set mood calm",
            "plan Pro",
            "set mood angry",
            "merge draft",
        ],
    );
    assert_eq!(answers[5]["conflicts"], json!(["mood", "profile.plan"]));
    let list = folder
        .host(&["memory", "list", "--resource", "jordan", "--json"])
        .succeeded()
        .json();
    assert_eq!(list["profile"], json!({ "plan": "Pro" }));
    assert_eq!(list["working"]["mood"], "angry");
}

#[test]
fn a_profile_in_a_fork_is_held_to_the_agents_schema() {
    let folder = Folder::new();
    talk(&folder, "jordan", &["in draft set mood calm"]);
    memory(&folder, "set", "draft", &["ticket", "T-1"]).succeeded();
    let odd = folder.say(
        FORKING_AGENT,
        "in draft odd-plan",
        &["--resource", "jordan", "--json"],
    );
    assert_eq!(odd.json()["error"]["code"], "invalid", "{odd:?}");
    let merged = talk(&folder, "jordan", &["merge draft"]);
    assert_eq!(merged[0]["added"], 2);
}

#[test]
fn a_discarded_fork_is_gone_for_the_agent_that_holds_it() {
    let folder = Folder::new();
    let answers = talk(
        &folder,
        "jordan",
        &[
            "remember Jordan likes tea.",
            "in draft remember Jordan likes marmalade.",
            "discard draft",
            "recall what does Jordan like",
            "fork draft",
        ],
    );
    assert_eq!(answers[2], "gone");
    assert_eq!(answers[3].as_array().unwrap().len(), 1);
    assert_eq!(answers[4], 1, "a new one, of the memory as it is");
}

#[test]
fn a_fork_is_the_customers_own_whatever_its_name() {
    let folder = Folder::new();
    talk(&folder, "jordan", &["in draft remember Jordan likes tea."]);
    for (message, code) in [
        ("fork jordan/draft", "invalid"),
        ("fork ../draft", "invalid"),
        ("fork -x", "invalid"),
    ] {
        let ran = folder.say(FORKING_AGENT, message, &["--resource", "robin", "--json"]);
        assert_eq!(ran.json()["error"]["code"], code, "{ran:?}");
    }
    // Of the same name, and another one.
    assert_eq!(talk(&folder, "robin", &["fork draft"])[0], 0);
}

#[test]
fn episodes_are_read_along_the_line_of_forks_and_as_a_tree() {
    let folder = Folder::new();
    let answers = talk(
        &folder,
        "jordan",
        &[
            "remember Jordan likes tea.",
            "fork draft",
            "in draft lineage",
            "set mood calm",
            "in draft lineage",
        ],
    );
    let first = answers[2].as_array().unwrap();
    assert_eq!(first[0], "session-started");
    assert_eq!(first.last().unwrap(), "memory-forked");
    // What came after the fork is no past of it.
    assert_eq!(answers[4], answers[2]);
    memory(&folder, "set", "draft", &["ticket", "T-1"]).succeeded();
    let answers = talk(&folder, "jordan", &["tree", "in draft tree"]);
    let tree = answers[0].as_array().unwrap();
    let shape: Vec<_> = tree.iter().map(|node| (&node[0], &node[1])).collect();
    assert_eq!(
        shape,
        [
            (&json!(0), &Value::Null),
            (&json!(1), &json!(0)),
            (&json!(2), &Value::Null)
        ]
    );
    assert_eq!(tree[1][2], 3, "begun, set, ended");
    assert_eq!(answers[1], json!([[0, null, 3]]));
}

#[test]
fn what_was_recalled_in_a_fork_is_explained_from_the_fork() {
    let folder = Folder::new();
    talk(
        &folder,
        "jordan",
        &[
            "in draft remember Jordan likes marmalade.",
            "in draft recall marmalade",
        ],
    );
    let recalled = folder.entries("recalled")[0]["index"].to_string();
    let why = || {
        let why = folder
            .host(&["memory", "why", &recalled, "--json"])
            .succeeded();
        why.json()["receipts"][0]["facts"][0]["content"].clone()
    };
    assert_eq!(why(), "Jordan likes marmalade.");
    memory(&folder, "forget", "draft", &["--key", "none"]).failed(1, &["1 of 1"]);
    let list = memory(&folder, "list", "draft", &["--json"])
        .succeeded()
        .json();
    let id = list["facts"][0]["id"].as_str().unwrap();
    memory(&folder, "forget", "draft", &[id]).succeeded();
    let session = folder.entries("turn-started")[0]["session"].clone();
    let session = session.as_str().unwrap();
    let arguments = ["memory", "why", &recalled, "--session", session, "--json"];
    let why = folder.host(&arguments).succeeded().json();
    assert_eq!(why["receipts"][0]["facts"][0]["content"], Value::Null);
}

#[test]
fn an_operator_makes_compares_merges_and_discards_forks() {
    let folder = Folder::new();
    let of_jordan = ["memory", "forks", "--resource", "jordan", "--json"];
    talk(
        &folder,
        "jordan",
        &["remember Jordan likes tea.", "set mood calm"],
    );
    assert_eq!(
        folder.host(&of_jordan).succeeded().json()["forks"],
        json!([])
    );
    let made = memory(&folder, "fork", "draft", &["--json"])
        .succeeded()
        .json();
    assert_eq!(
        made,
        json!({ "resource": "jordan", "fork": "draft", "facts": 1 })
    );
    memory(&folder, "fork", "draft/shorter", &["--json"]).succeeded();
    let forks = folder.host(&of_jordan).succeeded().json();
    let names: Vec<&str> = forks["forks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fork| fork["fork"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["draft", "draft/shorter"]);

    memory(&folder, "set", "draft", &["mood", "angry"]).succeeded();
    let set = memory(&folder, "set", "draft", &["ticket", "7", "--json"]).succeeded();
    assert_eq!(
        set.json(),
        json!({ "resource": "jordan", "fork": "draft", "key": "ticket", "value": 7 })
    );
    let list = memory(&folder, "list", "draft", &["--json"])
        .succeeded()
        .json();
    assert_eq!(list["fork"], "draft");
    assert_eq!(list["working"], json!({ "mood": "angry", "ticket": 7 }));
    assert_eq!(contents(&list), ["Jordan likes tea."]);
    let found = memory(
        &folder,
        "recall",
        "draft",
        &["tea", "--mode", "words", "--json"],
    )
    .succeeded()
    .json();
    assert_eq!(found["facts"].as_array().unwrap().len(), 1);

    let difference = memory(&folder, "diff", "draft", &["--json"])
        .succeeded()
        .json();
    assert_eq!(difference["working"], json!(["mood", "ticket"]));
    assert_eq!(difference["conflicts"], json!([]));
    folder
        .host(&["memory", "set", "--resource", "jordan", "mood", "sad"])
        .succeeded();
    let told = memory(&folder, "diff", "draft", &[]).succeeded();
    assert!(told.stdout.contains("! working memory mood"), "{told:?}");
    let merged = memory(&folder, "merge", "draft", &["--json"])
        .succeeded()
        .json();
    assert_eq!(
        merged,
        json!({
            "resource": "jordan", "fork": "draft", "added": 1, "changed": 0, "removed": 0,
            "conflicts": [{ "working": "mood" }],
        })
    );
    let discarded = memory(&folder, "discard", "draft", &["--json"])
        .succeeded()
        .json();
    assert_eq!(discarded["discarded"]["forks"], 1);
    assert_eq!(
        folder.host(&of_jordan).succeeded().json()["forks"],
        json!([])
    );
    let list = folder
        .host(&["memory", "list", "--resource", "jordan", "--json"])
        .succeeded()
        .json();
    assert_eq!(list["working"], json!({ "mood": "sad", "ticket": 7 }));
    folder.host(&["ledger", "verify"]).succeeded();
    folder.host(&["doctor"]).succeeded();
    // No session of the operator's is left open.
    let sessions = folder.host(&["sessions", "--json"]).succeeded().json();
    let open = sessions["sessions"].as_array().unwrap().iter();
    assert_eq!(open.filter(|one| one["status"] == "running").count(), 0);
}

#[test]
fn a_fork_that_is_not_there_is_told_with_what_lists_them() {
    let folder = Folder::new();
    talk(&folder, "jordan", &["remember Jordan likes tea."]);
    for command in ["list", "diff", "merge", "discard"] {
        memory(&folder, command, "none", &[]).failed(1, &["no fork `none`", "host memory forks"]);
    }
    memory(&folder, "set", "none", &["mood", "calm"]).failed(1, &["no fork `none`"]);
    memory(&folder, "fork", "a b", &[]).failed(2, &["no name of a fork"]);
    folder
        .host(&["memory", "merge", "--resource", "jordan"])
        .failed(2, &["--fork"]);
    memory(&folder, "fork", "draft", &[]).succeeded();
    memory(&folder, "erase", "draft", &["--yes"]).failed(2, &["host memory discard"]);
}

#[test]
fn no_byte_of_a_discarded_fork_is_left() {
    let folder = Folder::new();
    talk(
        &folder,
        "jordan",
        &["remember Jordan likes tea.", "in draft set mood calm"],
    );
    for _ in 0..3 {
        memory(&folder, "set", "draft", &["note", "marmalade"]).succeeded();
    }
    let holds = || {
        let files = std::fs::read_dir(folder.path().join(".keepsake")).unwrap();
        files.flatten().any(|file| {
            let bytes = std::fs::read(file.path()).unwrap_or_default();
            bytes.windows(9).any(|window| window == b"marmalade")
        })
    };
    assert!(holds());
    memory(&folder, "discard", "draft", &[]).succeeded();
    assert!(!holds());
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn erasing_a_customer_tells_of_the_forks_and_takes_them() {
    let folder = Folder::new();
    talk(
        &folder,
        "jordan",
        &[
            "remember Jordan likes tea.",
            "in draft remember Jordan likes marmalade.",
        ],
    );
    let erase = ["memory", "erase", "--resource", "jordan"];
    folder.host(&erase).failed(2, &["3 facts", "its fork"]);
    let erased = folder.host(&[&erase[..], &["--yes", "--json"]].concat());
    assert_eq!(erased.succeeded().json()["erased"]["forks"], 1);
    memory(&folder, "list", "draft", &[]).failed(1, &["no fork `draft`"]);
}
