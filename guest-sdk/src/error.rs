//! Why a call was not carried out.

use crate::bindings::agent_plugin::keepsake::host::types;

/// The result of everything that asks the host for something.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call was not carried out, in cases that an agent can act on. Nothing
/// was changed when a call answers with an error.
///
/// A plugin's own errors are made by the constructors, or of a text, which
/// becomes an [`Error::Other`] with the code `plugin`:
///
/// ```
/// # use keepsake_sdk::{Error, Result};
/// fn order(number: &str) -> Result<u32> {
///     let number = number.strip_prefix("A-").ok_or("an order's number begins with A-")?;
///     number.parse().map_err(|_| Error::not_found(format!("there is no order {number}")))
/// }
/// assert_eq!(order("7").unwrap_err().code(), "plugin");
/// assert_eq!(order("A-x").unwrap_err().code(), "not-found");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The plugin may not do this; the text says which right is missing.
    #[error("denied: {0}")]
    Denied(String),
    /// There is no such thing for this plugin.
    #[error("not found: {0}")]
    NotFound(String),
    /// The arguments break a rule, which the text names.
    #[error("invalid: {0}")]
    Invalid(String),
    /// A part that the host depends on did not answer.
    #[error("unavailable: {message}")]
    Unavailable {
        /// What failed and why.
        message: String,
        /// How long to wait before trying again, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// A named bound was reached.
    #[error("limit `{name}`: {message}")]
    Limit {
        /// The bound's name.
        name: String,
        /// What was asked for and what the bound is.
        message: String,
    },
    /// This host or provider does not offer the function.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// A fault in the host or the plugin, for the operator's log.
    #[error("internal fault: {0}")]
    Internal(String),
    /// A case without a name of its own.
    #[error("{code}: {message}")]
    Other {
        /// A stable, machine-readable code.
        code: String,
        /// What happened, for a reader.
        message: String,
    },
}

impl Error {
    /// An [`Error::Denied`].
    pub fn denied(message: impl Into<String>) -> Self {
        Self::Denied(message.into())
    }

    /// An [`Error::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::NotFound(message.into())
    }

    /// An [`Error::Invalid`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }

    /// An [`Error::Invalid`] about an operator's setting that cannot be used. `rule`
    /// says what is wrong, as a sentence whose subject is the setting.
    pub fn bad_setting(key: &str, rule: &str) -> Self {
        Self::Invalid(format!(
            "the setting `{key}` {rule}; change it in the host's configuration"
        ))
    }

    /// An [`Error::Unavailable`] that says nothing of when to try again.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable {
            message: message.into(),
            retry_after_ms: None,
        }
    }

    /// An [`Error::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::Unsupported(message.into())
    }

    /// An [`Error::Limit`].
    pub fn limit(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Limit {
            name: name.into(),
            message: message.into(),
        }
    }

    /// An [`Error::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::Internal(message.into())
    }

    /// An [`Error::Other`], with a code that stays the same.
    pub fn other(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Other {
            code: code.into(),
            message: message.into(),
        }
    }

    /// The case as a stable word: `denied`, `not-found`, `invalid`,
    /// `unavailable`, `limit`, `unsupported`, `internal`, or the code of
    /// [`Error::Other`].
    pub fn code(&self) -> &str {
        match self {
            Self::Denied(_) => "denied",
            Self::NotFound(_) => "not-found",
            Self::Invalid(_) => "invalid",
            Self::Unavailable { .. } => "unavailable",
            Self::Limit { .. } => "limit",
            Self::Unsupported(_) => "unsupported",
            Self::Internal(_) => "internal",
            Self::Other { code, .. } => code,
        }
    }

    /// The text without the case.
    pub fn message(&self) -> &str {
        match self {
            Self::Denied(message)
            | Self::NotFound(message)
            | Self::Invalid(message)
            | Self::Unsupported(message)
            | Self::Internal(message)
            | Self::Unavailable { message, .. }
            | Self::Limit { message, .. }
            | Self::Other { message, .. } => message,
        }
    }
}

impl From<types::Error> for Error {
    fn from(error: types::Error) -> Self {
        match error {
            types::Error::Denied(message) => Self::Denied(message),
            types::Error::NotFound(message) => Self::NotFound(message),
            types::Error::Invalid(message) => Self::Invalid(message),
            types::Error::Unavailable(unavailable) => Self::Unavailable {
                message: unavailable.message,
                retry_after_ms: unavailable.retry_after_ms,
            },
            types::Error::Limit(limit) => Self::Limit {
                name: limit.name,
                message: limit.message,
            },
            types::Error::Unsupported(message) => Self::Unsupported(message),
            types::Error::Internal(message) => Self::Internal(message),
            types::Error::Other(other) => Self::Other {
                code: other.code,
                message: other.message,
            },
        }
    }
}

impl From<Error> for types::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Denied(message) => Self::Denied(message),
            Error::NotFound(message) => Self::NotFound(message),
            Error::Invalid(message) => Self::Invalid(message),
            Error::Unavailable {
                message,
                retry_after_ms,
            } => Self::Unavailable(types::Unavailable {
                message,
                retry_after_ms,
            }),
            Error::Limit { name, message } => Self::Limit(types::LimitReached { name, message }),
            Error::Unsupported(message) => Self::Unsupported(message),
            Error::Internal(message) => Self::Internal(message),
            Error::Other { code, message } => Self::Other(types::OtherError { code, message }),
        }
    }
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::other("plugin", message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Self::from(message.to_owned())
    }
}

impl From<std::string::FromUtf8Error> for Error {
    fn from(error: std::string::FromUtf8Error) -> Self {
        Self::Invalid(format!("the bytes are no text: {error}"))
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Invalid(format!("JSON: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_goes_to_the_host_and_back_unchanged() {
        let errors = [
            Error::Denied("a".into()),
            Error::NotFound("b".into()),
            Error::invalid("c"),
            Error::Unavailable {
                message: "d".into(),
                retry_after_ms: Some(5),
            },
            Error::limit("e", "f"),
            Error::unsupported("g"),
            Error::Internal("h".into()),
            Error::Other {
                code: "i".into(),
                message: "j".into(),
            },
        ];
        for error in errors {
            assert_eq!(Error::from(types::Error::from(error.clone())), error);
            assert!(error.to_string().contains(error.message()));
        }
    }
}
