//! The bounds that the system keeps for each process or account.

use rustix::fs::{Gid, Uid};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use crate::SandboxLimits;
use crate::local::account::Account;

/// So many processes more than its limit a command can have between two looks.
const ROOM_FOR_PROCESSES: u64 = 16;

/// Sets the limits under the account of the sandbox: a host that is root, and
/// was not given the right to change others' limits, may change those of its
/// own account only. On Linux an account belongs to the thread.
pub(super) fn set_as(
    account: Account,
    process: Pid,
    limits: &SandboxLimits,
    open_files: u64,
) -> rustix::io::Result<()> {
    if !account.foreign {
        return set_all(process, limits, open_files);
    }
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| {
            let (user, group) = (Uid::from_raw(account.user), Gid::from_raw(account.group));
            set_thread_res_gid(group, group, group)?;
            set_thread_res_uid(user, user, user)?;
            set_all(process, limits, open_files)
        });
        changing.join().unwrap_or(Err(Errno::CANCELED))
    })
}

fn set_all(process: Pid, limits: &SandboxLimits, open_files: u64) -> rustix::io::Result<()> {
    for (resource, value) in bounds(limits) {
        set(Some(process), resource, within(resource, value))?;
    }
    // Last: the wrapper takes it as the sign that all of them are set.
    set(Some(process), Resource::Nofile, open_files)
}

pub(super) fn set(process: Option<Pid>, resource: Resource, value: u64) -> rustix::io::Result<()> {
    let bound = Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    prlimit(process, resource, bound).map(drop)
}

/// What the system is told. Where the host looks, too, the system's bound is
/// wider: a process that is refused memory or another process fails in a way
/// of its own, or tries for ever, while the host ends the command and says
/// which limit it hit.
pub(super) fn bounds(limits: &SandboxLimits) -> [(Resource, u64); 5] {
    [
        (Resource::As, limits.address_space_bytes),
        (Resource::Data, limits.memory_bytes.saturating_mul(2)),
        (Resource::Fsize, limits.file_size_bytes),
        (Resource::Core, 0),
        (
            Resource::Nproc,
            limits.processes.saturating_add(ROOM_FOR_PROCESSES),
        ),
    ]
}

/// The value, or what the host itself is bound to.
pub(super) fn within(resource: Resource, value: u64) -> u64 {
    getrlimit(resource)
        .maximum
        .map_or(value, |most| value.min(most))
}
