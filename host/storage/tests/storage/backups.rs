//! Backups are whole, and a restoration takes only what is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use keepsake_storage::{Database, Memory, StorageError};

use crate::common::{TestFile, contents, remember_text, resource};

async fn memory_of(path: &Path) -> Memory {
    let database = Database::open(path).await.unwrap();
    let session = keepsake_storage::BeginSession::new(resource("jordan"), "support");
    let session = database.begin_session(session).await.unwrap();
    let jordan = resource("jordan");
    database.memory(&jordan, &session.id).await.unwrap()
}

/// What lies in a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A file with one fact, and a backup of it.
async fn backed_up() -> (TestFile, PathBuf) {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    remember_text(&memory, "Jordan is on the Pro plan.").await;
    let backup = file.folder.path().join("backup.db");
    assert!(file.database.back_up(&backup).await.unwrap() > 0);
    (file, backup)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_holds_all_that_was_acknowledged_before_it_while_others_write() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let (written, done) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let writing = tokio::spawn({
        let (written, done) = (written.clone(), done.clone());
        async move {
            for number in 0.. {
                if done.load(Ordering::SeqCst) {
                    return;
                }
                remember_text(&memory, &format!("invoice number {number} was paid")).await;
                written.store(number + 1, Ordering::SeqCst);
            }
        }
    });
    for round in 0..5 {
        while written.load(Ordering::SeqCst) < round * 20 + 1 {
            tokio::task::yield_now().await;
        }
        let before = written.load(Ordering::SeqCst);
        let backup = file.folder.path().join(format!("backup-{round}.db"));
        file.database.back_up(&backup).await.unwrap();
        let after = written.load(Ordering::SeqCst) + 1;
        let copy = file
            .folder
            .path()
            .join(format!("restored-{round}/keepsake.db"));
        let restored = Database::restore(&backup, &copy, false).await.unwrap();
        assert!(restored.report.intact && restored.check.sound);
        let facts = usize::try_from(restored.check.counts.facts).unwrap();
        assert!(
            (before..=after).contains(&facts),
            "{before} {facts} {after}"
        );
        let memory = memory_of(&copy).await;
        let found = memory.list_facts(None, 1_000).await.unwrap().facts;
        for number in 0..before {
            let text = format!("invoice number {number} was paid");
            assert!(found.iter().any(|fact| fact.content == text), "{text}");
        }
    }
    done.store(true, Ordering::SeqCst);
    writing.await.unwrap();
}

#[tokio::test]
async fn a_backup_is_one_file_for_its_owner_and_overwrites_none() {
    let (file, backup) = backed_up().await;
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(&backup).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = fs::read(&backup).unwrap();
    let error = file.database.back_up(&backup).await.unwrap_err();
    assert!(error.to_string().contains("name another file"), "{error}");
    assert_eq!(fs::read(&backup).unwrap(), before);
    let nowhere = file.folder.path().join("nowhere\0/backup.db");
    file.database.back_up(nowhere).await.unwrap_err();
    let left: Vec<_> = names(file.folder.path())
        .into_iter()
        .filter(|name| !name.starts_with("keepsake.db"))
        .collect();
    assert_eq!(left, ["backup.db"]);
}

#[tokio::test]
async fn what_was_forgotten_before_a_backup_is_not_in_its_bytes() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let fact = remember_text(&memory, "The secret word is xylophone.").await;
    memory.forget(vec![fact.fact.id]).await.unwrap();
    let backup = file.folder.path().join("backup.db");
    file.database.back_up(&backup).await.unwrap();
    let bytes = fs::read(&backup).unwrap();
    assert!(!bytes.windows(9).any(|window| window == b"xylophone"));
}

#[tokio::test]
async fn a_restoration_brings_back_what_there_was_and_keeps_what_there_is() {
    let (file, backup) = backed_up().await;
    let memory = file.memory("jordan").await;
    let then = contents(&memory).await["facts"].clone();
    remember_text(&memory, "Jordan likes tea.").await;
    let path = file.path();
    let error = Database::restore(&backup, &path, false).await.unwrap_err();
    assert!(error.to_string().contains("was left as it is"), "{error}");

    let error = Database::restore(&backup, &path, true).await.unwrap_err();
    assert!(
        error.to_string().contains("another program uses"),
        "{error}"
    );
    assert_eq!(memory.list_facts(None, 9).await.unwrap().facts.len(), 2);

    let TestFile { folder, database } = file;
    drop((memory, database));
    let restored = loop {
        match Database::restore(&backup, &path, true).await {
            // The connections close by and by.
            Err(StorageError::Invalid(_)) => tokio::task::yield_now().await,
            other => break other.unwrap(),
        }
    };
    let facts = contents(&memory_of(&path).await).await["facts"].clone();
    assert_eq!(facts, then);
    let aside = restored.replaced.unwrap();
    assert_eq!(aside.parent(), Some(folder.path()));
    let facts = memory_of(&aside).await.list_facts(None, 9).await.unwrap();
    assert_eq!(facts.facts.len(), 2, "what was replaced is kept");
}

#[tokio::test]
async fn what_is_no_sound_backup_is_refused_and_changes_nothing() {
    let (file, backup) = backed_up().await;
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(&backup).unwrap();
    let altered = |name: &str, statements: &str| {
        let path = folder.path().join(name);
        fs::write(&path, &whole).unwrap();
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(statements).unwrap();
        path
    };
    let bytes = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2 / 4_096 * 4_096;
    damaged[middle..middle + 8_192].fill(0xa5);
    for (path, said) in [
        (folder.path().join("missing"), "no such file"),
        (bytes("text", &[b'x'; 5_000]), "is not a database"),
        (bytes("empty", b""), "is empty"),
        (bytes("half", &whole[..whole.len() / 2]), "damaged"),
        (bytes("damaged", &damaged), "damaged"),
        (
            altered("foreign", "PRAGMA application_id = 7"),
            "another application",
        ),
        (altered("newer", "PRAGMA user_version = 999"), "newer"),
        (
            altered(
                "tampered",
                "UPDATE entries SET payload = replace(payload, 'o', 'u') WHERE place = 1",
            ),
            "its ledger was altered",
        ),
    ] {
        let to = folder.path().join("data/keepsake.db");
        let error = Database::restore(&path, &to, false).await.unwrap_err();
        assert!(error.to_string().contains(said), "{said}: {error}");
        assert!(!to.exists());
        let left = names(folder.path());
        assert!(
            !left.iter().any(|name| name.contains("restoring")),
            "{left:?}"
        );
        if to.parent().unwrap().exists() {
            assert_eq!(names(to.parent().unwrap()), [""; 0], "{said}");
        }
    }
    file.assert_intact().await;
}

#[tokio::test]
async fn a_damaged_file_can_be_replaced_and_is_kept() {
    let (file, backup) = backed_up().await;
    let path = file.folder.path().join("other/keepsake.db");
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, vec![0xa5; 20_000]).unwrap();
    fs::write(path.with_extension("db-wal"), b"old log").unwrap();
    let restored = Database::restore(&backup, &path, true).await.unwrap();
    let aside = restored.replaced.unwrap();
    assert_eq!(fs::read(&aside).unwrap(), vec![0xa5; 20_000]);
    let facts = memory_of(&path).await.list_facts(None, 9).await.unwrap();
    assert_eq!(facts.facts.len(), 1);
}
