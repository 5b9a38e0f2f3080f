//! How a remote sandbox is made.
//!
//! Nothing about making one can be repeated safely: a lost answer leaves a
//! sandbox behind. So each carries a label of its own by which it is found, and
//! a finite time to live for where even that fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use super::core::{Core, keep};
use super::execd::Execd;
use super::failure::{Failure, clean};
use super::labels::{UNIQUE, labels};
use super::options::{NetworkPolicy, OpenSandboxOptions, Volume, VolumeSource};
use super::sandbox::OpenSandbox;
use super::wire::{SandboxRecord, timestamp};
use super::{Shared, check_id, endpoint, lost, scripts};
use crate::rules::check_environment;
use crate::{ExitStatus, Network, SandboxError, SandboxRequest};

/// How long to wait for the daemon of a new sandbox, and how often to look.
const READY: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(200);
/// How long the script may take that makes a sandbox fit for use.
const PREPARE: Duration = Duration::from_secs(30);
/// How often to ask a server that took back what it had begun, and how far apart.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);

/// What a sandbox is made from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// The image of the options.
    Image,
    /// A checkpoint of the server's.
    Snapshot(String),
}

/// Makes a sandbox. Whoever gives up waiting leaves none behind.
pub(super) async fn create(
    backend: Arc<Shared>,
    request: SandboxRequest,
    source: Source,
) -> Result<OpenSandbox, SandboxError> {
    let variables = request.environment.iter();
    check_environment(variables.map(|(name, value)| (name.as_str(), value.as_str())))?;
    // In a task of its own: the sandbox exists once the server has the request,
    // and is deleted when the handle is dropped that the task answers.
    let made = tokio::spawn(make(backend, request, source)).await;
    made.unwrap_or_else(|error| {
        Err(SandboxError::Unavailable {
            message: format!("the host failed while it made a sandbox: {error}"),
            retry_after: None,
        })
    })
}

async fn make(
    backend: Arc<Shared>,
    request: SandboxRequest,
    source: Source,
) -> Result<OpenSandbox, SandboxError> {
    let record = ask(&backend, &request, &source).await?;
    check_id(&record.id)?;
    let ahead = record.created_at.as_deref().and_then(timestamp);
    let ahead = ahead
        .unwrap_or_default()
        .saturating_sub(keepsake_types::now());
    let id = record.id;
    let execd = match endpoint::find(&backend.lifecycle, &backend.options, &id).await {
        Ok(execd) => execd,
        Err(error) => {
            give_up(&backend, &id).await;
            return Err(error);
        }
    };
    let core = Core::new(backend, id, request, execd, Duration::from_millis(ahead));
    // From here on, dropping it deletes the sandbox.
    let sandbox = OpenSandbox::new(core);
    let core = sandbox.core();
    let ready = async {
        wait_ready(core, &core.execd()).await?;
        prepare(core, &core.execd()).await
    };
    if let Err(error) = ready.await {
        give_up(&core.backend, &core.id).await;
        return Err(error);
    }
    tokio::spawn(keep(Arc::downgrade(core)));
    Ok(sandbox)
}

/// Asks for a sandbox, again where the server took back what it had begun. Each
/// try has a label of its own, so that what a lost one left is not taken for
/// this one's.
async fn ask(
    backend: &Arc<Shared>,
    request: &SandboxRequest,
    source: &Source,
) -> Result<SandboxRecord, SandboxError> {
    let mut tried = 1;
    loop {
        let unique = Uuid::now_v7().simple().to_string();
        let order = order(&backend.options, request, source, &unique);
        let timeout = backend.options.create_timeout;
        let failure = match backend.lifecycle.create(&order, timeout).await {
            Ok(record) => return Ok(record),
            Err(failure) => failure,
        };
        if failure.is_lost() {
            return adopt(backend, &unique, failure).await;
        }
        if !failure.is_undone() || tried == TRIES {
            return Err(refusal(failure, &backend.options));
        }
        tracing::debug!(%failure, tried, "a sandbox is asked for again");
        tokio::time::sleep(failure.retry_after().unwrap_or(PAUSE)).await;
        tried += 1;
    }
}

async fn give_up(backend: &Shared, id: &str) {
    if let Err(failure) = backend.lifecycle.delete(id).await {
        tracing::warn!(%failure, sandbox = id, "a sandbox that does not work stays until it expires");
    }
}

fn order(
    options: &OpenSandboxOptions,
    request: &SandboxRequest,
    source: &Source,
    unique: &str,
) -> Value {
    let mut resources = options.resources.clone();
    resources.entry("memory".into()).or_insert_with(|| {
        let mebibytes = request.limits.memory_bytes.div_ceil(1024 * 1024).max(1);
        format!("{mebibytes}Mi")
    });
    let mut order = json!({
        "timeout": options.timeout.as_secs(),
        "resourceLimits": resources,
        "entrypoint": options.entrypoint,
        "metadata": labels(&options.metadata, &request.labels, unique),
    });
    match source {
        Source::Image => order["image"] = json!({ "uri": options.image }),
        Source::Snapshot(id) => order["snapshotId"] = json!(id),
    }
    if let NetworkPolicy::Enforced(names) = &options.network {
        let allowed: Vec<Value> = names
            .iter()
            .map(|name| json!({ "action": "allow", "target": name }))
            .collect();
        match request.network {
            Network::None => {
                order["networkPolicy"] = json!({ "defaultAction": "deny", "egress": [] });
            }
            Network::Full if names.is_empty() => {}
            Network::Full => {
                order["networkPolicy"] = json!({ "defaultAction": "deny", "egress": allowed });
            }
        }
    }
    if !options.volumes.is_empty() {
        order["volumes"] = options.volumes.iter().map(volume).collect();
    }
    order
}

fn volume(volume: &Volume) -> Value {
    let mut order = json!({
        "name": volume.name,
        "mountPath": volume.mount_path,
        "readOnly": volume.read_only,
    });
    if let Some(part) = &volume.sub_path {
        order["subPath"] = json!(part);
    }
    match &volume.source {
        VolumeSource::Host(path) => order["host"] = json!({ "path": path }),
        VolumeSource::Claim(name) => order["pvc"] = json!({ "claimName": name }),
    }
    order
}

/// Says what to do about a server that cannot make what is asked for.
fn refusal(failure: Failure, options: &OpenSandboxOptions) -> SandboxError {
    let text = failure.to_string();
    if text.contains("egress.image") {
        return SandboxError::Unsupported {
            what: format!(
                "{text}; this server cannot restrict what sandboxes reach: set `egress.image` in \
                 its configuration, or let the server decide about the network"
            ),
        };
    }
    if text.contains("IMAGE_PULL_FAILED") {
        return SandboxError::Invalid {
            reason: format!("{text}; is `{}` the right image?", clean(&options.image)),
        };
    }
    failure.into()
}

/// Looks for a sandbox whose answer was lost.
async fn adopt(
    backend: &Arc<Shared>,
    unique: &str,
    failure: Failure,
) -> Result<SandboxRecord, SandboxError> {
    let find = || async move {
        let found = backend.lifecycle.labelled(UNIQUE, unique).await?;
        Ok(found.into_iter().next())
    };
    if let Some(record) = lost::look_for("sandbox", &failure, find).await {
        return Ok(record);
    }
    // The server may still be at it; what comes late is deleted.
    let (backend, unique) = (Arc::clone(backend), unique.to_owned());
    tokio::spawn(async move {
        tokio::time::sleep(backend.options.create_timeout).await;
        let found = backend.lifecycle.labelled(UNIQUE, &unique).await;
        for record in found.unwrap_or_default() {
            if check_id(&record.id).is_ok() {
                give_up(&backend, &record.id).await;
            }
        }
    });
    Err(failure.into())
}

/// Waits until the daemon answers: a running sandbox may not have it yet.
async fn wait_ready(core: &Core, execd: &Execd) -> Result<(), SandboxError> {
    let began = Instant::now();
    let mut looked = Instant::now();
    loop {
        let failure = match execd.ping().await {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        // A token that is missing or wrong does not become right.
        if failure.status() == Some(401) {
            return Err(SandboxError::Unavailable {
                message: format!("{failure}; set the access token of the sandboxes' daemon"),
                retry_after: None,
            });
        }
        if looked.elapsed() > 5 * LOOK {
            looked = Instant::now();
            let record = core.backend.lifecycle.sandbox(&core.id).await?;
            let state = record.status.state.as_str();
            if matches!(state, "Failed" | "Terminated" | "Stopping") {
                let reason = record.status.message.or(record.status.reason);
                return Err(SandboxError::Unavailable {
                    message: format!(
                        "the new sandbox ended at once ({state}: {}); its first command has to \
                         stay alive, see the entrypoint and the image",
                        clean(&reason.unwrap_or_default())
                    ),
                    retry_after: None,
                });
            }
        }
        if began.elapsed() > READY {
            return Err(SandboxError::Unavailable {
                message: format!(
                    "the new sandbox runs but does not answer at {} within {} seconds: {failure}; \
                     where its address cannot be reached from here, use the server's proxy",
                    clean(&execd.base),
                    READY.as_secs()
                ),
                retry_after: None,
            });
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Makes the work directory and looks for the tools that are needed.
async fn prepare(core: &Core, execd: &Execd) -> Result<(), SandboxError> {
    match execd.run(scripts::PREPARE, PREPARE).await {
        Ok((ExitStatus::Code(0), printed)) if printed.ends_with("ready\n") => Ok(()),
        Ok((status, printed)) => Err(SandboxError::Unsupported {
            what: format!(
                "the image `{}` cannot be used for sandboxes: {} ({status:?}); it needs a POSIX \
                 shell with the usual tools, and a writable /work and /tmp",
                clean(&core.backend.options.image),
                clean(&printed)
            ),
        }),
        Err(failure) => Err(core.explain(failure).await),
    }
}
