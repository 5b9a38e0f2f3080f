//! A command that runs in a remote sandbox.
//!
//! Its output is kept in files in the sandbox (`scripts/run.sh`), which are
//! read while it runs; the daemon's stream of events only tells how it ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use uuid::Uuid;

use super::core::Core;
use super::execd::{Execd, Upload};
use super::outputs::Outputs;
use super::scripts;
use super::watch::{Begun, begin, watch};
use crate::rules::check_command;
use crate::{Command, ExecEvent, ExecResult, Execution, ExitStatus, SandboxError};

/// The daemon kills a command in time; this long after that, the host does.
const LATE: Duration = Duration::from_secs(3);
/// How long to wait for the end of a command that was killed for being late.
const KILLED: Duration = Duration::from_secs(10);
/// How soon to look for output first, and how seldom after long silence.
const SOON: Duration = Duration::from_millis(30);
const SELDOM: Duration = Duration::from_millis(400);
/// How long a command's outputs may stay open after its end before what holds
/// them open is killed, and how long after that they are waited for.
const OPEN: Duration = Duration::from_millis(300);
const CLOSED: Duration = Duration::from_secs(3);
/// How long killing may take.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

/// A running command, as its caller holds it. The task that drives it kills it
/// once `control` is dropped.
pub(super) struct RemoteExecution {
    events: mpsc::UnboundedReceiver<ExecEvent>,
    control: mpsc::UnboundedSender<()>,
    completed: bool,
}

#[async_trait]
impl Execution for RemoteExecution {
    async fn next(&mut self) -> Result<Option<ExecEvent>, SandboxError> {
        if self.completed {
            return Ok(None);
        }
        let event = self.events.recv().await.unwrap_or_else(|| {
            ExecEvent::Completed(ExecResult {
                status: ExitStatus::Unknown("the host stopped watching the command".into()),
                stdout: Vec::new(),
                stderr: Vec::new(),
                truncated: true,
                duration: Duration::ZERO,
            })
        });
        self.completed = matches!(event, ExecEvent::Completed(_));
        Ok(Some(event))
    }

    async fn kill(&mut self) -> Result<(), SandboxError> {
        // Gone means that it has ended.
        let _ = self.control.send(());
        Ok(())
    }
}

/// Starts a command and answers once it runs.
pub(super) async fn start(
    core: &Arc<Core>,
    command: Command,
    slot: OwnedSemaphorePermit,
) -> Result<Box<dyn Execution>, SandboxError> {
    let at = check_command(&command)?;
    let id = Uuid::now_v7().simple().to_string();
    let limits = &core.request.limits;
    let (script, in_file) = scripts::run(&id, &at, &command.line, limits);
    let mut environment = core.request.environment.clone();
    environment.extend(command.environment);
    environment.insert(scripts::MARK.into(), id.clone());
    let time = limits.time_for(command.timeout);
    let order = Order {
        id: id.clone(),
        time,
        script,
        line: in_file.then_some(command.line),
        input: command.stdin,
        environment,
        at,
    };
    let (events, told) = mpsc::unbounded_channel();
    let (control, asked) = mpsc::unbounded_channel();
    let (started, starting) = oneshot::channel();
    let driver = Driver {
        core: Arc::clone(core),
        execd: core.execd(),
        outputs: Outputs::new(&id, limits.output_bytes),
        id,
        time,
        events,
        asked,
        _slot: slot,
    };
    tokio::spawn(driver.drive(order, started));
    // Given up here, `control` is dropped, and the command killed.
    let execution = RemoteExecution {
        events: told,
        control,
        completed: false,
    };
    starting.await.map_err(|_| SandboxError::Unavailable {
        message: "the host stopped while it started the command".into(),
        retry_after: None,
    })??;
    Ok(Box::new(execution))
}

/// What is sent to the sandbox.
struct Order {
    id: String,
    time: Duration,
    script: String,
    /// Where it is too long for the script.
    line: Option<String>,
    input: Option<Vec<u8>>,
    environment: BTreeMap<String, String>,
    at: String,
}

impl Order {
    /// Puts its files into the sandbox, starts it and waits until it runs.
    async fn send(&self, core: &Core, execd: &Execd) -> Result<Begun, SandboxError> {
        let directory = scripts::directory(&self.id);
        let (line, input) = (format!("{directory}/line"), format!("{directory}/input"));
        let mut files = Vec::new();
        let mut add = |path, content: Option<Vec<u8>>| {
            files.extend(content.map(|content| Upload {
                path,
                content,
                mode: Some(600),
            }));
        };
        add(line.as_str(), self.line.clone().map(String::into_bytes));
        add(input.as_str(), self.input.clone());
        if !files.is_empty() {
            let uploaded = execd.upload(files).await;
            if let Err(failure) = uploaded {
                return Err(core.explain(failure).await);
            }
        }
        let begun = begin(execd, &self.script, &self.environment, self.time).await;
        match begun {
            Ok(Some(begun)) => Ok(begun),
            Ok(None) => Err(SandboxError::NotFound {
                what: format!("the directory `{}`", self.at.escape_debug()),
            }),
            Err(failure) => Err(core.explain(failure).await),
        }
    }
}

/// What drives one command from its start to its end.
struct Driver {
    core: Arc<Core>,
    execd: Arc<Execd>,
    id: String,
    time: Duration,
    outputs: Outputs,
    events: mpsc::UnboundedSender<ExecEvent>,
    asked: mpsc::UnboundedReceiver<()>,
    _slot: OwnedSemaphorePermit,
}

/// Why the host stops driving a command before it told its end.
enum Stop {
    /// Nobody holds it any more.
    Dropped,
    /// The sandbox was closed.
    Closed,
}

impl Driver {
    async fn drive(mut self, order: Order, started: oneshot::Sender<Result<(), SandboxError>>) {
        let began = Instant::now();
        let mut closing = self.core.closing();
        let Self {
            core, execd, asked, ..
        } = &mut self;
        let beginning = tokio::select! {
            begun = order.send(core, execd) => begun,
            None = asked.recv() => {
                self.clear();
                return;
            }
            () = Core::until_closed(&mut closing) => Err(core.closed()),
        };
        let begun = match beginning {
            Ok(begun) => begun,
            Err(error) => {
                self.clear();
                let _ = started.send(Err(error));
                return;
            }
        };
        if started.send(Ok(())).is_err() {
            self.clear();
            return;
        }
        match self.follow(begun, began).await {
            Ok(status) => {
                let status = self.settle(status).await;
                self.complete(status, began);
                self.clear();
            }
            Err(Stop::Dropped) => self.clear(),
            Err(Stop::Closed) => {
                let reason = "the sandbox was closed while the command ran".into();
                self.complete(ExitStatus::Unknown(reason), began);
            }
        }
    }

    /// Passes its output on until it ends.
    async fn follow(&mut self, begun: Begun, began: Instant) -> Result<ExitStatus, Stop> {
        let mut closing = self.core.closing();
        let mut watching = Watching(tokio::spawn(watch(Arc::clone(&self.execd), begun)));
        let mut pause = SOON;
        let mut deadline = began + self.time + LATE;
        let mut late = false;
        let status = loop {
            tokio::select! {
                status = &mut watching.0 => break status.unwrap_or_else(|error| {
                    ExitStatus::Unknown(format!("the host failed to watch the command: {error}"))
                }),
                () = tokio::time::sleep(pause) => {
                    pause = match self.outputs.collect(&self.execd, &self.events).await {
                        Ok(true) => SOON,
                        Ok(false) => (pause * 2).min(SELDOM),
                        Err(failure) => {
                            tracing::debug!(%failure, "a command's output is not read now");
                            SELDOM
                        }
                    };
                }
                asked = self.asked.recv() => match asked {
                    Some(()) => self.kill().await,
                    None => return Err(Stop::Dropped),
                },
                () = tokio::time::sleep_until(deadline.into()) => {
                    if late {
                        break ExitStatus::Unknown(
                            "it took too long, and the sandbox did not tell that it was killed"
                                .into(),
                        );
                    }
                    late = true;
                    deadline = Instant::now() + KILLED;
                    self.kill().await;
                }
                () = Core::until_closed(&mut closing) => return Err(Stop::Closed),
            }
        };
        // The daemon's kill looks like any other; the clock tells them apart.
        let killed = status == ExitStatus::Signal("SIGKILL".into());
        if killed && began.elapsed() >= self.time {
            return Ok(ExitStatus::TimedOut);
        }
        Ok(status)
    }

    /// Reads what is left of its output once it has ended.
    async fn settle(&mut self, status: ExitStatus) -> ExitStatus {
        let mut patience = OPEN;
        let mut since = Instant::now();
        let mut killed = false;
        loop {
            if let Err(failure) = self.outputs.collect(&self.execd, &self.events).await {
                tracing::debug!(%failure, "the rest of a command's output is lost");
                self.outputs.lost();
                break;
            }
            if self.outputs.ended() {
                break;
            }
            if since.elapsed() > patience {
                if killed {
                    break;
                }
                // What it left running holds them open, and ends with it.
                killed = true;
                self.kill().await;
                patience = CLOSED;
                since = Instant::now();
            }
            tokio::time::sleep(SOON).await;
        }
        if self.outputs.over_limit() {
            return ExitStatus::Limit("output-bytes".into());
        }
        status
    }

    async fn kill(&self) {
        let killed = self.execd.run(&scripts::kill(&self.id), KILL_TIMEOUT).await;
        if let Err(failure) = killed {
            tracing::warn!(%failure, sandbox = self.core.id, "a command may go on in its sandbox");
        }
    }

    fn complete(&mut self, status: ExitStatus, began: Instant) {
        let (stdout, stderr, truncated) = self.outputs.take();
        let _ = self.events.send(ExecEvent::Completed(ExecResult {
            status,
            stdout,
            stderr,
            truncated,
            duration: began.elapsed(),
        }));
    }

    /// Kills what is left of it and removes its outputs, beside other work.
    fn clear(&self) {
        let execd = Arc::clone(&self.execd);
        let closing = self.core.closing();
        let script = scripts::clear(&self.id);
        tokio::spawn(async move {
            let cleared = execd.run(&script, KILL_TIMEOUT).await;
            if let Err(failure) = cleared
                && !*closing.borrow()
            {
                tracing::debug!(%failure, "a command's leftovers stay in its sandbox");
            }
        });
    }
}

/// A task that ends with whoever waits for it.
struct Watching(tokio::task::JoinHandle<ExitStatus>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}
