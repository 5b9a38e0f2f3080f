//! Where a session's effects are recorded. Guests cannot reach it: no interface
//! of the WIT package writes the ledger.

use keepsake_storage::{Database, Exchange, Kind as EntryKind, StorageError};
use keepsake_types::EntryRef;
use serde_json::Value;

use crate::bindings::agent::keepsake::host::types::{self as wit, Error};

/// The ledger of one session. Cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    database: Database,
    session: String,
}

impl Ledger {
    /// The ledger of a session that was begun.
    pub fn new(database: Database, session: impl Into<String>) -> Self {
        Self {
            database,
            session: session.into(),
        }
    }

    /// Appends an entry, which has reached the disk when this answers.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn write(&self, kind: EntryKind, payload: Value) -> Result<EntryRef, StorageError> {
        self.database.append(&self.session, kind, payload).await
    }

    /// Appends an entry that is said to nobody: it reaches the disk with the next
    /// one that is written there.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn write_without_waiting(
        &self,
        kind: EntryKind,
        payload: Value,
    ) -> Result<EntryRef, StorageError> {
        self.database
            .append_without_waiting(&self.session, kind, payload)
            .await
    }

    /// What was said in the session before a turn, newest first.
    pub(crate) async fn exchanges(
        &self,
        before: u32,
        limit: usize,
    ) -> Result<Vec<Exchange>, StorageError> {
        let before = u64::from(before);
        self.database.exchanges(&self.session, before, limit).await
    }

    /// The same as [`Ledger::write`], for a capability.
    pub(crate) async fn append(
        &self,
        kind: EntryKind,
        payload: Value,
    ) -> Result<wit::EntryRef, Error> {
        match self.write(kind, payload).await {
            Ok(entry) => Ok(entry.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Appends an entry from where nothing can be awaited, such as a destructor.
    pub(crate) fn append_later(&self, kind: EntryKind, payload: Value) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let ledger = self.clone();
        runtime.spawn(async move {
            if let Err(error) = ledger.write(kind, payload).await {
                tracing::warn!("an entry is missing in the ledger: {error}");
            }
        });
    }
}

impl From<EntryRef> for wit::EntryRef {
    fn from(entry: EntryRef) -> Self {
        Self {
            session: entry.session,
            index: entry.index,
            hash: entry.hash,
        }
    }
}

impl From<wit::EntryRef> for EntryRef {
    fn from(entry: wit::EntryRef) -> Self {
        Self {
            session: entry.session,
            index: entry.index,
            hash: entry.hash,
        }
    }
}

/// What a guest is told of the database's troubles. What only the operator can
/// mend goes to the log in full.
impl From<StorageError> for Error {
    fn from(error: StorageError) -> Self {
        let message = error.to_string();
        match error {
            StorageError::Invalid(_) => Self::Invalid(message),
            StorageError::NotFound(_) => Self::NotFound(message),
            StorageError::Limit { name, .. } => Self::Limit(wit::LimitReached {
                name: name.into(),
                message,
            }),
            StorageError::Busy { .. } => {
                tracing::warn!("{message}");
                Self::Unavailable(wit::Unavailable {
                    message: "the memory is busy; try again".into(),
                    retry_after_ms: Some(1_000),
                })
            }
            StorageError::DiskFull { .. }
            | StorageError::ReadOnly { .. }
            | StorageError::Device { .. }
            | StorageError::Corrupt { .. } => {
                tracing::error!("{message}");
                Self::Unavailable(wit::Unavailable {
                    message: "the memory cannot be used now; the operator was told why".into(),
                    retry_after_ms: None,
                })
            }
            _ => {
                tracing::error!("{message}");
                Self::Internal("a fault in the host's memory; the operator was told".into())
            }
        }
    }
}
