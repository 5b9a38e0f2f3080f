//! The end of a running command that its caller holds.

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use keepsake_types::limits::EXEC_OUTPUT_BYTES;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::{mpsc, oneshot};

use crate::{ExecEvent, ExecResult, Execution, ExitStatus, SandboxError};

/// The most that one event carries; what a Linux pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

/// The most that is read after the end: what two pipes hold at the most, with
/// Linux's usual bound for unprivileged users. A process that escaped from a
/// sandbox without isolation could write for ever.
const REST_BYTES: u64 = 2 * 1024 * 1024;

/// Why a command is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Somebody asked for it, or gave the command up, or closed the sandbox.
    Asked,
    TimedOut,
    Limit(&'static str),
}

/// How a command ended and how long it took.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) duration: Duration,
}

/// A running command. The task that watches it kills it once `control` is
/// dropped.
pub(super) struct LocalExecution {
    stdout: Output,
    stderr: Output,
    control: mpsc::UnboundedSender<Cause>,
    end: oneshot::Receiver<Ended>,
    ended: Option<Ended>,
    streamed: u64,
    /// What was read since the end.
    rest: u64,
    output_bytes: u64,
    truncated: bool,
    completed: bool,
    buffer: Vec<u8>,
}

/// One of the two outputs.
struct Output {
    pipe: Option<Receiver>,
    kept: Vec<u8>,
}

impl LocalExecution {
    pub(super) fn new(
        outputs: (Receiver, Receiver),
        control: mpsc::UnboundedSender<Cause>,
        end: oneshot::Receiver<Ended>,
        output_bytes: u64,
    ) -> Self {
        let output = |pipe| Output {
            pipe: Some(pipe),
            kept: Vec::new(),
        };
        Self {
            stdout: output(outputs.0),
            stderr: output(outputs.1),
            control,
            end,
            ended: None,
            streamed: 0,
            rest: 0,
            output_bytes,
            truncated: false,
            completed: false,
            buffer: vec![0; CHUNK_BYTES],
        }
    }

    fn read(&mut self, which: Which) -> io::Result<Option<usize>> {
        match which {
            Which::Stdout => self.stdout.read(&mut self.buffer),
            Which::Stderr => self.stderr.read(&mut self.buffer),
        }
    }

    fn event(&mut self, which: Which, read: usize) -> ExecEvent {
        let chunk = self.buffer[..read].to_vec();
        let output = match which {
            Which::Stdout => &mut self.stdout,
            Which::Stderr => &mut self.stderr,
        };
        let room = EXEC_OUTPUT_BYTES - output.kept.len();
        output.kept.extend_from_slice(&chunk[..read.min(room)]);
        self.truncated |= read > room;
        self.streamed += read as u64;
        if self.streamed > self.output_bytes {
            // The one that watches may be done already; then nothing is left to kill.
            let _ = self.control.send(Cause::Limit("output-bytes"));
        }
        match which {
            Which::Stdout => ExecEvent::Stdout(chunk),
            Which::Stderr => ExecEvent::Stderr(chunk),
        }
    }

    fn complete(&mut self, ended: Ended) -> ExecEvent {
        self.completed = true;
        ExecEvent::Completed(ExecResult {
            status: ended.status,
            stdout: std::mem::take(&mut self.stdout.kept),
            stderr: std::mem::take(&mut self.stderr.kept),
            truncated: self.truncated,
            duration: ended.duration,
        })
    }
}

#[derive(Clone, Copy)]
enum Which {
    Stdout,
    Stderr,
}

impl Output {
    /// Waits until there is something to read; for ever after the end.
    async fn ready(&self) -> io::Result<()> {
        match &self.pipe {
            Some(pipe) => pipe.readable().await,
            None => std::future::pending().await,
        }
    }

    /// What is there to read now: none when nothing is yet, 0 bytes at the end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(pipe) = &self.pipe else {
            return Ok(Some(0));
        };
        match pipe.try_read(buffer) {
            Ok(0) => {
                self.pipe = None;
                Ok(Some(0))
            }
            Ok(read) => Ok(Some(read)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl Execution for LocalExecution {
    async fn next(&mut self) -> Result<Option<ExecEvent>, SandboxError> {
        let failed = || SandboxError::io("cannot read the command's output");
        while !self.completed {
            if let Some(ended) = self.ended.take() {
                // All that could write is dead. Whoever still holds a pipe
                // open escaped, and is not waited for.
                for which in [Which::Stdout, Which::Stderr] {
                    if self.rest >= REST_BYTES {
                        self.truncated = true;
                    } else if let Some(read @ 1..) = self.read(which).map_err(failed())? {
                        self.ended = Some(ended);
                        self.rest += read as u64;
                        return Ok(Some(self.event(which, read)));
                    }
                }
                return Ok(Some(self.complete(ended)));
            }
            let which = tokio::select! {
                ready = self.stdout.ready() => ready.map(|()| Which::Stdout),
                ready = self.stderr.ready() => ready.map(|()| Which::Stderr),
                ended = &mut self.end => {
                    self.ended = Some(ended.unwrap_or_else(|_| Ended {
                        status: ExitStatus::Unknown(
                            "the host stopped watching the command, which was killed".into(),
                        ),
                        duration: Duration::ZERO,
                    }));
                    continue;
                }
            }
            .map_err(failed())?;
            if let Some(read @ 1..) = self.read(which).map_err(failed())? {
                return Ok(Some(self.event(which, read)));
            }
        }
        Ok(None)
    }

    async fn kill(&mut self) -> Result<(), SandboxError> {
        // Gone means that it has ended.
        let _ = self.control.send(Cause::Asked);
        Ok(())
    }
}
