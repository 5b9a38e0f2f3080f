//! Sandboxes that an OpenSandbox server makes.

mod core;
mod create;
mod endpoint;
mod events;
mod execd;
mod execution;
mod failure;
mod files;
mod labels;
mod lifecycle;
mod lost;
mod options;
mod outputs;
mod sandbox;
mod scripts;
mod snapshot;
mod stream;
mod transport;
mod watch;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use keepsake_client::Redaction;

use self::create::Source;
use self::failure::Failure;
use self::labels::OURS;
use self::lifecycle::Lifecycle;
pub use self::options::{KEY_HEADER, NetworkPolicy, OpenSandboxOptions, Volume, VolumeSource};
use self::transport::Transport;
pub use self::wire::RemoteSandbox;
use crate::{
    BackendReport, Command, ExitStatus, Sandbox, SandboxBackend, SandboxError, SandboxRequest,
};

/// Sandboxes that an [OpenSandbox](https://github.com/opensandbox-group/OpenSandbox)
/// server makes, each a container or a pod of its own.
///
/// # Bounds
/// The server bounds memory and processors, by
/// [`OpenSandboxOptions::resources`], for all of a sandbox's commands together.
/// The daemon in the sandbox bounds a command's time, and the host kills what
/// is late. A script in the sandbox bounds open files, the size of a file and
/// what a command prints; each of its outputs is stopped at the bound, so that
/// both together may be twice that before the command is killed. Processes, the
/// address space, `/tmp` and the work directory are bounded only as far as the
/// server does it. No limit holds against a command that attacks the daemon,
/// which shares the container with it.
///
/// Output past what is kept is counted and thrown away within the sandbox, so
/// that it is not among the events of an execution either.
///
/// Commands ignore `SIGINT`, as the daemon does: a shell starts it in the
/// background.
///
/// # Lifetime
/// A sandbox is deleted when it is closed or its last handle is dropped. Where
/// the host is killed, the server removes it after
/// [`OpenSandboxOptions::timeout`]. All that a command left running ends soon
/// after the command.
///
/// # Checkpoints
/// A checkpoint is a copy of the whole container but for its volumes, kept by
/// the server until the sandbox is closed.
pub struct OpenSandboxBackend {
    shared: Arc<Shared>,
}

struct Shared {
    options: OpenSandboxOptions,
    lifecycle: Lifecycle,
    /// Checkpoints that could not be deleted yet, as forks may use them.
    leftovers: Mutex<Vec<String>>,
}

impl OpenSandboxBackend {
    /// A backend with these options. Nothing is sent yet.
    ///
    /// # Errors
    /// [`SandboxError::Invalid`] for options that break a rule, and
    /// [`SandboxError::Unavailable`] where the system cannot speak HTTP.
    pub fn new(options: OpenSandboxOptions) -> Result<Self, SandboxError> {
        options.check()?;
        let tls = options.endpoint_tls || options.url.starts_with("https:");
        let secrets = [&options.key, &options.execd_token];
        let redaction = secrets
            .into_iter()
            .flatten()
            .fold(Redaction::default(), |all, one| all.and(one.redaction()));
        let transport = Transport::new(tls, redaction)?;
        let lifecycle = Lifecycle::new(transport, &options.url, options.key.as_ref())?;
        Ok(Self {
            shared: Arc::new(Shared {
                options,
                lifecycle,
                leftovers: Mutex::default(),
            }),
        })
    }

    /// The sandboxes of this program at the server, of all its hosts.
    ///
    /// # Errors
    /// When the server does not answer or refuses.
    pub async fn list(&self) -> Result<Vec<RemoteSandbox>, SandboxError> {
        let found = self.shared.lifecycle.labelled(OURS.0, OURS.1).await?;
        Ok(found.into_iter().map(RemoteSandbox::from).collect())
    }

    /// What a sandbox's first command and its daemon printed, the newest
    /// `limits::SANDBOX_LOG_BYTES`.
    ///
    /// # Errors
    /// [`SandboxError::NotFound`] when there is no such sandbox.
    pub async fn logs(&self, id: &str) -> Result<String, SandboxError> {
        check_id(id)?;
        let logs = self.shared.lifecycle.logs(id).await;
        logs.map_err(|failure| not_found(id, failure))
    }

    /// Deletes a sandbox, and answers whether it was there.
    ///
    /// # Errors
    /// When the server does not answer or refuses.
    pub async fn delete(&self, id: &str) -> Result<bool, SandboxError> {
        check_id(id)?;
        Ok(self.shared.lifecycle.delete(id).await?)
    }

    /// Stops all that runs in a sandbox, which uses no processor then. Its time
    /// to live goes on. A paused one stays so.
    ///
    /// # Errors
    /// [`SandboxError::NotFound`] when there is no such sandbox.
    pub async fn pause(&self, id: &str) -> Result<(), SandboxError> {
        check_id(id)?;
        let paused = self.shared.lifecycle.pause(id).await;
        paused.map_err(|failure| not_found(id, failure))
    }

    /// Lets a paused sandbox go on. A running one stays so.
    ///
    /// # Errors
    /// As [`OpenSandboxBackend::pause`].
    pub async fn resume(&self, id: &str) -> Result<(), SandboxError> {
        check_id(id)?;
        let resumed = self.shared.lifecycle.resume(id).await;
        resumed.map_err(|failure| not_found(id, failure))
    }
}

#[async_trait]
impl SandboxBackend for OpenSandboxBackend {
    fn name(&self) -> &'static str {
        "opensandbox"
    }

    async fn create(&self, request: SandboxRequest) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let backend = Arc::clone(&self.shared);
        Ok(Arc::new(
            create::create(backend, request, Source::Image).await?,
        ))
    }

    async fn check(&self) -> Result<BackendReport, SandboxError> {
        let version = self.shared.lifecycle.version().await?;
        // Whoever has no key is told the version too.
        self.list().await?;
        let sandbox = self.create(SandboxRequest::default()).await?;
        let result = sandbox.exec(Command::new("echo works")).await;
        // Also where it failed, so that nothing is left when that is told.
        sandbox.close().await?;
        let result = result?;
        if result.status != ExitStatus::Code(0) || result.stdout != b"works\n" {
            return Err(SandboxError::Unavailable {
                message: format!(
                    "a sandbox was made, but `echo works` ended with {:?}, and said `{}`; does \
                     the image have a POSIX shell with the usual tools?",
                    result.status,
                    String::from_utf8_lossy(&result.stderr).escape_debug()
                ),
                retry_after: None,
            });
        }
        let mut notes = Vec::new();
        if self.shared.options.network == NetworkPolicy::Server {
            notes.push(
                "the server alone decides what sandboxes reach over the network, also those that \
                 are to have none"
                    .into(),
            );
        }
        if self.shared.options.key.is_none() {
            notes.push("no API key is set, so anybody who reaches the server may use it".into());
        }
        Ok(BackendReport {
            backend: self.name(),
            isolated: true,
            engine: format!("OpenSandbox {version}"),
            notes,
        })
    }
}

impl Shared {
    /// Deletes checkpoints that nobody needs any more. The server may refuse
    /// while a fork uses one; it is tried again with the next ones.
    async fn discard(&self, mut checkpoints: Vec<String>) {
        checkpoints.append(
            &mut self
                .leftovers
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        for id in checkpoints {
            if let Err(failure) = self.lifecycle.delete_snapshot(&id).await {
                tracing::debug!(%failure, id, "a checkpoint is deleted later");
                let mut leftovers = self
                    .leftovers
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                leftovers.push(id);
            }
        }
    }
}

/// Refuses what is no id before it becomes a part of an address.
fn check_id(id: &str) -> Result<(), SandboxError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let dots = id.bytes().all(|byte| byte == b'.');
    if (1..=128).contains(&id.len()) && id.bytes().all(allowed) && !dots {
        return Ok(());
    }
    Err(SandboxError::NotFound {
        what: format!("the sandbox `{}`", failure::clean(id)),
    })
}

fn not_found(id: &str, failure: Failure) -> SandboxError {
    if failure.is_missing() {
        return SandboxError::NotFound {
            what: format!("the sandbox `{id}`"),
        };
    }
    failure.into()
}
