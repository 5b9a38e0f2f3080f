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

/// What bubblewrap or the wrapper writes about a command. All of it is kept:
/// one look may bring the beginning and the end of a short command at once.
pub(super) struct Report {
    pipe: Receiver,
    read: Vec<u8>,
}

impl Report {
    pub(super) fn new(pipe: Receiver) -> Self {
        Self {
            pipe,
            read: Vec::new(),
        }
    }

    /// What was read so far.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.read).into_owned()
    }

    /// Reads until the text is complete, the pipe ends, or there is too much.
    pub(super) async fn until(&mut self, complete: impl Fn(&str) -> bool) -> io::Result<String> {
        while self.read.len() <= REPORT_BYTES && !complete(&self.text()) {
            self.pipe.readable().await?;
            let mut buffer = [0; 1024];
            match self.pipe.try_read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.read.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.text())
    }

    /// All that was written, by writers that are dead. The pipe is asked
    /// itself: the runtime may not yet know that there is more to read.
    pub(super) fn whole(mut self) -> String {
        let mut buffer = [0; 1024];
        while self.read.len() <= REPORT_BYTES {
            match rustix::io::read(&self.pipe, &mut buffer) {
                Ok(count @ 1..) => self.read.extend_from_slice(&buffer[..count]),
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) | Err(_) => break,
            }
        }
        self.text()
    }

    /// What was said before it failed.
    pub(super) async fn words(&mut self) -> String {
        // What could not be read is one more word that is missing.
        let _ = self.until(|_| false).await;
        self.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> (Report, OwnedFd) {
        let (outer, inner) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        (Report::new(Receiver::from_owned_fd(outer).unwrap()), inner)
    }

    #[tokio::test]
    async fn what_came_with_the_beginning_is_told_at_the_end() {
        let (mut report, writer) = report();
        rustix::io::write(&writer, b"started\nUser defined signal 1\n").unwrap();
        let started = report.until(|text| text.contains("started\n")).await;
        assert!(started.unwrap().contains("started"));
        rustix::io::write(&writer, b"ended\n").unwrap();
        drop(writer);
        assert_eq!(report.whole(), "started\nUser defined signal 1\nended\n");
    }

    #[tokio::test]
    async fn the_end_is_read_before_the_runtime_knows_of_it() {
        let (mut report, writer) = report();
        rustix::io::write(&writer, b"started\n").unwrap();
        report.until(|text| text.contains('\n')).await.unwrap();
        // No await from here on, so that the runtime cannot learn of more.
        rustix::io::write(&writer, b"ended\n").unwrap();
        assert_eq!(report.whole(), "started\nended\n");
    }
}
