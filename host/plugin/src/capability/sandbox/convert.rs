//! Between the sandbox's own types and those of the WIT package.

use std::time::Duration;

use keepsake_sandbox as native;
use keepsake_types::limits;

use crate::bindings::agent::keepsake::host::sandbox::{
    Command, ExitStatus, FileInfo, FileKind, Metrics,
};
use crate::bindings::agent::keepsake::host::types::{Error, LimitReached, Unavailable};
use crate::capability::unavailable;

/// A guest's command, checked.
pub(super) fn command(command: Command) -> Result<native::Command, Error> {
    if command.line.is_empty() {
        return Err(Error::Invalid("a command's line must not be empty".into()));
    }
    if command.line.len() > limits::COMMAND_LINE_BYTES {
        return Err(Error::Limit(LimitReached {
            name: "command-line-bytes".into(),
            message: format!(
                "the line has {} bytes; at most {} are run; write a script file instead",
                command.line.len(),
                limits::COMMAND_LINE_BYTES
            ),
        }));
    }
    Ok(native::Command {
        line: command.line,
        directory: command.directory,
        environment: command.environment,
        stdin: command.stdin,
        timeout: command.timeout_ms.map(Duration::from_millis),
    })
}

/// A sandbox's error as a guest can act on it.
pub(super) fn error(error: native::SandboxError) -> Error {
    use native::SandboxError;
    let message = error.to_string();
    match error {
        SandboxError::Closed { .. } | SandboxError::NotFound { .. } => Error::NotFound(message),
        SandboxError::InvalidPath { .. } | SandboxError::Invalid { .. } => Error::Invalid(message),
        SandboxError::Limit { name, .. } => Error::Limit(LimitReached {
            name: name.into(),
            message,
        }),
        SandboxError::Unsupported { .. } => Error::Unsupported(message),
        SandboxError::Unavailable { retry_after, .. } => Error::Unavailable(Unavailable {
            message,
            retry_after_ms: retry_after
                .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        }),
        // Missing, forbidden or failing isolation: nothing that a guest did.
        _ => unavailable(message),
    }
}

impl From<native::ExitStatus> for ExitStatus {
    fn from(status: native::ExitStatus) -> Self {
        match status {
            native::ExitStatus::Code(code) => Self::Code(code),
            native::ExitStatus::Signal(name) => Self::Signal(name),
            native::ExitStatus::TimedOut => Self::TimedOut,
            native::ExitStatus::Limit(name) => Self::Limit(name),
            native::ExitStatus::Unknown(reason) => Self::Unknown(reason),
        }
    }
}

impl From<native::FileInfo> for FileInfo {
    fn from(file: native::FileInfo) -> Self {
        Self {
            path: file.path,
            kind: match file.kind {
                native::FileKind::File => FileKind::File,
                native::FileKind::Directory => FileKind::Directory,
                native::FileKind::Symlink => FileKind::Symlink,
                native::FileKind::Other => FileKind::Other,
            },
            size: file.size,
            modified_at: file.modified_at,
        }
    }
}

impl From<native::Metrics> for Metrics {
    fn from(metrics: native::Metrics) -> Self {
        Self {
            memory_bytes: metrics.memory_bytes,
            cpu_ms: metrics.cpu_ms,
            disk_bytes: metrics.disk_bytes,
            processes: metrics.processes,
            extras: metrics.extras.map(|extras| extras.to_string()),
        }
    }
}
