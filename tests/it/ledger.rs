//! `host ledger`: the record is complete, and whoever alters it is found out.

use rusqlite::Connection;

use crate::program::{Folder, Ran};

fn with_entries() -> Folder {
    let folder = Folder::new();
    folder.unruly("exec echo one").succeeded();
    folder.unruly("remember Jordan likes green tea").succeeded();
    folder
}

fn alter(folder: &Folder, sql: &str) {
    let database = Connection::open(folder.database()).unwrap();
    database.execute_batch(sql).unwrap();
}

#[track_caller]
fn verify(folder: &Folder) -> Ran {
    folder.host(&["ledger", "verify"])
}

#[test]
fn an_untouched_ledger_is_intact() {
    let folder = with_entries();
    let ran = verify(&folder).succeeded();
    assert!(ran.stdout.contains("intact"), "{ran:?}");
    let report = folder
        .host(&["ledger", "verify", "--json"])
        .succeeded()
        .json();
    assert_eq!(report["intact"], true);
    assert_eq!(report["sessions"], 2);
}

#[test]
fn every_effect_is_an_entry_in_order() {
    let folder = Folder::new();
    let turn = folder
        .say(
            keepsake_test_artifacts::UNRULY_AGENT,
            "exec echo one",
            &["--resource", "jordan", "--json"],
        )
        .succeeded()
        .json();
    let session = turn["session"].as_str().unwrap();
    let shown = folder
        .host(&["ledger", "show", "--session", session, "--json"])
        .succeeded()
        .json();
    let kinds: Vec<_> = shown["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "session-started",
            "turn-started",
            "sandbox-opened",
            "exec-started",
            "exec-output",
            "exec-completed",
            "turn-completed",
            "sandbox-closed",
            "session-ended",
        ]
    );
    let indexes: Vec<_> = shown["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["index"].as_u64().unwrap())
        .collect();
    assert_eq!(indexes, (0..9).collect::<Vec<u64>>());
    folder
        .host(&["ledger", "show", "--session", "nowhere"])
        .failed(1, &["there is no session `nowhere`", "host sessions"]);
}

#[test]
fn an_edited_entry_is_named() {
    let folder = with_entries();
    alter(
        &folder,
        "UPDATE entries SET payload = replace(payload, 'one', 'two') WHERE kind = 'exec-completed'",
    );
    let ran = verify(&folder).failed(6, &["altered"]);
    assert!(ran.stdout.contains("entry 5"), "{ran:?}");
}

#[test]
fn a_removed_entry_is_named() {
    let folder = with_entries();
    alter(&folder, "DELETE FROM entries WHERE kind = 'exec-started'");
    let ran = verify(&folder).failed(6, &["altered"]);
    assert!(ran.stdout.contains("entry 3"), "{ran:?}");
}
