//! Writing: one thread owns the connection that writes. Jobs that wait at the
//! same time share one transaction, so that they share the wait for the disk;
//! each has a savepoint of its own, so that they do not share failures.

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

/// One piece of work and whoever waits for it.
trait Job: Send {
    /// Does the work, within a savepoint. Keeps the answer for later.
    fn work(&mut self, connection: &Connection) -> Result<()>;
    /// Answers. `fate` says what became of the transaction around the work.
    fn answer(self: Box<Self>, fate: Result<()>);
}

struct Pending<T, F> {
    work: Option<F>,
    value: Option<T>,
    caller: oneshot::Sender<Result<T>>,
}

impl<T, F> Job for Pending<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T> + Send,
{
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
        };
        std::thread::Builder::new()
            .name("keepsake-writer".to_owned())
            .spawn(move || state.run(waiting))
            .map_err(|error| {
                StorageError::Internal(format!("cannot start the thread that writes: {error}"))
            })?;
        Ok(Self { jobs })
    }

    pub(super) async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let gone = || StorageError::Internal("the thread that writes has ended".to_owned());
        self.jobs
            .send(Box::new(Pending {
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
}

impl Thread {
    fn run(self, mut waiting: mpsc::Receiver<Box<dyn Job>>) {
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
    fn one_transaction(&self, jobs: &mut dyn Iterator<Item = Box<dyn Job>>) {
        if let Err(error) = self.statement("BEGIN IMMEDIATE") {
            jobs.for_each(|job| job.answer(Err(error.clone())));
            return;
        }
        let mut done: Vec<Box<dyn Job>> = Vec::new();
        for mut job in jobs {
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
        let fate = self.statement("COMMIT");
        if fate.is_err() && !self.connection.is_autocommit() {
            // If even this fails, the next BEGIN says so to its callers.
            let _ = self.statement("ROLLBACK");
        }
        done.into_iter().for_each(|job| job.answer(fate.clone()));
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
