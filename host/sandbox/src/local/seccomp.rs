//! System calls that no sandbox may make.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use crate::SandboxError;

/// What is refused, with `EPERM`, and why:
/// memory that no process maps escapes every bound on memory
/// (`memfd_create`, `memfd_secret`, `shmget`, `msgget`); keys are not kept apart by any
/// namespace (`add_key`, `keyctl`, `request_key`); and the rest are large
/// parts of the kernel that support commands do without and that attackers
/// like (`bpf`, `perf_event_open`, `userfaultfd`, `io_uring_*`).
const REFUSED: [libc::c_long; 13] = [
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// What 64-bit x86 kernels that know a second way to call mark its calls with;
/// the filter could not tell the two apart otherwise. Elsewhere no call has
/// such a number.
const X32: libc::c_long = 0x4000_0000;

/// The filter as the bytes that `bwrap --seccomp` reads. Programs of another
/// architecture (32-bit ones) are killed: their calls have other numbers.
pub(super) fn filter() -> Result<Vec<u8>, SandboxError> {
    let unsupported = |reason: String| SandboxError::Unsupported {
        what: format!("the sandbox cannot filter system calls on this machine: {reason}"),
    };
    let target = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|error| unsupported(error.to_string()))?;
    let rules: BTreeMap<i64, _> = REFUSED
        .iter()
        .flat_map(|call| [*call, *call | X32])
        .map(|call| (call, Vec::new()))
        .collect();
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let program: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, refuse, target)
        .and_then(TryInto::try_into)
        .map_err(|error| unsupported(error.to_string()))?;
    Ok(program
        .iter()
        .flat_map(|step| {
            let mut bytes = [0; 8];
            bytes[..2].copy_from_slice(&step.code.to_ne_bytes());
            bytes[2] = step.jt;
            bytes[3] = step.jf;
            bytes[4..].copy_from_slice(&step.k.to_ne_bytes());
            bytes
        })
        .collect())
}
