//! The handle on the file: opening it, and carrying out reads and writes away
//! from the asynchronous threads.

mod backup;
mod check;
mod file;
mod readers;
mod schema;
mod scrub;
mod writer;

pub(crate) use file::refused;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keepsake_types::limits;
use rusqlite::Connection;

use crate::sessions::Held;
use crate::{Result, StorageError};
use readers::Readers;
use writer::{Durability, Writer};

pub(crate) use readers::Snapshot;

pub use backup::Restoration;
pub use check::{Check, Counts, ModelCount};
pub use schema::KNOWN as SCHEMA_VERSION;
pub use scrub::Scrubbed;

/// How to open a database.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a call waits while another process holds the file.
    pub busy_timeout: Duration,
    /// How many reads run at once.
    pub readers: usize,
    /// The largest size of the file in bytes; none means what the disk holds.
    pub max_bytes: Option<u64>,
    /// Memory for the vector indexes of the scopes that were searched last.
    pub vector_index_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(30),
            readers: 4,
            max_bytes: None,
            vector_index_bytes: limits::VECTOR_INDEX_BYTES,
        }
    }
}

/// A handle on one database file. Cloning it is cheap; all clones share one
/// writer and a few readers. Several processes may use one file at once.
///
/// What a writing call answers has reached the disk, but for the calls that say
/// otherwise: they reach it with the next one that does. A call that is dropped
/// before it answered may have been carried out or not.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    settings: Settings,
    // Closed before the writer, as fields are in their order: of two connections
    // that close at the same time each takes the other for one that goes on, and
    // the log is left behind, with what was forgotten.
    readers: Readers,
    writer: Writer,
    held: Held,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Database")
            .field("path", &self.inner.path)
            .finish_non_exhaustive()
    }
}

impl Database {
    /// Opens the file, making it and its folder where they are missing, and
    /// brings its schema up to date.
    ///
    /// # Errors
    /// When the file cannot be opened, is no database, is damaged, belongs to
    /// another application or to a newer version of this one.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::open_with(path, Settings::default()).await
    }

    /// As [`Database::open`], with settings.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub async fn open_with(path: impl Into<PathBuf>, settings: Settings) -> Result<Self> {
        let path = path.into();
        blocking(move || {
            let connection = file::open_for_writing(&path, &settings)?;
            let writer = Writer::start(connection, &path, settings.busy_timeout)?;
            let readers = Readers::new(&path, &settings);
            Ok(Self {
                inner: Arc::new(Inner {
                    path,
                    settings,
                    writer,
                    readers,
                    held: Held::default(),
                }),
            })
        })
        .await
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The sessions that this program works on.
    pub(crate) fn held(&self) -> &Held {
        &self.inner.held
    }

    /// Carries out `work` on one unchanging view of the file.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Snapshot<'_>) -> Result<T> + Send + 'static,
    {
        self.inner.readers.run(work).await
    }

    /// Carries out `work` whole or not at all, and answers once it is on the disk.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        self.inner.writer.run(Durability::OnDisk, work).await
    }

    /// Carries out `work` whole or not at all, without waiting for the disk: for
    /// what is said to nobody. It survives the end of this process at once, and a
    /// loss of power as soon as anything that is acknowledged after it does.
    pub(crate) async fn write_without_waiting<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        self.inner.writer.run(Durability::Committed, work).await
    }
}

/// Runs `work` on a thread that may block.
async fn blocking<T, F>(work: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T> + Send + 'static,
{
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| {
            Err(StorageError::Internal(format!(
                "a call on the database was ended from within: {error}"
            )))
        })
}

/// What a panic said.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
