//! What runs containers on this machine: Docker, or podman, which speaks
//! Docker's language through a socket.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::cli::EngineChoice;
use crate::failure::{ExitCode, Failure};

/// A container engine that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// A Docker engine, where the environment says it is.
    Docker {
        /// Its version.
        version: String,
    },
    /// podman, for which a socket has to be served.
    Podman {
        /// What it says of itself.
        version: String,
    },
}

impl Engine {
    /// Looks for the wanted engine, or for Docker and then podman.
    pub(super) fn find(wanted: Option<EngineChoice>) -> Result<Self, Failure> {
        let mut missing = Vec::new();
        if wanted != Some(EngineChoice::Podman) {
            match docker() {
                Ok(version) => return Ok(Self::Docker { version }),
                Err(reason) => missing.push(reason),
            }
        }
        if wanted != Some(EngineChoice::Docker) {
            match podman() {
                Ok(version) => return Ok(Self::Podman { version }),
                Err(reason) => missing.push(reason),
            }
        }
        Err(Failure::new(
            ExitCode::Other,
            format!(
                "no container engine can be used: {}. Install Docker (https://docs.docker.com/engine/install) or podman (`apt-get install podman`), or go on with `sandbox.backend = \"local\"`, which needs none",
                missing.join("; ")
            ),
        ))
    }

    pub(super) fn words(&self) -> String {
        match self {
            Self::Docker { version } => format!("Docker {version}"),
            Self::Podman { version } => version.clone(),
        }
    }
}

fn docker() -> Result<String, String> {
    let asked = answer(Command::new("docker").args(["version", "--format", "{{.Server.Version}}"]));
    match asked {
        Ok(version) if !version.is_empty() => Ok(version),
        Ok(_) => Err("`docker` is installed, and no engine answers it".into()),
        Err(reason) => Err(format!("`docker` {reason}")),
    }
}

fn podman() -> Result<String, String> {
    answer(Command::new("podman").arg("--version")).map_err(|reason| format!("`podman` {reason}"))
}

/// The first line that a program prints when it succeeds.
fn answer(command: &mut Command) -> Result<String, String> {
    let ran = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "is not installed".to_owned(),
            _ => format!("cannot be run: {error}"),
        })?;
    let first = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        keepsake_types::text::printable(text.trim().lines().next().unwrap_or_default())
    };
    if ran.status.success() {
        return Ok(first(&ran.stdout));
    }
    Err(format!("failed: {}", first(&ran.stderr)))
}

/// A program on the search path.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| {
            std::fs::metadata(file).is_ok_and(|metadata| {
                metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
            })
        })
}
