//! Starting a command's processes, with or without isolation.

mod begin;
mod bounds;
mod inherit;
mod pipes;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Resource, Signal, kill_process_group, pidfd_send_signal};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::{Child, Command as Program};
use tokio::time::timeout;
use uuid::Uuid;

use self::begin::{Failure, begin};
use self::bounds::within;
use self::inherit::inherit_only;
use self::pipes::{NO_PIPE, Report, Run, feed, give_stdin, make_run, pipe};
use super::bubblewrap::{Bubblewrap, Plan, RUN, SEARCH_PATH, WRAPPER, in_memory};
use super::home::Home;
use super::spawner::Spawner;
use super::{WORK, processes, seccomp};
use crate::{Network, SandboxError, SandboxLimits};

/// How long bubblewrap may take before the command begins. It takes a few
/// milliseconds; a machine that swaps may need seconds.
const STARTUP: Duration = Duration::from_secs(20);

/// What is to be started.
pub(super) struct Job<'j> {
    pub(super) home: &'j Home,
    pub(super) spawner: &'j Spawner,
    pub(super) line: &'j str,
    /// Absolute, within the sandbox.
    pub(super) directory: &'j str,
    pub(super) environment: Vec<(String, String)>,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) network: Network,
    pub(super) limits: &'j SandboxLimits,
}

/// A command that has begun.
pub(super) struct Launched {
    pub(super) child: Child,
    /// The process that all of the command's processes descend from.
    pub(super) first: i32,
    pinned: Option<OwnedFd>,
    kind: Kind,
}

enum Kind {
    Isolated {
        /// Where bubblewrap tells the command's code.
        status: Report,
        report: Report,
        /// Held so that the pipe has no end before the command has one.
        _stderr: Sender,
        _run: Run,
    },
    Unisolated {
        cookie: String,
    },
}

/// What was learned of a command's end.
pub(super) enum Told {
    /// The code that bubblewrap gave, if it could, and the wrapper's report.
    Isolated { code: Option<i32>, report: String },
    /// The system's word.
    Unisolated(std::process::ExitStatus),
}

/// A command that has begun, and its standard output and error.
type Begun = (Launched, (Receiver, Receiver));

/// Starts a command within bubblewrap.
pub(super) async fn isolated(job: Job<'_>, bubblewrap: &Bubblewrap) -> Result<Begun, SandboxError> {
    let (run, stderr, stderr_kept) = make_run(job.home)?;
    let (stdout, stdout_inner) = pipe(job.home)?;
    let (report, report_inner) = pipe(job.home)?;
    let (status, status_inner) = pipe(job.home)?;
    let (go_inner, go) = pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::errno(NO_PIPE))?;
    let filter = in_memory(&seccomp::filter()?)?;
    let mut environment = vec![
        ("PATH".to_owned(), SEARCH_PATH.to_owned()),
        ("HOME".to_owned(), WORK.to_owned()),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
    ];
    environment.extend(job.environment.iter().cloned());
    let arguments = bubblewrap.arguments(&Plan {
        home: job.home,
        run: &run.0,
        network: job.network,
        limits: job.limits,
        environment: &environment,
        descriptors: &[
            ("--json-status-fd", &status_inner),
            ("--block-fd", &go_inner),
            ("--seccomp", &filter),
        ],
    });
    let arguments = in_memory(&separated(&arguments))?;
    let open_files = within(Resource::Nofile, job.limits.open_files);

    let mut program = Program::new(&bubblewrap.program);
    program
        .args(["--args", &arguments.as_raw_fd().to_string(), "--"])
        .args(["/bin/sh", "-c", WRAPPER, "sh", job.line, job.directory])
        .args([open_files.to_string(), format!("{RUN}/stderr")])
        .current_dir("/")
        .stdout(stdout_inner)
        .stderr(report_inner);
    if job.home.account.foreign {
        program
            .uid(job.home.account.user)
            .gid(job.home.account.group);
    }
    let stdin = give_stdin(&mut program, &job)?;
    let inherited = vec![status_inner, go_inner, filter, arguments];
    inherit_only(&mut program, inherited, None);
    program.env_clear();
    let child = job.spawner.spawn(program).await?;

    let (mut status, mut report) = (Report::new(status), Report::new(report));
    let begun = begin(&job, child, &mut status, &mut report, go, open_files);
    let (child, first, pinned) = match timeout(STARTUP, begun).await {
        Ok(Ok(begun)) => begun,
        Ok(Err(Failure::Words(words))) if words.trim() == "directory" => {
            return Err(SandboxError::NotFound {
                what: format!("the directory `{}`", job.directory.escape_debug()),
            });
        }
        Ok(Err(Failure::Words(words))) => return Err(bubblewrap.failure(&words)),
        Ok(Err(Failure::Told(error))) => return Err(error),
        Err(_) => {
            return Err(SandboxError::Unavailable {
                message: format!(
                    "bubblewrap did not begin the command within {} s; the machine may be overloaded",
                    STARTUP.as_secs()
                ),
                retry_after: Some(Duration::from_secs(5)),
            });
        }
    };
    feed(stdin, job.stdin);
    Ok((
        Launched {
            child,
            first,
            pinned,
            kind: Kind::Isolated {
                status,
                report,
                _stderr: stderr_kept,
                _run: run,
            },
        },
        (stdout, stderr),
    ))
}

/// Starts a command as a plain process of the host.
pub(super) async fn unisolated(job: Job<'_>) -> Result<Begun, SandboxError> {
    let directory = job.home.work.join(
        Path::new(job.directory)
            .strip_prefix(WORK)
            .map_err(|_| SandboxError::path(job.directory, "it is not below /work"))?,
    );
    if !directory.is_dir() {
        return Err(SandboxError::NotFound {
            what: format!("the directory `{}`", job.directory.escape_debug()),
        });
    }
    let (stdout, stdout_inner) = pipe(job.home)?;
    let (stderr, stderr_inner) = pipe(job.home)?;
    let number = Uuid::now_v7().to_string();
    let cookie = format!("KEEPSAKE_EXECUTION={number}");
    let mut program = Program::new("/bin/sh");
    program
        .args(["-c", job.line])
        .current_dir(directory)
        .env_clear()
        .env("PATH", SEARCH_PATH)
        .env("HOME", &job.home.work)
        .env("LANG", "C.UTF-8")
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .env("KEEPSAKE_EXECUTION", number)
        .stdout(stdout_inner)
        .stderr(stderr_inner);
    let stdin = give_stdin(&mut program, &job)?;
    inherit_only(&mut program, Vec::new(), Some(job.limits));
    let child = job.spawner.spawn(program).await?;
    let first = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .unwrap_or(0);
    feed(stdin, job.stdin);
    Ok((
        Launched {
            child,
            first,
            pinned: None,
            kind: Kind::Unisolated { cookie },
        },
        (stdout, stderr),
    ))
}

impl Launched {
    /// Kills the command with all that it started. Its end is still to be
    /// waited for.
    pub(super) fn kill(&mut self) {
        match &self.kind {
            Kind::Isolated { .. } => {
                // The first process of the sandbox takes all others along.
                if let Some(pinned) = &self.pinned {
                    let _ = pidfd_send_signal(pinned, Signal::KILL);
                }
            }
            Kind::Unisolated { .. } => {
                // Not waited for yet, so that the number is still this one's.
                if let Some(group) = self
                    .child
                    .id()
                    .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
                {
                    let _ = kill_process_group(group, Signal::KILL);
                }
            }
        }
        let _ = self.child.start_kill();
    }

    /// Waits for the end of a command whose first process has ended, kills
    /// what it left behind, and tells what is known of its end.
    pub(super) async fn finish(mut self, exit: io::Result<std::process::ExitStatus>) -> Told {
        let _ = self.child.start_kill();
        match self.kind {
            Kind::Unisolated { cookie } => {
                let killing =
                    tokio::task::spawn_blocking(move || processes::kill_by_cookie(&cookie));
                if killing.await.is_err() {
                    tracing::warn!("what a command left running could not be killed");
                }
                exit.map_or(
                    Told::Isolated {
                        code: None,
                        report: String::new(),
                    },
                    Told::Unisolated,
                )
            }
            Kind::Isolated { status, report, .. } => {
                if let Some(pinned) = self.pinned {
                    // It ends after all processes of the sandbox, and so tells
                    // that nothing writes to the sandbox's files any more.
                    let dead = tokio::task::spawn_blocking(move || {
                        let _ = pidfd_send_signal(&pinned, Signal::KILL);
                        let most = Timespec::try_from(STARTUP).ok();
                        poll(&mut [PollFd::new(&pinned, PollFlags::IN)], most.as_ref())
                    });
                    if !matches!(dead.await, Ok(Ok(1..))) {
                        tracing::warn!(process = self.first, "a sandbox's processes do not end");
                    }
                }
                let told = status.whole();
                Told::Isolated {
                    code: told.lines().find_map(|line| field(line, "exit-code")),
                    report: report.whole(),
                }
            }
        }
    }
}

/// A number in one of bubblewrap's JSON lines.
fn field(line: &str, name: &str) -> Option<i32> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    i32::try_from(line.get(name)?.as_i64()?).ok()
}

fn separated(arguments: &[std::ffi::OsString]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for argument in arguments {
        bytes.extend_from_slice(argument.as_encoded_bytes());
        bytes.push(0);
    }
    bytes
}
