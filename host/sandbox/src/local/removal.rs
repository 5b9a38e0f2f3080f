//! Removing what a sandbox left, whatever it looks like.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Removes everything in a directory that only the host uses by now.
///
/// Directories are flattened on the way: each is moved to the top before it is
/// emptied. So a hundred thousand directories in one another need neither a
/// deep stack nor many open files, and no path that is too long.
fn empty(top: impl AsFd) -> rustix::io::Result<()> {
    let top = top.as_fd();
    let mut moved = 0_u64;
    loop {
        let mut found = false;
        for entry in Dir::read_from(top)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            found = true;
            match unlinkat(top, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => continue,
                Err(Errno::ISDIR | Errno::PERM) => {}
                Err(error) => return Err(error),
            }
            unless_gone(empty_into(top, name, &mut moved))?;
            unless_gone(unlinkat(top, name, AtFlags::REMOVEDIR))?;
        }
        if !found {
            return Ok(());
        }
    }
}

/// What is not there any more needs no removal: somebody else removed it.
fn unless_gone(done: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match done {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// Deletes the files of `top/name` and moves its directories to `top`.
fn empty_into(
    top: std::os::fd::BorrowedFd<'_>,
    name: &CStr,
    moved: &mut u64,
) -> rustix::io::Result<()> {
    let directory = open_directory(top, name)?;
    loop {
        let mut found = false;
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let below = entry.file_name();
            if matches!(below.to_bytes(), b"." | b"..") {
                continue;
            }
            found = true;
            match unlinkat(&directory, below, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => continue,
                Err(Errno::ISDIR | Errno::PERM) => {}
                Err(error) => return Err(error),
            }
            // Moving a directory writes its `..`, which takes the right to write there.
            unless_gone(open_directory(directory.as_fd(), below).map(drop))?;
            loop {
                let free = format!(".removed-{moved}");
                *moved += 1;
                match renameat(&directory, below, top, &free) {
                    Ok(()) | Err(Errno::NOENT) => break,
                    // A sandbox may have thought of this name first.
                    Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if !found {
            return Ok(());
        }
    }
}

/// Gives a directory's owner every right to it.
pub(super) fn allow(parent: impl AsFd, name: &std::ffi::OsStr) -> rustix::io::Result<()> {
    let name = std::ffi::CString::new(name.as_encoded_bytes()).map_err(|_| Errno::INVAL)?;
    open_directory(parent.as_fd(), &name).map(drop)
}

/// Opens a directory and gives its owner every right to it.
fn open_directory(
    parent: std::os::fd::BorrowedFd<'_>,
    name: &CStr,
) -> rustix::io::Result<std::os::fd::OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(parent, name, flags | OFlags::PATH, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", place.as_raw_fd());
    rustix::fs::chmod(&path, Mode::RWXU)?;
    openat(parent, name, flags | OFlags::RDONLY, Mode::empty())
}

/// Removes a directory with all that is in it. It need not be there.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    let opened = match File::open(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    empty(&opened)?;
    match std::fs::remove_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn twenty_thousand_directories_in_one_another_are_removed() {
        // In memory where possible: some disks take milliseconds for each.
        let base = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let top = base.path().join("top");
        std::fs::create_dir(&top).unwrap();
        let mut inside: std::os::fd::OwnedFd = File::open(&top).unwrap().into();
        for _ in 0..20_000 {
            rustix::fs::mkdirat(&inside, "d", Mode::RWXU).unwrap();
            inside = openat(&inside, "d", OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        remove(&top).unwrap();
        assert!(!top.exists());
    }

    #[test]
    fn what_forbids_its_removal_is_removed_and_what_it_links_to_stays() {
        let base = tempfile::tempdir().unwrap();
        let kept = base.path().join("kept");
        std::fs::create_dir(&kept).unwrap();
        std::fs::write(kept.join("file"), "text").unwrap();
        let top = base.path().join("top");
        std::fs::create_dir_all(top.join("locked/below")).unwrap();
        std::fs::write(top.join("locked/below/file"), "text").unwrap();
        std::fs::write(top.join(".removed-0"), "a name that the removal uses").unwrap();
        symlink(&kept, top.join("link")).unwrap();
        symlink(&kept, top.join("locked/link")).unwrap();
        for path in ["locked/below", "locked"] {
            std::fs::set_permissions(top.join(path), PermissionsExt::from_mode(0o0)).unwrap();
        }
        remove(&top).unwrap();
        assert!(!top.exists());
        assert_eq!(std::fs::read_to_string(kept.join("file")).unwrap(), "text");
        remove(&top).unwrap();
    }
}
