//! Reading: a few connections that cannot write, used on threads that may block.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{Settings, blocking, file, panic_message};
use crate::memory::Indexes;
use crate::{Result, StorageError};

/// The connections that read.
pub(super) struct Readers {
    shared: Arc<Shared>,
    permits: Arc<Semaphore>,
}

struct Shared {
    path: PathBuf,
    settings: Settings,
    idle: Mutex<Vec<Connection>>,
    indexes: Indexes,
}

/// One unchanging view of the file, and what is held in memory beside it.
pub(crate) struct Snapshot<'a> {
    connection: &'a Connection,
    indexes: &'a Indexes,
}

impl Snapshot<'_> {
    /// The indexes of the scopes that were searched last. They hold what was
    /// committed, so only reading leads to them.
    pub(crate) fn indexes(&self) -> &Indexes {
        self.indexes
    }
}

impl Deref for Snapshot<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Readers {
    pub(super) fn new(path: &Path, settings: &Settings) -> Self {
        Self {
            shared: Arc::new(Shared {
                path: path.to_path_buf(),
                settings: settings.clone(),
                idle: Mutex::new(Vec::new()),
                indexes: Indexes::new(settings.vector_index_bytes),
            }),
            permits: Arc::new(Semaphore::new(settings.readers.max(1))),
        }
    }

    pub(super) async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Snapshot<'_>) -> Result<T> + Send + 'static,
    {
        let shared = self.shared.clone();
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| {
            StorageError::Internal("the readers of the database were closed".to_owned())
        })?;
        blocking(move || {
            // Held until the connection is back, so that no more than the
            // permitted number is ever open.
            let _permit = permit;
            shared.run(work)
        })
        .await
    }
}

impl Shared {
    fn run<T>(&self, work: impl FnOnce(&Snapshot<'_>) -> Result<T>) -> Result<T> {
        let connection = match self.idle().pop() {
            Some(connection) => connection,
            None => file::open_for_reading(&self.path, &self.settings)?,
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            // One transaction, so that all of `work` sees one state of the file.
            let transaction = connection.unchecked_transaction()?;
            let value = work(&Snapshot {
                connection: &transaction,
                indexes: &self.indexes,
            })?;
            transaction.finish()?;
            Ok(value)
        }));
        match outcome {
            Ok(answer) => {
                if connection.is_autocommit() {
                    self.idle().push(connection);
                }
                answer
                    .map_err(|error: StorageError| error.at(&self.path, self.settings.busy_timeout))
            }
            // The connection is dropped with whatever state the panic left.
            Err(panic) => Err(StorageError::Internal(format!(
                "reading from the database panicked: {}",
                panic_message(panic.as_ref())
            ))),
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        // The list is whole whatever its last holder did.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
