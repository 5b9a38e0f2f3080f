//! The process of a command: a group of its own, with its output in files.

use super::order::Order;
use super::registry::{Commands, Outcome};
use crate::names;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{env, io};
use tokio::process::{Child, Command};
use tokio::sync::watch;

/// How long an interrupted command has before it is killed.
const GRACE: Duration = Duration::from_secs(3);

/// Where what a command writes is kept. It stays there after the command.
#[derive(Clone)]
pub(crate) enum Output {
    /// Standard output and standard error.
    Apart(PathBuf, PathBuf),
    /// Both, in the order in which they came.
    Together(PathBuf),
}

impl Output {
    /// The files of a command, named after its id.
    pub(crate) fn for_command(id: &str, background: bool) -> Self {
        let file = |end: &str| env::temp_dir().join(format!("{id}.{end}"));
        if background {
            Self::Together(file("output"))
        } else {
            Self::Apart(file("stdout"), file("stderr"))
        }
    }

    fn create(&self) -> io::Result<(File, File)> {
        match self {
            Self::Apart(out, err) => Ok((File::create(out)?, File::create(err)?)),
            Self::Together(both) => {
                let file = File::create(both)?;
                Ok((file.try_clone()?, file))
            }
        }
    }
}

/// A started command.
pub(crate) struct Process {
    child: Child,
    group: Pid,
    limit: Option<Duration>,
}

/// Starts a command. Fails where the shell cannot be started.
pub(crate) fn start(order: &Order, output: &Output) -> io::Result<Process> {
    let (out, err) = output.create()?;
    let mut command = Command::new(shell());
    command
        .arg("-c")
        .arg(&order.command)
        .envs(&order.environment)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .process_group(0);
    if let Some(directory) = &order.directory {
        command.current_dir(directory);
    }
    if let Some((user, group)) = order.user {
        let group = group.or_else(|| names::first_group(user)).unwrap_or(user);
        command.uid(user).gid(group);
    }
    let child = command.spawn()?;
    let group = child
        .id()
        .and_then(|id| Pid::from_raw(id.cast_signed()))
        .ok_or_else(|| io::Error::other("the command has no process"))?;
    Ok(Process {
        child,
        group,
        limit: order.limit,
    })
}

impl Process {
    /// The process group, to be interrupted.
    pub(crate) fn group(&self) -> Pid {
        self.group
    }

    /// Waits for the end, kills at the time limit, and records the outcome.
    /// Runs on whether or not somebody listens.
    pub(crate) async fn supervise(mut self, commands: Arc<Commands>, id: String) {
        let ended = match self.limit {
            Some(limit) => tokio::time::timeout(limit, self.child.wait()).await.ok(),
            None => Some(self.child.wait().await),
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                // It may have ended this moment: then there is none to kill.
                let _ = kill_process_group(self.group, Signal::KILL);
                self.child.wait().await
            }
        };
        let outcome = match ended {
            Ok(status) => outcome(status),
            Err(error) => Outcome {
                exit_code: -1,
                error: Some(error.to_string()),
            },
        };
        commands.finish(&id, outcome);
    }
}

/// Asks a group to end, and kills it if it does not. Returns at its end.
pub(crate) async fn end(group: Pid, ended: &mut watch::Receiver<Option<Outcome>>) {
    let _ = kill_process_group(group, Signal::TERM);
    let gone = ended.wait_for(Option::is_some);
    if tokio::time::timeout(GRACE, gone).await.is_err() {
        let _ = kill_process_group(group, Signal::KILL);
        let _ = ended.wait_for(Option::is_some).await;
    }
}

fn shell() -> &'static str {
    let bash = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
    if bash.iter().any(|path| Path::new(path).exists()) {
        "bash"
    } else {
        "sh"
    }
}

fn outcome(status: ExitStatus) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(0), _) => Outcome {
            exit_code: 0,
            error: None,
        },
        (Some(code), _) => Outcome {
            exit_code: code,
            error: Some(format!("exit status {code}")),
        },
        (None, signal) => Outcome {
            exit_code: -1,
            error: Some(format!("signal: {}", signal_name(signal.unwrap_or(0)))),
        },
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "hangup",
        2 => "interrupt",
        3 => "quit",
        4 => "illegal instruction",
        6 => "aborted",
        7 => "bus error",
        8 => "floating point exception",
        9 => "killed",
        11 => "segmentation fault",
        13 => "broken pipe",
        14 => "alarm clock",
        15 => "terminated",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}
