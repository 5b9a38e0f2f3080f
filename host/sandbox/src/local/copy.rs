//! Copies of directories whose content a sandbox may change at any moment.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat,
    futimens, mkdirat, openat, readlinkat, statat, symlinkat,
};
use rustix::io::Errno;

use super::account::Account;
use super::spawner::writing;
use super::tree::{
    Bounds, Size, check, check_depth, give, group, kind, names, open_unreadable_too, shown, user,
};
use crate::SandboxError;

/// Copies what `from` holds into the empty directory `to`: regular files,
/// directories and symlinks, with their modes and the times of their last change;
/// no pipes, sockets, set-user-id bits or shared names. Holes stay holes. The copies belong to `owner`, or to the host.
///
/// # Errors
/// As [`size`]. What was copied before stays; the caller removes it.
pub(super) fn copy(
    from: impl AsFd,
    to: impl AsFd,
    owner: Option<Account>,
    bounds: Bounds,
) -> Result<(), SandboxError> {
    let mut copied = Size::default();
    copy_directory(from.as_fd(), to.as_fd(), owner, bounds, &mut copied, 0)
}

fn copy_directory(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    owner: Option<Account>,
    bounds: Bounds,
    copied: &mut Size,
    depth: usize,
) -> Result<(), SandboxError> {
    check_depth(depth)?;
    for name in names(from)? {
        let name = name.as_c_str();
        let failed = || shown("cannot copy", name);
        let stat = match statat(from, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            other => other.map_err(SandboxError::errno(failed()))?,
        };
        copied.entries += 1;
        match kind(stat.st_mode) {
            FileType::RegularFile => {
                let source = open_unreadable_too(from, name, OFlags::NONBLOCK)
                    .map_err(SandboxError::errno(failed()))?;
                // Looked at again through the open file: the name may be another's now.
                let stat = fstat(&source).map_err(SandboxError::errno(failed()))?;
                if !kind(stat.st_mode).is_file() {
                    continue;
                }
                let _writing = writing();
                let target = openat(
                    to,
                    name,
                    OFlags::WRONLY
                        | OFlags::CREATE
                        | OFlags::EXCL
                        | OFlags::NOFOLLOW
                        | OFlags::CLOEXEC,
                    Mode::RUSR | Mode::WUSR,
                )
                .map(File::from)
                .map_err(SandboxError::errno(failed()))?;
                let room = bounds.bytes.saturating_sub(copied.bytes);
                copied.bytes += copy_content(&File::from(source), &target, room)
                    .map_err(SandboxError::io(failed()))?;
                finish(&target, &stat, owner).map_err(SandboxError::errno(failed()))?;
            }
            FileType::Directory => {
                let source = open_unreadable_too(from, name, OFlags::DIRECTORY)
                    .map_err(SandboxError::errno(failed()))?;
                mkdirat(to, name, Mode::RWXU).map_err(SandboxError::errno(failed()))?;
                let target = openat(
                    to,
                    name,
                    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                    Mode::empty(),
                )
                .map_err(SandboxError::errno(failed()))?;
                copy_directory(
                    source.as_fd(),
                    target.as_fd(),
                    owner,
                    bounds,
                    copied,
                    depth + 1,
                )?;
                finish(&target, &stat, owner).map_err(SandboxError::errno(failed()))?;
            }
            FileType::Symlink => {
                let target = match readlinkat(from, name, Vec::new()) {
                    // It became something else; the copy is of a moment anyway.
                    Err(Errno::NOENT | Errno::INVAL) => continue,
                    other => other.map_err(SandboxError::errno(failed()))?,
                };
                symlinkat(&target, to, name).map_err(SandboxError::errno(failed()))?;
                if let Some(owner) = owner.filter(|owner| owner.foreign) {
                    rustix::fs::chownat(
                        to,
                        name,
                        Some(user(owner)),
                        Some(group(owner)),
                        AtFlags::SYMLINK_NOFOLLOW,
                    )
                    .map_err(SandboxError::errno(failed()))?;
                }
            }
            _ => {}
        }
        check(*copied, bounds)?;
    }
    Ok(())
}

/// Copies the parts of a file that are not holes, until they are more than
/// there is room for, and answers how many bytes that were.
fn copy_content(mut source: &File, mut target: &File, room: u64) -> io::Result<u64> {
    let length = source.metadata()?.len();
    let mut copied = 0;
    let mut reached = 0;
    while reached < length && copied <= room {
        let begin = match rustix::fs::seek(source, rustix::fs::SeekFrom::Data(reached)) {
            // A hole up to the end.
            Err(Errno::NXIO) => break,
            other => other?,
        };
        let end = rustix::fs::seek(source, rustix::fs::SeekFrom::Hole(begin))?;
        source.seek(SeekFrom::Start(begin))?;
        target.seek(SeekFrom::Start(begin))?;
        let most = (end - begin).min((room - copied).saturating_add(1));
        let part = io::copy(&mut source.take(most), &mut target)?;
        if part == 0 {
            // It became shorter in the meantime.
            break;
        }
        copied += part;
        reached = begin + part;
    }
    target.set_len(length)?;
    Ok(copied)
}

/// Gives a copy its owner, mode and time, in this order: a change of the owner
/// may clear bits of the mode.
fn finish(copy: impl AsFd, original: &Stat, owner: Option<Account>) -> rustix::io::Result<()> {
    if let Some(owner) = owner {
        give(&copy, owner)?;
    }
    fchmod(&copy, Mode::from_raw_mode(original.st_mode & 0o777))?;
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: original.st_mtime,
            tv_nsec: original.st_mtime_nsec.cast_signed(),
        },
    };
    futimens(copy, &times)
}
