//! The files of a sandbox, as the host reads and writes them.
//!
//! All of it goes through `cap-std` from the open work directory, so that no
//! symlink which a command made leads the host anywhere else, not even one
//! that is put in the way while the host looks.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cap_std::fs::{Dir, FileType, MetadataExt, OpenOptions, OpenOptionsExt};
use keepsake_types::limits::{DIRECTORY_ENTRIES, FILE_BYTES};
use rustix::fs::renameat;
use rustix::io::Errno;

use super::home::Home;
use super::removal;
use super::spawner::writing;
use super::tree::{self, Bounds};
use crate::paths::{WorkPath, not_regular, too_large};
use crate::{FileInfo, FileKind, SandboxError};

impl WorkPath {
    /// What to open it by: `.` for the work directory itself.
    fn path(&self) -> &Path {
        if self.inner.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.inner
        }
    }

    /// Tells what went wrong with it.
    fn error(&self, doing: &'static str) -> impl FnOnce(io::Error) -> SandboxError + '_ {
        move |error| match error.kind() {
            io::ErrorKind::NotFound => SandboxError::NotFound {
                what: format!("`{}`", self.given.escape_debug()),
            },
            io::ErrorKind::NotADirectory => {
                SandboxError::path(&self.given, "a part of it is not a directory")
            }
            io::ErrorKind::IsADirectory => SandboxError::path(&self.given, "it is a directory"),
            _ if error.raw_os_error() == Some(libc::ELOOP) => {
                SandboxError::path(&self.given, "its symlinks lead in a circle")
            }
            // How `cap-std` tells it; the system has no code for it.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                SandboxError::path(
                    &self.given,
                    "a symlink in it leads out of the work directory, or is absolute",
                )
            }
            _ if error.raw_os_error() == Some(libc::EXDEV) => SandboxError::path(
                &self.given,
                "a symlink in it leads out of the work directory, or is absolute",
            ),
            // What opening a socket, or a pipe without a reader, answers.
            _ if error.raw_os_error() == Some(libc::ENXIO) => not_regular(&self.given),
            _ => SandboxError::Io {
                what: format!(
                    "cannot {doing} `{}` in the sandbox",
                    self.given.escape_debug()
                ),
                source: error,
            },
        }
    }
}

fn work(home: &Home) -> Result<Dir, SandboxError> {
    let work = home
        .work()?
        .try_clone()
        .map_err(SandboxError::io("cannot open the sandbox's work directory"))?;
    Ok(Dir::from_std_file(work))
}

/// A whole regular file.
pub(super) fn read(home: &Home, path: &WorkPath) -> Result<Vec<u8>, SandboxError> {
    // Without waiting: opening a pipe would wait for somebody to write.
    let file = work(home)?
        .open_with(
            path.path(),
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK),
        )
        .map_err(path.error("open"))?;
    let metadata = file.metadata().map_err(path.error("look at"))?;
    if metadata.is_dir() {
        return Err(SandboxError::path(&path.given, "it is a directory"));
    }
    if !metadata.is_file() {
        return Err(not_regular(&path.given));
    }
    let limit = FILE_BYTES as u64;
    if metadata.len() > limit {
        return Err(too_large(&path.given, metadata.len()));
    }
    let mut content = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut content)
        .map_err(path.error("read"))?;
    if content.len() > FILE_BYTES {
        return Err(too_large(&path.given, content.len() as u64));
    }
    Ok(content)
}

/// Writes a whole file and the directories that are missing above it.
pub(super) fn write(
    home: &Home,
    path: &WorkPath,
    content: &[u8],
    bounds: Bounds,
) -> Result<(), SandboxError> {
    let (parent, name) = path.split()?;
    path.check_content(content)?;
    let used = tree::size(home.work()?, bounds)?;
    if used.bytes.saturating_add(content.len() as u64) > bounds.bytes {
        return Err(SandboxError::Limit {
            name: "disk-bytes",
            message: format!(
                "the sandbox's files take {} bytes; {} more would be over {}",
                used.bytes,
                content.len(),
                bounds.bytes
            ),
        });
    }
    let directory = make_parents(home, path, parent)?;
    let _writing = writing();
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NONBLOCK);
    let (mut file, made) = match directory.open_with(name, options.clone().create_new(true)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // From the top again: a symlink here may lead elsewhere within.
            let file = work(home)?.open_with(path.path(), &options);
            (file.map_err(path.error("open"))?, false)
        }
        other => (other.map_err(path.error("make"))?, true),
    };
    if made {
        tree::give(&file, home.account).map_err(|error| path.error("make")(error.into()))?;
    }
    if !file.metadata().map_err(path.error("look at"))?.is_file() {
        return Err(not_regular(&path.given));
    }
    file.set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| file.write_all(content))
        .map_err(path.error("write"))
}

fn make_parents(home: &Home, path: &WorkPath, parent: &Path) -> Result<Dir, SandboxError> {
    let work = work(home)?;
    let mut reached = PathBuf::new();
    for component in parent.components() {
        reached.push(component);
        match work.create_dir(&reached) {
            Ok(()) => {
                let made = work
                    .open_dir(&reached)
                    .map_err(path.error("make the directory of"))?;
                tree::give(&made, home.account)
                    .map_err(|error| path.error("make the directory of")(error.into()))?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(path.error("make the directory of")(error)),
        }
    }
    work.open_dir(parent)
        .map_err(path.error("open the directory of"))
}

/// What a directory holds.
pub(super) fn list(home: &Home, path: &WorkPath) -> Result<Vec<FileInfo>, SandboxError> {
    let directory = work(home)?
        .open_dir(path.path())
        .map_err(path.error("open"))?;
    let mut found = Vec::new();
    for entry in directory.entries().map_err(path.error("list"))? {
        let entry = entry.map_err(path.error("list"))?;
        if found.len() == DIRECTORY_ENTRIES {
            return Err(SandboxError::Limit {
                name: "directory-entries",
                message: format!(
                    "`{}` holds more than {DIRECTORY_ENTRIES} names; list a part of it with a command",
                    path.given.escape_debug()
                ),
            });
        }
        let metadata = match directory.symlink_metadata(entry.file_name()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(path.error("list"))?,
        };
        let info = FileInfo {
            path: path
                .shown()
                .join(entry.file_name())
                .to_string_lossy()
                .into_owned(),
            kind: kind(metadata.file_type()),
            size: metadata.size(),
            modified_at: metadata.modified().ok().and_then(|time| {
                let since = time.into_std().duration_since(UNIX_EPOCH).ok()?;
                u64::try_from(since.as_millis()).ok()
            }),
        };
        found.push((entry.file_name(), info));
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found.into_iter().map(|(_, info)| info).collect())
}

fn kind(file: FileType) -> FileKind {
    if file.is_file() {
        FileKind::File
    } else if file.is_dir() {
        FileKind::Directory
    } else if file.is_symlink() {
        FileKind::Symlink
    } else {
        FileKind::Other
    }
}

/// Deletes a file, a symlink, or a directory with all that is in it.
pub(super) fn remove(home: &Home, path: &WorkPath) -> Result<bool, SandboxError> {
    let (parent, name) = path.split()?;
    let parent = match work(home)?.open_dir(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other.map_err(path.error("open the directory of"))?,
    };
    // It is moved out of the sandbox's sight before it is emptied, so that
    // nothing which still runs there can get in the way.
    let trash = home.new_trash()?;
    let moved = match renameat(&parent, name, &trash.opened, "removed") {
        // Moving a directory writes its `..`, which its mode may forbid.
        Err(Errno::ACCESS) => removal::allow(&parent, name)
            .and_then(|()| renameat(&parent, name, &trash.opened, "removed")),
        other => other,
    };
    let was_there = match moved {
        Ok(()) => true,
        Err(Errno::NOENT) => false,
        Err(error) => return Err(path.error("remove")(error.into())),
    };
    removal::remove(&trash.path).map_err(path.error("remove"))?;
    Ok(was_there)
}
