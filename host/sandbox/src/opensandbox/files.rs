//! The files of a remote sandbox.
//!
//! A script in the sandbox follows the symlinks of a path and refuses those
//! that lead out of the work directory; then the daemon reads or writes. A
//! command that changes the path in between can have another file of its own
//! sandbox read, which it could have copied as well; nothing of the host's is
//! in reach.

use std::time::Duration;

use keepsake_types::limits::{DIRECTORY_ENTRIES, FILE_BYTES};

use super::core::Core;
use super::execd::{Entry, Execd, Upload};
use super::failure::clean;
use super::scripts;
use super::wire::timestamp;
use crate::paths::{WORK, WorkPath, not_regular, too_large};
use crate::{ExitStatus, FileInfo, FileKind, SandboxError};

/// How long a script about one path may take. Removing much takes long.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(120);
/// The permissions of a new file, read as octal.
const NEW_FILE: u32 = 644;

/// What a path is, after all symlinks.
enum Found {
    /// With its size in bytes, where the sandbox can tell.
    File(Option<u64>),
    /// With its path without symlinks.
    Directory(String),
    Other,
    Missing,
}

pub(super) async fn read(core: &Core, path: &WorkPath) -> Result<Vec<u8>, SandboxError> {
    let execd = core.enter()?;
    match look(core, &execd, path).await? {
        Found::Directory(_) => return Err(is_directory(path)),
        Found::Other => return Err(not_regular(&path.given)),
        Found::Missing => return Err(missing(path)),
        Found::File(Some(size)) if size > FILE_BYTES as u64 => {
            return Err(too_large(&path.given, size));
        }
        Found::File(_) => {}
    }
    match execd.download(&absolute(path), 0, FILE_BYTES).await {
        Ok(Some(content)) if content.len() > FILE_BYTES => {
            Err(too_large(&path.given, content.len() as u64))
        }
        Ok(Some(content)) => Ok(content),
        Ok(None) => Err(missing(path)),
        Err(failure) => Err(core.explain(failure).await),
    }
}

pub(super) async fn write(
    core: &Core,
    path: &WorkPath,
    content: &[u8],
) -> Result<(), SandboxError> {
    path.split()?;
    path.check_content(content)?;
    let execd = core.enter()?;
    let mode = match look(core, &execd, path).await? {
        Found::Directory(_) => return Err(is_directory(path)),
        Found::Other => return Err(not_regular(&path.given)),
        // It keeps the permissions that it has.
        Found::File(_) => None,
        Found::Missing => Some(NEW_FILE),
    };
    let upload = Upload {
        path: &absolute(path),
        content: content.to_vec(),
        mode,
    };
    match execd.upload(vec![upload]).await {
        Ok(()) => Ok(()),
        Err(failure) => Err(core.explain(failure).await),
    }
}

pub(super) async fn list(core: &Core, path: &WorkPath) -> Result<Vec<FileInfo>, SandboxError> {
    let execd = core.enter()?;
    let directory = match look(core, &execd, path).await? {
        Found::Directory(directory) => directory,
        Found::Missing => return Err(missing(path)),
        Found::File(_) | Found::Other => {
            return Err(SandboxError::path(&path.given, "it is not a directory"));
        }
    };
    let entries = match execd.list(&directory).await {
        Ok(entries) => entries,
        Err(failure) => return Err(core.explain(failure).await),
    };
    if entries.len() > DIRECTORY_ENTRIES {
        return Err(SandboxError::Limit {
            name: "directory-entries",
            message: format!(
                "`{}` holds more than {DIRECTORY_ENTRIES} names; list a part of it with a command",
                path.given.escape_debug()
            ),
        });
    }
    let shown = absolute(path);
    let mut files: Vec<FileInfo> = entries
        .iter()
        .map(|entry| file_info(&shown, entry))
        .collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn file_info(directory: &str, entry: &Entry) -> FileInfo {
    let name = entry.path.rsplit('/').next().unwrap_or_default();
    FileInfo {
        path: format!("{directory}/{name}"),
        kind: match entry.kind.as_str() {
            "file" => FileKind::File,
            "directory" => FileKind::Directory,
            "symlink" => FileKind::Symlink,
            _ => FileKind::Other,
        },
        size: entry.size,
        modified_at: entry.modified_at.as_deref().and_then(timestamp),
    }
}

pub(super) async fn remove(core: &Core, path: &WorkPath) -> Result<bool, SandboxError> {
    path.split()?;
    let execd = core.enter()?;
    let printed = script(core, &execd, &scripts::remove(path)).await?;
    match printed.lines().next() {
        Some("removed") => Ok(true),
        Some("missing") => Ok(false),
        other => Err(refused(path, other.unwrap_or_default())),
    }
}

async fn look(core: &Core, execd: &Execd, path: &WorkPath) -> Result<Found, SandboxError> {
    let printed = script(core, execd, &scripts::look(path)).await?;
    let (first, rest) = printed.split_once('\n').unwrap_or((&printed, ""));
    let rest = rest.strip_suffix('\n').unwrap_or(rest);
    Ok(match first {
        "file" => Found::File(rest.trim().parse().ok()),
        "directory" => Found::Directory(rest.to_owned()),
        "other" => Found::Other,
        "missing" => Found::Missing,
        other => return Err(refused(path, other)),
    })
}

async fn script(core: &Core, execd: &Execd, script: &str) -> Result<String, SandboxError> {
    match execd.run(script, SCRIPT_TIMEOUT).await {
        Ok((ExitStatus::Code(0), printed)) => Ok(printed),
        Ok((status, printed)) => Err(SandboxError::Unavailable {
            message: format!(
                "the sandbox's shell failed at a file with {status:?}: {}",
                clean(&printed)
            ),
            retry_after: None,
        }),
        Err(failure) => Err(core.explain(failure).await),
    }
}

/// What a script says of a path that cannot be used.
fn refused(path: &WorkPath, word: &str) -> SandboxError {
    let reason = match word {
        "outside" => "a symlink in it leads out of the work directory".into(),
        "dangling" => "its symlinks lead nowhere, or in a circle".into(),
        "blocked" => "a part of it is not a directory".into(),
        other => format!("the sandbox says `{}`", clean(other)),
    };
    SandboxError::path(&path.given, reason)
}

fn absolute(path: &WorkPath) -> String {
    let mut absolute = WORK.to_owned();
    for part in path.parts() {
        absolute.push('/');
        absolute.push_str(&part);
    }
    absolute
}

fn missing(path: &WorkPath) -> SandboxError {
    SandboxError::NotFound {
        what: format!("`{}`", path.given.escape_debug()),
    }
}

fn is_directory(path: &WorkPath) -> SandboxError {
    SandboxError::path(&path.given, "it is a directory")
}
