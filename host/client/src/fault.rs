//! Why no answer came, or no whole one.

use std::error::Error;
use std::io;

/// Why no answer came, or no whole one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The name is not known.
    #[error("its name cannot be resolved; check the spelling, and the network")]
    Name,
    /// The name stands for private addresses only.
    #[error(transparent)]
    NotPublic(#[from] crate::NotPublic),
    /// Nobody listens there.
    #[error("it refuses the connection; check that the server runs and that the port is right")]
    Refused,
    /// It cannot be reached.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// No secure connection.
    #[error("no secure connection can be made: {0}")]
    Tls(String),
    /// It took too long.
    #[error("it did not answer in time")]
    TimedOut,
    /// The connection broke off in the middle.
    #[error("the connection broke off before the answer was complete")]
    BrokeOff,
    /// What came is no HTTP, or breaks a bound of it.
    #[error("what it answered is no valid HTTP: {0}")]
    Protocol(String),
}

impl Fault {
    /// What an error of the client means.
    #[must_use]
    pub fn of(error: &reqwest::Error) -> Self {
        let causes: Vec<_> = causes(error).collect();
        // The innermost cause tells most; URLs, which may hold what is secret,
        // stand only in the outermost.
        let innermost = || causes.last().map(ToString::to_string).unwrap_or_default();
        if let Some(tls) = causes
            .iter()
            .find_map(|cause| cause.downcast_ref::<rustls::Error>())
        {
            return Self::Tls(tls.to_string());
        }
        let private = causes
            .iter()
            .find_map(|cause| cause.downcast_ref::<crate::NotPublic>());
        if let Some(private) = private {
            return Self::NotPublic(private.clone());
        }
        if error.is_timeout() {
            return Self::TimedOut;
        }
        if causes.iter().any(|cause| cause.to_string() == "dns error") {
            return Self::Name;
        }
        let system = causes
            .iter()
            .find_map(|cause| cause.downcast_ref::<io::Error>());
        match system.map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => return Self::Refused,
            Some(io::ErrorKind::TimedOut) => return Self::TimedOut,
            Some(
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof,
            ) => return Self::BrokeOff,
            _ => {}
        }
        if error.is_builder() {
            return Self::Tls(innermost());
        }
        if error.is_connect() {
            // The TLS library tells this one as an I/O error without a kind.
            return match innermost() {
                words if words.starts_with("tls handshake") => Self::Tls(words),
                words => Self::Unreachable(words),
            };
        }
        let words = innermost();
        if words.contains("connection closed") || words.contains("incomplete") {
            return Self::BrokeOff;
        }
        Self::Protocol(words)
    }

    /// Whether the server cannot have seen the whole request, so that repeating
    /// it repeats nothing.
    #[must_use]
    pub fn is_before_request(&self) -> bool {
        matches!(
            self,
            Self::Name | Self::Refused | Self::Unreachable(_) | Self::Tls(_)
        )
    }
}

/// An error's causes, outermost first, without the error itself.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| cause_of(*cause))
}

fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    // An I/O error answers with the cause of what it wraps, and hides that.
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(wrapped) => Some(wrapped as &(dyn Error + 'static)),
        None => error.source(),
    }
}
