//! Reading: a few connections that cannot write, used on threads that may block.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{Settings, blocking, file, panic_message};
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
}

impl Readers {
    pub(super) fn new(path: &Path, settings: &Settings) -> Self {
        Self {
            shared: Arc::new(Shared {
                path: path.to_path_buf(),
                settings: settings.clone(),
                idle: Mutex::new(Vec::new()),
            }),
            permits: Arc::new(Semaphore::new(settings.readers.max(1))),
        }
    }

    pub(super) async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
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
    fn run<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let connection = match self.idle().pop() {
            Some(connection) => connection,
            None => file::open_for_reading(&self.path, &self.settings)?,
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            // One transaction, so that all of `work` sees one state of the file.
            let transaction = connection.unchecked_transaction()?;
            let value = work(&transaction)?;
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
