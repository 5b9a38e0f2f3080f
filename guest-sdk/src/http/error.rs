//! Why there is no answer.

use crate::error::Error;

/// Why there is no answer, or no more of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{to}: {}{}", kind.sentence(), in_brackets(detail))]
pub struct HttpError {
    /// What went wrong.
    pub kind: HttpErrorKind,
    /// The origin that was asked, such as `https://models.example`.
    pub to: String,
    /// What else is known; may be empty.
    pub detail: String,
}

/// What went wrong between a request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// The request itself breaks a rule; nothing was sent.
    Invalid,
    /// The name of the server was not found.
    Dns,
    /// Nothing takes connections there, or it hung up at once.
    Refused,
    /// No connection came about within the time for it.
    Unreachable,
    /// The server took longer than the request allows.
    TimedOut,
    /// The host does not let this plugin reach the server.
    Denied,
    /// No secure connection came about.
    Tls,
    /// The server does not speak HTTP, or not correctly.
    Protocol,
    /// The connection ended before the answer did.
    BrokenOff,
    /// The answer is larger than the reader allows.
    TooLarge,
    /// Something without a name of its own.
    Other,
}

impl HttpErrorKind {
    /// What happened and what to do about it.
    fn sentence(self) -> &'static str {
        match self {
            Self::Invalid => "the request cannot be sent: correct its address or headers",
            Self::Dns => {
                "the server's name was not found: check its spelling and this machine's name service"
            }
            Self::Refused => {
                "the connection was refused: check that the server runs and that its port is right"
            }
            Self::Unreachable => {
                "no connection came about: check that the server runs and that this machine may reach it"
            }
            Self::TimedOut => {
                "the server took too long: try again later, or allow more time in the plugin's settings"
            }
            Self::Denied => {
                "the host does not let this plugin reach it: grant the plugin this origin in the host's configuration"
            }
            Self::Tls => {
                "no secure connection came about: check the server's certificate, and whether it speaks https at all"
            }
            Self::Protocol => {
                "the server's answer is not what was expected: check that the address is that of the right service"
            }
            Self::BrokenOff => {
                "the connection ended before the answer did, so its outcome is unknown: try again"
            }
            Self::TooLarge => "the answer is larger than is allowed: ask for less at a time",
            Self::Other => "the request failed: the host's log may say more",
        }
    }

    /// Whether the same request may succeed a moment later. A time-out is not
    /// among these: who waited that long should decide about waiting again.
    #[must_use]
    pub fn may_pass(self) -> bool {
        matches!(
            self,
            Self::Dns | Self::Refused | Self::Unreachable | Self::BrokenOff
        )
    }
}

impl HttpError {
    /// An error of this kind.
    pub fn new(kind: HttpErrorKind, to: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            kind,
            to: to.into(),
            detail: detail.into(),
        }
    }
}

fn in_brackets(detail: &str) -> String {
    if detail.is_empty() {
        String::new()
    } else {
        format!(" ({detail})")
    }
}

impl From<HttpError> for Error {
    fn from(error: HttpError) -> Self {
        let message = error.to_string();
        match error.kind {
            HttpErrorKind::Invalid => Self::invalid(message),
            HttpErrorKind::Denied => Self::denied(message),
            HttpErrorKind::TooLarge => Self::limit("http-answer-bytes", message),
            _ => Self::unavailable(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_says_where_what_and_what_to_do() {
        for (kind, code, advice) in [
            (HttpErrorKind::Invalid, "invalid", "correct"),
            (HttpErrorKind::Dns, "unavailable", "name service"),
            (HttpErrorKind::Refused, "unavailable", "server runs"),
            (HttpErrorKind::Unreachable, "unavailable", "may reach"),
            (HttpErrorKind::TimedOut, "unavailable", "more time"),
            (HttpErrorKind::Denied, "denied", "grant"),
            (HttpErrorKind::Tls, "unavailable", "certificate"),
            (HttpErrorKind::Protocol, "unavailable", "address"),
            (HttpErrorKind::BrokenOff, "unavailable", "unknown"),
            (HttpErrorKind::TooLarge, "limit", "ask for less"),
            (HttpErrorKind::Other, "unavailable", "log"),
        ] {
            let error = Error::from(HttpError::new(kind, "https://a.example", "os error 1"));
            assert_eq!(error.code(), code);
            let message = error.message();
            assert!(message.starts_with("https://a.example: "), "{message}");
            assert!(message.contains(advice), "{message}");
            assert!(message.ends_with(" (os error 1)"), "{message}");
        }
    }
}
