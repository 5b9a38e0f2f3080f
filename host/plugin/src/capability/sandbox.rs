//! `keepsake:host/sandbox`: commands and files in the session's sandbox, each
//! effect recorded.

mod convert;
mod record;

use std::sync::{Arc, Mutex, PoisonError};

use keepsake_sandbox::{Execution, Sandbox, SandboxBackend, SandboxError, SandboxRequest};
use keepsake_storage::Kind as EntryKind;
use keepsake_types::limits;
use serde_json::json;
use tokio::sync::OnceCell;
use wasmtime::component::{HasData, Resource};

use crate::bindings::agent::keepsake::host::sandbox::{
    self, Checkpoint, Command, ExecEvent, ExecResult, FileInfo, Metrics,
};
use crate::bindings::agent::keepsake::host::types::{Error, LimitReached};
use crate::ledger::Ledger;
use crate::state::State;
use crate::used::Handles;
use record::Recorder;

/// The sandboxes of one session: its own, started by the first who asks, and
/// the forks of it. The session closes them all.
pub struct SessionSandboxes {
    backend: Arc<dyn SandboxBackend>,
    request: SandboxRequest,
    ledger: Ledger,
    own: OnceCell<Arc<dyn Sandbox>>,
    forks: Mutex<Vec<Arc<dyn Sandbox>>>,
    most: usize,
}

impl SessionSandboxes {
    /// None is started yet.
    pub fn new(backend: Arc<dyn SandboxBackend>, request: SandboxRequest, ledger: Ledger) -> Self {
        Self {
            backend,
            request,
            ledger,
            own: OnceCell::new(),
            forks: Mutex::new(Vec::new()),
            most: limits::SESSION_SANDBOXES,
        }
    }

    /// Bounds how many there are at a time, the session's own among them.
    #[must_use]
    pub fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// The id of the session's own sandbox, if it was started.
    pub fn id(&self) -> Option<String> {
        self.own.get().map(|sandbox| sandbox.id().to_owned())
    }

    /// Starts the session's sandbox, or gives the one that runs.
    pub(crate) async fn open(self: &Arc<Self>) -> Result<SandboxHandle, Error> {
        let sandbox = self
            .own
            .get_or_try_init(|| async {
                let sandbox = match self.backend.create(self.request.clone()).await {
                    Ok(sandbox) => sandbox,
                    Err(error) => {
                        tracing::warn!("no sandbox: {error}");
                        return Err(convert::error(error));
                    }
                };
                self.opened(&sandbox, EntryKind::SandboxOpened, json!({}))
                    .await?;
                Ok::<_, Error>(sandbox)
            })
            .await?;
        Ok(self.handle(Arc::clone(sandbox)))
    }

    async fn opened(
        &self,
        sandbox: &Arc<dyn Sandbox>,
        kind: EntryKind,
        origin: serde_json::Value,
    ) -> Result<(), Error> {
        let mut payload = json!({
            "sandbox": sandbox.id(),
            "backend": self.backend.name(),
            "isolated": sandbox.isolated(),
        });
        if let (Some(payload), serde_json::Value::Object(origin)) =
            (payload.as_object_mut(), origin)
        {
            payload.extend(origin);
        }
        if let Err(error) = self.ledger.append(kind, payload).await {
            // What is not recorded must not go on.
            let _ = sandbox.close().await;
            return Err(error);
        }
        Ok(())
    }

    fn handle(self: &Arc<Self>, sandbox: Arc<dyn Sandbox>) -> SandboxHandle {
        SandboxHandle {
            recorder: Recorder::new(self.ledger.clone(), sandbox.id()),
            sandbox,
            session: Arc::clone(self),
        }
    }

    async fn fork(
        self: &Arc<Self>,
        parent: &Arc<dyn Sandbox>,
        checkpoint: Option<&str>,
    ) -> Result<SandboxHandle, Error> {
        let open = 1 + self
            .forks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len();
        if open >= self.most {
            let message = format!(
                "a session has at most {} sandboxes at a time; close one first",
                self.most
            );
            tracing::warn!("{message}, or raise `limits.session-sandboxes`");
            return Err(Error::Limit(LimitReached {
                name: "session-sandboxes".into(),
                message,
            }));
        }
        let fork = parent.fork(checkpoint).await.map_err(convert::error)?;
        self.opened(
            &fork,
            EntryKind::SandboxForked,
            json!({ "parent": parent.id(), "checkpoint": checkpoint }),
        )
        .await?;
        self.forks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(&fork));
        Ok(self.handle(fork))
    }

    /// Has the session's sandbox begin as a copy of another session's, which is
    /// started if need be.
    ///
    /// # Errors
    /// What the sandbox or the ledger answered, for a reader.
    pub async fn begin_as_fork_of(&self, parent: &Arc<Self>) -> Result<(), String> {
        let said = |error: Error| crate::capability::describe(&error);
        let parent = parent.open().await.map_err(said)?.sandbox;
        let fork = parent.fork(None).await.map_err(|error| error.to_string())?;
        let origin = json!({ "parent": parent.id(), "checkpoint": null });
        self.opened(&fork, EntryKind::SandboxForked, origin)
            .await
            .map_err(said)?;
        if self.own.set(Arc::clone(&fork)).is_err() {
            let _ = fork.close().await;
            return Err("the session has a sandbox already".into());
        }
        Ok(())
    }

    async fn close(&self, sandbox: &Arc<dyn Sandbox>) -> Result<(), SandboxError> {
        self.forks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|fork| fork.id() != sandbox.id());
        sandbox.close().await?;
        // The record comes after the deed: a sandbox is closed even when the
        // ledger cannot be written.
        let recorded = self
            .ledger
            .append(EntryKind::SandboxClosed, json!({ "sandbox": sandbox.id() }))
            .await;
        if let Err(error) = recorded {
            tracing::warn!(
                "the end of sandbox {} is not in the ledger: {}",
                sandbox.id(),
                crate::capability::describe(&error)
            );
        }
        Ok(())
    }

    /// Closes every sandbox of the session. Called once, when it ends.
    pub async fn close_all(&self) {
        let mut open =
            std::mem::take(&mut *self.forks.lock().unwrap_or_else(PoisonError::into_inner));
        open.extend(self.own.get().cloned());
        for sandbox in open {
            if let Err(error) = self.close(&sandbox).await {
                tracing::warn!("sandbox {} was not closed cleanly: {error}", sandbox.id());
            }
        }
    }
}

/// A guest's handle on a sandbox.
#[expect(unreachable_pub, reason = "the generated code exports it")]
pub struct SandboxHandle {
    sandbox: Arc<dyn Sandbox>,
    recorder: Recorder,
    session: Arc<SessionSandboxes>,
}

/// A guest's handle on a command that runs.
#[expect(unreachable_pub, reason = "the generated code exports it")]
pub struct ExecutionHandle {
    execution: Box<dyn Execution>,
    recorder: Recorder,
}

impl SandboxHandle {
    async fn exec(&self, command: Command) -> Result<ExecResult, Error> {
        let command = convert::command(command)?;
        self.recorder.started(&command).await?;
        match self.sandbox.exec(command).await {
            Ok(result) => self.recorder.completed(result, true).await,
            Err(error) => Err(self.recorder.failed(error).await?),
        }
    }

    async fn start(&self, command: Command) -> Result<ExecutionHandle, Error> {
        let command = convert::command(command)?;
        self.recorder.started(&command).await?;
        match self.sandbox.start(command).await {
            Ok(execution) => Ok(ExecutionHandle {
                execution,
                recorder: self.recorder.clone(),
            }),
            Err(error) => Err(self.recorder.failed(error).await?),
        }
    }

    async fn write_file(&self, path: &str, content: &[u8]) -> Result<(), Error> {
        self.sandbox
            .write_file(path, content)
            .await
            .map_err(convert::error)?;
        self.recorder.file_written(path, content).await
    }

    async fn remove_file(&self, path: &str) -> Result<bool, Error> {
        let removed = self
            .sandbox
            .remove_file(path)
            .await
            .map_err(convert::error)?;
        if removed {
            self.recorder.file_removed(path).await?;
        }
        Ok(removed)
    }

    async fn checkpoint(&self, name: &str) -> Result<Checkpoint, Error> {
        let checkpoint = self
            .sandbox
            .checkpoint(name)
            .await
            .map_err(convert::error)?;
        let entry = self
            .recorder
            .checkpoint_created(&checkpoint.id, &checkpoint.name)
            .await?;
        Ok(Checkpoint {
            id: checkpoint.id,
            name: checkpoint.name,
            created_at: checkpoint.created_at,
            entry,
        })
    }
}

impl ExecutionHandle {
    async fn next(&mut self) -> Result<Option<ExecEvent>, Error> {
        match self.execution.next().await {
            Ok(None) => Ok(None),
            Ok(Some(event)) => self.recorder.event(event).await.map(Some),
            Err(error) => Err(self.recorder.failed(error).await?),
        }
    }
}

pub(crate) struct SandboxView<'a> {
    handles: Handles<'a>,
}

impl<'a> SandboxView<'a> {
    pub(crate) fn new(state: &'a mut State) -> Self {
        Self {
            handles: Handles::new(&mut state.table, &mut state.used),
        }
    }
}

pub(crate) struct HasSandbox;

impl HasData for HasSandbox {
    type Data<'a> = SandboxView<'a>;
}

impl sandbox::Host for SandboxView<'_> {}

impl sandbox::HostSandbox for SandboxView<'_> {
    async fn id(&mut self, handle: Resource<SandboxHandle>) -> wasmtime::Result<String> {
        Ok(self.handles.get(&handle)?.sandbox.id().to_owned())
    }

    async fn exec(
        &mut self,
        handle: Resource<SandboxHandle>,
        command: Command,
    ) -> wasmtime::Result<Result<ExecResult, Error>> {
        Ok(self.handles.get(&handle)?.exec(command).await)
    }

    async fn start(
        &mut self,
        handle: Resource<SandboxHandle>,
        command: Command,
    ) -> wasmtime::Result<Result<Resource<ExecutionHandle>, Error>> {
        match self.handles.get(&handle)?.start(command).await {
            Ok(execution) => self.handles.push(execution),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn read_file(
        &mut self,
        handle: Resource<SandboxHandle>,
        path: String,
    ) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        let read = self.handles.get(&handle)?.sandbox.read_file(&path).await;
        Ok(read.map_err(convert::error))
    }

    async fn write_file(
        &mut self,
        handle: Resource<SandboxHandle>,
        path: String,
        content: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Error>> {
        Ok(self.handles.get(&handle)?.write_file(&path, &content).await)
    }

    async fn list_files(
        &mut self,
        handle: Resource<SandboxHandle>,
        path: String,
    ) -> wasmtime::Result<Result<Vec<FileInfo>, Error>> {
        let listed = self.handles.get(&handle)?.sandbox.list_files(&path).await;
        Ok(listed
            .map(|files| files.into_iter().map(FileInfo::from).collect())
            .map_err(convert::error))
    }

    async fn remove_file(
        &mut self,
        handle: Resource<SandboxHandle>,
        path: String,
    ) -> wasmtime::Result<Result<bool, Error>> {
        Ok(self.handles.get(&handle)?.remove_file(&path).await)
    }

    async fn checkpoint(
        &mut self,
        handle: Resource<SandboxHandle>,
        name: String,
    ) -> wasmtime::Result<Result<Checkpoint, Error>> {
        Ok(self.handles.get(&handle)?.checkpoint(&name).await)
    }

    async fn fork(
        &mut self,
        handle: Resource<SandboxHandle>,
        checkpoint: Option<String>,
    ) -> wasmtime::Result<Result<Resource<SandboxHandle>, Error>> {
        let handle = self.handles.get(&handle)?;
        let forked = handle
            .session
            .fork(&handle.sandbox, checkpoint.as_deref())
            .await;
        match forked {
            Ok(fork) => self.handles.push(fork),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn metrics(
        &mut self,
        handle: Resource<SandboxHandle>,
    ) -> wasmtime::Result<Result<Metrics, Error>> {
        let metrics = self.handles.get(&handle)?.sandbox.metrics().await;
        Ok(metrics.map(Metrics::from).map_err(convert::error))
    }

    async fn close(
        &mut self,
        handle: Resource<SandboxHandle>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let handle = self.handles.get(&handle)?;
        let closed = handle.session.close(&handle.sandbox).await;
        Ok(closed.map_err(convert::error))
    }

    async fn drop(&mut self, handle: Resource<SandboxHandle>) -> wasmtime::Result<()> {
        self.handles.delete(handle)?;
        Ok(())
    }
}

impl sandbox::HostExecution for SandboxView<'_> {
    async fn next(
        &mut self,
        handle: Resource<ExecutionHandle>,
    ) -> wasmtime::Result<Result<Option<ExecEvent>, Error>> {
        Ok(self.handles.get_mut(&handle)?.next().await)
    }

    async fn kill(
        &mut self,
        handle: Resource<ExecutionHandle>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let killed = self.handles.get_mut(&handle)?.execution.kill().await;
        Ok(killed.map_err(convert::error))
    }

    async fn drop(&mut self, handle: Resource<ExecutionHandle>) -> wasmtime::Result<()> {
        // Dropping the execution kills what still runs.
        self.handles.delete(handle)?;
        Ok(())
    }
}
