//! The pipes between the host and a command.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::fs::{AtFlags, FileType, Gid, Mode, Uid};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};
use tokio::process::Command as Program;
use uuid::Uuid;

use super::Job;
use crate::SandboxError;
use crate::local::home::{Home, make_directory};
use crate::local::tree;

/// What is read of bubblewrap's words and of the wrapper's report.
const REPORT_BYTES: usize = 8 * 1024;
pub(super) const NO_PIPE: &str = "cannot make a pipe for a command";

/// The directory with one command's pipe.
pub(super) struct Run(pub(super) PathBuf);

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

/// A pipe from a command. It belongs to the sandbox's account, so that the
/// command can open it again by names such as `/dev/stdout`.
pub(super) fn pipe(home: &Home) -> Result<(Receiver, OwnedFd), SandboxError> {
    let (outer, inner) = pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::errno(NO_PIPE))?;
    tree::give(&inner, home.account).map_err(SandboxError::errno(NO_PIPE))?;
    let outer = Receiver::from_owned_fd(outer).map_err(SandboxError::io(NO_PIPE))?;
    Ok((outer, inner))
}

/// A named pipe for a command's standard error: bubblewrap's own goes to the
/// host, and the command must not be able to write there.
pub(super) fn make_run(home: &Home) -> Result<(Run, Receiver, Sender), SandboxError> {
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
pub(super) fn give_stdin(
    program: &mut Program,
    job: &Job<'_>,
) -> Result<Option<Sender>, SandboxError> {
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
pub(super) fn feed(pipe: Option<Sender>, content: Option<Vec<u8>>) {
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

/// Reads until the text is complete, the pipe ends, or there is too much.
pub(super) async fn read_until(
    pipe: &Receiver,
    complete: impl Fn(&str) -> bool,
) -> io::Result<String> {
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
pub(super) fn read_rest(pipe: &Receiver) -> String {
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
pub(super) async fn words(report: &Receiver) -> String {
    read_until(report, |_| false).await.unwrap_or_default()
}
