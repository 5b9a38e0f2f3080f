//! A locked, full, read-only or damaged file: an error that says what to do,
//! and nothing lost.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use keepsake_storage::{BeginSession, Database, NewFact, Settings, StorageError};
use serde_json::json;

use crate::common::{TestFile, child, child_file, remember_text, resource};

const SHORT: Duration = Duration::from_millis(300);
/// Longer than any wait that is bounded by [`SHORT`], on a slow machine.
pub(crate) const BOUND: Duration = Duration::from_secs(15);

fn impatient() -> Settings {
    Settings {
        busy_timeout: SHORT,
        ..Settings::default()
    }
}

#[tokio::test]
async fn a_locked_file_is_an_error_in_bounded_time_and_reading_goes_on() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    memory.set("plan", json!("Pro")).await.unwrap();
    let database = Database::open_with(file.path(), impatient()).await.unwrap();
    let hasty = database
        .memory(&resource("jordan"), memory.session_id())
        .await
        .unwrap();

    let other = file.other_program();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let begun = Instant::now();
    // Several at once wait together and not one after the other.
    let waiting: Vec<_> = (0..20)
        .map(|number| {
            let hasty = hasty.clone();
            tokio::spawn(async move { hasty.set("plan", json!(number)).await })
        })
        .collect();
    for one in waiting {
        let error = one.await.unwrap().unwrap_err();
        assert!(matches!(error, StorageError::Busy { .. }), "{error:?}");
        assert!(
            error
                .to_string()
                .contains("locked by another process for 0.3 s"),
            "{error}"
        );
    }
    assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
    assert_eq!(hasty.get("plan").await.unwrap(), Some(json!("Pro")));

    other.execute_batch("ROLLBACK").unwrap();
    hasty.set("plan", json!("Max")).await.unwrap();
    assert_eq!(memory.get("plan").await.unwrap(), Some(json!("Max")));
    file.assert_intact().await;
}

#[tokio::test]
async fn a_lock_that_ends_in_time_is_waited_for() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let other = file.other_program();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let write = tokio::spawn(async move { memory.set("plan", json!("Pro")).await });
    tokio::time::sleep(SHORT).await;
    assert!(!write.is_finished());
    other.execute_batch("COMMIT").unwrap();
    write.await.unwrap().unwrap();
}

#[tokio::test]
async fn opening_a_locked_file_is_an_error_in_bounded_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keepsake.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let begun = Instant::now();
    let error = Database::open_with(&path, impatient()).await.unwrap_err();
    assert!(matches!(error, StorageError::Busy { .. }), "{error:?}");
    assert!(begun.elapsed() < BOUND);
    other.execute_batch("ROLLBACK").unwrap();
    Database::open_with(&path, impatient()).await.unwrap();
}

/// Writes facts until one is refused. Answers how many were acknowledged.
async fn fill(database: &Database) -> (usize, StorageError) {
    let begin = BeginSession::new(resource("jordan"), "support");
    let session = database.begin_session(begin).await.unwrap();
    let memory = database
        .memory(&resource("jordan"), &session.id)
        .await
        .unwrap();
    for number in 0..10_000 {
        let fact = NewFact::new(format!("fact {number} {}", "x".repeat(4_000)));
        if let Err(error) = memory.remember_many(vec![fact], None).await {
            return (number, error);
        }
    }
    panic!("nothing was refused")
}

async fn assert_holds(database: &Database, facts: usize) {
    let report = database.verify(None).await.unwrap();
    assert!(report.intact, "{:?}", report.faults);
    let check = database.check().await.unwrap();
    assert!(check.sound, "{:?}", check.damage);
    assert_eq!(check.counts.facts, facts as u64);
}

#[tokio::test]
async fn a_file_that_reached_its_bound_keeps_all_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keepsake.db");
    let bounded = Settings {
        max_bytes: Some(2 * 1024 * 1024),
        ..Settings::default()
    };
    let database = Database::open_with(&path, bounded).await.unwrap();
    let (written, error) = fill(&database).await;
    assert!(matches!(error, StorageError::DiskFull { .. }), "{error:?}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert!(written > 100, "{written}");
    assert_holds(&database, written).await;

    // With more room it goes on.
    let larger = Database::open(&path).await.unwrap();
    let begin = BeginSession::new(resource("jordan"), "support");
    let session = larger.begin_session(begin).await.unwrap();
    let memory = larger
        .memory(&resource("jordan"), &session.id)
        .await
        .unwrap();
    remember_text(&memory, &"x".repeat(4_000)).await;
    assert_holds(&larger, written + 1).await;
}

#[tokio::test]
async fn a_write_that_does_not_fit_takes_no_other_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keepsake.db");
    let bounded = Settings {
        max_bytes: Some(1024 * 1024),
        ..Settings::default()
    };
    let database = Database::open_with(&path, bounded).await.unwrap();
    let begin = BeginSession::new(resource("jordan"), "support");
    let session = database.begin_session(begin).await.unwrap();
    let memory = database
        .memory(&resource("jordan"), &session.id)
        .await
        .unwrap();
    // At once, so that they share transactions.
    let writes: Vec<_> = (0..60)
        .map(|number| {
            let memory = memory.clone();
            let size = if number % 6 == 5 { 4_000 } else { 10 };
            let facts = (0..size).map(|fact| NewFact::new(format!("fact {number}-{fact} of many")));
            let facts = facts.collect();
            tokio::spawn(async move {
                memory
                    .remember_many(facts, None)
                    .await
                    .map(|done| done.len())
            })
        })
        .collect();
    let (mut facts, mut refused) = (0, 0);
    for write in writes {
        match write.await.unwrap() {
            Ok(done) => facts += done,
            Err(StorageError::DiskFull { .. }) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(refused >= 10, "{refused}");
    assert_holds(&database, facts).await;
}

#[test]
#[ignore = "a child process of `a_full_disk_loses_nothing_that_was_acknowledged`"]
fn child_fills() {
    let Some(path) = child_file() else { return };
    let (written, error) = run(async {
        let database = Database::open(&path).await.unwrap();
        fill(&database).await
    });
    println!("\nanswer: {written} {error}");
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

/// What a child printed after `answer: `.
fn answer(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = text.lines().find_map(|line| line.strip_prefix("answer: "));
    answer
        .unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)))
        .to_owned()
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keepsake.db");
    // The bound on the size of files stands for the disk: the system refuses the
    // write, whichever file it is to.
    let inner = child("faults::child_fills", &path);
    let mut command = Command::new("sh");
    command
        .args(["-c", r#"trap "" XFSZ; ulimit -f 4000; exec "$0" "$@""#])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env("KEEPSAKE_TEST_FILE", &path);
    let answer = answer(&mut command);
    let (written, error) = answer.split_once(' ').unwrap();
    assert!(
        error.contains("disk is full") && error.contains("free some space"),
        "{error}"
    );
    let written: usize = written.parse().unwrap();
    assert!(written > 10, "{written}");
    run(async {
        let database = Database::open(&path).await.unwrap();
        assert_holds(&database, written).await;
    });
}

#[test]
#[ignore = "a child process of `a_file_that_cannot_be_written_says_which_right_is_missing`"]
fn child_writes_once() {
    let Some(path) = child_file() else { return };
    let answer = run(async {
        let database = Database::open(&path).await?;
        database
            .begin_session(BeginSession::new(resource("jordan"), "support"))
            .await
    });
    match answer {
        Ok(session) => println!("\nanswer: wrote {}", session.id),
        Err(error) => println!("\nanswer: {error}"),
    }
}

/// Tries to write as a user who is not the administrator, whom no right binds.
fn writes_as_nobody(path: &Path, program: &Path, privileged: bool) -> String {
    let inner = child("faults::child_writes_once", path);
    let mut command = Command::new(program);
    command
        .args(inner.get_args())
        .env("KEEPSAKE_TEST_FILE", path);
    if privileged {
        command.uid(65_534).gid(65_534);
    }
    answer(&mut command)
}

#[test]
fn a_file_that_cannot_be_written_says_which_right_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let mode =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(folder.path(), 0o755);
    let privileged = folder.path().metadata().unwrap().uid() == 0;
    // Where everyone can run it, whatever the rights of the build folder.
    let program = folder.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    mode(&program, 0o755);

    let data = folder.path().join("data");
    let path = data.join("keepsake.db");
    drop(run(Database::open(&path)).unwrap());
    let log = data.join("keepsake.db-wal");
    mode(&data, 0o777);
    mode(&path, 0o666);
    assert!(
        writes_as_nobody(&path, &program, privileged).starts_with("wrote "),
        "a control"
    );
    for (folder_mode, file_mode) in [(0o777, 0o444), (0o555, 0o444), (0o555, 0o666)] {
        // What the one before left beside the file would do for the next.
        mode(&path, 0o644);
        let closing = rusqlite::Connection::open(&path).unwrap();
        closing
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        drop(closing);
        assert!(!log.exists());
        mode(&path, file_mode);
        mode(&data, folder_mode);
        let answer = writes_as_nobody(&path, &program, privileged);
        assert!(
            answer.contains("cannot be written") && answer.contains("give this user the right"),
            "{folder_mode:o} {file_mode:o}: {answer}"
        );
        mode(&data, 0o755);
    }
    // A folder in which nothing can be made.
    mode(&data, 0o555);
    let answer = writes_as_nobody(&data.join("new.db"), &program, privileged);
    assert!(answer.contains("cannot be written"), "{answer}");
    let answer = writes_as_nobody(&data.join("new/keepsake.db"), &program, privileged);
    assert!(answer.contains("cannot be written"), "{answer}");
    mode(&data, 0o755);
    run(async {
        let database = Database::open(&path).await.unwrap();
        assert_eq!(database.check().await.unwrap().counts.sessions, 1);
    });
}
