//! Opening the file, so that nothing is written before it is known to be ours.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Settings, schema};
use crate::{Result, StorageError};

/// Prepared statements that a connection keeps; more than this crate has.
const STATEMENTS: usize = 128;
/// Pages in the write-ahead log after which it is copied into the file. Each
/// program that opens the file reads what is in the log, so that a long one
/// makes the start of all slow.
const LOG_PAGES: i64 = 256;
/// What the write-ahead log is cut back to once it was copied into the file.
const LOG_BYTES: i64 = 64 * 1024 * 1024;

/// Opens the connection that writes: makes what is missing, refuses what is
/// not ours, brings the schema up to date.
pub(super) fn open_for_writing(path: &Path, settings: &Settings) -> Result<Connection> {
    create(path)?;
    let found = |error: StorageError| error.at(path, settings.busy_timeout);
    let connection = connect(path, settings).map_err(found)?;
    schema::refuse_what_is_not_ours(&connection, path).map_err(found)?;
    use_write_ahead_log(&connection, settings.busy_timeout).map_err(found)?;
    prepare_for_writing(&connection, settings).map_err(found)?;
    schema::migrate(&connection, path).map_err(found)?;
    Ok(connection)
}

/// Opens a further connection that writes, for work on the file as a whole.
pub(super) fn open_for_upkeep(path: &Path, settings: &Settings) -> Result<Connection> {
    let connection = connect(path, settings)?;
    prepare_for_writing(&connection, settings)?;
    Ok(connection)
}

/// Opens a connection that can only read.
pub(super) fn open_for_reading(path: &Path, settings: &Settings) -> Result<Connection> {
    let open = || -> Result<Connection> {
        let connection = connect(path, settings)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    };
    open().map_err(|error| error.at(path, settings.busy_timeout))
}

/// Makes the folder and an empty file where they are missing; both can be read
/// by their owner alone.
pub(super) fn create(path: &Path) -> Result<()> {
    let refused = |error| refused(path, &error);
    if path.is_dir() {
        return Err(StorageError::CannotOpen {
            path: path.to_path_buf(),
            reason: "it is a folder, not a file".to_owned(),
        });
    }
    make_folder(path)?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(refused(error)),
    }
}

/// Makes the folder of a file where it is missing; it can be read by its owner
/// alone.
pub(super) fn make_folder(path: &Path) -> Result<()> {
    let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    else {
        return Ok(());
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|error| refused(path, &error))
}

/// Why the system does not let a file be made beside others of the database.
pub(crate) fn refused(path: &Path, error: &io::Error) -> StorageError {
    let path = path.to_path_buf();
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            StorageError::ReadOnly { path }
        }
        io::ErrorKind::StorageFull => StorageError::DiskFull { path },
        _ => StorageError::CannotOpen {
            path,
            reason: error.to_string(),
        },
    }
}

fn connect(path: &Path, settings: &Settings) -> Result<Connection> {
    // Without the flag for addresses, so that a path is never read as one.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(settings.busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "foreign_keys", true)?;
    // Otherwise SQLite plans a statement anew for each value that a partial index
    // could depend on, which is a quarter of the time of writing facts.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A file from elsewhere must not run functions through its schema.
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

/// Turning the log on needs the file alone for a moment, and SQLite does not
/// wait for that by itself; so this does.
fn use_write_ahead_log(connection: &Connection, patience: Duration) -> Result<()> {
    let begun = Instant::now();
    loop {
        let outcome = connection.query_row("PRAGMA journal_mode = WAL", [], |row| {
            row.get::<_, String>(0)
        });
        match outcome {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(mode) => {
                return Err(StorageError::Internal(format!(
                    "the file system does not allow a write-ahead log (SQLite chose `{mode}`); put \
                     the data folder on a local disk"
                )));
            }
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < patience =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn prepare_for_writing(connection: &Connection, settings: &Settings) -> Result<()> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    // What is forgotten is overwritten, not only unlinked.
    connection.pragma_update(None, "secure_delete", true)?;
    if let Some(bytes) = settings.max_bytes {
        let page: u64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let pages = i64::try_from(bytes / page.max(1))
            .unwrap_or(i64::MAX)
            .max(1);
        // Answers with the bound that holds, so it is asked and not only set.
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    Ok(())
}
