//! A server's no to a question as an error that an agent can act on.

use ::http::StatusCode;

use crate::error::Error;
use crate::http::Refusal;

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

impl Refusal {
    /// The error of a question to a model that was refused so: besides the usual
    /// ones, [`Error::Limit`] `context-tokens` where the conversation is too long,
    /// and the code `content-filter` where the provider holds something back.
    pub fn of_chat(self) -> Error {
        let about_the_request = !matches!(
            self.status,
            StatusCode::UNAUTHORIZED
                | StatusCode::FORBIDDEN
                | StatusCode::NOT_FOUND
                | StatusCode::TOO_MANY_REQUESTS
        );
        let code = self.code.as_deref().unwrap_or_default();
        let said = format!("{code} {}", self.message).to_lowercase();
        let says =
            |words: &[&str]| about_the_request && words.iter().any(|word| said.contains(word));
        if says(&HELD_BACK) {
            let message = format!("{self} (the provider's filter refuses it: say it otherwise)");
            return Error::other("content-filter", message);
        }
        if says(&TOO_LONG) || code == "exceed_context_size_error" {
            let advice = "the conversation is longer than the model takes: send less of it, or begin a new session";
            return Error::limit("context-tokens", format!("{self} ({advice})"));
        }
        self.into()
    }
}
