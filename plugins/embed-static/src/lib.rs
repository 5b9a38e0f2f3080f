//! The default embedding provider: a small distilled English model inside the
//! component. It needs no network, no key and no file; see the README for what
//! the model is and how far to trust it.

mod hash;
mod model;
mod tokenizer;
mod vocabulary;

pub use model::{DIMENSIONS, RELEVANCE_THRESHOLD, embed};
pub use tokenizer::{MAX_TEXT_BYTES, MAX_TOKENS, tokenize};
