//! Starting a command's processes, with or without isolation.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, FileType, Gid, Mode, Uid};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, kill_process_group, pidfd_open,
    pidfd_send_signal, prlimit,
};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};
use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};
use tokio::process::{Child, Command as Program};
use tokio::time::timeout;
use uuid::Uuid;

use super::account::Account;
use super::bubblewrap::{Bubblewrap, Plan, RUN, SEARCH_PATH, WRAPPER, in_memory};
use super::home::{Home, make_directory};
use super::spawner::Spawner;
use super::{WORK, processes, seccomp, tree};
use crate::{Network, SandboxError, SandboxLimits};

/// How long bubblewrap may take before the command begins. It takes a few
/// milliseconds; a machine that swaps may need seconds.
const STARTUP: Duration = Duration::from_secs(20);
/// What is read of bubblewrap's words and of the wrapper's report.
const REPORT_BYTES: usize = 8 * 1024;

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
        status: Receiver,
        report: Receiver,
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

/// The directory with one command's pipe.
struct Run(PathBuf);

impl Drop for Run {
    fn drop(&mut self) {
        let removed =
            std::fs::remove_file(self.0.join("stderr")).and_then(|()| std::fs::remove_dir(&self.0));
        if let Err(error) = removed {
            // It goes with the sandbox.
            tracing::debug!(run = %self.0.display(), %error, "a command's pipe stays");
        }
    }
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
        .arg(open_files.to_string())
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

    let begun = begin(&job, child, &status, &report, go, open_files);
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

enum Failure {
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
async fn begin(
    job: &Job<'_>,
    mut child: Child,
    status: &Receiver,
    report: &Receiver,
    go: OwnedFd,
    open_files: u64,
) -> Result<(Child, i32, Option<OwnedFd>), Failure> {
    let told = read_until(status, |text| text.contains('\n'))
        .await
        .map_err(|error| {
            Failure::Told(SandboxError::io("cannot read bubblewrap's status")(error))
        })?;
    let Some(first) = told.lines().find_map(|line| field(line, "child-pid")) else {
        return Err(Failure::Words(words(report).await));
    };
    let process = Pid::from_raw(first).ok_or_else(|| Failure::Words(words_of(&told)))?;
    // Pinned, its number cannot become another's; and a child of a child that
    // we have not waited for was not yet another's.
    let pinned = pidfd_open(process, PidfdFlags::empty()).ok();
    let limited = set_limits_as(job.home.account, process, job.limits, open_files);
    if let Err(error) = limited {
        // It may have failed by itself in the meantime, and says why. If it
        // has not, it waits to be let go on, and would do so for ever.
        let _ = child.start_kill();
        let said = words(report).await;
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
    let said = read_until(report, |text| {
        text.lines()
            .any(|line| line == "started" || line == "directory")
    })
    .await
    .map_err(|error| Failure::Told(SandboxError::io("cannot read bubblewrap's report")(error)))?;
    if said.lines().any(|line| line == "started") {
        Ok((child, first, pinned))
    } else {
        Err(Failure::Words(said))
    }
}

/// Sets the limits under the account of the sandbox: a host that is root, and
/// was not given the right to change others' limits, may change those of its
/// own account only. On Linux an account belongs to the thread.
fn set_limits_as(
    account: Account,
    process: Pid,
    limits: &SandboxLimits,
    open_files: u64,
) -> rustix::io::Result<()> {
    if !account.foreign {
        return set_limits(process, limits, open_files);
    }
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| {
            let (user, group) = (Uid::from_raw(account.user), Gid::from_raw(account.group));
            set_thread_res_gid(group, group, group)?;
            set_thread_res_uid(user, user, user)?;
            set_limits(process, limits, open_files)
        });
        changing.join().unwrap_or(Err(Errno::CANCELED))
    })
}

fn set_limits(process: Pid, limits: &SandboxLimits, open_files: u64) -> rustix::io::Result<()> {
    for (resource, value) in bounds(limits) {
        set(Some(process), resource, within(resource, value))?;
    }
    // Last: the wrapper takes it as the sign that all of them are set.
    set(Some(process), Resource::Nofile, open_files)
}

fn set(process: Option<Pid>, resource: Resource, value: u64) -> rustix::io::Result<()> {
    let bound = Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    prlimit(process, resource, bound).map(drop)
}

fn bounds(limits: &SandboxLimits) -> [(Resource, u64); 5] {
    [
        (Resource::As, limits.address_space_bytes),
        (Resource::Data, limits.memory_bytes),
        (Resource::Fsize, limits.file_size_bytes),
        (Resource::Core, 0),
        (Resource::Nproc, limits.processes),
    ]
}

/// The value, or what the host itself is bound to.
fn within(resource: Resource, value: u64) -> u64 {
    getrlimit(resource)
        .maximum
        .map_or(value, |most| value.min(most))
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
                let told = read_rest(&status);
                Told::Isolated {
                    code: told.lines().find_map(|line| field(line, "exit-code")),
                    report: read_rest(&report),
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

const NO_PIPE: &str = "cannot make a pipe for a command";

/// A pipe from a command. It belongs to the sandbox's account, so that the
/// command can open it again by names such as `/dev/stdout`.
fn pipe(home: &Home) -> Result<(Receiver, OwnedFd), SandboxError> {
    let (outer, inner) = pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::errno(NO_PIPE))?;
    tree::give(&inner, home.account).map_err(SandboxError::errno(NO_PIPE))?;
    let outer = Receiver::from_owned_fd(outer).map_err(SandboxError::io(NO_PIPE))?;
    Ok((outer, inner))
}

/// A named pipe for a command's standard error: bubblewrap's own goes to the
/// host, and the command must not be able to write there.
fn make_run(home: &Home) -> Result<(Run, Receiver, Sender), SandboxError> {
    let failed = "cannot make the pipe for a command's standard error";
    let path = home.runs.join(Uuid::now_v7().to_string());
    make_directory(&path, 0o755)?;
    let run = Run(path);
    let pipe = run.0.join("stderr");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .map_err(SandboxError::errno(failed))?;
    if home.account.foreign {
        rustix::fs::chownat(
            rustix::fs::CWD,
            &pipe,
            Some(Uid::from_raw(home.account.user)),
            Some(Gid::from_raw(home.account.group)),
            AtFlags::SYMLINK_NOFOLLOW,
        )
        .map_err(SandboxError::errno(failed))?;
    }
    let receiver = OpenOptions::new()
        .open_receiver(&pipe)
        .map_err(SandboxError::io(failed))?;
    let sender = OpenOptions::new()
        .open_sender(&pipe)
        .map_err(SandboxError::io(failed))?;
    Ok((run, receiver, sender))
}

/// Where a command's standard input comes from: the pipe to feed, if any.
fn give_stdin(program: &mut Program, job: &Job<'_>) -> Result<Option<Sender>, SandboxError> {
    if job.stdin.is_none() {
        program.stdin(Stdio::null());
        return Ok(None);
    }
    let (inner, outer) = pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::errno(NO_PIPE))?;
    tree::give(&inner, job.home.account).map_err(SandboxError::errno(NO_PIPE))?;
    program.stdin(inner);
    Sender::from_owned_fd(outer)
        .map(Some)
        .map_err(SandboxError::io(NO_PIPE))
}

/// Writes a command's standard input beside it. One that reads nothing ends
/// all the same, and ends the writing with it.
fn feed(pipe: Option<Sender>, content: Option<Vec<u8>>) {
    let (Some(mut pipe), Some(content)) = (pipe, content) else {
        return;
    };
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        if let Err(error) = pipe.write_all(&content).await {
            tracing::debug!(%error, "a command did not read all of its standard input");
        }
    });
}

/// Lets a program have these open files, and none other than its standard
/// ones: also none that the host itself was given by whoever started it.
/// With limits, it sets them, leaves the host's terminal, and has the program
/// die with the host; bubblewrap does all that by itself.
fn inherit_only(program: &mut Program, files: Vec<OwnedFd>, limits: Option<&SandboxLimits>) {
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

/// Reads until the text is complete, the pipe ends, or there is too much.
async fn read_until(pipe: &Receiver, complete: impl Fn(&str) -> bool) -> io::Result<String> {
    let mut read = Vec::new();
    loop {
        pipe.readable().await?;
        let mut buffer = [0; 1024];
        match pipe.try_read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => read.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        if read.len() > REPORT_BYTES || complete(&String::from_utf8_lossy(&read)) {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&read).into_owned())
}

/// What is in a pipe whose writers are dead.
fn read_rest(pipe: &Receiver) -> String {
    let mut read = vec![0; REPORT_BYTES];
    let mut length = 0;
    while length < read.len() {
        match pipe.try_read(&mut read[length..]) {
            Ok(0) | Err(_) => break,
            Ok(count) => length += count,
        }
    }
    read.truncate(length);
    String::from_utf8_lossy(&read).into_owned()
}

/// What bubblewrap said before it failed.
async fn words(report: &Receiver) -> String {
    read_until(report, |_| false).await.unwrap_or_default()
}

fn words_of(text: &str) -> String {
    format!("it told `{}`", text.escape_debug())
}

fn separated(arguments: &[std::ffi::OsString]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for argument in arguments {
        bytes.extend_from_slice(argument.as_encoded_bytes());
        bytes.push(0);
    }
    bytes
}

const _: () = {
    // The wrapper spells the pipe's place out; a shell's text cannot name a constant.
    assert!(RUN.len() == "/run/sandbox".len());
};
