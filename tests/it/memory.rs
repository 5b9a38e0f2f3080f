//! `host memory` and `host sessions`.

use serde_json::json;

use crate::program::Folder;

fn host(folder: &Folder, arguments: &[&str]) -> serde_json::Value {
    let mut all = vec!["memory"];
    all.extend(arguments);
    all.extend(["--resource", "jordan", "--json"]);
    folder.host(&all).succeeded().json()
}

#[test]
fn what_is_set_is_listed_and_what_is_forgotten_is_gone() {
    let folder = Folder::new();
    host(&folder, &["set", "colour", "green"]);
    host(&folder, &["set", "tries", "3"]);
    host(&folder, &["set", "nested", r#"{"a": [1, null]}"#]);
    let list = host(&folder, &["list"]);
    assert_eq!(
        list["working"],
        json!({ "colour": "green", "tries": 3, "nested": { "a": [1, null] } })
    );
    assert_eq!(list["facts"], json!([]));
    host(&folder, &["forget", "--key", "tries"]);
    assert_eq!(host(&folder, &["list"])["working"]["tries"], json!(null));
}

#[test]
fn facts_have_the_documented_form_and_can_be_forgotten() {
    let folder = Folder::new();
    folder.unruly("remember Jordan likes green tea").succeeded();
    let list = host(&folder, &["list"]);
    let fact = &list["facts"][0];
    for key in [
        "id",
        "content",
        "verified",
        "source",
        "created_at",
        "metadata",
    ] {
        assert!(fact.get(key).is_some(), "{key} is missing: {fact}");
    }
    assert_eq!(fact["content"], "Jordan likes green tea");
    assert_eq!(fact["verified"], false);
    let recalled = host(&folder, &["recall", "which tea"]);
    assert_eq!(recalled["query"], "which tea");
    assert_eq!(recalled["facts"][0]["id"], fact["id"]);
    assert!(recalled["facts"][0]["score"].is_number());
    host(&folder, &["forget", fact["id"].as_str().unwrap()]);
    assert_eq!(host(&folder, &["list"])["facts"], json!([]));
    assert_eq!(host(&folder, &["recall", "which tea"])["facts"], json!([]));
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn a_fact_can_be_forgotten_with_the_message_that_it_stood_in() {
    let folder = Folder::new();
    folder.unruly("remember marmalade quicksilver").succeeded();
    let id = folder.facts("jordan")[0]["id"].as_str().unwrap().to_owned();
    let done = host(&folder, &["forget", "--mentions", &id]);
    assert_eq!(done["facts"], 1);
    assert!(done["mentions"].as_u64().unwrap() >= 1, "{done}");
    let ledger = folder
        .host(&["ledger", "show", "--json"])
        .succeeded()
        .stdout;
    assert!(!ledger.contains("marmalade quicksilver"), "{ledger}");
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn forgetting_what_is_not_there_is_told() {
    let folder = Folder::new();
    host(&folder, &["set", "colour", "green"]);
    let ran = folder.host(&[
        "memory",
        "forget",
        "--resource",
        "jordan",
        "0198c0de-0000-7000-8000-000000000000",
    ]);
    assert!(
        format!("{}{}", ran.stdout, ran.stderr).contains('0'),
        "{ran:?}"
    );
    folder
        .host(&["memory", "forget", "--resource", "jordan"])
        .failed(2, &["FACTS"]);
}

#[test]
fn without_a_memory_the_reader_learns_how_one_begins() {
    let folder = Folder::new();
    for command in [
        vec!["memory", "list", "--resource", "jordan"],
        vec!["ledger", "verify"],
        vec!["sessions"],
    ] {
        folder
            .host(&command)
            .failed(5, &["there is no memory at", "host run", "--data"]);
    }
    assert!(
        !folder.path().join(".keepsake").exists(),
        "looking made something"
    );
}

#[test]
fn an_unknown_customer_has_an_empty_memory() {
    let folder = Folder::new();
    folder.unruly("remember something").succeeded();
    let list = folder
        .host(&["memory", "list", "--resource", "nobody", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        list,
        json!({ "resource": "nobody", "profile": {}, "working": {}, "facts": [] })
    );
}

#[test]
fn sessions_are_listed_newest_first_with_their_sandboxes() {
    let folder = Folder::new();
    let first = folder.unruly("exec true").succeeded();
    drop(first);
    folder
        .say(
            keepsake_test_artifacts::UNRULY_AGENT,
            "emit hello",
            &["--resource", "robin"],
        )
        .succeeded();
    let list = folder.host(&["sessions", "--json"]).succeeded().json();
    let sessions = list["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0]["resource"], "robin");
    assert_eq!(sessions[1]["sandboxes"].as_array().unwrap().len(), 1);
    let only = folder
        .host(&["sessions", "--resource", "robin", "--json"])
        .succeeded()
        .json();
    assert_eq!(only["sessions"].as_array().unwrap().len(), 1);
    let text = folder.host(&["sessions"]).succeeded().stdout;
    assert!(
        text.starts_with("SESSION") && text.lines().count() == 3,
        "{text}"
    );
}
