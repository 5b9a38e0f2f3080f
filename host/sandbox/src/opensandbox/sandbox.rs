//! One remote sandbox, as its holders see it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use keepsake_types::limits::SANDBOX_CHECKPOINTS;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, TryAcquireError};

use super::core::Core;
use super::create::{Source, create};
use super::failure::clean;
use super::snapshot::snapshot;
use super::{execution, files, scripts};
use crate::paths::WorkPath;
use crate::rules::{check_checkpoint_name, check_command, command_slot};
use crate::{
    CheckpointInfo, Command, Execution, ExitStatus, FileInfo, Metrics, Sandbox, SandboxError,
};

/// How long measuring may take. It walks over all files.
const MEASURE: Duration = Duration::from_secs(60);

/// A sandbox, as its holders see it. Dropping it deletes it in the background.
pub(super) struct OpenSandbox {
    core: Arc<Core>,
    runtime: Handle,
}

impl OpenSandbox {
    /// A handle for a sandbox that exists. Within a runtime only.
    pub(super) fn new(core: Core) -> Self {
        Self {
            core: Arc::new(core),
            runtime: Handle::current(),
        }
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }
}

impl Drop for OpenSandbox {
    fn drop(&mut self) {
        self.core.shut();
        if self.core.is_deleted() {
            return;
        }
        let core = Arc::clone(&self.core);
        self.runtime.spawn(async move {
            if let Err(error) = core.delete().await {
                tracing::warn!(%error, sandbox = core.id, "a sandbox stays until it expires");
            }
        });
    }
}

#[async_trait]
impl Sandbox for OpenSandbox {
    fn id(&self) -> &str {
        &self.core.id
    }

    fn isolated(&self) -> bool {
        true
    }

    async fn start(&self, command: Command) -> Result<Box<dyn Execution>, SandboxError> {
        check_command(&command)?;
        self.core.enter()?;
        let slot = command_slot(&self.core.slots)?;
        execution::start(&self.core, command, slot).await
    }

    async fn read_file(&self, path: &str) -> Result<Vec<u8>, SandboxError> {
        files::read(&self.core, &WorkPath::parse(path)?).await
    }

    async fn write_file(&self, path: &str, content: &[u8]) -> Result<(), SandboxError> {
        files::write(&self.core, &WorkPath::parse(path)?, content).await
    }

    async fn list_files(&self, path: &str) -> Result<Vec<FileInfo>, SandboxError> {
        files::list(&self.core, &WorkPath::parse(path)?).await
    }

    async fn remove_file(&self, path: &str) -> Result<bool, SandboxError> {
        files::remove(&self.core, &WorkPath::parse(path)?).await
    }

    async fn checkpoint(&self, name: &str) -> Result<CheckpointInfo, SandboxError> {
        check_checkpoint_name(name)?;
        self.core.enter()?;
        let room = take_room(&self.core.free_checkpoints)?;
        let id = snapshot(&self.core).await?;
        room.forget();
        let info = CheckpointInfo {
            id,
            name: name.to_owned(),
            created_at: keepsake_types::now(),
        };
        self.core.checkpoints().push(info.clone());
        Ok(info)
    }

    async fn fork(&self, checkpoint: Option<&str>) -> Result<Arc<dyn Sandbox>, SandboxError> {
        self.core.enter()?;
        let (backend, request) = (&self.core.backend, &self.core.request);
        let source = match checkpoint {
            None => snapshot(&self.core).await?,
            // Looked up: the name comes from outside, and others' are not ours.
            Some(wanted) => {
                let known = self.core.checkpoints();
                let known = known.iter().find(|known| known.id == wanted);
                known
                    .map(|known| known.id.clone())
                    .ok_or_else(|| SandboxError::NotFound {
                        what: format!("the checkpoint `{}` of this sandbox", clean(wanted)),
                    })?
            }
        };
        let from = Source::Snapshot(source.clone());
        let fork = create(Arc::clone(backend), request.clone(), from).await;
        if checkpoint.is_none() {
            backend.discard(vec![source]).await;
        }
        Ok(Arc::new(fork?))
    }

    async fn metrics(&self) -> Result<Metrics, SandboxError> {
        let execd = self.core.enter()?;
        let (script, machine) = tokio::join!(execd.run(scripts::MEASURE, MEASURE), execd.metrics());
        let printed = match script {
            Ok((ExitStatus::Code(0), printed)) => printed,
            Ok(_) => String::new(),
            Err(failure) => return Err(self.core.explain(failure).await),
        };
        let mut metrics = measured(&printed);
        // What the daemon tells is about the machine that the sandbox is on.
        metrics.extras = machine
            .ok()
            .map(|machine| serde_json::json!({ "machine": machine }));
        Ok(metrics)
    }

    async fn close(&self) -> Result<(), SandboxError> {
        self.core.delete().await
    }
}

fn take_room(free: &Arc<Semaphore>) -> Result<tokio::sync::OwnedSemaphorePermit, SandboxError> {
    match Arc::clone(free).try_acquire_owned() {
        Ok(room) => Ok(room),
        Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => Err(SandboxError::Limit {
            name: "sandbox-checkpoints",
            message: format!("the sandbox has {SANDBOX_CHECKPOINTS} checkpoints already"),
        }),
    }
}

/// Metrics from what the script printed: a name and a number on each line.
fn measured(printed: &str) -> Metrics {
    let mut metrics = Metrics::default();
    for line in printed.lines() {
        let Some((name, number)) = line.split_once(' ') else {
            continue;
        };
        let Ok(number) = number.trim().parse::<u64>() else {
            continue;
        };
        match name {
            "disk-kib" => metrics.disk_bytes = Some(number.saturating_mul(1024)),
            "processes" => metrics.processes = u32::try_from(number).ok(),
            "memory-bytes" => metrics.memory_bytes = Some(number),
            "usage_usec" => metrics.cpu_ms = Some(number / 1_000),
            "usage_nsec" => metrics.cpu_ms = Some(number / 1_000_000),
            _ => {}
        }
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_what_the_sandbox_could_tell() {
        let metrics = measured("disk-kib 12\nprocesses 3\nusage_usec 2500\nmemory-bytes max\n");
        assert_eq!(metrics.disk_bytes, Some(12 * 1024));
        assert_eq!(metrics.processes, Some(3));
        assert_eq!(metrics.cpu_ms, Some(2));
        assert_eq!(metrics.memory_bytes, None);
    }
}
