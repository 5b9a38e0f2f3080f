//! Opening a file: what is made, what is refused, and what a check tells.

use std::path::Path;

use keepsake_storage::{Database, FactVectors, NewFact, SCHEMA_VERSION, StorageError};
use serde_json::json;

use crate::common::TestFile;

async fn refused(path: &Path) -> StorageError {
    Database::open(path).await.expect_err("it was opened")
}

#[tokio::test]
async fn folders_and_file_are_made_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/ b/é/keepsake.db");
    let database = Database::open(&path).await.unwrap();
    assert_eq!(database.path(), path);
    assert!(path.is_file());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }
}

#[tokio::test]
async fn a_path_is_never_read_as_an_address() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "file:x.db?mode=memory",
        ":memory:",
        "x.db?immutable=1",
        "100%25.db",
    ] {
        let path = folder.path().join(name);
        drop(Database::open(&path).await.unwrap());
        assert!(path.is_file(), "{name}");
    }
}

#[tokio::test]
async fn the_schema_is_made_once() {
    let file = TestFile::new().await;
    let schema = |file: &TestFile| -> Vec<(i64, String)> {
        let connection = file.other_program();
        let mut statement = connection
            .prepare("SELECT rootpage, sql FROM sqlite_schema WHERE sql IS NOT NULL")
            .unwrap();
        let rows = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        rows.map(Result::unwrap).collect()
    };
    let before = schema(&file);
    file.memory("jordan")
        .await
        .set("plan", json!("Pro"))
        .await
        .unwrap();
    let again = Database::open(file.path()).await.unwrap();
    assert_eq!(schema(&file), before);
    assert_eq!(again.check().await.unwrap().counts.working_keys, 1);
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keepsake.db");
    std::fs::write(&path, b"").unwrap();
    assert_eq!(
        Database::open(&path)
            .await
            .unwrap()
            .check()
            .await
            .unwrap()
            .schema,
        SCHEMA_VERSION
    );
}

#[tokio::test]
async fn many_who_open_a_new_file_at_once_all_can_use_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/keepsake.db");
    let opened: Vec<_> = (0..12)
        .map(|_| tokio::spawn(Database::open(path.clone())))
        .collect();
    for one in opened {
        let check = one.await.unwrap().unwrap().check().await.unwrap();
        assert!(check.sound && check.schema == check.known_schema);
    }
}

#[tokio::test]
async fn what_cannot_be_a_file_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let error = refused(folder.path()).await;
    assert!(
        matches!(error, StorageError::CannotOpen { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("it is a folder"), "{error}");

    let plain = folder.path().join("plain");
    std::fs::write(&plain, "text").unwrap();
    let error = refused(&plain.join("keepsake.db")).await;
    assert!(
        matches!(error, StorageError::CannotOpen { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("check the path"), "{error}");
    assert!(
        refused(Path::new(""))
            .await
            .to_string()
            .contains("cannot open")
    );
    assert!(
        refused(Path::new("\0"))
            .await
            .to_string()
            .contains("cannot open")
    );
}

#[tokio::test]
async fn what_is_no_database_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for bytes in [b"hello".to_vec(), vec![b'x'; 5_000], vec![0xff; 70_000]] {
        let path = folder.path().join("keepsake.db");
        std::fs::write(&path, &bytes).unwrap();
        let error = refused(&path).await;
        assert!(
            matches!(error, StorageError::NotADatabase { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains("move it away"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}

#[tokio::test]
async fn a_database_of_another_application_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for (name, statement) in [
        ("table.db", "CREATE TABLE theirs (x)"),
        ("id.db", "PRAGMA application_id = 5; VACUUM"),
        ("version.db", "PRAGMA user_version = 1; VACUUM"),
    ] {
        let path = folder.path().join(name);
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute_batch(statement)
            .unwrap();
        let before = std::fs::read(&path).unwrap();
        let error = refused(&path).await;
        assert!(
            matches!(error, StorageError::ForeignFile { .. }),
            "{name} {error:?}"
        );
        assert!(
            error.to_string().contains("name another data folder"),
            "{error}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused_and_left_as_it_is() {
    let file = TestFile::new().await;
    file.memory("jordan")
        .await
        .set("plan", json!("Pro"))
        .await
        .unwrap();
    file.tamper("PRAGMA user_version = 99");
    match refused(&file.path()).await {
        error @ StorageError::NewerSchema {
            found: 99,
            known: SCHEMA_VERSION,
            ..
        } => {
            let words = format!("newer Keepsake (schema 99, this one knows {SCHEMA_VERSION})");
            assert!(error.to_string().contains(&words));
        }
        other => panic!("{other:?}"),
    }
    file.tamper(&format!("PRAGMA user_version = {SCHEMA_VERSION}"));
    let again = Database::open(file.path()).await.unwrap();
    assert_eq!(again.check().await.unwrap().counts.working_keys, 1);
}

#[tokio::test]
async fn a_check_counts_what_is_there() {
    let file = TestFile::new().await;
    let empty = file.database.check().await.unwrap();
    assert!(empty.sound && empty.damage.is_empty());
    assert_eq!(
        (empty.schema, empty.known_schema),
        (SCHEMA_VERSION, SCHEMA_VERSION)
    );
    assert_eq!(empty.journal_mode, "wal");
    assert_eq!(empty.path, file.path());
    assert!(empty.bytes > 0 && empty.counts.facts == 0 && empty.counts.models.is_empty());

    let memory = file.memory("jordan").await;
    memory.set("plan", json!("Pro")).await.unwrap();
    memory
        .update_profile(json!({ "a": 1 }), None)
        .await
        .unwrap();
    let vectors = FactVectors {
        model: "m".to_owned(),
        dimensions: 1,
        vectors: vec![vec![1.0]],
    };
    memory
        .remember_many(vec![NewFact::new("embedded")], Some(vectors))
        .await
        .unwrap();
    memory
        .remember_many(vec![NewFact::new("not embedded")], None)
        .await
        .unwrap();
    let counts = file.database.check().await.unwrap().counts;
    assert_eq!(
        (counts.resources, counts.sessions, counts.entries),
        (1, 1, 5)
    );
    assert_eq!(
        (counts.working_keys, counts.profiles, counts.facts),
        (1, 1, 2)
    );
    let models: Vec<(&str, u32, u64)> = counts
        .models
        .iter()
        .map(|model| (model.model.as_str(), model.dimensions, model.vectors))
        .collect();
    assert_eq!(models, [("m", 1, 1)]);
}
