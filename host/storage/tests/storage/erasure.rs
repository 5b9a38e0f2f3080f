//! What is forgotten is gone, from the file as well, and the chain still holds.

use keepsake_storage::{Kind, Memory, NewFact, RecallMode, RecallOptions, Verification};
use serde_json::{Value, json};

use crate::common::{TestFile, remember, remember_text};

const SECRET: &str = "Jordan's nickname is marmalade-quicksilver";

async fn words_found(memory: &Memory, query: &str) -> usize {
    let options = RecallOptions {
        mode: RecallMode::Words,
        ..RecallOptions::default()
    };
    memory
        .recall(query, None, options)
        .await
        .unwrap()
        .facts
        .len()
}

/// Whether any file of the database holds `text`.
fn on_disk(file: &TestFile, text: &str) -> bool {
    std::fs::read_dir(file.folder.path()).unwrap().any(|entry| {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    })
}

#[tokio::test]
async fn a_forgotten_fact_is_found_by_nothing() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let kept = remember_text(&memory, "Jordan likes tea").await.fact;
    let fact = remember_text(&memory, SECRET).await.fact;
    assert_eq!(words_found(&memory, "marmalade").await, 1);

    let unknown = "018f0000-0000-7000-8000-000000000000".to_owned();
    let ids = vec![
        fact.id.clone(),
        unknown,
        "no id".to_owned(),
        fact.id.clone(),
    ];
    assert_eq!(memory.forget(ids.clone()).await.unwrap(), 1);
    assert_eq!(memory.forget(ids).await.unwrap(), 0);

    assert_eq!(memory.find(&fact.id).await.unwrap(), None);
    assert_eq!(words_found(&memory, "marmalade").await, 0);
    assert_eq!(words_found(&memory, "tea").await, 1);
    assert_eq!(memory.list_facts(None, 10).await.unwrap().facts, [kept]);
    let connection = file.other_program();
    for table in ["facts", "postings", "vectors", "fact_entries"] {
        let left: i64 = connection
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                row.get(0)
            })
            .unwrap();
        let expected = match table {
            "facts" | "fact_entries" => 1,
            "postings" => 3,
            _ => 0,
        };
        assert_eq!(left, expected, "{table}");
    }
    assert_eq!(
        remember_text(&memory, SECRET).await.outcome,
        keepsake_storage::Outcome::Stored
    );
}

#[tokio::test]
async fn a_forgotten_text_is_in_no_file_once_the_database_is_closed() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let long = format!("{SECRET} {}", "and much more of it ".repeat(3_000));
    let fact = remember(
        &memory,
        NewFact {
            metadata: json!({ "note": "tangerine-umbrella" })
                .as_object()
                .unwrap()
                .clone(),
            ..NewFact::new(SECRET)
        },
    )
    .await
    .fact;
    let long = remember_text(&memory, &long).await.fact;
    remember_text(&memory, SECRET).await;
    assert!(on_disk(&file, "marmalade") && on_disk(&file, "tangerine"));

    assert_eq!(memory.forget(vec![fact.id, long.id]).await.unwrap(), 2);
    file.assert_intact().await;
    let TestFile { folder, database } = file;
    drop((memory, database));
    // The thread that writes ends by itself, and the last to close the file
    // takes the log with it.
    let closed = TestFile {
        database: reopened(folder.path()).await,
        folder,
    };
    assert!(!on_disk(&closed, "marmalade") && !on_disk(&closed, "tangerine"));
    closed.assert_intact().await;
}

async fn reopened(folder: &std::path::Path) -> keepsake_storage::Database {
    let log = folder.join("keepsake.db-wal");
    for _ in 0..500 {
        if !log.exists() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(!log.exists(), "the log is left behind");
    keepsake_storage::Database::open(folder.join("keepsake.db"))
        .await
        .unwrap()
}

#[tokio::test]
async fn the_ledger_says_what_was_erased_and_the_chain_holds() {
    let file = TestFile::new().await;
    let earlier = file.memory("jordan").await;
    let fact = remember_text(&earlier, SECRET).await.fact;
    let memory = file.memory("jordan").await;
    remember_text(&memory, SECRET).await;
    let entry = file.command(memory.session_id(), "plan: Pro").await;
    let learned = remember(
        &memory,
        NewFact {
            source: Some(entry),
            ..NewFact::new("Pro plan")
        },
    )
    .await
    .fact;
    memory.forget(vec![fact.id.clone()]).await.unwrap();

    file.assert_intact().await;
    let entries = file
        .database
        .entries(memory.session_id(), None, 100)
        .await
        .unwrap()
        .entries;
    let erased = entries
        .iter()
        .find(|entry| entry.kind == Kind::FactRepeated)
        .unwrap();
    assert_eq!(erased.payload, None);
    let forgotten = entries
        .iter()
        .find(|entry| entry.kind == Kind::FactForgotten)
        .unwrap();
    assert_eq!(forgotten.payload, Some(json!({ "facts": [fact.id] })));
    let erasing = entries
        .iter()
        .find(|entry| entry.kind == Kind::PayloadErased)
        .unwrap();
    assert_eq!(
        erasing.payload,
        Some(json!({ "entries": [
            { "session": earlier.session_id(), "index": 1 },
            { "session": memory.session_id(), "index": 1 },
        ]}))
    );
    // The chain that its source stands in goes through an erased entry.
    let again = memory.find(&learned.id).await.unwrap().unwrap();
    assert_eq!(again.verification, Verification::Verified);
}

#[tokio::test]
async fn an_erasure_covers_only_the_entries_that_it_names() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let fact = remember_text(&memory, SECRET).await.fact;
    file.command(memory.session_id(), "plan: Pro").await;
    memory.forget(vec![fact.id]).await.unwrap();
    file.assert_intact().await;

    let erasing = "(SELECT number FROM entries WHERE kind = 'payload-erased')";
    file.tamper(&format!(
        "UPDATE entries SET salt = NULL, payload = NULL, erased_by = {erasing} WHERE kind = 'exec-completed'"
    ));
    let faults = file.database.verify(None).await.unwrap().faults;
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].index == Some(2) && faults[0].what.contains("no entry says"));
}

#[tokio::test]
async fn an_erasure_that_was_tampered_with_covers_nothing() {
    for change in [
        "UPDATE entries SET payload = '{\"entries\":[]}' WHERE kind = 'payload-erased'",
        "UPDATE entries SET at = at + 1 WHERE kind = 'payload-erased'",
        "UPDATE entries SET kind = 'denied' WHERE kind = 'payload-erased'",
        "DELETE FROM entries WHERE kind = 'payload-erased'",
    ] {
        let file = TestFile::new().await;
        let memory = file.memory("jordan").await;
        let fact = remember_text(&memory, SECRET).await.fact;
        memory.forget(vec![fact.id]).await.unwrap();
        file.tamper(change);
        let faults = file.database.verify(None).await.unwrap().faults;
        assert_eq!(faults.len(), 2, "{change} {faults:?}");
        assert!(
            faults[0].index == Some(1) && faults[0].what.contains("no entry says"),
            "{change}"
        );
        assert_eq!(faults[1].index, Some(3), "{change}");
    }
}

#[tokio::test]
async fn many_facts_are_forgotten_at_once() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let facts = (0..2_500)
        .map(|number| NewFact::new(format!("fact number {number}")))
        .collect();
    let remembered = memory.remember_many(facts, None).await.unwrap();
    let ids: Vec<String> = remembered.into_iter().map(|one| one.fact.id).collect();
    assert_eq!(memory.forget(ids).await.unwrap(), 2_500);
    let entries = file
        .database
        .entries(memory.session_id(), Some(2_500), 1_000)
        .await
        .unwrap();
    let named: Vec<usize> = entries
        .entries
        .iter()
        .filter(|entry| entry.kind == Kind::PayloadErased)
        .map(|entry| {
            entry.payload.as_ref().unwrap()["entries"]
                .as_array()
                .map_or(0, Vec::len)
        })
        .collect();
    assert_eq!(named, [1_000, 1_000, 500]);
    file.assert_intact().await;
    crate::common::assert_limit(
        memory.forget(vec![String::new(); 10_001]).await,
        "remember-many-facts",
    );
}

#[tokio::test]
async fn nothing_is_recorded_where_nothing_was_forgotten() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    assert_eq!(memory.forget(Vec::new()).await.unwrap(), 0);
    assert_eq!(memory.forget(vec!["unknown".to_owned()]).await.unwrap(), 0);
    let entries = file
        .database
        .entries(memory.session_id(), None, 10)
        .await
        .unwrap()
        .entries;
    let payload: &Value = entries[0].payload.as_ref().unwrap();
    assert_eq!(
        (entries.len(), payload["resource"].as_str()),
        (1, Some("jordan"))
    );
}

#[tokio::test]
async fn with_its_mentions_a_forgotten_text_is_in_no_entry_and_other_facts_keep_theirs() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let text = "my \"card\" is 4111";
    let message = json!({ "message": format!("hello, {text}") });
    file.database
        .append(memory.session_id(), Kind::TurnStarted, message.clone())
        .await
        .unwrap();
    let source = file.command(memory.session_id(), "nothing of it").await;
    let kept = remember(
        &memory,
        NewFact {
            source: Some(source),
            ..NewFact::new(format!("Jordan said that {text}"))
        },
    )
    .await
    .fact;
    let fact = remember_text(&memory, text).await.fact;
    let other = file.memory("robin").await;
    file.database
        .append(other.session_id(), Kind::TurnStarted, message)
        .await
        .unwrap();

    let unknown = memory
        .forget_with_mentions(vec!["unknown".to_owned()])
        .await;
    assert_eq!(unknown.unwrap(), (0, 0));
    let done = memory.forget_with_mentions(vec![fact.id]).await.unwrap();
    assert_eq!(done, (1, 1));
    let says = async |memory: &Memory| -> Vec<String> {
        let session = memory.session_id();
        let page = file.database.entries(session, None, 100).await.unwrap();
        page.entries
            .into_iter()
            .filter_map(|entry| entry.payload)
            .map(|payload| payload.to_string())
            .filter(|payload| payload.contains("4111"))
            .collect()
    };
    let left = says(&memory).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].contains("Jordan said"));
    assert_eq!(says(&other).await.len(), 1, "another's is not looked at");
    let kept = memory.find(&kept.id).await.unwrap().unwrap();
    assert_eq!(kept.verification, Verification::Verified);
    file.assert_intact().await;
}
