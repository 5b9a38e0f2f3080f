//! Waiting for a sandbox to be ready, and letting its command begin.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::process::Child;

use super::pipes::Report;
use super::{Job, bounds, field};
use crate::SandboxError;

/// Why a command did not begin.
pub(super) enum Failure {
    /// Bubblewrap's or the wrapper's words.
    Words(String),
    Told(SandboxError),
}

/// Waits for the sandbox, sets its limits from outside, lets it go on, and
/// waits for the command to begin.
///
/// The bound on processes must be set from within the sandbox's own account
/// space, or it would count those of all sandboxes; and before anything there
/// runs that a caller's variable such as `LD_PRELOAD` could change. So the
/// host sets it on a process that waits to be let go on.
pub(super) async fn begin(
    job: &Job<'_>,
    mut child: Child,
    status: &mut Report,
    report: &mut Report,
    go: OwnedFd,
    open_files: u64,
) -> Result<(Child, i32, Option<OwnedFd>), Failure> {
    let told = status
        .until(|text| text.contains('\n'))
        .await
        .map_err(|error| {
            Failure::Told(SandboxError::io("cannot read bubblewrap's status")(error))
        })?;
    let Some(first) = told.lines().find_map(|line| field(line, "child-pid")) else {
        return Err(Failure::Words(report.words().await));
    };
    let process = Pid::from_raw(first)
        .ok_or_else(|| Failure::Words(format!("it told `{}`", told.escape_debug())))?;
    // Pinned, its number cannot become another's; and a child of a child that
    // we have not waited for was not yet another's.
    let pinned = pidfd_open(process, PidfdFlags::empty()).ok();
    let limited = bounds::set_as(job.home.account, process, job.limits, open_files);
    if let Err(error) = limited {
        // It may have failed by itself in the meantime, and says why. If it
        // has not, it waits to be let go on, and would do so for ever.
        let _ = child.start_kill();
        let said = report.words().await;
        return Err(if said.is_empty() {
            Failure::Told(SandboxError::errno("cannot limit what a command may use")(
                error,
            ))
        } else {
            Failure::Words(said)
        });
    }
    rustix::io::write(&go, b"g")
        .map_err(|error| Failure::Told(SandboxError::errno("cannot start the command")(error)))?;
    let said = report
        .until(|text| {
            text.lines()
                .any(|line| line == "started" || line == "directory")
        })
        .await
        .map_err(|error| {
            Failure::Told(SandboxError::io("cannot read bubblewrap's report")(error))
        })?;
    if said.lines().any(|line| line == "started") {
        Ok((child, first, pinned))
    } else {
        Err(Failure::Words(said))
    }
}
