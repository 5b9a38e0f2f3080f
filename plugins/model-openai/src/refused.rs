//! A server's no as an error that an agent can act on.

use keepsake_sdk::Error;
use keepsake_sdk::http::{Refusal, StatusCode};

/// How servers say that a conversation is longer than the model takes.
const TOO_LONG: [&str; 8] = [
    "context length",
    "context window",
    "context size",
    "context_length",
    "too many tokens",
    "prompt is too long",
    "input is too long",
    "maximum prompt length",
];

/// How servers say that they hold something back.
const HELD_BACK: [&str; 4] = [
    "content_filter",
    "content_policy",
    "content management policy",
    "responsibleai",
];

/// The error of an answer that is a refusal.
pub(crate) fn refused(refusal: Refusal) -> Error {
    let about_the_request = !matches!(
        refusal.status,
        StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::TOO_MANY_REQUESTS
    );
    let code = refusal.code.as_deref().unwrap_or_default();
    let said = format!("{code} {}", refusal.message).to_lowercase();
    let says = |words: &[&str]| about_the_request && words.iter().any(|word| said.contains(word));
    if says(&HELD_BACK) {
        let message = format!("{refusal} (the provider's filter refuses it: say it otherwise)");
        return Error::other("content-filter", message);
    }
    if says(&TOO_LONG) || code == "exceed_context_size_error" {
        let advice = "the conversation is longer than the model takes: send less of it, or begin a new session";
        return Error::limit("context-tokens", format!("{refusal} ({advice})"));
    }
    refusal.into()
}
