//! `host provider check`: sound providers pass, and those that break their
//! contract fail in the row that says how.

use keepsake_test_artifacts::{HASHED_EMBEDDINGS, MINIMAL_AGENT, UNRULY_EMBEDDINGS, UNRULY_MODEL};
use serde_json::Value;

use crate::program::{Folder, Ran};

fn check(folder: &Folder, plugin: &str) -> Ran {
    folder.host(&["provider", "check", plugin, "--json"])
}

/// The names of the rows that ended so.
fn rows(ran: &Ran, result: &str) -> Vec<String> {
    let found = ran.json();
    let checks = found["checks"].as_array().unwrap();
    let ended = checks.iter().filter(|check| check["result"] == result);
    ended
        .map(|check| check["check"].as_str().unwrap().to_owned())
        .collect()
}

fn unruly(misbehave: &str) -> Ran {
    let folder = Folder::configured(&format!(
        "[limits]\nturn-cpu-seconds = 0.5\n[settings.unruly-embeddings]\nmisbehave = {misbehave:?}\ndimensions = 512\n"
    ));
    check(&folder, UNRULY_EMBEDDINGS)
}

#[test]
fn each_bundled_and_example_provider_keeps_its_contract() {
    for (plugin, checks) in [
        ("embed-static", 18),
        (HASHED_EMBEDDINGS, 18),
        ("model-offline", 11),
        (UNRULY_MODEL, 11),
    ] {
        let ran = check(&Folder::new(), plugin);
        assert_eq!(rows(&ran, "failed"), [""; 0], "{ran:#?}");
        assert_eq!(rows(&ran, "skipped"), [""; 0], "{ran:#?}");
        assert_eq!(rows(&ran, "passed").len(), checks, "{ran:#?}");
        assert_eq!(ran.succeeded().json()["ok"], true);
    }
}

#[test]
fn an_embedding_provider_fails_in_the_row_that_says_how() {
    assert_eq!(unruly("sound").succeeded().json()["ok"], true);
    for (misbehave, failed) in [
        ("panic", "answers"),
        ("loop", "answers"),
        ("unavailable", "answers"),
        ("count", "count"),
        ("none", "count"),
        ("nan", "numbers"),
        ("infinite", "numbers"),
        ("width", "dimensions"),
        ("length", "length"),
        ("order", "order"),
        ("random", "determinism"),
        ("empty-list", "empty list"),
        ("empty-text", "empty text"),
        ("long", "long text"),
        ("emoji", "emoji"),
        ("right-to-left", "right-to-left"),
        ("nul", "NUL"),
        ("query", "query and passage"),
        ("tired", "10,000 texts"),
    ] {
        let ran = unruly(misbehave);
        // What is wrong at the root shows elsewhere too: vectors in another
        // order or that drift are those of other texts among many.
        assert_eq!(
            rows(&ran, "failed").first().map(String::as_str),
            Some(failed),
            "{ran:#?}"
        );
        if !["order", "random"].contains(&misbehave) {
            assert_eq!(rows(&ran, "failed").len(), 1, "{ran:#?}");
        }
        ran.failed(3, &["unruly-embeddings", failed, "what to do"]);
    }
}

#[test]
fn a_provider_without_any_meaning_is_told_so() {
    let failed = rows(&unruly("not at all"), "failed");
    assert_eq!(failed, ["query and passage", "similar texts"]);
}

#[test]
fn a_model_provider_fails_in_the_row_that_says_how() {
    for (misbehave, failed) in [
        ("panic", "answers"),
        ("refuse", "answers"),
        ("break-midway", "answers"),
    ] {
        let folder = Folder::configured(&format!(
            "[settings.unruly-model]\nmisbehave = {misbehave:?}\n"
        ));
        let ran = check(&folder, UNRULY_MODEL);
        assert_eq!(rows(&ran, "failed"), [failed], "{ran:#?}");
        ran.failed(3, &["unruly-model", failed]);
    }
}

#[test]
fn the_table_says_what_was_found_and_what_to_do() {
    let folder = Folder::configured("[settings.unruly-embeddings]\nmisbehave = \"count\"\n");
    let ran = folder.host(&["provider", "check", UNRULY_EMBEDDINGS]);
    let table: Vec<&str> = ran.stdout.lines().collect();
    assert!(table[0].starts_with("check"), "{ran:#?}");
    let place = table.iter().position(|row| row.starts_with("count"));
    let place = place.unwrap_or_else(|| panic!("{ran:#?}"));
    assert!(
        table[place].contains("FAIL    2 vectors for 1 texts"),
        "{ran:#?}"
    );
    assert!(
        table[place + 1].contains("to do: answer `embed` with one vector"),
        "{ran:#?}"
    );
    assert!(
        ran.stdout.contains("skipped what failed above comes first"),
        "{ran:#?}"
    );
    ran.failed(3, &["1 of 18 checks (count)"]);
}

#[test]
fn a_provider_that_cannot_be_asked_and_an_agent_are_refused_with_the_way_out() {
    let folder = Folder::new();
    folder
        .host(&["provider", "check", "model-openai"])
        .failed(3, &["[settings.model-openai]", "base-url"]);
    folder
        .host(&["provider", "check", MINIMAL_AGENT])
        .failed(3, &["is an agent", "host inspect"]);
    let ran = folder.host(&["provider", "check", "embed-statik"]);
    ran.failed(3, &["embed-static"]);
    let json: Value = check(&folder, "embed-static").succeeded().json();
    assert_eq!(json["kind"], "embedding-provider");
}
