//! How a checkpoint is made at the server.
//!
//! As with sandboxes, nothing about making one can be repeated safely: a copy
//! whose answer was lost stays at the server, where it fills the disk. So each
//! has a name of its own by which it is found.

use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::core::Core;
use super::failure::{Failure, clean};
use super::wire::SnapshotRecord;
use super::{Shared, check_id, lost};
use crate::SandboxError;

/// How often to ask whether a checkpoint is complete.
const LOOK: Duration = Duration::from_millis(250);

/// Has the server copy the sandbox, and answers the copy's id. Whoever gives up
/// waiting leaves none behind.
pub(super) async fn snapshot(core: &Arc<Core>) -> Result<String, SandboxError> {
    core.enter()?;
    let kept = Kept {
        backend: Arc::clone(&core.backend),
        id: None,
        runtime: tokio::runtime::Handle::current(),
    };
    // In a task of its own, since the copy exists once the server has the request.
    let made = tokio::spawn(make(Arc::clone(core), kept)).await;
    let mut kept = made.unwrap_or_else(|error| {
        Err(SandboxError::Unavailable {
            message: format!("the host failed while it made a checkpoint: {error}"),
            retry_after: None,
        })
    })?;
    Ok(kept.id.take().unwrap_or_default())
}

/// A copy that is deleted when it is dropped before its id was taken.
struct Kept {
    backend: Arc<Shared>,
    id: Option<String>,
    runtime: tokio::runtime::Handle,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let backend = Arc::clone(&self.backend);
            self.runtime
                .spawn(async move { backend.discard(vec![id]).await });
        }
    }
}

async fn make(core: Arc<Core>, mut kept: Kept) -> Result<Kept, SandboxError> {
    let lifecycle = &core.backend.lifecycle;
    let name = format!("keepsake-{}", Uuid::now_v7().simple());
    let mut record = match lifecycle.snapshot(&core.id, &name).await {
        Ok(record) => record,
        Err(failure) if failure.is_lost() => adopt(&core, &name, failure).await?,
        Err(failure) => return Err(core.explain(failure).await),
    };
    check_id(&record.id)?;
    kept.id = Some(record.id.clone());
    let began = Instant::now();
    loop {
        let state = record.status.state.as_str();
        let problem = match state {
            "Ready" => return Ok(kept),
            "Failed" | "Deleting" => Some(format!("its state is {}", clean(state))),
            _ if began.elapsed() > core.backend.options.create_timeout => {
                Some(format!("it is still {}", clean(state)))
            }
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(SandboxError::Unavailable {
                message: format!(
                    "the server did not complete the checkpoint, {problem}: {}",
                    clean(&record.status.message.unwrap_or_default())
                ),
                retry_after: None,
            });
        }
        tokio::time::sleep(LOOK).await;
        record = match lifecycle.snapshot_state(&record.id).await {
            Ok(record) => record,
            Err(failure) => return Err(core.explain(failure).await),
        };
    }
}

/// Looks for a checkpoint whose answer was lost.
async fn adopt(
    core: &Arc<Core>,
    name: &str,
    failure: Failure,
) -> Result<SnapshotRecord, SandboxError> {
    let find = || core.backend.lifecycle.snapshot_named(&core.id, name);
    if let Some(record) = lost::look_for("checkpoint", &failure, find).await {
        return Ok(record);
    }
    // The server may still be at it; what comes late is deleted.
    let (backend, id, name) = (Arc::clone(&core.backend), core.id.clone(), name.to_owned());
    tokio::spawn(async move {
        tokio::time::sleep(backend.options.create_timeout).await;
        if let Ok(Some(record)) = backend.lifecycle.snapshot_named(&id, &name).await
            && check_id(&record.id).is_ok()
        {
            backend.discard(vec![record.id]).await;
        }
    });
    Err(core.explain(failure).await)
}
