//! All that is known of a resource is erased: nothing reads it any more, no file
//! holds its bytes, and the chain still holds.

use keepsake_storage::{
    Database, FactVectors, Kind, Memory, NewFact, Settings, StorageError, Verification,
};
use keepsake_types::ResourceRef;
use serde_json::json;

use crate::common::{TestFile, contents, remember, resource};

/// Words that stand for everything personal; each must be found nowhere after.
const SECRETS: [&str; 9] = [
    "marmalade-fact",
    "marmalade-metadata",
    "marmalade-key",
    "marmalade-value",
    "marmalade-profile",
    "marmalade-message",
    "marmalade-output",
    "marmalade-jordan",
    "marmalad",
];

/// Which of the secrets stand in a file of the database.
pub(crate) fn on_disk(folder: &std::path::Path) -> Vec<&'static str> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        for secret in SECRETS {
            let mut windows = bytes.windows(secret.len());
            if windows.any(|window| window == secret.as_bytes()) {
                found.push(secret);
            }
        }
    }
    found
}

async fn fill(file: &TestFile, name: &str) -> Memory {
    let memory = file.memory(name).await;
    fill_memory(file, &memory).await;
    memory
}

/// Gives a memory some of everything, many times over, so that pages were
/// split, freed and filled again.
pub(crate) async fn fill_memory(file: &TestFile, memory: &Memory) {
    for round in 0..30 {
        let session = memory.session_id();
        file.database
            .append(
                session,
                Kind::TurnStarted,
                json!({ "message": format!("marmalade-message {round} {}", "x".repeat(round * 300)) }),
            )
            .await
            .unwrap();
        let source = file
            .command(session, &format!("marmalade-output {round}"))
            .await;
        let facts: Vec<NewFact> = (0..20)
            .map(|number| NewFact {
                source: Some(source.clone()),
                metadata: json!({ "marmalade-metadata": number })
                    .as_object()
                    .unwrap()
                    .clone(),
                ..NewFact::new(format!(
                    "marmalade-fact {round} {number} {}",
                    "y".repeat(number * 40)
                ))
            })
            .collect();
        let vectors = FactVectors {
            model: "m".to_owned(),
            dimensions: 2,
            vectors: vec![vec![1.0, 0.5]; facts.len()],
        };
        let done = memory.remember_many(facts, Some(vectors)).await.unwrap();
        if round % 3 == 0 {
            let ids = done.into_iter().map(|one| one.fact.id).collect();
            memory.forget(ids).await.unwrap();
        }
        memory
            .set(&format!("marmalade-key-{round}"), json!("marmalade-value"))
            .await
            .unwrap();
    }
    memory
        .update_profile(json!({ "name": "marmalade-profile" }), None)
        .await
        .unwrap();
}

#[tokio::test]
async fn nothing_of_an_erased_resource_is_read_and_others_are_as_they_were() {
    let file = TestFile::new().await;
    let other = file.memory("robin").await;
    let source = file.command(other.session_id(), "plan: Pro").await;
    let with_source = NewFact {
        source: Some(source),
        ..NewFact::new("Robin is on Pro")
    };
    remember(&other, with_source).await;
    let before = contents(&other).await;
    let memory = fill(&file, "marmalade-jordan").await;
    let name = resource("marmalade-jordan");
    let holdings = file.database.holdings(&name).await.unwrap().unwrap();
    assert_eq!(
        (
            holdings.facts,
            holdings.working_keys,
            holdings.profiles,
            holdings.sessions
        ),
        (400, 30, 1, 1)
    );

    let erased = file.database.erase(&name).await.unwrap().unwrap();
    assert_eq!(erased.erased.facts, 400);
    assert!(erased.known_as.starts_with("erased-"));
    file.assert_intact().await;
    assert_eq!(contents(&other).await, before);
    assert_eq!(file.database.holdings(&name).await.unwrap(), None);
    assert_eq!(
        file.database.erase(&name).await.unwrap(),
        None,
        "a second time"
    );

    // What is left are sessions of nobody, whose entries say nothing.
    let nobody = ResourceRef::new(erased.known_as).unwrap();
    let sessions = file
        .database
        .list_sessions(Some(&nobody), None, 10)
        .await
        .unwrap()
        .sessions;
    assert_eq!(sessions.len(), 2);
    for session in sessions {
        assert!(session.ended_at.is_some());
        let entries = file
            .database
            .entries(&session.id, None, 1_000)
            .await
            .unwrap();
        for entry in entries.entries {
            let says = entry.payload.map(|payload| payload.to_string());
            assert!(
                says.as_ref().is_none_or(|says| !says.contains("marmalad")),
                "{says:?}"
            );
        }
    }
    // A session that was under way writes nothing more.
    assert!(matches!(
        memory.set("marmalade-key", json!(1)).await,
        Err(StorageError::Invalid(_))
    ));
    let again = file.memory("marmalade-jordan").await;
    assert_eq!(
        contents(&again).await,
        json!({ "working": [], "profile": {}, "facts": [] })
    );
}

#[tokio::test]
async fn no_table_holds_a_row_of_an_erased_resource() {
    let file = TestFile::new().await;
    fill(&file, "marmalade-jordan").await;
    let connection = file.other_program();
    let scope: i64 = connection
        .query_row("SELECT id FROM scopes", [], |row| row.get(0))
        .unwrap();
    file.database
        .erase(&resource("marmalade-jordan"))
        .await
        .unwrap();
    // How often vectors were changed tells other processes that theirs are gone.
    let tables: Vec<(String, String)> = connection
        .prepare(
            "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
             WHERE t.type = 'table' AND c.name IN ('scope', 'fact', 'number')
                AND NOT (t.name IN ('sessions', 'entries', 'vector_changes'))",
        )
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(tables.len() >= 6, "{tables:?}");
    for (table, column) in tables {
        let of_scope = if column == "scope" {
            format!("{column} = {scope}")
        } else {
            format!("{column} >> 32 = {scope}")
        };
        let left: i64 = connection
            .query_row(
                &format!("SELECT count(*) FROM {table} WHERE {of_scope}"),
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(left, 0, "erasing leaves rows in `{table}`");
    }
}

#[tokio::test]
async fn after_scrubbing_no_file_holds_a_byte_of_it() {
    let file = TestFile::new().await;
    let robin = file.memory("robin").await;
    let jordan = file.memory("marmalade-jordan").await;
    // By turns and in many sizes, so that rows of both share pages and move
    // between them.
    for round in 0..400_usize {
        let size = round * 37 % 900;
        for (memory, text) in [(&jordan, "marmalade-message"), (&robin, "grapefruit")] {
            let message = format!("{text} {round} {}", "x".repeat(size));
            file.database
                .append(
                    memory.session_id(),
                    Kind::TurnStarted,
                    json!({ "message": message }),
                )
                .await
                .unwrap();
            let value = json!(format!("{text} {}", "v".repeat(900 - size)));
            memory
                .set(&format!("key-{}", round % 40), value)
                .await
                .unwrap();
        }
    }
    fill(&file, "marmalade-jordan").await;
    let before = contents(&robin).await;
    // Everything but the words without their joint stands there before.
    assert!(on_disk(file.folder.path()).len() >= SECRETS.len() - 1);
    file.database
        .erase(&resource("marmalade-jordan"))
        .await
        .unwrap();
    let scrubbed = file.database.scrub().await.unwrap();
    assert!(scrubbed.log_emptied);
    assert_eq!(
        on_disk(file.folder.path()),
        [""; 0],
        "while the file is open"
    );
    let log = std::fs::metadata(file.folder.path().join("keepsake.db-wal")).unwrap();
    assert_eq!(log.len(), 0);
    file.assert_intact().await;
    assert_eq!(contents(&robin).await, before);
}

#[tokio::test]
async fn what_another_program_deleted_without_overwriting_it_is_gone_as_well() {
    let file = TestFile::new().await;
    let jordan = file.memory("marmalade-jordan").await;
    let long = format!("marmalade-value {}", "x".repeat(9_000));
    jordan.set("marmalade-key", json!(long)).await.unwrap();
    let other = file.other_program();
    other.pragma_update(None, "secure_delete", false).unwrap();
    other
        .execute_batch("DELETE FROM working; PRAGMA wal_checkpoint(TRUNCATE);")
        .unwrap();
    drop(other);
    file.database
        .erase(&resource("marmalade-jordan"))
        .await
        .unwrap();
    file.database.scrub().await.unwrap();
    assert_eq!(on_disk(file.folder.path()), [""; 0]);
}

#[tokio::test]
async fn a_reader_of_another_process_keeps_the_log_and_that_is_told() {
    let file = TestFile::new().await;
    fill(&file, "marmalade-jordan").await;
    let settings = Settings {
        busy_timeout: std::time::Duration::from_millis(100),
        ..Settings::default()
    };
    let database = Database::open_with(file.path(), settings).await.unwrap();
    let reader = file.other_program();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM facts;")
        .unwrap();
    let erased = database.erase(&resource("marmalade-jordan")).await.unwrap();
    assert!(erased.is_some());
    assert!(!database.scrub().await.unwrap().log_emptied);
    reader.execute_batch("COMMIT").unwrap();
    assert!(database.scrub().await.unwrap().log_emptied);
    assert_eq!(on_disk(file.folder.path()), [""; 0]);
}

#[tokio::test]
async fn what_a_session_of_the_team_recorded_of_it_is_erased_as_well() {
    let file = TestFile::new().await;
    let team = |name: &str| resource(name).with_team("acme").unwrap();
    let robin = file
        .database
        .begin_session(keepsake_storage::BeginSession::new(
            team("robin"),
            "support",
        ))
        .await
        .unwrap();
    let memory = file
        .database
        .memory(&team("marmalade-jordan"), &robin.id)
        .await
        .unwrap();
    memory
        .set("marmalade-key", json!("marmalade-value"))
        .await
        .unwrap();
    remember(&memory, NewFact::new("marmalade-fact")).await;
    file.database
        .append(&robin.id, Kind::TurnCompleted, json!({ "reply": "hello" }))
        .await
        .unwrap();
    file.database
        .erase(&team("marmalade-jordan"))
        .await
        .unwrap();
    file.database.scrub().await.unwrap();
    assert_eq!(on_disk(file.folder.path()), [""; 0]);
    let entries = file
        .database
        .entries(&robin.id, None, 10)
        .await
        .unwrap()
        .entries;
    let there: Vec<bool> = entries
        .iter()
        .map(|entry| entry.payload.is_some())
        .collect();
    assert_eq!(there, [true, false, false, true]);
    file.assert_intact().await;
}

#[tokio::test]
async fn an_erased_session_cannot_be_given_to_someone_else() {
    let file = TestFile::new().await;
    fill(&file, "marmalade-jordan").await;
    file.database
        .erase(&resource("marmalade-jordan"))
        .await
        .unwrap();
    file.memory("robin").await;
    file.assert_intact().await;
    file.tamper(
        "UPDATE sessions SET scope = (SELECT id FROM scopes WHERE resource = 'robin') WHERE number = 1;
         UPDATE entries SET scope = (SELECT id FROM scopes WHERE resource = 'robin') WHERE session = 1",
    );
    let faults = file.database.verify(None).await.unwrap().faults;
    assert!(
        faults
            .iter()
            .any(|fault| fault.what.contains("resource or team")),
        "{faults:?}"
    );
    file.tamper("UPDATE entries SET erased_by = NULL WHERE session = 1 AND place = 0");
    let faults = file.database.verify(None).await.unwrap().faults;
    assert!(
        faults
            .iter()
            .any(|fault| fault.what.contains("no entry says")),
        "{faults:?}"
    );
}

#[tokio::test]
async fn a_fact_of_the_team_that_rests_on_an_erased_session_keeps_its_source() {
    let file = TestFile::new().await;
    let team = |name: &str| resource(name).with_team("acme").unwrap();
    let session = file
        .database
        .begin_session(keepsake_storage::BeginSession::new(
            team("jordan"),
            "support",
        ))
        .await
        .unwrap();
    let source = file
        .command(&session.id, "the office is closed on Friday")
        .await;
    let shared = file
        .database
        .memory(&team("office"), &session.id)
        .await
        .unwrap();
    let learned = remember(
        &shared,
        NewFact {
            source: Some(source),
            ..NewFact::new("The office is closed on Friday")
        },
    )
    .await
    .fact;
    assert_eq!(learned.verification, Verification::Verified);
    file.database.erase(&team("jordan")).await.unwrap();
    let fact = shared.find(&learned.id).await.unwrap().unwrap();
    assert_eq!(fact.content, "The office is closed on Friday");
    assert_eq!(fact.verification, Verification::Verified);
    file.assert_intact().await;
}
