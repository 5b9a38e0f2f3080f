//! Files that were damaged.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use keepsake_storage::{Database, Memory, NewFact, StorageError};

use crate::common::{TestFile, remember_text, resource};
use crate::faults::BOUND;

/// A closed database with a few hundred facts.
async fn closed() -> (tempfile::TempDir, std::path::PathBuf) {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let facts = (0..500).map(|number| NewFact::new(format!("fact {number} of the invoices")));
    memory.remember_many(facts.collect(), None).await.unwrap();
    file.tamper("PRAGMA wal_checkpoint(TRUNCATE)");
    let path = file.path();
    let TestFile { folder, database } = file;
    drop((memory, database));
    let log = folder.path().join("keepsake.db-wal");
    let begun = Instant::now();
    while log.exists() && begun.elapsed() < BOUND {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (folder, path)
}

/// Reads everything; the first error ends it.
async fn read_all(path: &Path) -> Result<bool, StorageError> {
    let database = Database::open(path).await?;
    let view = database.view(&resource("jordan"))?;
    view.list_facts(None, 1_000).await?;
    let intact = database.verify(None).await?.intact;
    Ok(intact && database.check().await?.sound)
}

#[tokio::test]
async fn a_damaged_file_is_found_and_never_panics() {
    let (_folder, path) = closed().await;
    assert!(read_all(&path).await.unwrap());
    let whole = fs::read(&path).unwrap();
    let pages = whole.len() / 4_096;
    let mut named = 0;
    for page in 1..pages {
        let mut bytes = whole.clone();
        bytes[page * 4_096..(page + 1) * 4_096].fill(0xa5);
        fs::write(&path, &bytes).unwrap();
        match read_all(&path).await {
            Ok(sound) => assert!(!sound, "page {page} was overwritten and nothing says so"),
            Err(error) => {
                assert!(
                    matches!(error, StorageError::Corrupt { .. }),
                    "page {page}: {error:?}"
                );
                assert!(error.to_string().contains("restore a backup"), "{error}");
                named += 1;
            }
        }
    }
    assert!(named > 0);

    for (name, kept) in [
        ("half", whole.len() / 2),
        ("a page", 4_096),
        ("a piece", 1_000),
    ] {
        fs::write(&path, &whole[..kept]).unwrap();
        let found = read_all(&path).await;
        assert!(
            matches!(
                found,
                Ok(false) | Err(StorageError::Corrupt { .. } | StorageError::NotADatabase { .. })
            ),
            "{name}: {found:?}"
        );
    }
    // Nothing was repaired behind anyone's back: the copy is as good as before.
    fs::write(&path, &whole).unwrap();
    assert!(read_all(&path).await.unwrap());
}

#[tokio::test]
async fn single_bytes_that_changed_never_panic() {
    let (_folder, path) = closed().await;
    let whole = fs::read(&path).unwrap();
    // A fixed walk over the file, so that a failure can be repeated.
    for step in 0..150 {
        let place = 100 + (step * 7_919) % (whole.len() - 100);
        let mut bytes = whole.clone();
        bytes[place] ^= 0x55;
        fs::write(&path, &bytes).unwrap();
        if let Err(error) = read_all(&path).await {
            assert!(
                !matches!(
                    error,
                    StorageError::Internal(_) | StorageError::Sqlite { .. }
                ),
                "byte {place}: {error:?}"
            );
        }
    }
}

/// A memory with a fact, after another program changed the file.
async fn changed(change: &str) -> (TestFile, Memory) {
    let file = TestFile::new().await;
    file.memory("taylor").await;
    let memory = file.memory("jordan").await;
    remember_text(&memory, "Jordan likes tea").await;
    file.tamper(change);
    (file, memory)
}

#[tokio::test]
async fn records_that_contradict_each_other_are_an_error_and_nothing_is_written() {
    for change in [
        "UPDATE sessions SET entries = 0",
        "UPDATE scopes SET next_fact = 1",
        "UPDATE scopes SET next_fact = -5",
        "DELETE FROM scopes",
        "UPDATE sessions SET entries = -1",
    ] {
        let (file, memory) = changed(change).await;
        let facts = ["Jordan likes cocoa", "Jordan likes coffee"]
            .map(NewFact::new)
            .to_vec();
        let error = memory.remember_many(facts, None).await.unwrap_err();
        assert!(
            matches!(
                error,
                StorageError::Corrupt { .. } | StorageError::Invalid(_)
            ),
            "{change}: {error:?}"
        );
        assert!(
            error.to_string().contains("restore a backup"),
            "{change}: {error}"
        );
        assert_eq!(file.database.check().await.unwrap().counts.facts, 1);
    }
}

#[tokio::test]
async fn values_that_no_host_wrote_are_an_error_that_says_so() {
    for change in [
        "UPDATE facts SET id = x'00'",
        "UPDATE facts SET content = CAST(x'ff' AS TEXT)",
        "UPDATE facts SET created_at = -1",
        "UPDATE facts SET position = -1",
        "UPDATE facts SET superseded_by = x''",
    ] {
        let (_file, memory) = changed(change).await;
        let error = memory.list_facts(None, 10).await.unwrap_err();
        assert!(
            matches!(error, StorageError::Corrupt { .. }),
            "{change}: {error:?}"
        );
        assert!(
            error.to_string().contains("no host wrote"),
            "{change}: {error}"
        );
    }
}

#[tokio::test]
async fn a_check_finds_facts_and_words_that_do_not_agree() {
    for (change, expected) in [
        (
            "DELETE FROM postings WHERE word = 'tea'",
            "holds 2 words of fact",
        ),
        ("DELETE FROM facts", "1 facts that are not there"),
        ("UPDATE scopes SET facts = facts + 1", "counts 2 facts"),
        ("UPDATE postings SET facts = x'80'", "cannot be read"),
    ] {
        let file = TestFile::new().await;
        let memory = file.memory("jordan").await;
        let fact = vec![NewFact::new("Jordan drinks tea")];
        memory.remember_many(fact, None).await.unwrap();
        // One that is whole first, so that the check is known to tell them apart.
        assert!(file.database.check().await.unwrap().sound);
        file.tamper(change);
        let check = file.database.check().await.unwrap();
        assert!(
            !check.sound && check.damage[0].contains(expected),
            "{:?}",
            check.damage
        );
    }
}
