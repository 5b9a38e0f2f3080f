//! What a process is given of the host's.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;

use rustix::process::{Resource, Signal, getrlimit};
use tokio::process::Command as Program;

use super::bounds::{bounds, set, within};
use crate::SandboxLimits;

/// Lets a program have these open files, and none other than its standard
/// ones: also none that the host itself was given by whoever started it.
/// With limits, it sets them, leaves the host's terminal, and has the program
/// die with the host; bubblewrap does all that by itself.
pub(super) fn inherit_only(
    program: &mut Program,
    files: Vec<OwnedFd>,
    limits: Option<&SandboxLimits>,
) {
    let alone = limits.map(|limits| {
        let mut bounds =
            bounds(limits).map(|(resource, value)| (resource, within(resource, value)));
        // It counts all processes of the host's account, which are not the command's.
        bounds[4] = (
            Resource::Nofile,
            within(Resource::Nofile, limits.open_files),
        );
        bounds
    });
    let most = libc::c_int::try_from(
        getrlimit(Resource::Nofile)
            .current
            .unwrap_or(65_536)
            .min(65_536),
    )
    .unwrap_or(65_536);
    let prepare = move || {
        // SAFETY: a system call on numbers; it touches no memory.
        let closed = unsafe {
            libc::syscall(
                libc::SYS_close_range,
                3_u32,
                u32::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            )
        };
        if closed != 0 {
            // Linux before 5.11.
            for number in 3..most {
                // SAFETY: as above; a number that is not open is refused.
                unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
            }
        }
        for file in &files {
            rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty())?;
        }
        if let Some(bounds) = alone {
            rustix::process::setsid()?;
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            for (resource, value) in bounds {
                set(None, resource, value)?;
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are allowed that
    // allocate nothing and take no lock. The closure makes such calls only:
    // `rustix` makes them directly, and errors are plain numbers.
    unsafe { program.as_std_mut().pre_exec(prepare) };
}
