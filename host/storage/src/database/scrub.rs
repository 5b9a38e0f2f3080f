//! Scrubbing: after an erasure, no copy of what was erased is left in the file.
//!
//! What is deleted is overwritten at once (`secure_delete`), but SQLite does not
//! promise that for the places that rows leave when they move between pages, and
//! another program may have deleted without overwriting. Older pages stand in the
//! write-ahead log as well. So the file is written anew from what it holds, and
//! the log is emptied.

use std::path::Path;

use rusqlite::Connection;

use super::{Database, Settings, blocking, file};
use crate::Result;

/// How far scrubbing came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Scrubbed {
    /// The log is empty. It is not where another process reads from it for
    /// longer than this one waits; then it is emptied by the next scrubbing, or
    /// by the last process that closes the file.
    pub log_emptied: bool,
    /// The size of the file in bytes, now.
    pub bytes: u64,
}

impl Database {
    /// Writes the file anew and empties its log. Takes longer the larger the
    /// file is, and for a while as much room again, twice. Others can read
    /// meanwhile; writes wait.
    ///
    /// # Errors
    /// `DiskFull` where there is no room; `Busy` where another process writes
    /// for longer than this one waits. What was erased is erased all the same.
    pub async fn scrub(&self) -> Result<Scrubbed> {
        let (path, settings) = (self.path().to_path_buf(), self.inner.settings.clone());
        blocking(move || {
            scrub(&path, &settings).map_err(|error| error.at(&path, settings.busy_timeout))
        })
        .await
    }
}

fn scrub(path: &Path, settings: &Settings) -> Result<Scrubbed> {
    // A connection of its own: within a transaction, where the writer does all of
    // its work, a file cannot be written anew.
    let connection = file::open_for_upkeep(path, settings)?;
    connection.execute_batch("VACUUM")?;
    let log_emptied = empty_log(&connection)?;
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    Ok(Scrubbed { log_emptied, bytes })
}

/// Copies the log into the file and cuts it to nothing. Waits for others as long
/// as any call does. Answers whether it could.
fn empty_log(connection: &Connection) -> Result<bool> {
    let busy: i64 =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(busy == 0)
}
