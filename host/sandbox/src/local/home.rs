//! The directories of one sandbox, and who owns them.
//!
//! Below the backend's root a sandbox `local-…` has a lock file
//! `local-….lock`, which the host that made it holds locked, and a directory:
//!
//! ```text
//! work/         what the sandbox sees as /work
//! etc/          what it sees as /etc
//! runs/         pipes of the commands that run now
//! checkpoints/  copies of work/
//! trash/        what is being deleted
//! ```
//!
//! The system lets go of the lock when the host ends, however it ends. A
//! directory whose lock can be had is a leftover.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, fchmod};
use uuid::Uuid;

use super::account::Account;
use super::{removal, tree};
use crate::SandboxError;

const PREFIX: &str = "local-";

/// The directories of one sandbox. Dropping them deletes them.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) id: String,
    pub(super) account: Account,
    pub(super) work: PathBuf,
    pub(super) etc: PathBuf,
    pub(super) runs: PathBuf,
    pub(super) checkpoints: PathBuf,
    trash: PathBuf,
    /// The work directory, opened before anything ran in it.
    work_opened: File,
    directory: PathBuf,
    lock: PathBuf,
    /// Held, not read: open means locked.
    _locked: File,
    removed: AtomicBool,
}

impl Home {
    /// Makes the directories of a new sandbox.
    pub(super) fn create(root: &Path) -> Result<Self, SandboxError> {
        let number = Uuid::now_v7();
        let id = format!("{PREFIX}{number}");
        let account = Account::for_sandbox(number)?;
        let lock = root.join(format!("{id}.lock"));
        let locked = take_new_lock(&lock)?;
        let directory = root.join(&id);
        let made = Self::make_directories(&directory, account);
        let work_opened = match made {
            Ok(opened) => opened,
            Err(error) => {
                // The lock goes last, or another host could not know a leftover as one.
                if removal::remove(&directory).is_ok() {
                    let _ = fs::remove_file(&lock);
                }
                return Err(error);
            }
        };
        Ok(Self {
            id,
            account,
            work: directory.join("work"),
            etc: directory.join("etc"),
            runs: directory.join("runs"),
            checkpoints: directory.join("checkpoints"),
            trash: directory.join("trash"),
            work_opened,
            directory,
            lock,
            _locked: locked,
            removed: AtomicBool::new(false),
        })
    }

    fn make_directories(directory: &Path, account: Account) -> Result<File, SandboxError> {
        // A foreign account must be able to pass, not to look.
        let outer = if account.foreign { 0o711 } else { 0o700 };
        make_directory(directory, outer)?;
        make_directory(&directory.join("work"), 0o700)?;
        make_directory(&directory.join("etc"), 0o755)?;
        make_directory(&directory.join("runs"), outer)?;
        make_directory(&directory.join("checkpoints"), 0o700)?;
        make_directory(&directory.join("trash"), 0o700)?;
        let work = open_directory(&directory.join("work"))?;
        tree::give(&work, account).map_err(SandboxError::errno(
            "cannot give the work directory to the sandbox's account; the host runs as root and \
             needs the right to change owners (CAP_CHOWN) and accounts (CAP_SETUID, CAP_SETGID)",
        ))?;
        Ok(work)
    }

    /// The work directory, open.
    ///
    /// A command may have forbidden the directory to its owner, who is the
    /// host unless the host is root; the host takes the right back.
    pub(super) fn work(&self) -> Result<&File, SandboxError> {
        let failed = "cannot open the sandbox's work directory";
        let mode = self
            .work_opened
            .metadata()
            .map_err(SandboxError::io(failed))?
            .mode();
        if mode & 0o700 != 0o700 {
            fchmod(
                &self.work_opened,
                Mode::from_raw_mode(mode & 0o777) | Mode::RWXU,
            )
            .map_err(SandboxError::errno(failed))?;
        }
        Ok(&self.work_opened)
    }

    /// A new directory for something that is to be deleted. Moving it here
    /// makes it vanish from the sandbox at once.
    pub(super) fn new_trash(&self) -> Result<Trash, SandboxError> {
        let path = self.trash.join(Uuid::now_v7().to_string());
        make_directory(&path, 0o700)?;
        let opened = open_directory(&path)?;
        Ok(Trash { path, opened })
    }

    /// Deletes all of it; once.
    pub(super) fn remove(&self) -> Result<(), SandboxError> {
        if self.removed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        removal::remove(&self.directory)
            .and_then(|()| fs::remove_file(&self.lock))
            .map_err(SandboxError::io(format!(
                "cannot remove the sandbox's directory {}; remove it by hand",
                self.directory.display()
            )))
    }
}

/// A directory for something that is to be deleted.
#[derive(Debug)]
pub(super) struct Trash {
    pub(super) path: PathBuf,
    pub(super) opened: File,
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!(sandbox = self.id, %error, "a sandbox's files are left over");
        }
    }
}

/// Removes what hosts that no longer run left below `root`, and answers how
/// many sandboxes that were.
pub(super) fn sweep(root: &Path) -> Result<usize, SandboxError> {
    let failed = || SandboxError::io(format!("cannot clean up {}", root.display()));
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        other => other.map_err(failed())?,
    };
    let mut removed = 0;
    let mut first_error = None;
    for entry in entries {
        let name = entry.map_err(failed())?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".lock")) else {
            continue;
        };
        if !id.starts_with(PREFIX) {
            continue;
        }
        let lock = root.join(&name);
        let Ok(opened) = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&lock)
        else {
            continue;
        };
        if !holds(&opened, &lock) {
            continue;
        }
        match removal::remove(&root.join(id)).and_then(|()| fs::remove_file(&lock)) {
            Ok(()) => removed += 1,
            // One that cannot be removed does not keep the others.
            Err(error) => {
                first_error.get_or_insert(SandboxError::Io {
                    what: format!(
                        "cannot remove {}, left by a host that no longer runs; remove it by hand",
                        root.join(id).display()
                    ),
                    source: error,
                });
            }
        }
    }
    first_error.map_or(Ok(removed), Err)
}

/// Makes a lock file that nobody can take for a leftover.
fn take_new_lock(path: &Path) -> Result<File, SandboxError> {
    let failed = || SandboxError::io(format!("cannot make the lock file {}", path.display()));
    // Between making and locking, a sweep of another host may take the file
    // away. It does so once at most for every time that we make it.
    for _ in 0..100 {
        let file = match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
        {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            other => other.map_err(failed())?,
        };
        if holds(&file, path) {
            return Ok(file);
        }
    }
    Err(failed()(io::ErrorKind::AlreadyExists.into()))
}

/// Whether the lock could be had, and the file is still the one of this name.
fn holds(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return false,
    }
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(named)) => ours.ino() == named.ino() && ours.dev() == named.dev(),
        _ => false,
    }
}

/// Makes a directory with exactly this mode, whatever the host's umask is.
pub(super) fn make_directory(path: &Path, mode: u32) -> Result<(), SandboxError> {
    fs::create_dir(path)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)))
        .map_err(SandboxError::io(format!(
            "cannot make the directory {}",
            path.display()
        )))
}

/// Opens a directory that the host made.
pub(super) fn open_directory(path: &Path) -> Result<File, SandboxError> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(path)
        .map_err(SandboxError::io(format!(
            "cannot open the directory {}",
            path.display()
        )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leftover_is_swept_and_a_sandbox_in_use_is_not() {
        let root = tempfile::tempdir().unwrap();
        let used = Home::create(root.path()).unwrap();
        // What a killed host leaves: files, and a lock that nobody holds.
        let left = Home::create(root.path()).unwrap();
        fs::write(left.work.join("file"), "text").unwrap();
        let (left_directory, left_lock) = (left.directory.clone(), left.lock.clone());
        left.removed.store(true, Ordering::Release);
        drop(left);
        assert!(left_directory.exists() && left_lock.exists());

        fs::write(root.path().join("something-else.lock"), "").unwrap();
        assert_eq!(sweep(root.path()).unwrap(), 1);
        assert!(!left_directory.exists() && !left_lock.exists());
        assert!(used.work.exists() && used.lock.exists());
        assert!(root.path().join("something-else.lock").exists());
        assert_eq!(sweep(root.path()).unwrap(), 0);
    }

    #[test]
    fn a_dropped_sandbox_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        drop(Home::create(root.path()).unwrap());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }
}
