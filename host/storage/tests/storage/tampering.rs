//! Whatever another program does to the ledger is found, and named.

use keepsake_storage::{BeginSession, Database, Fault, Kind, VerifyReport};
use serde_json::json;

use crate::common::{TestFile, assert_not_found, remember_text, resource};

/// Sessions `a`, `b` and `c`, the second of another resource, with the entries 0 to 5.
async fn ledger() -> TestFile {
    let file = TestFile::new().await;
    for (id, name) in [("a", "jordan"), ("b", "taylor"), ("c", "jordan")] {
        file.session_with_commands(id, name, 5).await;
    }
    file.assert_intact().await;
    file
}

fn names(report: &VerifyReport, session: &str, index: Option<u64>, words: &str) -> bool {
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
fn entry(place: u64) -> String {
    format!("session = (SELECT number FROM sessions WHERE id = 'b') AND place = {place}")
}

#[tokio::test]
async fn what_nobody_touched_is_intact() {
    let file = TestFile::new().await;
    let empty = file.database.verify(None).await.unwrap();
    assert!(empty.intact && empty.entries == 0 && empty.heads.is_empty());

    let file = ledger().await;
    file.database.end_session("a", json!({})).await.unwrap();
    file.command("b", "after another session ended").await;
    let whole = file.database.verify(None).await.unwrap();
    assert!(whole.intact, "{:?}", whole.faults);
    assert_eq!((whole.sessions, whole.entries), (3, 20));
    let heads: Vec<(&str, u64)> = whole
        .heads
        .iter()
        .map(|head| (head.session.as_str(), head.entries))
        .collect();
    assert_eq!(heads, [("a", 7), ("b", 7), ("c", 6)]);
    let one = file.database.verify(Some("b")).await.unwrap();
    assert!(one.intact);
    assert_eq!((one.sessions, one.entries), (1, 7));
    assert_eq!(one.heads[0], whole.heads[1]);
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
async fn a_session_by_itself_says_nothing_of_the_others() {
    let file = ledger().await;
    file.tamper(&format!(
        "UPDATE entries SET at = at + 1 WHERE {}",
        entry(2)
    ));
    assert!(file.database.verify(Some("a")).await.unwrap().intact);
    assert!(file.database.verify(Some("c")).await.unwrap().intact);
    assert!(!file.database.verify(Some("b")).await.unwrap().intact);
    assert_not_found(file.database.verify(Some("d")).await);
    assert_not_found(file.database.verify(Some("")).await);
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

#[tokio::test]
async fn faults_are_listed_up_to_a_bound() {
    let file = TestFile::new().await;
    file.session_with_commands("a", "jordan", 1_100).await;
    file.tamper("UPDATE entries SET hash = zeroblob(32)");
    let report = file.database.verify(None).await.unwrap();
    assert_eq!(report.faults.len(), 1_000);
    assert!(report.more_faults && !report.intact);
    assert_eq!(report.entries, 1_101);
}

#[tokio::test]
async fn a_ledger_goes_on_after_tampering_and_still_says_so() {
    let file = ledger().await;
    file.tamper(&format!(
        "UPDATE entries SET at = at + 1 WHERE {}",
        entry(2)
    ));
    file.command("b", "later").await;
    let report = file.database.verify(None).await.unwrap();
    assert_eq!(report.faults.len(), 1, "{report:#?}");
    assert!(names(&report, "b", Some(2), "was changed"));
}

#[tokio::test]
async fn only_the_ledger_itself_writes_what_has_a_call_of_its_own() {
    let file = ledger().await;
    for (kind, call) in [
        (Kind::SessionStarted, "begin_session"),
        (Kind::SessionResumed, "resume_session"),
        (Kind::SessionEnded, "end_session"),
        (Kind::PayloadErased, "forget"),
    ] {
        let refused = file.database.append("a", kind.clone(), json!({})).await;
        crate::common::assert_invalid(refused, call);
        let refused = file
            .database
            .append("a", Kind::Other(kind.name().to_owned()), json!({}))
            .await;
        crate::common::assert_invalid(refused, call);
    }
    file.assert_intact().await;
}

#[tokio::test]
async fn entries_can_be_paged_and_pointed_at() {
    let file = ledger().await;
    let first = file.database.entries("b", None, 4).await.unwrap();
    let second = file.database.entries("b", first.next, 4).await.unwrap();
    assert_eq!(first.next, Some(3));
    assert_eq!(second.next, None);
    let indexes: Vec<u64> = first
        .entries
        .iter()
        .chain(&second.entries)
        .map(|e| e.index)
        .collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4, 5]);
    assert_eq!(second.entries[0].prev, first.entries[3].hash);
    assert!(
        file.database
            .entries("b", Some(u64::MAX), 4)
            .await
            .unwrap()
            .entries
            .is_empty()
    );
    assert_not_found(file.database.entries("d", None, 4).await);

    let mut pointer = second.entries[1].entry_ref();
    assert_eq!(
        file.database.entry(&pointer).await.unwrap().as_ref(),
        Some(&second.entries[1])
    );
    pointer.hash = Some("00".repeat(32));
    assert_eq!(file.database.entry(&pointer).await.unwrap(), None);
    pointer.hash = None;
    pointer.index = u64::MAX;
    assert_eq!(file.database.entry(&pointer).await.unwrap(), None);
}

#[tokio::test]
async fn what_another_program_left_in_an_entry_is_an_error_that_says_so() {
    let file = ledger().await;
    file.tamper(&format!(
        "UPDATE entries SET payload = 'no JSON' WHERE {}",
        entry(2)
    ));
    let error = file
        .database
        .entries("b", None, 10)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("entry 2 of session `b`") && error.contains("ledger verify"),
        "{error}"
    );

    file.tamper(&format!(
        "UPDATE entries SET payload = CAST(x'ff' AS TEXT) WHERE {}",
        entry(2)
    ));
    let error = file
        .database
        .entries("b", None, 10)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no host wrote") && !error.contains("report it"),
        "{error}"
    );
}

#[tokio::test]
async fn a_payload_is_an_object_within_its_bounds() {
    let file = ledger().await;
    let append = |payload| file.database.append("a", Kind::ExecCompleted, payload);
    for payload in [json!(null), json!([]), json!("text"), json!(1)] {
        crate::common::assert_invalid(append(payload).await, "JSON object");
    }
    let largest = 16 * 1024 * 1024 - r#"{"a":""}"#.len();
    append(json!({ "a": "x".repeat(largest) })).await.unwrap();
    crate::common::assert_limit(
        append(json!({ "a": "x".repeat(largest + 1) })).await,
        "ledger-payload-bytes",
    );
    let deep = (0..96).fold(json!(1), |inner, _| json!({ "a": inner }));
    crate::common::assert_limit(append(deep).await, "ledger-payload-depth");
    file.assert_intact().await;
}

#[tokio::test]
async fn a_ledger_is_read_the_same_after_the_file_was_opened_again() {
    let file = ledger().await;
    let memory = file.memory("jordan").await;
    remember_text(&memory, "Jordan is on the Pro plan").await;
    let before = file.database.verify(None).await.unwrap();
    let (path, TestFile { folder, database }) = (file.path(), file);
    drop((memory, database));
    let again = Database::open(path).await.unwrap();
    assert_eq!(again.verify(None).await.unwrap(), before);
    again
        .begin_session(BeginSession::new(resource("jordan"), "support"))
        .await
        .unwrap();
    assert!(again.verify(None).await.unwrap().intact);
    drop(folder);
}
