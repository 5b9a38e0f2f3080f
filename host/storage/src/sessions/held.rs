//! Which sessions a living program works on.
//!
//! A session is held by a lock on a file beside the database, which the system
//! lets go when the program ends, however it ends. So a session that runs and is
//! held by nobody was left by a program that was killed, and no clock and no
//! number of a process has to be believed.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Result;
use crate::database::refused;

/// How often to begin anew where another program removes the file meanwhile.
const TRIES: u32 = 8;

/// The sessions that this program works on, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Held(Mutex<HashMap<String, Lock>>);

#[derive(Debug)]
struct Lock {
    path: PathBuf,
    /// Locked as long as it is open.
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is locked, so that nobody else's is.
        let _ = fs::remove_file(&self.path);
    }
}

impl Held {
    /// Takes a session for this program. Answers whether nobody else has it.
    pub(crate) fn take(&self, database: &Path, session: &str) -> Result<bool> {
        let mut held = self.sessions();
        if held.contains_key(session) {
            return Ok(true);
        }
        let path = path(database, session);
        let locked = lock(&path).map_err(|error| refused(database, &error))?;
        let Some(file) = locked else {
            return Ok(false);
        };
        held.insert(session.to_owned(), Lock { path, _file: file });
        Ok(true)
    }

    /// Whether this program has a session.
    pub(crate) fn holds(&self, session: &str) -> bool {
        self.sessions().contains_key(session)
    }

    /// Lets a session go.
    pub(crate) fn release(&self, session: &str) {
        self.sessions().remove(session);
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Lock>> {
        // The map is whole whatever its last holder did.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn path(database: &Path, session: &str) -> PathBuf {
    // Whoever opens the file by a link meets the same lock.
    let database = fs::canonicalize(database).unwrap_or_else(|_| database.to_path_buf());
    let mut path = database.into_os_string();
    path.push("-session-");
    path.push(session);
    path.into()
}

/// The file, locked; none where another program has it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    for _ in 0..TRIES {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // One that was removed in between is locked by everybody who likes.
        if is_at(&file, path)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    Ok(
        fs::metadata(path)
            .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())),
    )
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_program_at_a_time_has_a_session() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("keepsake.db");
        let (first, second) = (Held::default(), Held::default());
        assert!(first.take(&database, "s-1").unwrap());
        assert!(first.take(&database, "s-1").unwrap());
        assert!(!second.take(&database, "s-1").unwrap());
        assert!(second.take(&database, "s-2").unwrap());
        first.release("s-1");
        assert!(second.take(&database, "s-1").unwrap());
        drop(second);
        assert!(first.take(&database, "s-2").unwrap());
        drop(first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn who_comes_to_the_database_by_a_link_meets_the_same_holder() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.db"), folder.path().join("b.db"));
        fs::write(&file, b"").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let (first, second) = (Held::default(), Held::default());
        assert!(first.take(&file, "s").unwrap());
        assert!(!second.take(&link, "s").unwrap());
    }

    #[test]
    fn many_that_take_and_release_never_have_it_together() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("keepsake.db");
        let (holders, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let held = Held::default();
                        if held.take(&database, "s").unwrap() {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                            taken.fetch_add(1, Ordering::SeqCst);
                            holders.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }
}
