//! Texts as vectors: the leaf trait between memory, which needs vectors, and
//! the plugins that make them.

use async_trait::async_trait;

/// What a text is for; some models embed the two differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EmbeddingKind {
    /// A question, to be compared with passages.
    Query,
    /// A text that is kept.
    Passage,
}

/// What an embedding provider is.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingInfo {
    /// Names the vector space; vectors of different models are never compared.
    pub model: String,
    /// How many numbers a vector has.
    pub dimensions: u32,
    /// Whether every vector has length 1, or 0 for a text with nothing known.
    pub normalised: bool,
    /// How many texts one call takes; at least 1.
    pub max_texts: u32,
    /// How long a text may be, in bytes, before the model ignores the rest.
    pub max_text_bytes: u32,
    /// The cosine below which a passage answers no query, where known.
    pub relevance_threshold: Option<f32>,
}

/// Why texts could not be embedded.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EmbeddingError {
    /// The provider answered something that breaks its contract.
    #[error("embedding provider `{provider}` answered wrongly: {reason}")]
    BadAnswer {
        /// The provider's name.
        provider: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// The provider could not answer.
    #[error("embedding provider `{provider}` failed: {reason}")]
    Failed {
        /// The provider's name.
        provider: String,
        /// What failed.
        reason: String,
        /// Milliseconds to wait before trying again, where known.
        retry_after_ms: Option<u64>,
    },
    /// There are too many texts, or one is too long.
    #[error("{message}")]
    Limit {
        /// The bound's name.
        name: &'static str,
        /// What was asked for and what the bound is.
        message: String,
    },
}

/// Something that turns texts into vectors.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// What this provider is.
    fn info(&self) -> &EmbeddingInfo;

    /// The cosine below which a passage answers no query: what the model's
    /// author says, or what the implementation finds out. None where it is not
    /// known.
    async fn relevance_threshold(&self) -> Option<f32> {
        self.info().relevance_threshold
    }

    /// One vector for each text, in order: as many numbers as
    /// [`EmbeddingInfo::dimensions`], all finite. Implementations check what
    /// they were given by the model before they hand it on. A text may be
    /// longer than [`EmbeddingInfo::max_text_bytes`]: its vector stands for all
    /// of it.
    async fn embed(
        &self,
        texts: Vec<String>,
        kind: EmbeddingKind,
    ) -> Result<Vec<Vec<f32>>, EmbeddingError>;

    /// The vector of a query that was embedded before, where it is still known
    /// without asking the model.
    fn known_query(&self, _text: &str) -> Option<Vec<f32>> {
        None
    }
}
