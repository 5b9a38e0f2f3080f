//! One sandbox on this machine.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use keepsake_types::limits::{SANDBOX_CHECKPOINTS, SANDBOX_EXECUTIONS};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc, oneshot, watch};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::copy::copy;
use super::execution::LocalExecution;
use super::files;
use super::home::{Home, make_directory, open_directory};
use super::supervise::{Order, supervise};
use super::tree::{self, Bounds};
use super::{Isolation, Shared, bubblewrap, processes, removal};
use crate::paths::WorkPath;
use crate::rules::{check_checkpoint_name, check_command, check_environment, command_slot};
use crate::{
    CheckpointInfo, Command, Execution, FileInfo, Metrics, Sandbox, SandboxError, SandboxRequest,
};

/// So many calls are in a sandbox at once at the most, commands included.
const CALLS: u32 = 1024;

/// A sandbox, as its holders see it. Dropping it kills what runs.
pub(super) struct LocalSandbox {
    inner: Arc<Inner>,
}

/// A sandbox, as its commands need it. Dropping it deletes the files.
pub(super) struct Inner {
    pub(super) backend: Arc<Shared>,
    pub(super) isolation: Isolation,
    pub(super) home: Arc<Home>,
    pub(super) request: SandboxRequest,
    pub(super) closing: watch::Sender<bool>,
    /// The first processes of the commands that run now.
    live: Mutex<HashMap<Uuid, i32>>,
    pub(super) finished_cpu_ms: AtomicU64,
    /// Every call takes a part of it, and closing takes all and shuts it.
    gate: Arc<Semaphore>,
    /// One part for each command that may run at once.
    slots: Arc<Semaphore>,
    /// One part for each checkpoint that may still be made.
    free_checkpoints: Arc<Semaphore>,
    checkpoints: Mutex<Vec<CheckpointInfo>>,
}

impl LocalSandbox {
    /// A new sandbox with an empty work directory.
    pub(super) async fn create(
        backend: Arc<Shared>,
        isolation: Isolation,
        request: SandboxRequest,
    ) -> Result<Self, SandboxError> {
        let variables = request.environment.iter();
        check_environment(variables.map(|(name, value)| (name.as_str(), value.as_str())))?;
        let root = backend.root()?;
        let network = request.network;
        let home = blocking(move || {
            let home = Home::create(&root)?;
            bubblewrap::make_etc(&home.etc, network)?;
            Ok(home)
        })
        .await?;
        Ok(Self {
            inner: Arc::new(Inner {
                backend,
                isolation,
                home: Arc::new(home),
                request,
                closing: watch::Sender::new(false),
                live: Mutex::default(),
                finished_cpu_ms: AtomicU64::new(0),
                gate: Arc::new(Semaphore::new(CALLS as usize)),
                slots: Arc::new(Semaphore::new(SANDBOX_EXECUTIONS)),
                free_checkpoints: Arc::new(Semaphore::new(SANDBOX_CHECKPOINTS)),
                checkpoints: Mutex::default(),
            }),
        })
    }

    /// Does something with the files, on a thread that may block. The sandbox
    /// is not closed before that is done, even when the caller gives up.
    async fn with_home<T: Send + 'static>(
        &self,
        what: impl FnOnce(&Home, Bounds) -> Result<T, SandboxError> + Send + 'static,
    ) -> Result<T, SandboxError> {
        let permit = self.inner.enter().await?;
        self.with_home_within(permit, what).await
    }

    /// The same within a call that was let in already: asking again would
    /// wait for a close that waits for this call.
    async fn with_home_within<T: Send + 'static>(
        &self,
        permit: OwnedSemaphorePermit,
        what: impl FnOnce(&Home, Bounds) -> Result<T, SandboxError> + Send + 'static,
    ) -> Result<T, SandboxError> {
        let home = Arc::clone(&self.inner.home);
        let bounds = self.inner.bounds();
        blocking(move || {
            let done = what(&home, bounds);
            drop(permit);
            done
        })
        .await
    }
}

impl Inner {
    /// Lets a call in, unless the sandbox is closed or being closed.
    async fn enter(&self) -> Result<OwnedSemaphorePermit, SandboxError> {
        let permit = Arc::clone(&self.gate).acquire_owned().await;
        match permit {
            Ok(permit) if !*self.closing.borrow() => Ok(permit),
            _ => Err(SandboxError::Closed {
                id: self.home.id.clone(),
            }),
        }
    }

    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            bytes: self.request.limits.disk_bytes,
            entries: self.request.limits.disk_entries,
        }
    }

    pub(super) fn live(&self) -> MutexGuard<'_, HashMap<Uuid, i32>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn checkpoints(&self) -> MutexGuard<'_, Vec<CheckpointInfo>> {
        self.checkpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LocalSandbox {
    fn drop(&mut self) {
        self.inner.closing.send_replace(true);
    }
}

#[async_trait]
impl Sandbox for LocalSandbox {
    fn id(&self) -> &str {
        &self.inner.home.id
    }

    fn isolated(&self) -> bool {
        matches!(self.inner.isolation, Isolation::Bubblewrap(_))
    }

    async fn start(&self, command: Command) -> Result<Box<dyn Execution>, SandboxError> {
        let inner = &self.inner;
        let directory = check_command(&command)?;
        let call = inner.enter().await?;
        let slot = command_slot(&inner.slots)?;
        let mut environment: Vec<_> = inner.request.environment.clone().into_iter().collect();
        environment.extend(command.environment);
        let order = Order {
            line: command.line,
            directory,
            environment,
            stdin: command.stdin,
            time: inner.request.limits.time_for(command.timeout),
            permits: [call, slot],
        };
        let (started, starting) = oneshot::channel();
        let (ended, end) = oneshot::channel();
        let (control, asked) = mpsc::unbounded_channel();
        tokio::spawn(supervise(Arc::clone(inner), order, started, ended, asked));
        let outputs = starting.await.map_err(|_| SandboxError::Unavailable {
            message: "the host stopped while it started the command".into(),
            retry_after: None,
        })??;
        let output_bytes = inner.request.limits.output_bytes;
        Ok(Box::new(LocalExecution::new(
            outputs,
            control,
            end,
            output_bytes,
        )))
    }

    async fn read_file(&self, path: &str) -> Result<Vec<u8>, SandboxError> {
        let path = WorkPath::parse(path)?;
        self.with_home(move |home, _| files::read(home, &path))
            .await
    }

    async fn write_file(&self, path: &str, content: &[u8]) -> Result<(), SandboxError> {
        let path = WorkPath::parse(path)?;
        path.check_content(content)?;
        let content = content.to_vec();
        self.with_home(move |home, bounds| files::write(home, &path, &content, bounds))
            .await
    }

    async fn list_files(&self, path: &str) -> Result<Vec<FileInfo>, SandboxError> {
        let path = WorkPath::parse(path)?;
        self.with_home(move |home, _| files::list(home, &path))
            .await
    }

    async fn remove_file(&self, path: &str) -> Result<bool, SandboxError> {
        let path = WorkPath::parse(path)?;
        self.with_home(move |home, _| files::remove(home, &path))
            .await
    }

    async fn checkpoint(&self, name: &str) -> Result<CheckpointInfo, SandboxError> {
        check_checkpoint_name(name)?;
        let room = match Arc::clone(&self.inner.free_checkpoints).try_acquire_owned() {
            Ok(room) => room,
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => {
                return Err(SandboxError::Limit {
                    name: "sandbox-checkpoints",
                    message: format!("the sandbox has {SANDBOX_CHECKPOINTS} checkpoints already"),
                });
            }
        };
        let id = Uuid::now_v7().to_string();
        let name = name.to_owned();
        let inner = Arc::clone(&self.inner);
        // All of it where nobody can give up in the middle: a copy that is
        // not on the list would take room that is counted nowhere.
        self.with_home(move |home, bounds| {
            let path = home.checkpoints.join(&id);
            make_directory(&path, 0o700)?;
            let copied = open_directory(&path).and_then(|to| copy(home.work()?, to, None, bounds));
            if let Err(error) = copied {
                removal::remove(&path)
                    .map_err(SandboxError::io("cannot remove a broken checkpoint"))?;
                return Err(error);
            }
            room.forget();
            let info = CheckpointInfo {
                id,
                name,
                created_at: keepsake_types::now(),
            };
            inner.checkpoints().push(info.clone());
            Ok(info)
        })
        .await
    }

    async fn fork(&self, checkpoint: Option<&str>) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let call = self.inner.enter().await?;
        // Looked up, not joined to a path: the name comes from outside.
        let known = match checkpoint {
            None => None,
            Some(wanted) => Some(
                self.inner
                    .checkpoints()
                    .iter()
                    .find(|known| known.id == wanted)
                    .map(|known| known.id.clone())
                    .ok_or_else(|| SandboxError::NotFound {
                        what: format!(
                            "the checkpoint `{}` of this sandbox",
                            wanted.escape_debug().take(64).collect::<String>()
                        ),
                    })?,
            ),
        };
        let fork = Self::create(
            Arc::clone(&self.inner.backend),
            self.inner.isolation.clone(),
            self.inner.request.clone(),
        )
        .await?;
        let target = Arc::clone(&fork.inner.home);
        self.with_home_within(call, move |home, bounds| {
            let to = target.work()?;
            match known {
                None => copy(home.work()?, to, Some(target.account), bounds),
                Some(id) => {
                    let from = open_directory(&home.checkpoints.join(id))?;
                    copy(from, to, Some(target.account), bounds)
                }
            }
        })
        .await?;
        Ok(Arc::new(fork))
    }

    async fn metrics(&self) -> Result<Metrics, SandboxError> {
        let live: Vec<i32> = self.inner.live().values().copied().collect();
        let finished = self.inner.finished_cpu_ms.load(Ordering::Relaxed);
        self.with_home(move |home, _| {
            let everything = Bounds {
                bytes: u64::MAX,
                entries: u64::MAX,
            };
            let size = tree::size(home.work()?, everything)?;
            let processes: Vec<i32> = live.into_iter().flat_map(processes::descendants).collect();
            let usage = processes::usage(&processes);
            Ok(Metrics {
                memory_bytes: Some(usage.memory_bytes),
                cpu_ms: Some(finished + usage.cpu_ms),
                disk_bytes: Some(size.bytes),
                processes: Some(usage.processes),
                extras: Some(serde_json::json!({ "disk-entries": size.entries })),
            })
        })
        .await
    }

    async fn close(&self) -> Result<(), SandboxError> {
        let inner = &self.inner;
        inner.closing.send_replace(true);
        // Shut already means closed already.
        let Ok(all) = Arc::clone(&inner.gate).acquire_many_owned(CALLS).await else {
            return Ok(());
        };
        let home = Arc::clone(&inner.home);
        blocking(move || home.remove()).await?;
        inner.gate.close();
        drop(all);
        Ok(())
    }
}

/// Runs something that blocks apart from the async threads.
pub(super) async fn blocking<T: Send + 'static>(
    what: impl FnOnce() -> Result<T, SandboxError> + Send + 'static,
) -> Result<T, SandboxError> {
    spawn_blocking(what).await.unwrap_or_else(|error| {
        Err(SandboxError::Unavailable {
            message: format!("the host failed within a sandbox call: {error}"),
            retry_after: None,
        })
    })
}
