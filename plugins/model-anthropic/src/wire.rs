//! The JSON of `/messages`, as loosely as servers keep to it.

use serde::Deserialize;
use serde_json::Value;

/// One event of a stream. Which members it has depends on its kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Piece {
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    /// In `message_start`.
    pub(crate) message: Option<Whole>,
    /// Which block of the answer it is about.
    pub(crate) index: Option<u64>,
    /// In `content_block_start`.
    pub(crate) content_block: Option<Block>,
    /// In `content_block_delta` and `message_delta`.
    pub(crate) delta: Option<Part>,
    /// In `message_delta`: what has come up to there, not since the last time.
    pub(crate) usage: Option<Usage>,
}

/// An answer, or its beginning.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Whole {
    pub(crate) model: Option<String>,
    pub(crate) content: Option<Vec<Block>>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) usage: Option<Usage>,
}

/// A block of an answer, or its beginning.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Block {
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) thinking: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) input: Option<Value>,
}

/// The next part of a block, or of what is known of the answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Part {
    pub(crate) text: Option<String>,
    pub(crate) thinking: Option<String>,
    pub(crate) partial_json: Option<String>,
    pub(crate) stop_reason: Option<String>,
}

/// Tokens. What was read from a cache, or written to it, is not among the input's.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    pub(crate) input_tokens: Option<u64>,
    pub(crate) cache_creation_input_tokens: Option<u64>,
    pub(crate) cache_read_input_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
}

impl Usage {
    /// What is known after a later count: each number that it gives.
    pub(crate) fn updated(self, later: Self) -> Self {
        Self {
            input_tokens: later.input_tokens.or(self.input_tokens),
            cache_creation_input_tokens: later
                .cache_creation_input_tokens
                .or(self.cache_creation_input_tokens),
            cache_read_input_tokens: later
                .cache_read_input_tokens
                .or(self.cache_read_input_tokens),
            output_tokens: later.output_tokens.or(self.output_tokens),
        }
    }

    /// Tokens of the question and of the answer; none where nobody counted.
    pub(crate) fn counted(self) -> Option<(u64, u64)> {
        let input = [
            self.input_tokens,
            self.cache_creation_input_tokens,
            self.cache_read_input_tokens,
        ];
        if self.output_tokens.is_none() && input.iter().all(Option::is_none) {
            return None;
        }
        let input = input.into_iter().flatten();
        let input = input.fold(0_u64, u64::saturating_add);
        Some((input, self.output_tokens.unwrap_or(0)))
    }
}

/// The status that an error within a stream would have had.
pub(crate) fn status_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "api_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}
