//! A backup from one process, restored by another.

use crate::program::Folder;

const UPGRADE: &str = "Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd.";

fn say(folder: &Folder, message: &str) -> String {
    let arguments = ["--resource", "jordan"];
    let said = folder.say("support-agent", message, &arguments);
    said.succeeded().stdout
}

#[test]
fn what_was_backed_up_is_known_and_verified_elsewhere() {
    let (here, elsewhere) = (Folder::new(), Folder::new());
    say(&here, UPGRADE);
    let backup = here.path().join("backup.db");
    let backup = backup.to_str().unwrap();
    let made = here.host(&["memory", "backup", backup, "--json"]);
    assert!(made.succeeded().json()["bytes"].as_u64() > Some(10_000));
    let restored = elsewhere.host(&["memory", "restore", backup, "--json"]);
    let restored = restored.succeeded().json();
    assert_eq!(restored["counts"]["facts"], 1);
    assert!(restored["ledger_entries_verified"].as_u64() > Some(5));
    assert!(restored["replaced"].is_null());
    assert_eq!(elsewhere.facts("jordan"), here.facts("jordan"));
    assert_eq!(elsewhere.facts("jordan")[0]["verified"], true);
    let reply = say(&elsewhere, "Which plan am I on?");
    assert!(
        reply.contains("Pro") && reply.contains("(verified)"),
        "{reply}"
    );
    elsewhere.host(&["doctor"]).succeeded();
    elsewhere.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn a_restoration_asks_before_it_replaces_and_keeps_what_was_there() {
    let folder = Folder::new();
    say(&folder, UPGRADE);
    folder.host(&["memory", "backup", "backup.db"]).succeeded();
    folder
        .host(&["memory", "backup", "backup.db"])
        .failed(2, &["exists", "name another file"]);
    say(&folder, "I downgraded to the Free plan today.");
    folder
        .host(&["memory", "restore", "backup.db"])
        .failed(2, &["nothing was restored", "--replace"]);
    let restored = folder
        .host(&["memory", "restore", "backup.db", "--replace", "--json"])
        .succeeded()
        .json();
    let replaced = restored["replaced"].as_str().unwrap();
    assert!(std::path::Path::new(replaced).is_file(), "{replaced}");
    let facts = folder.facts("jordan");
    assert!(
        facts[0]["content"].as_str().unwrap().contains("Pro"),
        "{facts:?}"
    );
}

#[test]
fn what_is_no_backup_is_refused_with_its_reason() {
    let folder = Folder::new();
    folder
        .host(&["memory", "backup", "backup.db"])
        .failed(5, &["there is no memory"]);
    folder.write(
        "notes.txt",
        "Not a database, but long enough to be looked at.",
    );
    folder
        .host(&["memory", "restore", "notes.txt"])
        .failed(5, &["is not a database"]);
    say(&folder, UPGRADE);
    folder.host(&["memory", "backup", "backup.db"]).succeeded();
    let backup = rusqlite::Connection::open(folder.path().join("backup.db")).unwrap();
    let changed = backup
        .execute(
            "UPDATE entries SET payload = replace(payload, 'Pro', 'Max')",
            [],
        )
        .unwrap();
    assert!(changed > 0);
    drop(backup);
    let elsewhere = Folder::new();
    let altered = folder.path().join("backup.db");
    elsewhere
        .host(&["memory", "restore", altered.to_str().unwrap()])
        .failed(5, &["its ledger was altered"]);
    assert!(!elsewhere.database().exists());
}
