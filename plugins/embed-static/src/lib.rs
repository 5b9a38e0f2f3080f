//! The default embedding provider: a small distilled English model inside the
//! component. It needs no network, no key and no file; see the README for what
//! the model is and how far to trust it.

mod hash;
mod model;
mod tokenizer;
mod vocabulary;

use keepsake_sdk::embeddings::{EmbeddingInfo, Kind};
use keepsake_sdk::{Context, EmbeddingProvider, Result};

pub use model::{DIMENSIONS, RELEVANCE_THRESHOLD, embed};
pub use tokenizer::{MAX_TEXT_BYTES, MAX_TOKENS, tokenize};

/// Texts that one call takes.
const MAX_TEXTS: u32 = 4_096;

/// The provider. Queries and passages are embedded alike.
pub struct EmbedStatic;

keepsake_sdk::register_embedding_provider!(EmbedStatic);

impl EmbeddingProvider for EmbedStatic {
    fn info(_: &Context) -> Result<EmbeddingInfo> {
        Ok(EmbeddingInfo {
            max_texts: MAX_TEXTS,
            max_text_bytes: u32::try_from(MAX_TEXT_BYTES).unwrap_or(u32::MAX),
            relevance_threshold: Some(RELEVANCE_THRESHOLD),
            ..EmbeddingInfo::new(
                "static-minilm-256",
                u32::try_from(DIMENSIONS).unwrap_or(u32::MAX),
            )
        })
    }

    fn embed(_: &Context, texts: &[String], _: Kind) -> Result<Vec<Vec<f32>>> {
        Ok(embed(texts))
    }
}
