//! Backups: the whole file as it is at one moment, copied while it is in use,
//! and put back.
//!
//! A copy by the system's means would miss what is in the write-ahead log, or
//! hold half of a change. `VACUUM INTO` reads one unchanging view and writes a
//! file without free pages, so that nothing erased is in it either. It does not
//! wait for the disk, which this does.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OpenFlags};

use super::{Check, Database, Settings, blocking, check, file, schema};
use crate::ledger::{self, VerifyReport};
use crate::{Result, StorageError};

/// What became of a restoration.
#[derive(Debug)]
pub struct Restoration {
    /// What the file holds now.
    pub check: Check,
    /// What the ledger says of itself; it is intact.
    pub report: VerifyReport,
    /// Where the file is now that was there before, if one was.
    pub replaced: Option<PathBuf>,
}

impl Database {
    /// Writes a copy of the whole file, as it is at one moment, while others go on
    /// reading and writing. The copy is looked over, and has reached the disk;
    /// only its owner can read it. Answers with its size in bytes.
    ///
    /// # Errors
    /// `Invalid` where there is a file of this name; when the copy cannot be
    /// written, and `Corrupt` when this file is damaged, so that no copy of it
    /// would be a backup. Nothing is left behind.
    pub async fn back_up(&self, to: impl Into<PathBuf>) -> Result<u64> {
        let (path, settings) = (self.path().to_path_buf(), self.inner.settings.clone());
        let to = to.into();
        blocking(move || {
            let source = file::open_for_upkeep(&path, &settings)
                .map_err(|error| error.at(&path, settings.busy_timeout))?;
            let partial = copy(&source, &path, &to, "partial", &settings)?;
            look_over(&partial.connect()?)?.map_or(Ok(()), |reason| {
                Err(StorageError::Corrupt {
                    path: path.clone(),
                    reason,
                })
            })?;
            partial.keep_as(&to)?;
            Ok(fs::metadata(&to).map_or(0, |file| file.len()))
        })
        .await
    }

    /// Makes the file at `path` out of a backup, once the backup was looked over
    /// and its ledger found intact. A file that is there is replaced only where
    /// `replace` says so, and is kept beside it under another name.
    ///
    /// # Errors
    /// `Corrupt` for a backup that is damaged or whose ledger was altered, and
    /// what else a file can be but ours; `Invalid` where there is a file already;
    /// `Busy` while another program uses it. What is at `path` is left as it was.
    pub async fn restore(
        backup: impl Into<PathBuf>,
        path: impl Into<PathBuf>,
        replace: bool,
    ) -> Result<Restoration> {
        let (backup, path) = (backup.into(), path.into());
        blocking(move || restore(&backup, &path, replace, &Settings::default())).await
    }
}

fn restore(backup: &Path, path: &Path, replace: bool, settings: &Settings) -> Result<Restoration> {
    if path.exists() && !replace {
        return Err(exists(path));
    }
    let found = |error: StorageError| error.at(backup, settings.busy_timeout);
    let source = open_backup(backup).map_err(found)?;
    file::make_folder(path)?;
    let fresh = copy(&source, backup, path, "restoring", settings)?;
    let (check, report) = fresh.looked_over(backup, settings)?;
    let replaced = if path.exists() {
        Some(set_aside(path, settings)?)
    } else {
        None
    };
    fresh.keep_as(path)?;
    Ok(Restoration {
        check: Check {
            path: path.to_path_buf(),
            ..check
        },
        report,
        replaced,
    })
}

/// Opens a file that may be anything, and is not changed.
fn open_backup(backup: &Path) -> Result<Connection> {
    if !backup.is_file() {
        return Err(StorageError::CannotOpen {
            path: backup.to_path_buf(),
            reason: "there is no such file".to_owned(),
        });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(backup, flags)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    schema::refuse_what_is_not_ours(&connection, backup)?;
    if schema::pragma::<i32>(&connection, "user_version")? == 0 {
        return Err(StorageError::Invalid(format!(
            "the backup `{}` is empty: name another one",
            backup.display()
        )));
    }
    Ok(connection)
}

/// A copy that nobody relies on yet; it goes unless it is kept.
struct Fresh {
    path: PathBuf,
    kept: bool,
}

/// Copies all that a connection sees into a file beside `to`.
fn copy(
    source: &Connection,
    from: &Path,
    to: &Path,
    suffix: &str,
    settings: &Settings,
) -> Result<Fresh> {
    if suffix == "partial" && to.exists() {
        return Err(exists(to));
    }
    let fresh = Fresh {
        path: beside(to, suffix),
        kept: false,
    };
    // What an earlier attempt left when it was killed.
    fresh.remove();
    file::create(&fresh.path)?;
    let name = fresh.path.to_str().ok_or_else(|| {
        StorageError::Invalid(format!(
            "the name `{}` is no Unicode text: choose another",
            to.display()
        ))
    })?;
    source.execute("VACUUM INTO ?1", [name]).map_err(|error| {
        // Of the two files only the one that is read can be damaged, and only
        // the other one be full.
        match StorageError::from(error).at(from, settings.busy_timeout) {
            StorageError::DiskFull { .. } => StorageError::DiskFull {
                path: to.to_path_buf(),
            },
            StorageError::ReadOnly { .. } => StorageError::ReadOnly {
                path: to.to_path_buf(),
            },
            other => other,
        }
    })?;
    Ok(fresh)
}

impl Fresh {
    fn connect(&self) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        Ok(connection)
    }

    /// Brings the copy up to date, and looks at all that it holds. What is wrong
    /// with it is wrong with the backup.
    fn looked_over(&self, backup: &Path, settings: &Settings) -> Result<(Check, VerifyReport)> {
        let corrupt = |reason| StorageError::Corrupt {
            path: backup.to_path_buf(),
            reason,
        };
        let found = |error: StorageError| error.at(backup, settings.busy_timeout);
        let connection = file::open_for_writing(&self.path, settings).map_err(found)?;
        let check = check::check(&connection, &self.path).map_err(found)?;
        if let Some(reason) = check.damage.first() {
            return Err(corrupt(reason.clone()));
        }
        let report = ledger::verify_all(&connection).map_err(found)?;
        if let Some(fault) = report.faults.first() {
            return Err(corrupt(format!(
                "its ledger was altered: session `{}`: {}",
                fault.session, fault.what
            )));
        }
        // One file again, without a log beside it.
        connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
        Ok((check, report))
    }

    /// Gives the copy its name, once it has reached the disk.
    fn keep_as(mut self, path: &Path) -> Result<()> {
        let refused = |error| file::refused(path, &error);
        File::open(&self.path)
            .and_then(|file| file.sync_all())
            .map_err(refused)?;
        fs::rename(&self.path, path).map_err(refused)?;
        self.kept = true;
        sync_folder(path).map_err(refused)
    }

    fn remove(&self) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(with(&self.path, suffix));
        }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.kept {
            self.remove();
        }
    }
}

/// Gives the file that is there a second name, so that at no moment there is
/// none. A program that has it open would go on writing to it.
fn set_aside(path: &Path, settings: &Settings) -> Result<PathBuf> {
    match take_log_in(path, settings) {
        // It is damaged, which may be why it is replaced.
        Ok(()) | Err(StorageError::Corrupt { .. } | StorageError::NotADatabase { .. }) => {}
        Err(error) => return Err(error),
    }
    let milliseconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis());
    let aside = beside(path, &format!("replaced-{milliseconds}"));
    let refused = |error| file::refused(&aside, &error);
    // A log that could not be taken in belongs to it, and to no other file.
    for suffix in ["-wal", "-shm"] {
        if with(path, suffix).exists() {
            fs::rename(with(path, suffix), with(&aside, suffix)).map_err(refused)?;
        }
    }
    fs::hard_link(path, &aside).map_err(refused)?;
    Ok(aside)
}

/// Copies the log into the file, which only the last one that uses it can.
fn take_log_in(path: &Path, settings: &Settings) -> Result<()> {
    let found = |error: StorageError| error.at(path, settings.busy_timeout);
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(|error| found(error.into()))?;
    // Not to be waited for: a program that runs goes on running.
    let mode = connection.query_row("PRAGMA journal_mode = DELETE", [], |row| {
        row.get::<_, String>(0)
    });
    match mode {
        Ok(mode) if mode.eq_ignore_ascii_case("delete") => Ok(()),
        Ok(_) => Err(in_use(path)),
        Err(error) => match found(error.into()) {
            StorageError::Busy { .. } => Err(in_use(path)),
            other => Err(other),
        },
    }
}

fn in_use(path: &Path) -> StorageError {
    StorageError::Invalid(format!(
        "another program uses `{}`, and nothing was replaced: end every host on it first",
        path.display()
    ))
}

fn exists(path: &Path) -> StorageError {
    StorageError::Invalid(format!(
        "`{}` exists, and was left as it is: name another file",
        path.display()
    ))
}

/// The damage that there is, if any.
fn look_over(connection: &Connection) -> Result<Option<String>> {
    let line: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((line != "ok").then_some(line))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    with(path, &format!(".{suffix}"))
}

fn with(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// A name reaches the disk with its folder.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
