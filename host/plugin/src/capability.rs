//! What plugins may ask of the host: one module for each interface of the WIT
//! package. Each implements its interface on a small view of the store, so that
//! a capability cannot reach its neighbours' state.

pub(crate) mod agents;
pub(crate) mod embeddings;
pub(crate) mod http;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod model;
pub(crate) mod sandbox;
pub(crate) mod session;
pub(crate) mod settings;

use keepsake_types::text::printable;

use crate::bindings::agent::keepsake::host::types::{Error, Unavailable};

/// A guest's or provider's error in one line, for a reader.
pub(crate) fn describe(error: &Error) -> String {
    printable(&match error {
        Error::Denied(text) => format!("denied: {text}"),
        Error::NotFound(text) => format!("not found: {text}"),
        Error::Invalid(text) => format!("invalid: {text}"),
        Error::Unavailable(unavailable) => format!("unavailable: {}", unavailable.message),
        Error::Limit(limit) => format!("limit `{}` reached: {}", limit.name, limit.message),
        Error::Unsupported(text) => format!("unsupported: {text}"),
        Error::Internal(text) => format!("internal fault: {text}"),
        Error::Other(other) => format!("{}: {}", other.code, other.message),
    })
}

/// Something that did not answer, without a word on when to try again.
pub(crate) fn unavailable(message: impl Into<String>) -> Error {
    Error::Unavailable(Unavailable {
        message: message.into(),
        retry_after_ms: None,
    })
}

/// The error's name for programs.
pub(crate) fn code(error: &Error) -> &str {
    match error {
        Error::Denied(_) => "denied",
        Error::NotFound(_) => "not-found",
        Error::Invalid(_) => "invalid",
        Error::Unavailable(_) => "unavailable",
        Error::Limit(_) => "limit",
        Error::Unsupported(_) => "unsupported",
        Error::Internal(_) => "internal",
        Error::Other(other) => &other.code,
    }
}

/// How long to wait before trying again, where the error knows.
pub(crate) fn retry_after(error: &Error) -> Option<u64> {
    match error {
        Error::Unavailable(unavailable) => unavailable.retry_after_ms,
        _ => None,
    }
}
