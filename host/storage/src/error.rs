//! What can go wrong with the database, worded for whoever has to act on it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keepsake_types::InvalidName;
use rusqlite::ErrorCode;

/// Why a call on the database was not carried out. Nothing was changed by a
/// call that answers with an error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StorageError {
    /// The file is something else than a database.
    #[error("`{}` is not a database file: move it away or name another data folder", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file was a database and is damaged.
    #[error(
        "the database `{}` is damaged ({reason}): stop every host that uses it, keep a copy, and restore a backup",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite says about it.
        reason: String,
    },
    /// The file belongs to a later version of this program.
    #[error(
        "`{}` was written by a newer Keepsake (schema {found}, this one knows {known}): use that version or another data folder",
        path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The schema version in the file.
        found: u32,
        /// The newest schema version that this program can read.
        known: u32,
    },
    /// The file is a database of some other program.
    #[error(
        "`{}` is a database of another application, and was left as it is: name another data folder",
        path.display()
    )]
    ForeignFile {
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder cannot be written to.
    #[error(
        "`{}` cannot be written: give this user the right to write to the file and its folder, or name another data folder",
        path.display()
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// There is no room left.
    #[error(
        "no room to write `{}`: the disk is full or the file has reached its size bound; free some space and try again",
        path.display()
    )]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// Another process kept the file locked for too long.
    #[error(
        "`{}` was locked by another process for {} s: end that process or try again",
        path.display(),
        waited.as_secs_f32()
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long was waited for it.
        waited: Duration,
    },
    /// The file or its folder cannot be made or opened.
    #[error("cannot open the database `{}`: {reason}; check the path and its rights", path.display())]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// What the system says about it.
        reason: String,
    },
    /// The device failed to read or write.
    #[error("reading or writing `{}` failed: {reason}; check the disk", path.display())]
    Device {
        /// The file.
        path: PathBuf,
        /// What SQLite says about it.
        reason: String,
    },
    /// Another program works on the session.
    #[error(
        "session `{session}` goes on in another program: end that one first, or begin a new session"
    )]
    SessionInUse {
        /// The session's id.
        session: String,
    },
    /// The arguments break a rule, which the text names.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// A named bound was reached.
    #[error("{message}")]
    Limit {
        /// The bound's name, such as `working-value-bytes`.
        name: &'static str,
        /// What was asked for and what the bound is.
        message: String,
    },
    /// SQLite refused in a way that this crate did not foresee.
    #[error(
        "the database refused a statement: {source}; this is a fault in the host, please report it"
    )]
    Sqlite {
        /// What SQLite says.
        #[source]
        source: Arc<rusqlite::Error>,
    },
    /// A fault in this program.
    #[error("{0}; this is a fault in the host, please report it")]
    Internal(String),
}

impl StorageError {
    /// A bound that was passed: what it bounds, how much was asked for, the bound.
    pub(crate) fn limit(name: &'static str, what: &str, actual: usize, bound: usize) -> Self {
        Self::Limit {
            name,
            message: format!("{what}: {actual}, the bound `{name}` is {bound}"),
        }
    }

    /// Gives what SQLite says its own case, now that the file is known.
    #[must_use]
    pub(crate) fn at(self, path: &Path, waited: Duration) -> Self {
        let Self::Sqlite { source } = &self else {
            return self;
        };
        if let Some(reason) = contradiction(source) {
            return Self::Corrupt {
                path: path.to_path_buf(),
                reason,
            };
        }
        let rusqlite::Error::SqliteFailure(failure, message) = source.as_ref() else {
            return self;
        };
        let path = path.to_path_buf();
        let reason = || message.clone().unwrap_or_else(|| failure.to_string());
        match failure.code {
            ErrorCode::NotADatabase => Self::NotADatabase { path },
            ErrorCode::DatabaseCorrupt => Self::Corrupt {
                path,
                reason: reason(),
            },
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Self::ReadOnly { path },
            ErrorCode::DiskFull => Self::DiskFull { path },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy { path, waited },
            ErrorCode::CannotOpen => Self::CannotOpen {
                path,
                reason: reason(),
            },
            // A write that fails half-way is what a full disk looks like on
            // file systems that promise space before they have it.
            ErrorCode::SystemIoFailure
                if failure.extended_code == rusqlite::ffi::SQLITE_IOERR_WRITE =>
            {
                Self::DiskFull { path }
            }
            ErrorCode::SystemIoFailure => Self::Device {
                path,
                reason: reason(),
            },
            _ => self,
        }
    }
}

impl From<rusqlite::Error> for StorageError {
    fn from(source: rusqlite::Error) -> Self {
        Self::Sqlite {
            source: Arc::new(source),
        }
    }
}

impl From<InvalidName> for StorageError {
    fn from(source: InvalidName) -> Self {
        Self::Invalid(source.to_string())
    }
}

/// Why what is in the file was never written by a host, which keeps columns to
/// their types and records to each other: someone else changed it.
fn contradiction(error: &rusqlite::Error) -> Option<String> {
    use rusqlite::Error as E;
    match error {
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::InvalidColumnType(..)
        | E::Utf8Error(..) => Some(format!("it holds a value that no host wrote: {error}")),
        E::QueryReturnedNoRows => Some("a record that others refer to is gone".to_owned()),
        E::SqliteFailure(failure, _) if failure.code == ErrorCode::ConstraintViolation => {
            Some(format!("its records contradict each other: {error}"))
        }
        _ => None,
    }
}

/// What every function of this crate answers with.
pub(crate) type Result<T, E = StorageError> = std::result::Result<T, E>;
