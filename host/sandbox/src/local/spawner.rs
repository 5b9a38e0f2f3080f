//! The thread that starts all processes of a backend.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, mpsc};
use std::thread;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::SandboxError;

/// Read by whoever writes a file, written by whoever starts a process.
static WRITING: RwLock<()> = RwLock::new(());

/// To be held while a file of a sandbox is open for writing.
///
/// Between its beginning and its program, a new process has all open files of
/// the host. One that is open for writing cannot be run: a command that runs
/// what the host has just written would fail by chance ("text file busy").
pub(super) fn writing() -> RwLockReadGuard<'static, ()> {
    WRITING.read().unwrap_or_else(PoisonError::into_inner)
}

type Job = Box<dyn FnOnce() + Send>;

/// Starts processes from one thread that lives as long as the backend and its
/// sandboxes.
///
/// A process that asks to die with its parent dies with the *thread* that
/// started it. Threads of an async runtime come and go; commands must not go
/// with them.
#[derive(Clone, Debug)]
pub(super) struct Spawner {
    jobs: mpsc::Sender<Job>,
}

impl Spawner {
    /// Starts the thread. It ends with the last clone.
    pub(super) fn new() -> Self {
        let (jobs, queue) = mpsc::channel::<Job>();
        let started = thread::Builder::new()
            .name("sandbox-spawner".into())
            .spawn(move || {
                for job in queue {
                    job();
                }
            });
        if let Err(error) = started {
            // The queue is gone with the closure, so that `spawn` fails and says so.
            tracing::error!(%error, "cannot start the thread that starts sandboxes");
        }
        Self { jobs }
    }

    /// Starts a process that is killed when its handle is dropped.
    pub(super) async fn spawn(&self, mut command: Command) -> Result<Child, SandboxError> {
        let program = command
            .as_std()
            .get_program()
            .to_string_lossy()
            .into_owned();
        let (answer, started) = oneshot::channel();
        let runtime = Handle::current();
        let gone = |()| SandboxError::Unavailable {
            message: "the thread that starts sandboxes is gone; start the host again".into(),
            retry_after: None,
        };
        self.jobs
            .send(Box::new(move || {
                let _runtime = runtime.enter();
                let nobody_writes = WRITING.write().unwrap_or_else(PoisonError::into_inner);
                let spawned = command.kill_on_drop(true).spawn();
                drop(nobody_writes);
                // Nobody waiting means that the child is dropped, and so killed.
                let _ = answer.send(spawned);
            }))
            .map_err(|_| gone(()))?;
        started
            .await
            .map_err(|_| gone(()))?
            .map_err(SandboxError::io(format!("cannot start `{program}`")))
    }
}
