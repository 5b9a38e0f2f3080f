//! How the OpenSandbox backend is set up.

use std::collections::BTreeMap;
use std::time::Duration;

use keepsake_client::Credential;

use crate::SandboxError;

/// The header that carries the API key.
pub const KEY_HEADER: &str = "OPEN-SANDBOX-API-KEY";

/// The shortest time to live that the server accepts.
const SHORTEST: Duration = Duration::from_secs(60);

/// How the OpenSandbox backend is set up. Printing it shows no secret.
#[derive(Clone, Debug)]
pub struct OpenSandboxOptions {
    /// The server's address, such as `https://sandboxes.example.com`; a path
    /// before `/v1` is kept.
    pub url: String,
    /// The server's API key, for the header [`KEY_HEADER`]. It goes to the server
    /// only, never to a sandbox.
    pub key: Option<Credential>,
    /// The image of new sandboxes; it needs a POSIX shell with the usual tools.
    pub image: String,
    /// What keeps a sandbox alive: its first command, and the arguments.
    pub entrypoint: Vec<String>,
    /// What a sandbox may use, such as `cpu` = `500m` and `memory` = `512Mi`.
    /// Where `memory` is not given, the request's own limit is sent.
    pub resources: BTreeMap<String, String>,
    /// How long a sandbox outlives a host that was killed; at least a minute.
    /// While the host holds the sandbox it is prolonged.
    pub timeout: Duration,
    /// Labels for all sandboxes, beside those of the request. What the server
    /// does not allow in labels is replaced.
    pub metadata: BTreeMap<String, String>,
    /// What sandboxes may reach over the network.
    pub network: NetworkPolicy,
    /// What is mounted into sandboxes.
    pub volumes: Vec<Volume>,
    /// Reach sandboxes through the server. Needed where their own addresses
    /// cannot be reached from here.
    pub use_server_proxy: bool,
    /// Whether sandboxes' own addresses speak TLS. The server's own address
    /// says so by itself.
    pub endpoint_tls: bool,
    /// The access token of the daemon in the sandboxes, where it was given one,
    /// for the header `X-EXECD-ACCESS-TOKEN`.
    pub execd_token: Option<Credential>,
    /// How long to wait for a new sandbox. The first one of an image waits for
    /// the image to be pulled.
    pub create_timeout: Duration,
}

impl OpenSandboxOptions {
    /// Options for a server and an image, with nothing else said.
    #[must_use]
    pub fn new(url: impl Into<String>, image: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            key: None,
            image: image.into(),
            entrypoint: ["tail", "-f", "/dev/null"].map(String::from).to_vec(),
            resources: BTreeMap::from([("cpu".into(), "1".into())]),
            timeout: Duration::from_secs(600),
            metadata: BTreeMap::new(),
            network: NetworkPolicy::default(),
            volumes: Vec::new(),
            use_server_proxy: false,
            endpoint_tls: false,
            execd_token: None,
            create_timeout: Duration::from_secs(300),
        }
    }

    pub(super) fn check(&self) -> Result<(), SandboxError> {
        let refuse = |reason: &str| Err(SandboxError::invalid(reason));
        if self.timeout < SHORTEST {
            return refuse("a sandbox's time to live must be a minute at least");
        }
        if self.image.is_empty() {
            return refuse("the OpenSandbox backend needs an image for its sandboxes");
        }
        if self.entrypoint.is_empty() {
            return refuse(
                "the OpenSandbox backend needs an entrypoint that stays alive, such as \
                 `tail -f /dev/null`",
            );
        }
        Ok(())
    }
}

/// What sandboxes may reach over the network. The server enforces it with a
/// program beside each sandbox, which has to be set up there (`egress.image`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkPolicy {
    /// Requests without network reach nothing, and those with network only
    /// these names, such as `pypi.org` or `*.example.com`. An empty list lets
    /// requests with network reach all.
    Enforced(Vec<String>),
    /// Whatever the server allows. Nothing is asked of it, so that a request
    /// without network may have one.
    Server,
}

impl Default for NetworkPolicy {
    fn default() -> Self {
        Self::Enforced(Vec::new())
    }
}

/// Something that is mounted into sandboxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its name, unlike that of the others.
    pub name: String,
    /// Where it is seen in the sandbox. What lies below `/work` there is no
    /// part of checkpoints.
    pub mount_path: String,
    /// Sandboxes cannot write to it.
    pub read_only: bool,
    /// Only this part of it.
    pub sub_path: Option<String>,
    /// Where it comes from.
    pub source: VolumeSource,
}

/// Where a volume comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeSource {
    /// A directory of the server's machine.
    Host(String),
    /// A named claim or volume of the server's runtime.
    Claim(String),
}
