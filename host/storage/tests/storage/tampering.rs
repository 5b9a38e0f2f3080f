//! Whatever another program does to the ledger is found, and named.

use keepsake_storage::{Fault, VerifyReport};

use crate::common::TestFile;

/// Sessions `a`, `b` and `c`, the second of another resource, with the entries 0 to 5.
pub(crate) async fn ledger() -> TestFile {
    let file = TestFile::new().await;
    for (id, name) in [("a", "jordan"), ("b", "taylor"), ("c", "jordan")] {
        file.session_with_commands(id, name, 5).await;
    }
    file.assert_intact().await;
    file
}

pub(crate) fn names(report: &VerifyReport, session: &str, index: Option<u64>, words: &str) -> bool {
    report.faults.iter().any(|fault: &Fault| {
        fault.session == session && fault.index == index && fault.what.contains(words)
    })
}

/// Does `statements` to a fresh ledger and expects a fault that names the
/// place, both in the whole ledger and in the session by itself.
async fn finds(statements: &str, session: &str, index: Option<u64>, words: &str) {
    let file = ledger().await;
    file.tamper(statements);
    for only in [None, Some(session)] {
        let report = file.database.verify(only).await.unwrap();
        assert!(!report.intact, "not found: {statements}");
        assert!(
            names(&report, session, index, words),
            "{statements}\nexpected {session} {index:?} \"{words}\" in {:#?}",
            report.faults
        );
    }
}

/// The entry with `place` in session `b`.
pub(crate) fn entry(place: u64) -> String {
    format!("session = (SELECT number FROM sessions WHERE id = 'b') AND place = {place}")
}

#[tokio::test]
async fn a_change_to_any_part_of_an_entry_is_found() {
    let changed = "was changed";
    for (change, words) in [
        (
            r#"payload = '{"stdout":"another output"}'"#,
            "payload was changed",
        ),
        ("payload = payload || ' '", "payload was changed"),
        ("payload = 'no JSON'", "payload was changed"),
        ("payload = CAST(x'ff' AS TEXT)", "form of an entry"),
        ("salt = zeroblob(16)", "payload was changed"),
        ("salt = NULL", "salt was removed"),
        ("payload = NULL", "not by an erasure"),
        (
            "salt = NULL, payload = NULL",
            "no entry says that it was erased",
        ),
        (
            "salt = NULL, payload = NULL, erased_by = 1",
            "no entry says that it was erased",
        ),
        ("payload_hash = zeroblob(32)", changed),
        ("hash = zeroblob(32)", changed),
        ("hash = x''", changed),
        ("prev = zeroblob(32)", changed),
        ("kind = 'exec-started'", changed),
        ("kind = CAST(x'ff' AS TEXT)", "form of an entry"),
        ("at = at + 1", changed),
        ("at = -1", "form of an entry"),
        (
            "scope = (SELECT id FROM scopes WHERE resource = 'jordan')",
            "another resource",
        ),
    ] {
        for place in [0, 2, 5] {
            finds(
                &format!("UPDATE entries SET {change} WHERE {}", entry(place)),
                "b",
                Some(place),
                words,
            )
            .await;
        }
    }
}

#[tokio::test]
async fn entries_that_were_removed_are_found() {
    for (places, first, words) in [
        ("place = 0", 0, "removed"),
        ("place = 2", 2, "it was removed"),
        ("place BETWEEN 2 AND 4", 2, "entries 2 to 4 were removed"),
        ("place = 5", 5, "it was removed at the end"),
        ("place >= 3", 3, "entries 3 to 5 were removed at the end"),
        ("place >= 0", 0, "entries 0 to 5 were removed at the end"),
    ] {
        finds(
            &format!(
                "DELETE FROM entries WHERE session = (SELECT number FROM sessions WHERE id = 'b') AND {places}"
            ),
            "b",
            Some(first),
            words,
        )
        .await;
    }
}

#[tokio::test]
async fn removing_the_last_entry_and_lowering_the_count_is_found() {
    let shorten = format!(
        "DELETE FROM entries WHERE {};
         UPDATE sessions SET entries = 5 WHERE id = 'b'",
        entry(5)
    );
    finds(
        &shorten,
        "b",
        Some(4),
        "not the entry that was written last",
    )
    .await;
}

#[tokio::test]
async fn a_last_entry_removed_with_count_and_head_shows_only_in_heads_kept_elsewhere() {
    let file = ledger().await;
    let kept = file.database.verify(None).await.unwrap().heads;
    file.tamper(&format!(
        "DELETE FROM entries WHERE {};
         UPDATE sessions SET entries = 5, head_hash = (SELECT hash FROM entries WHERE {})
         WHERE id = 'b'",
        entry(5),
        entry(4)
    ));
    let report = file.database.verify(None).await.unwrap();
    assert!(report.intact);
    assert_ne!(report.heads, kept);
    assert_eq!(report.heads[1].entries, 5);
}

#[tokio::test]
async fn a_session_that_was_removed_is_found() {
    let remove = |id: &str| {
        format!(
            "DELETE FROM entries WHERE session = (SELECT number FROM sessions WHERE id = '{id}');
             DELETE FROM sessions WHERE id = '{id}'"
        )
    };
    finds(&remove("a"), "b", None, "before this one was removed").await;
    finds(&remove("b"), "c", None, "before this one was removed").await;
    finds(&remove("b"), "c", Some(0), "does not follow the session").await;
    finds(&remove("c"), "c", None, "the newest, was removed").await;

    let file = ledger().await;
    file.tamper("DELETE FROM sessions WHERE id = 'b'");
    let report = file.database.verify(None).await.unwrap();
    assert!(
        names(&report, "b", None, "6 of its entries are left"),
        "{report:#?}"
    );

    let file = ledger().await;
    file.tamper(
        "UPDATE entries SET payload = 'no JSON' WHERE place = 0; DELETE FROM sessions WHERE id = 'b'",
    );
    let report = file.database.verify(None).await.unwrap();
    assert!(names(&report, "number 2", None, "are left"), "{report:#?}");

    let file = ledger().await;
    file.tamper("DELETE FROM entries; DELETE FROM sessions; DELETE FROM session_sandboxes");
    let report = file.database.verify(None).await.unwrap();
    assert!(
        names(&report, "c", None, "the newest, was removed"),
        "{report:#?}"
    );
}

#[tokio::test]
async fn the_record_of_the_newest_session_is_guarded_too() {
    for (statements, index, words) in [
        (
            "DELETE FROM chain",
            None,
            "record of the newest session was removed",
        ),
        (
            "UPDATE chain SET sessions = 2",
            None,
            "2 sessions were created",
        ),
        (
            "UPDATE chain SET sessions = -2",
            None,
            "0 sessions were created",
        ),
        (
            "UPDATE chain SET newest_first = zeroblob(32)",
            Some(0),
            "newest session began with",
        ),
    ] {
        finds(statements, "c", index, words).await;
    }
}

#[tokio::test]
async fn entries_that_were_inserted_are_found() {
    // With the hashes of another entry.
    let insert = "INSERT INTO entries (session, place, scope, at, kind, payload_hash, prev, hash, salt, payload)
         SELECT session, 6, scope, at, kind, payload_hash, prev, hash, salt, payload FROM entries WHERE "
        .to_owned()
        + &entry(5);
    finds(&insert, "b", Some(6), "was written as entry 5").await;
    finds(&insert, "b", None, "6 entries and now has 7").await;

    // With hashes that are right, since the host itself made them.
    let file = ledger().await;
    file.command("b", "one more").await;
    file.tamper(&format!(
        "UPDATE sessions SET entries = 6, head_hash = (SELECT hash FROM entries WHERE {})
         WHERE id = 'b'",
        entry(5)
    ));
    let report = file.database.verify(Some("b")).await.unwrap();
    assert!(
        names(&report, "b", None, "entries were inserted"),
        "{report:#?}"
    );
}

#[tokio::test]
async fn entries_that_changed_places_are_found() {
    let swap = format!(
        "UPDATE entries SET place = 99 WHERE {};
         UPDATE entries SET place = 2 WHERE {};
         UPDATE entries SET place = 3 WHERE {}",
        entry(2),
        entry(3),
        entry(99)
    );
    finds(&swap, "b", Some(2), "written as entry 3").await;
    finds(&swap, "b", Some(3), "written as entry 2").await;
}

#[tokio::test]
async fn an_entry_copied_from_another_session_is_found() {
    let copy = format!(
        "UPDATE entries SET (at, kind, payload_hash, prev, hash, salt, payload) =
            (SELECT at, kind, payload_hash, prev, hash, salt, payload FROM entries
             WHERE session = (SELECT number FROM sessions WHERE id = 'a') AND place = 2)
         WHERE {}",
        entry(2)
    );
    finds(&copy, "b", Some(2), "not written by this ledger").await;
}

#[tokio::test]
async fn an_entry_that_a_host_wrote_into_another_file_is_found() {
    let (file, other) = (ledger().await, ledger().await);
    let attach = format!("ATTACH '{}' AS other;", other.path().display());
    file.tamper(&format!(
        "{attach}
         UPDATE entries SET (at, payload_hash, prev, hash, salt, payload) =
            (SELECT at, payload_hash, prev, hash, salt, payload FROM other.entries o
             WHERE o.session = entries.session AND o.place = 2)
         WHERE {}",
        entry(2)
    ));
    let report = file.database.verify(Some("b")).await.unwrap();
    assert!(
        names(&report, "b", Some(2), "does not follow entry 1"),
        "{report:#?}"
    );
    assert!(
        names(&report, "b", Some(3), "does not follow entry 2"),
        "{report:#?}"
    );

    // The whole session, with its count and head.
    let file = ledger().await;
    file.tamper(&format!(
        "{attach}
         DELETE FROM entries WHERE session = 2;
         INSERT INTO entries SELECT * FROM other.entries WHERE session = 2;
         DELETE FROM sessions WHERE number = 2;
         INSERT INTO sessions SELECT * FROM other.sessions WHERE number = 2"
    ));
    let report = file.database.verify(None).await.unwrap();
    for session in ["b", "c"] {
        assert!(
            names(&report, session, Some(0), "does not follow the session"),
            "{report:#?}"
        );
    }
}

#[tokio::test]
async fn a_session_given_to_someone_else_is_found() {
    finds(
        "UPDATE sessions SET scope = (SELECT id FROM scopes WHERE resource = 'jordan') WHERE id = 'b'",
        "b",
        None,
        "resource or team",
    )
    .await;
    for change in ["resource = 'mallory'", "team = 'acme'"] {
        finds(
            &format!("UPDATE scopes SET {change} WHERE resource = 'taylor'"),
            "b",
            None,
            "resource or team",
        )
        .await;
    }
    finds(
        "UPDATE sessions SET agent = 'other' WHERE id = 'b'",
        "b",
        None,
        "agent",
    )
    .await;
    finds(
        "DELETE FROM scopes WHERE resource = 'taylor'",
        "b",
        None,
        "resource or team",
    )
    .await;
}

#[tokio::test]
async fn counts_and_hashes_in_a_sessions_record_are_compared() {
    for (change, index, words) in [
        ("entries = -1", None, "0 entries and now has 6"),
        (
            "entries = 9",
            Some(6),
            "entries 6 to 8 were removed at the end",
        ),
        (
            "first_hash = zeroblob(32)",
            Some(0),
            "that this session began with",
        ),
        ("first_hash = NULL", Some(0), "that this session began with"),
        ("head_hash = zeroblob(32)", Some(5), "written last"),
        ("head_hash = NULL", Some(5), "written last"),
    ] {
        finds(
            &format!("UPDATE sessions SET {change} WHERE id = 'b'"),
            "b",
            index,
            words,
        )
        .await;
    }
}

#[tokio::test]
async fn the_tables_take_no_value_of_another_type() {
    let file = ledger().await;
    let connection = file.other_program();
    for change in [
        "at = 'soon'",
        "hash = 'text'",
        "kind = x'00'",
        "prev = NULL",
    ] {
        let refused = connection.execute(&format!("UPDATE entries SET {change}"), []);
        assert!(refused.is_err(), "{change}");
    }
}
