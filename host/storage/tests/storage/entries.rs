//! Writing entries and reading them again.

use keepsake_storage::{BeginSession, Database, Kind};
use serde_json::json;

use crate::common::{
    TestFile, assert_invalid, assert_limit, assert_not_found, remember_text, resource,
};
use crate::tampering::{entry, ledger};

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
        assert_invalid(refused, call);
        let refused = file
            .database
            .append("a", Kind::Other(kind.name().to_owned()), json!({}))
            .await;
        assert_invalid(refused, call);
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
        assert_invalid(append(payload).await, "JSON object");
    }
    let largest = 16 * 1024 * 1024 - r#"{"a":""}"#.len();
    append(json!({ "a": "x".repeat(largest) })).await.unwrap();
    assert_limit(
        append(json!({ "a": "x".repeat(largest + 1) })).await,
        "ledger-payload-bytes",
    );
    let deep = (0..96).fold(json!(1), |inner, _| json!({ "a": inner }));
    assert_limit(append(deep).await, "ledger-payload-depth");
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
