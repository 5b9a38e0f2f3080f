//! Writing: one thread owns the connection that writes. Jobs that wait at the
//! same time share one transaction, so that they share the wait for the disk;
//! each has a savepoint of its own, so that they do not share failures.
//!
//! What acknowledges nothing to anyone does not wait for the disk at all: it is
//! committed, seen by all and survives the end of this process, and reaches the
//! disk with the next commit that waits, which the log has behind it. So what
//! was acknowledged never lacks what came before it.

use std::fs::File;
use std::iter::Peekable;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use keepsake_types::limits;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::panic_message;
use crate::{Result, StorageError};

/// The way to the thread that writes. The thread ends when this is dropped
/// and all that was sent is done.
pub(super) struct Writer {
    jobs: mpsc::Sender<Box<dyn Job>>,
}

/// When a piece of work is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Once it is on the disk.
    OnDisk,
    /// Once it is committed; it reaches the disk with what waits for that next.
    Committed,
}

/// One piece of work and whoever waits for it.
trait Job: Send {
    fn durability(&self) -> Durability;
    /// Does the work, within a savepoint. Keeps the answer for later.
    fn work(&mut self, connection: &Connection) -> Result<()>;
    /// Answers. `fate` says what became of the transaction around the work.
    fn answer(self: Box<Self>, fate: Result<()>);
}

struct Pending<T, F> {
    durability: Durability,
    work: Option<F>,
    value: Option<T>,
    caller: oneshot::Sender<Result<T>>,
}

impl<T, F> Job for Pending<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T> + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn work(&mut self, connection: &Connection) -> Result<()> {
        let Some(work) = self.work.take() else {
            return Err(StorageError::Internal(
                "a job was asked to run twice".to_owned(),
            ));
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| work(connection)));
        self.value = Some(outcome.unwrap_or_else(|panic| {
            Err(StorageError::Internal(format!(
                "writing to the database panicked: {}",
                panic_message(panic.as_ref())
            )))
        })?);
        Ok(())
    }

    fn answer(self: Box<Self>, fate: Result<()>) {
        let Self { caller, value, .. } = *self;
        let value = fate.and_then(|()| {
            value.ok_or_else(|| StorageError::Internal("a job did not run".to_owned()))
        });
        // Whoever asked may have stopped waiting; what was done stays done.
        let _ = caller.send(value);
    }
}

impl Writer {
    pub(super) fn start(connection: Connection, path: &Path, patience: Duration) -> Result<Self> {
        let (jobs, waiting) = mpsc::channel(limits::WRITE_QUEUE);
        let state = Thread {
            connection,
            path: path.to_path_buf(),
            patience,
            waits: Durability::OnDisk,
            owed: false,
        };
        std::thread::Builder::new()
            .name("keepsake-writer".to_owned())
            .spawn(move || state.run(waiting))
            .map_err(|error| {
                StorageError::Internal(format!("cannot start the thread that writes: {error}"))
            })?;
        Ok(Self { jobs })
    }

    pub(super) async fn run<T, F>(&self, durability: Durability, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let gone = || StorageError::Internal("the thread that writes has ended".to_owned());
        self.jobs
            .send(Box::new(Pending {
                durability,
                work: Some(work),
                value: None,
                caller,
            }))
            .await
            .map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

struct Thread {
    connection: Connection,
    path: PathBuf,
    patience: Duration,
    /// What the connection's commits wait for as it is set now.
    waits: Durability,
    /// Something was committed that has not reached the disk.
    owed: bool,
}

impl Thread {
    fn run(mut self, mut waiting: mpsc::Receiver<Box<dyn Job>>) {
        while let Some(first) = waiting.blocking_recv() {
            let mut batch = vec![first];
            while batch.len() < limits::GROUP_COMMIT {
                let Ok(next) = waiting.try_recv() else { break };
                batch.push(next);
            }
            let mut left = batch.into_iter().peekable();
            while left.peek().is_some() {
                self.one_transaction(&mut left);
            }
        }
    }

    /// Carries out jobs up to the first that takes the whole transaction with
    /// it, as a full disk does. At least one job is answered.
    fn one_transaction(&mut self, jobs: &mut Peekable<impl Iterator<Item = Box<dyn Job>>>) {
        // The setting cannot be changed within a transaction, so the first job
        // decides; whoever waits for the disk has a transaction that does.
        let durability = jobs
            .peek()
            .map_or(Durability::OnDisk, |job| job.durability());
        let begun = self
            .wait_for(durability)
            .and_then(|()| self.statement("BEGIN IMMEDIATE"));
        if let Err(error) = begun {
            jobs.for_each(|job| job.answer(Err(error.clone())));
            return;
        }
        let changes = self.connection.total_changes();
        let mut done: Vec<Box<dyn Job>> = Vec::new();
        let fits = |wanted| durability == Durability::OnDisk || wanted == durability;
        while let Some(mut job) = jobs.next_if(|job| fits(job.durability())) {
            match self.within_savepoint(job.as_mut()) {
                Ok(()) => done.push(job),
                Err(error) => {
                    job.answer(Err(error.clone()));
                    if self.connection.is_autocommit() {
                        done.into_iter()
                            .for_each(|job| job.answer(Err(error.clone())));
                        return;
                    }
                }
            }
        }
        let fate = self.statement("COMMIT").and_then(|()| {
            let changed = self.connection.total_changes() != changes;
            self.settle(durability, changed)
        });
        if fate.is_err() && !self.connection.is_autocommit() {
            // If even this fails, the next BEGIN says so to its callers.
            let _ = self.statement("ROLLBACK");
        }
        done.into_iter().for_each(|job| job.answer(fate.clone()));
    }

    /// Has the connection's commits wait for the disk or not.
    fn wait_for(&mut self, durability: Durability) -> Result<()> {
        if self.waits != durability {
            self.statement(match durability {
                Durability::OnDisk => "PRAGMA synchronous = FULL",
                // The log's header and checkpoints still wait.
                Durability::Committed => "PRAGMA synchronous = NORMAL",
            })?;
            self.waits = durability;
        }
        Ok(())
    }

    /// After a commit: whether all that it rests on is on the disk too. One that
    /// changed nothing waited for nothing.
    fn settle(&mut self, durability: Durability, changed: bool) -> Result<()> {
        match durability {
            Durability::Committed => self.owed |= changed,
            Durability::OnDisk if changed => self.owed = false,
            Durability::OnDisk if self.owed => {
                let mut log = self.path.clone().into_os_string();
                log.push("-wal");
                File::open(log)
                    .and_then(|log| log.sync_all())
                    .map_err(|error| StorageError::Device {
                        path: self.path.clone(),
                        reason: error.to_string(),
                    })?;
                self.owed = false;
            }
            Durability::OnDisk => {}
        }
        Ok(())
    }

    fn within_savepoint(&self, job: &mut dyn Job) -> Result<()> {
        self.statement("SAVEPOINT job")?;
        let outcome = job
            .work(&self.connection)
            .map_err(|error| error.at(&self.path, self.patience))
            .and_then(|()| self.statement("RELEASE job"));
        if outcome.is_err() && !self.connection.is_autocommit() {
            let undone = self
                .statement("ROLLBACK TO job")
                .and_then(|()| self.statement("RELEASE job"));
            if undone.is_err() {
                // Half a job must never be committed with the others.
                let _ = self.statement("ROLLBACK");
            }
        }
        outcome
    }

    fn statement(&self, text: &str) -> Result<()> {
        self.connection
            .prepare_cached(text)
            .and_then(|mut statement| statement.execute([]))
            .map(drop)
            .map_err(|error| StorageError::from(error).at(&self.path, self.patience))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Asked = oneshot::Receiver<Result<()>>;

    fn thread(folder: &tempfile::TempDir) -> Thread {
        let path = folder.path().join("writer.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE seen (level)",
            )
            .unwrap();
        Thread {
            connection,
            path,
            patience: Duration::from_secs(1),
            waits: Durability::OnDisk,
            owed: false,
        }
    }

    /// Notes in the file how commits wait while it is done, or changes nothing.
    fn job(durability: Durability, changes: bool) -> (Box<dyn Job>, Asked) {
        let (caller, asked) = oneshot::channel();
        let work = move |connection: &Connection| {
            if changes {
                connection.execute(
                    "INSERT INTO seen SELECT synchronous FROM pragma_synchronous",
                    [],
                )?;
            }
            Ok(())
        };
        let pending = Pending {
            durability,
            work: Some(work),
            value: None,
            caller,
        };
        (Box::new(pending), asked)
    }

    fn carry_out(thread: &mut Thread, jobs: &[(Durability, bool)]) {
        let (jobs, asked): (Vec<_>, Vec<_>) = jobs
            .iter()
            .map(|(durability, changes)| job(*durability, *changes))
            .unzip();
        let mut jobs = jobs.into_iter().peekable();
        while jobs.peek().is_some() {
            thread.one_transaction(&mut jobs);
        }
        for mut asked in asked {
            asked.try_recv().unwrap().unwrap();
        }
    }

    fn levels(thread: &Thread) -> Vec<i64> {
        let mut seen = thread.connection.prepare("SELECT level FROM seen").unwrap();
        let levels = seen.query_map([], |row| row.get(0)).unwrap();
        levels.collect::<rusqlite::Result<_>>().unwrap()
    }

    const FULL: i64 = 2;
    const NORMAL: i64 = 1;

    #[test]
    fn only_what_acknowledges_something_waits_for_the_disk() {
        use Durability::{Committed, OnDisk};
        let folder = tempfile::tempdir().unwrap();
        let mut thread = thread(&folder);
        carry_out(&mut thread, &[(Committed, true), (Committed, true)]);
        assert_eq!(levels(&thread), [NORMAL, NORMAL]);
        assert!(thread.owed);
        carry_out(&mut thread, &[(OnDisk, true)]);
        assert_eq!(levels(&thread), [NORMAL, NORMAL, FULL]);
        assert!(!thread.owed);
        // Whoever waits does so in whichever company it comes.
        carry_out(
            &mut thread,
            &[(Committed, true), (OnDisk, true), (Committed, true)],
        );
        assert_eq!(levels(&thread)[3..], [NORMAL, FULL, FULL]);
        assert!(!thread.owed);
    }

    #[test]
    fn an_acknowledgement_that_changes_nothing_waits_for_what_it_rests_on() {
        use Durability::{Committed, OnDisk};
        let folder = tempfile::tempdir().unwrap();
        let mut thread = thread(&folder);
        carry_out(&mut thread, &[(Committed, true), (OnDisk, false)]);
        assert!(!thread.owed);
        carry_out(&mut thread, &[(Committed, true)]);
        let log = folder.path().join("writer.db-wal");
        std::fs::rename(&log, folder.path().join("elsewhere")).unwrap();
        // Where that cannot be waited for, nothing is acknowledged.
        let (unchanged, mut asked) = job(OnDisk, false);
        thread.one_transaction(&mut [unchanged].into_iter().peekable());
        assert!(matches!(
            asked.try_recv().unwrap(),
            Err(StorageError::Device { .. })
        ));
        assert!(thread.owed);
    }
}
