//! Tool calls as servers write them, and what they leave out.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::error::{Error, Result};
use crate::model::ToolCall;

/// How many calls one answer may have. No model means that many.
pub const CALLS: usize = 128;

/// The error of an answer with more than [`CALLS`] calls.
pub fn too_many_calls() -> Error {
    Error::limit(
        "model-tool-calls",
        format!("the model calls more than {CALLS} tools in one answer"),
    )
}

/// An id for a call that the server gave none.
pub fn made_up_id() -> String {
    format!("call-{:016x}", RandomState::new().build_hasher().finish())
}

/// A call that is whole. No arguments at all are an empty object.
///
/// # Errors
/// When it has no name.
pub fn whole_call(id: &str, name: &str, arguments: &str) -> Result<ToolCall> {
    if name.is_empty() {
        return Err(Error::unavailable(
            "the server's answer calls a tool without naming it: try again, or use another model",
        ));
    }
    let blank = arguments.trim().is_empty();
    Ok(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: (if blank { "{}" } else { arguments }).to_owned(),
    })
}

/// A text that is there and not empty.
pub fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}
