//! A database in a folder of its own, and what tests do to it.

use std::path::PathBuf;
use std::process::Command;

use keepsake_storage::{BeginSession, Database, Kind, Memory, NewFact, Remembered, StorageError};
use keepsake_types::{EntryRef, ResourceRef};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Where a child process finds the database it works on.
const CHILD_FILE: &str = "KEEPSAKE_TEST_FILE";

pub(crate) struct TestFile {
    pub(crate) folder: TempDir,
    pub(crate) database: Database,
}

impl TestFile {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path().join("keepsake.db"))
            .await
            .unwrap();
        Self { folder, database }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("keepsake.db")
    }

    /// Another program's connection to the file, free to do anything to it.
    pub(crate) fn other_program(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection
            .pragma_update(None, "foreign_keys", false)
            .unwrap();
        connection
    }

    /// Changes the file as another program could.
    pub(crate) fn tamper(&self, statements: &str) {
        self.other_program().execute_batch(statements).unwrap();
    }

    /// A new session and the memory of its resource.
    pub(crate) async fn memory(&self, name: &str) -> Memory {
        self.session_of(&resource(name)).await
    }

    /// As [`TestFile::memory`], for a resource that may have a team or be a fork.
    pub(crate) async fn session_of(&self, resource: &ResourceRef) -> Memory {
        let session = self
            .database
            .begin_session(BeginSession::new(resource.clone(), "support"))
            .await
            .unwrap();
        self.database.memory(resource, &session.id).await.unwrap()
    }

    /// A session with a given id and some commands in it.
    pub(crate) async fn session_with_commands(&self, id: &str, name: &str, commands: usize) {
        self.database
            .begin_session(BeginSession {
                id: Some(id.to_owned()),
                ..BeginSession::new(resource(name), "support")
            })
            .await
            .unwrap();
        for number in 1..=commands {
            self.command(id, &format!("output {number} of {id}")).await;
        }
    }

    /// Records that a command ended.
    pub(crate) async fn command(&self, session: &str, output: &str) -> EntryRef {
        self.database
            .append(
                session,
                Kind::ExecCompleted,
                json!({ "stdout": output, "line": "cat plan" }),
            )
            .await
            .unwrap()
    }

    pub(crate) async fn assert_intact(&self) {
        let report = self.database.verify(None).await.unwrap();
        assert!(report.intact, "{:?}", report.faults);
    }
}

pub(crate) fn resource(name: &str) -> ResourceRef {
    ResourceRef::new(name).unwrap()
}

pub(crate) async fn remember(memory: &Memory, fact: NewFact) -> Remembered {
    memory
        .remember_many(vec![fact], None)
        .await
        .unwrap()
        .remove(0)
}

pub(crate) async fn remember_text(memory: &Memory, text: &str) -> Remembered {
    remember(memory, NewFact::new(text)).await
}

/// What can be read of a memory: working memory, profile and facts.
pub(crate) async fn contents(memory: &Memory) -> Value {
    json!({
        "working": memory.list(None, 1_000).await.unwrap().items,
        "profile": memory.profile().await.unwrap(),
        "facts": memory.list_facts(None, 1_000).await.unwrap().facts,
    })
}

#[track_caller]
pub(crate) fn assert_limit<T: std::fmt::Debug>(answer: Result<T, StorageError>, expected: &str) {
    match answer {
        Err(StorageError::Limit { name, message }) => {
            assert_eq!(name, expected);
            assert!(message.contains(expected), "{message}");
        }
        other => panic!("expected the limit {expected}, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_invalid<T: std::fmt::Debug>(answer: Result<T, StorageError>, words: &str) {
    match answer {
        Err(StorageError::Invalid(message)) => assert!(message.contains(words), "{message}"),
        other => panic!("expected `invalid` with \"{words}\", got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_not_found<T: std::fmt::Debug>(answer: Result<T, StorageError>) {
    assert!(
        matches!(answer, Err(StorageError::NotFound(_))),
        "{answer:?}"
    );
}

/// This program again, running one ignored test on a database file.
pub(crate) fn child(test: &str, file: &std::path::Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "--nocapture", test])
        .env(CHILD_FILE, file);
    command
}

/// The database of a child process; none when this is not one.
pub(crate) fn child_file() -> Option<PathBuf> {
    std::env::var_os(CHILD_FILE).map(PathBuf::from)
}
