//! One remote sandbox, as its commands and its holders share it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use tokio::sync::{OnceCell, Semaphore, watch};

use keepsake_types::limits::{SANDBOX_CHECKPOINTS, SANDBOX_EXECUTIONS};

use super::execd::Execd;
use super::failure::Failure;
use super::{Shared, endpoint};
use crate::{CheckpointInfo, SandboxError, SandboxRequest};

/// How long to wait after a failed attempt to prolong a sandbox.
const AGAIN: Duration = Duration::from_secs(5);

pub(super) struct Core {
    pub(super) backend: Arc<Shared>,
    pub(super) id: String,
    pub(super) request: SandboxRequest,
    execd: Mutex<Arc<Execd>>,
    /// Closed by its holder, or found to be gone.
    closing: watch::Sender<bool>,
    /// By how much the server's clock is ahead.
    ahead: Duration,
    pub(super) slots: Arc<Semaphore>,
    pub(super) free_checkpoints: Arc<Semaphore>,
    pub(super) checkpoints: Mutex<Vec<CheckpointInfo>>,
    deleted: OnceCell<()>,
}

impl Core {
    pub(super) fn new(
        backend: Arc<Shared>,
        id: String,
        request: SandboxRequest,
        execd: Execd,
        ahead: Duration,
    ) -> Self {
        Self {
            backend,
            id,
            request,
            execd: Mutex::new(Arc::new(execd)),
            closing: watch::Sender::new(false),
            ahead,
            slots: Arc::new(Semaphore::new(SANDBOX_EXECUTIONS)),
            free_checkpoints: Arc::new(Semaphore::new(SANDBOX_CHECKPOINTS)),
            checkpoints: Mutex::default(),
            deleted: OnceCell::new(),
        }
    }

    /// The daemon, where it was last found.
    pub(super) fn execd(&self) -> Arc<Execd> {
        Arc::clone(&lock(&self.execd))
    }

    pub(super) fn checkpoints(&self) -> MutexGuard<'_, Vec<CheckpointInfo>> {
        lock(&self.checkpoints)
    }

    /// Tells when it is closed.
    pub(super) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Waits until it is closed.
    pub(super) async fn until_closed(closing: &mut watch::Receiver<bool>) {
        // An error means that nobody holds it any more, which is as good.
        let _ = closing.wait_for(|closing| *closing).await;
    }

    /// Lets nothing in from now on.
    pub(super) fn shut(&self) {
        self.closing.send_replace(true);
    }

    /// Refuses a call to a closed sandbox.
    pub(super) fn enter(&self) -> Result<Arc<Execd>, SandboxError> {
        if *self.closing.borrow() {
            return Err(self.closed());
        }
        Ok(self.execd())
    }

    pub(super) fn closed(&self) -> SandboxError {
        SandboxError::Closed {
            id: self.id.clone(),
        }
    }

    /// Why the daemon did not do what it was asked, after a look at the sandbox.
    pub(super) async fn explain(&self, failure: Failure) -> SandboxError {
        if *self.closing.borrow() {
            return self.closed();
        }
        let telling = matches!(&failure, Failure::Refused { status, code, .. }
            if status.is_client_error() && !code.ends_with("SANDBOX_NOT_FOUND"));
        if telling {
            return failure.into();
        }
        let record = match self.backend.lifecycle.sandbox(&self.id).await {
            Ok(record) => record,
            Err(missing) if missing.is_missing() => {
                tracing::warn!(sandbox = self.id, "the server removed a sandbox in use");
                self.shut();
                return self.closed();
            }
            Err(_) => return failure.into(),
        };
        let state = record.status.state.as_str();
        if state == "Running" {
            // It may be reached elsewhere now; the next call finds it there.
            let found = endpoint::find(&self.backend.lifecycle, &self.backend.options, &self.id);
            match found.await {
                Ok(execd) => *lock(&self.execd) = Arc::new(execd),
                Err(error) => tracing::debug!(%error, "a sandbox's address is not found again"),
            }
            return failure.into();
        }
        let reason = record.status.message.or(record.status.reason);
        SandboxError::Unavailable {
            message: format!(
                "the sandbox {} is in the state {} ({}); create another one",
                self.id,
                super::failure::clean(state),
                super::failure::clean(&reason.unwrap_or_default())
            ),
            retry_after: None,
        }
    }

    /// Deletes it at the server, once.
    pub(super) async fn delete(&self) -> Result<(), SandboxError> {
        self.shut();
        let delete = || async {
            self.backend.lifecycle.delete(&self.id).await?;
            let checkpoints: Vec<String> = self
                .checkpoints()
                .drain(..)
                .map(|checkpoint| checkpoint.id)
                .collect();
            self.backend.discard(checkpoints).await;
            Ok::<_, Failure>(())
        };
        self.deleted.get_or_try_init(delete).await?;
        Ok(())
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.deleted.initialized()
    }
}

/// Prolongs a sandbox while anybody holds it.
pub(super) async fn keep(held: Weak<Core>) {
    let Some(core) = held.upgrade() else { return };
    let (timeout, id) = (core.backend.options.timeout, core.id.clone());
    let mut closing = core.closing();
    drop(core);
    let mut pause = timeout / 3;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = Core::until_closed(&mut closing) => return,
        }
        let Some(core) = held.upgrade() else { return };
        let until = SystemTime::now() + core.ahead + timeout;
        pause = match core.backend.lifecycle.renew(&id, until).await {
            Ok(()) => timeout / 3,
            Err(failure) if failure.is_missing() => {
                tracing::warn!(sandbox = id, "the server removed a sandbox in use");
                core.shut();
                return;
            }
            // It never expires.
            Err(failure) if failure.status() == Some(409) => return,
            Err(failure) => {
                tracing::warn!(%failure, sandbox = id, "a sandbox was not prolonged");
                AGAIN.min(timeout / 3)
            }
        };
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
