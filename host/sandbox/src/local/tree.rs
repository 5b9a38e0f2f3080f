//! Walks over directories whose content a sandbox may change at any moment.
//!
//! Everything goes by open directories and never through a symlink, so that
//! swapping a directory for a link leads nowhere.

use std::collections::HashSet;
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use keepsake_types::limits::SANDBOX_DIRECTORY_DEPTH;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, chownat, openat, statat};
use rustix::io::Errno;

use super::account::Account;
use crate::SandboxError;

/// What a walk may find.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) bytes: u64,
    pub(super) entries: u64,
}

/// What a walk found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Bytes on the disk.
    pub(super) bytes: u64,
    /// Files and directories, the first not counted.
    pub(super) entries: u64,
    /// The length of the longest file.
    pub(super) longest: u64,
}

/// How much a directory holds. Stops at the first bound that is exceeded.
///
/// # Errors
/// [`SandboxError::Limit`] with the bound's name, or what the system refuses.
pub(super) fn size(directory: impl AsFd, bounds: Bounds) -> Result<Size, SandboxError> {
    let mut size = Size::default();
    let mut linked = HashSet::new();
    walk(directory.as_fd(), 0, &mut |parent, name, _| {
        let stat = match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            other => other.map_err(SandboxError::errno(shown("cannot look at", name)))?,
        };
        size.entries += 1;
        if kind(stat.st_mode).is_file() {
            size.longest = size.longest.max(u64::try_from(stat.st_size).unwrap_or(0));
        }
        // Two names of one file are one file.
        if stat.st_nlink < 2 || linked.insert(stat.st_ino) || kind(stat.st_mode).is_dir() {
            size.bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        }
        check(size, bounds)
    })?;
    Ok(size)
}

/// Whether so many bytes are within the bounds.
pub(super) fn check_bytes(bytes: u64, bounds: Bounds) -> Result<(), SandboxError> {
    if bytes <= bounds.bytes {
        return Ok(());
    }
    Err(SandboxError::Limit {
        name: "disk-bytes",
        message: format!("the sandbox's files take more than {} bytes", bounds.bytes),
    })
}

pub(super) fn check(size: Size, bounds: Bounds) -> Result<(), SandboxError> {
    check_bytes(size.bytes, bounds)?;
    check_entries(size.entries, bounds)
}

/// Whether so many files and directories are within the bounds.
pub(super) fn check_entries(entries: u64, bounds: Bounds) -> Result<(), SandboxError> {
    if entries <= bounds.entries {
        return Ok(());
    }
    Err(SandboxError::Limit {
        name: "disk-entries",
        message: format!(
            "the sandbox has more than {} files and directories",
            bounds.entries
        ),
    })
}

/// Gives an open file or directory to a sandbox's account.
pub(super) fn give(file: impl AsFd, owner: Account) -> rustix::io::Result<()> {
    if !owner.foreign {
        return Ok(());
    }
    // Directories may be open for walking only, which `fchown` refuses.
    chownat(
        file,
        c"",
        Some(user(owner)),
        Some(group(owner)),
        AtFlags::EMPTY_PATH,
    )
}

pub(super) fn user(owner: Account) -> rustix::fs::Uid {
    rustix::fs::Uid::from_raw(owner.user)
}

pub(super) fn group(owner: Account) -> rustix::fs::Gid {
    rustix::fs::Gid::from_raw(owner.group)
}

type Visit<'v> =
    dyn FnMut(std::os::fd::BorrowedFd<'_>, &CStr, FileType) -> Result<(), SandboxError> + 'v;

fn walk(
    directory: std::os::fd::BorrowedFd<'_>,
    depth: usize,
    visit: &mut Visit<'_>,
) -> Result<(), SandboxError> {
    check_depth(depth)?;
    let entries = Dir::read_from(directory).map_err(SandboxError::errno(
        "cannot list a directory of the sandbox",
    ))?;
    for entry in entries {
        let entry = entry.map_err(SandboxError::errno(
            "cannot list a directory of the sandbox",
        ))?;
        let name = entry.file_name();
        if is_dot(name) {
            continue;
        }
        visit(directory, name, entry.file_type())?;
        if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
            match open_unreadable_too(directory, name, OFlags::DIRECTORY) {
                Ok(below) => walk(below.as_fd(), depth + 1, visit)?,
                // Gone, or something else by now.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => {
                    return Err(SandboxError::errno(shown("cannot open", name))(error));
                }
            }
        }
    }
    Ok(())
}

pub(super) fn check_depth(depth: usize) -> Result<(), SandboxError> {
    if depth <= SANDBOX_DIRECTORY_DEPTH {
        return Ok(());
    }
    Err(SandboxError::Limit {
        name: "sandbox-directory-depth",
        message: format!(
            "the sandbox has directories more than {SANDBOX_DIRECTORY_DEPTH} levels deep"
        ),
    })
}

/// The names in a directory, taken before anything is changed there.
pub(super) fn names(directory: impl AsFd) -> Result<Vec<std::ffi::CString>, SandboxError> {
    let failed = || SandboxError::errno("cannot list a directory of the sandbox");
    Dir::read_from(directory)
        .map_err(failed())?
        .map(|entry| entry.map(|entry| entry.file_name().to_owned()))
        .filter(|name| !name.as_ref().is_ok_and(|name| is_dot(name)))
        .collect::<Result<_, _>>()
        .map_err(failed())
}

/// Opens a file or directory for reading, also one whose mode forbids that to
/// its owner, who is the host unless the host is root. The mode is put back.
pub(super) fn open_unreadable_too(
    parent: impl AsFd,
    name: &CStr,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {}
        other => return other,
    }
    let place = openat(&parent, name, flags | OFlags::PATH, Mode::empty())?;
    let mode = rustix::fs::fstat(&place)?.st_mode;
    if !matches!(kind(mode), FileType::RegularFile | FileType::Directory) {
        return Err(Errno::ACCESS);
    }
    // The number leads to the very file that is open, wherever its name leads now.
    let path = format!("/proc/self/fd/{}", place.as_raw_fd());
    rustix::fs::chmod(&path, Mode::from_raw_mode(mode & 0o777) | Mode::RWXU)?;
    let opened = openat(
        rustix::fs::CWD,
        &path,
        (flags - OFlags::NOFOLLOW) | OFlags::RDONLY,
        Mode::empty(),
    );
    rustix::fs::chmod(&path, Mode::from_raw_mode(mode & 0o7777))?;
    opened
}

pub(super) fn kind(mode: RawMode) -> FileType {
    FileType::from_raw_mode(mode)
}

fn is_dot(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

pub(super) fn shown(what: &str, name: &CStr) -> String {
    let name: String = name.to_string_lossy().escape_debug().take(128).collect();
    format!("{what} `{name}` in the sandbox")
}
