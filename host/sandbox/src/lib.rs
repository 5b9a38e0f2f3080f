//! Places to run commands, apart from the host and from each other.
//!
//! The host speaks to [`SandboxBackend`] and [`Sandbox`] only, so that a
//! backend on this machine and one behind a network can stand in for each
//! other. [`LocalBackend`] is the one on this machine: it isolates with
//! bubblewrap and refuses to run where that is not possible.
//! [`OpenSandboxBackend`] has an OpenSandbox server make containers.
//!
//! What a backend owes its callers beyond the types is written down as tests
//! in the module `contract` (feature `contract-tests`).

mod backend;
#[cfg(feature = "contract-tests")]
pub mod contract;
mod error;
mod limits;
mod local;
mod opensandbox;
mod paths;
mod rules;
mod signals;

pub use backend::{
    BackendReport, CheckpointInfo, Command, ExecEvent, ExecResult, Execution, ExitStatus, FileInfo,
    FileKind, Metrics, Network, Sandbox, SandboxBackend, SandboxRequest,
};
pub use error::SandboxError;
pub use limits::SandboxLimits;
pub use local::{LocalBackend, LocalOptions};
pub use opensandbox::{
    KEY_HEADER, NetworkPolicy, OpenSandboxBackend, OpenSandboxOptions, RemoteSandbox, Volume,
    VolumeSource,
};
