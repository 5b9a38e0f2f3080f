//! Why something was not done in a sandbox.

use std::io;
use std::time::Duration;

/// Why something was not done in a sandbox. A command that ran and failed is
/// not among these: that is an [`ExitStatus`](crate::ExitStatus).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The program that isolates is not there.
    #[error(
        "bubblewrap (`bwrap`) is not installed; install it with `apt-get install bubblewrap`, \
         `dnf install bubblewrap` or `pacman -S bubblewrap`, or allow commands without isolation \
         with `sandbox.allow-unisolated = true` in the configuration or the flag \
         `--allow-unisolated-sandbox`"
    )]
    Missing,
    /// The program that isolates is there, but the system does not let it.
    #[error("this system does not let bubblewrap isolate commands: {reason}")]
    NotPermitted {
        /// What the system forbids and which setting allows it.
        reason: String,
    },
    /// The sandbox was closed.
    #[error("the sandbox {id} is closed; create another one")]
    Closed {
        /// The closed sandbox's id.
        id: String,
    },
    /// A path that cannot be used.
    #[error("the path `{path}` cannot be used: {reason}")]
    InvalidPath {
        /// The path as it was given, without control characters.
        path: String,
        /// Which rule it breaks.
        reason: String,
    },
    /// A command or a request that breaks a rule.
    #[error("{reason}")]
    Invalid {
        /// Which rule, and how to keep it.
        reason: String,
    },
    /// There is no such file, directory or checkpoint.
    #[error("{what} is not there")]
    NotFound {
        /// What was looked for.
        what: String,
    },
    /// A named bound was reached.
    #[error("{message} (limit `{name}`)")]
    Limit {
        /// The bound's name, such as `disk-bytes`.
        name: &'static str,
        /// What was asked for and what the bound is.
        message: String,
    },
    /// The system refused an operation.
    #[error("{what}: {source}")]
    Io {
        /// What was to be done, and with what.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The backend does not answer.
    #[error("{message}")]
    Unavailable {
        /// What failed and why.
        message: String,
        /// How long to wait before trying again, where that is known.
        retry_after: Option<Duration>,
    },
    /// The backend cannot do this.
    #[error("{what}")]
    Unsupported {
        /// What it cannot do.
        what: String,
    },
}

impl SandboxError {
    /// A refused operation of the system; for `map_err`.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// The same for errors of `rustix`.
    pub(crate) fn errno(what: impl Into<String>) -> impl FnOnce(rustix::io::Errno) -> Self {
        let what = what.into();
        move |source| Self::Io {
            what,
            source: source.into(),
        }
    }

    /// A path that breaks a rule.
    pub(crate) fn path(path: &str, reason: impl Into<String>) -> Self {
        Self::InvalidPath {
            path: path.escape_debug().take(256).collect(),
            reason: reason.into(),
        }
    }

    /// A rule that was broken.
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid {
            reason: reason.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_bubblewrap_says_how_to_get_it_and_how_to_do_without() {
        let text = SandboxError::Missing.to_string();
        for part in [
            "apt-get install bubblewrap",
            "dnf install bubblewrap",
            "pacman -S bubblewrap",
            "sandbox.allow-unisolated = true",
            "--allow-unisolated-sandbox",
        ] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
    }

    #[test]
    fn a_path_in_an_error_cannot_command_a_terminal() {
        let text = SandboxError::path("a\u{1b}[2Jb", "no").to_string();
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
