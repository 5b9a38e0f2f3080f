//! How a command ends that could not do its work.

use std::fmt;

/// A failure as the one at the terminal meets it: an exit code, and text that
/// says what failed, why, and what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    code: ExitCode,
    message: String,
    details: Option<String>,
}

/// The documented exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCode {
    Other = 1,
    Usage = 2,
    Plugin = 3,
    Turn = 4,
    Storage = 5,
    Ledger = 6,
    Denied = 7,
    Interrupted = 130,
}

impl Failure {
    pub(crate) fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    /// Adds lines for those who want to look closer.
    pub(crate) fn with_details(mut self, details: String) -> Self {
        self.details = Some(details).filter(|details| !details.trim().is_empty());
        self
    }

    /// What failed, why, and what to do next.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// How the program ends for it.
    pub(crate) fn exit_code(&self) -> ExitCode {
        self.code
    }

    pub(crate) fn code(&self) -> u8 {
        self.code as u8
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(details) = &self.details {
            write!(f, "\n\n{}", details.trim_end())?;
        }
        Ok(())
    }
}

impl From<keepsake_plugin::PluginError> for Failure {
    fn from(error: keepsake_plugin::PluginError) -> Self {
        Self::from(&error)
    }
}

impl From<&keepsake_plugin::PluginError> for Failure {
    fn from(error: &keepsake_plugin::PluginError) -> Self {
        let details = match error {
            keepsake_plugin::PluginError::Failed { failure, .. } => failure.details(),
            _ => String::new(),
        };
        Self::new(ExitCode::Plugin, error.to_string()).with_details(details)
    }
}

impl From<keepsake_plugin::Unready> for Failure {
    fn from(unready: keepsake_plugin::Unready) -> Self {
        Self::from(&*unready.error)
    }
}

impl From<keepsake_storage::StorageError> for Failure {
    fn from(error: keepsake_storage::StorageError) -> Self {
        use keepsake_storage::StorageError;
        let code = match &error {
            StorageError::Invalid(_) | StorageError::Limit { .. } => ExitCode::Usage,
            StorageError::NotFound(_) => ExitCode::Other,
            _ => ExitCode::Storage,
        };
        Self::new(code, error.to_string())
    }
}

impl From<keepsake_sandbox::SandboxError> for Failure {
    fn from(error: keepsake_sandbox::SandboxError) -> Self {
        Self::new(ExitCode::Other, error.to_string())
    }
}

impl From<keepsake_types::InvalidName> for Failure {
    fn from(error: keepsake_types::InvalidName) -> Self {
        Self::new(ExitCode::Usage, error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(ExitCode::Other, error.to_string())
    }
}
