//! Watching a running command: its time, what it uses, and its end.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::net::unix::pipe::Receiver;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, sleep_until};
use uuid::Uuid;

use super::execution::{Cause, Ended};
use super::launch::{self, Job, Launched, Told};
use super::sandbox::Inner;
use super::tree::{self, Bounds};
use super::{Isolation, processes};
use crate::signals;
use crate::{ExitStatus, SandboxError};

/// How often the memory and the processes of a command are looked at.
const MEMORY_LOOK: Duration = Duration::from_millis(25);
/// How often the files are looked at.
const DISK_LOOK: Duration = Duration::from_millis(100);
/// A look may take up one part in so many of a processor.
const LOOK_SHARE: u32 = 5;

/// The code of a shell whose last program ended as its file grew too large.
/// A program can choose this code, too.
const TOO_LARGE: i32 = 128 + libc::SIGXFSZ;

/// A command to run and watch.
pub(super) struct Order {
    pub(super) line: String,
    /// Absolute, within the sandbox.
    pub(super) directory: String,
    pub(super) environment: Vec<(String, String)>,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) time: Duration,
    /// Held until nothing of the command is left.
    pub(super) permits: [OwnedSemaphorePermit; 2],
}

/// Runs a command to its end. It runs in a task of its own, so that a caller
/// who gives up in the middle of the start leaves nothing half started.
pub(super) async fn supervise(
    inner: Arc<Inner>,
    order: Order,
    started: oneshot::Sender<Result<(Receiver, Receiver), SandboxError>>,
    end: oneshot::Sender<Ended>,
    control: mpsc::UnboundedReceiver<Cause>,
) {
    let job = Job {
        home: &inner.home,
        spawner: &inner.backend.spawner,
        line: &order.line,
        directory: &order.directory,
        environment: order.environment,
        stdin: order.stdin,
        network: inner.request.network,
        limits: &inner.request.limits,
    };
    let launched = match &inner.isolation {
        Isolation::Bubblewrap(bubblewrap) => launch::isolated(job, bubblewrap).await,
        Isolation::None { .. } => launch::unisolated(job).await,
    };
    match launched {
        Err(error) => {
            // A caller who is gone wants no answer.
            let _ = started.send(Err(error));
        }
        Ok((launched, outputs)) => {
            let began = Instant::now();
            let _ = started.send(Ok(outputs));
            let status = watch(&inner, launched, began + order.time, control).await;
            let _ = end.send(Ended {
                status,
                duration: began.elapsed(),
            });
        }
    }
    // Dropping the last of it deletes files, which blocks.
    let permits = order.permits;
    spawn_blocking(move || {
        drop(inner);
        drop(permits);
    });
}

async fn watch(
    inner: &Arc<Inner>,
    mut launched: Launched,
    deadline: Instant,
    mut control: mpsc::UnboundedReceiver<Cause>,
) -> ExitStatus {
    let number = Uuid::now_v7();
    let first = launched.first;
    inner.live().insert(number, first);
    let cpu_ms = Arc::new(AtomicU64::new(0));
    let mut closing = inner.closing.subscribe();
    let (exit, cause) = {
        let exceeded = look(inner, first, &cpu_ms);
        let cause = async {
            tokio::select! {
                exceeded = exceeded => exceeded,
                () = sleep_until(deadline.into()) => Cause::TimedOut,
                asked = control.recv() => asked.unwrap_or(Cause::Asked),
                _ = closing.wait_for(|closing| *closing) => Cause::Asked,
            }
        };
        tokio::select! {
            exit = launched.child.wait() => (exit, None),
            cause = cause => {
                launched.kill();
                (launched.child.wait().await, Some(cause))
            }
        }
    };
    let told = launched.finish(exit).await;
    inner.live().remove(&number);
    inner
        .finished_cpu_ms
        .fetch_add(cpu_ms.load(Ordering::Relaxed), Ordering::Relaxed);
    match cause {
        Some(Cause::Asked) => ExitStatus::Signal("SIGKILL".into()),
        Some(Cause::TimedOut) => ExitStatus::TimedOut,
        Some(Cause::Limit(name)) => ExitStatus::Limit(name.into()),
        // A command that ended between two looks may have filled the disk.
        None => match disk(inner, None).await {
            Some(name) => ExitStatus::Limit(name.into()),
            None => match decode(told) {
                ExitStatus::Code(TOO_LARGE) if has_largest_file(inner).await => {
                    ExitStatus::Limit("file-size-bytes".into())
                }
                status => status,
            },
        },
    }
}

/// Looks at what a command uses until it is too much.
async fn look(inner: &Arc<Inner>, first: i32, cpu_ms: &Arc<AtomicU64>) -> Cause {
    let limits = &inner.request.limits;
    let mut next_disk = Instant::now() + DISK_LOOK;
    let mut pause = MEMORY_LOOK;
    loop {
        sleep(pause).await;
        let began = Instant::now();
        let looked = spawn_blocking(move || processes::usage(&processes::descendants(first))).await;
        if let Ok(usage) = looked {
            cpu_ms.fetch_max(usage.cpu_ms, Ordering::Relaxed);
            if usage.memory_bytes > limits.memory_bytes {
                return Cause::Limit("memory-bytes");
            }
            if usage.threads > limits.processes {
                return Cause::Limit("processes");
            }
        }
        pause = MEMORY_LOOK.max(began.elapsed() * LOOK_SHARE);
        if Instant::now() >= next_disk {
            let began = Instant::now();
            if let Some(name) = disk(inner, Some(first)).await {
                return Cause::Limit(name);
            }
            next_disk = Instant::now() + DISK_LOOK.max(began.elapsed() * LOOK_SHARE);
        }
    }
}

/// The limit on files that is exceeded, if one is; while a command runs, with
/// its first process.
async fn disk(inner: &Arc<Inner>, first: Option<i32>) -> Option<&'static str> {
    let home = Arc::clone(&inner.home);
    let bounds = inner.bounds();
    let isolated = matches!(inner.isolation, Isolation::Bubblewrap(_));
    let looked = spawn_blocking(move || {
        let work = home.work()?;
        let size = tree::size(work, bounds)?;
        // Deleted files that are still open take room too.
        let device = work.metadata().map_or(0, |work| work.dev());
        let hidden = first.map_or(0, |first| {
            processes::deleted_bytes(&processes::descendants(first), device)
        });
        let together = Bounds {
            bytes: bounds.bytes.saturating_sub(size.bytes),
            ..bounds
        };
        tree::check_bytes(hidden, together)?;
        // Without isolation they are not the sandbox's own.
        let temporary = first
            .filter(|_| isolated)
            .map_or(0, processes::temporary_entries);
        tree::check_entries(temporary, bounds)
    })
    .await;
    match looked {
        Ok(Err(SandboxError::Limit { name, .. })) => Some(name),
        Ok(Err(error)) => {
            // Files that cannot be measured are not within their bounds.
            tracing::warn!(sandbox = inner.home.id, %error, "cannot measure a sandbox's files");
            Some("disk-bytes")
        }
        Ok(Ok(())) | Err(_) => None,
    }
}

/// Whether there is a file that can grow no more.
async fn has_largest_file(inner: &Arc<Inner>) -> bool {
    let home = Arc::clone(&inner.home);
    let bounds = inner.bounds();
    let limit = inner.request.limits.file_size_bytes;
    let looked = spawn_blocking(move || tree::size(home.work()?, bounds)).await;
    matches!(looked, Ok(Ok(size)) if size.longest >= limit)
}

fn decode(told: Told) -> ExitStatus {
    use std::os::unix::process::ExitStatusExt;
    let (code, signal) = match told {
        Told::Unisolated(exit) => (exit.code(), exit.signal()),
        Told::Isolated { code: None, .. } => {
            return ExitStatus::Unknown(
                "the command was killed from outside, together with what watches over it \
                 in the sandbox; the machine may have run out of memory"
                    .into(),
            );
        }
        Told::Isolated {
            code: Some(code),
            report,
        } => (Some(code), signal_in(code, &report)),
    };
    match (signal, code) {
        (Some(libc::SIGXFSZ), _) => ExitStatus::Limit("file-size-bytes".into()),
        (Some(signal), _) => ExitStatus::Signal(signals::name(signal)),
        (None, Some(code)) => ExitStatus::Code(code),
        (None, None) => ExitStatus::Unknown("the system did not tell how it ended".into()),
    }
}

/// The signal that a code stands for, if it stands for one. A shell gives a
/// child's death by a signal as 128 and the signal's number, which a program
/// may choose as its own code. But of the death it also has something to say.
fn signal_in(code: i32, report: &str) -> Option<i32> {
    let signal = Some(code - 128).filter(|signal| (1..=64).contains(signal))?;
    let ended = report.lines().any(|line| line == "ended");
    let said = report
        .lines()
        .any(|line| !matches!(line.trim(), "started" | "ended" | ""));
    // Of these two, shells say nothing.
    let silent = matches!(signal, libc::SIGINT | libc::SIGPIPE);
    (!ended || said || silent).then_some(signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_above_128_is_a_signal_only_where_one_was_told() {
        assert_eq!(signal_in(137, "Killed\nended\n"), Some(9));
        assert_eq!(signal_in(137, "ended\n"), None);
        assert_eq!(signal_in(137, ""), Some(9), "the wrapper itself was killed");
        assert_eq!(signal_in(141, "ended\n"), Some(13));
        assert_eq!(signal_in(1, "Killed\nended\n"), None);
        assert_eq!(signal_in(255, "Killed\nended\n"), None);
    }
}
