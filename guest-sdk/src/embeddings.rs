//! Texts as vectors.

pub use crate::bindings::agent_plugin::keepsake::host::embeddings::{EmbeddingInfo, Kind};

impl EmbeddingInfo {
    /// A provider whose vectors have length 1, takes up to 1,000 texts of 8 KiB
    /// a call, and knows no threshold. Change the fields that differ.
    pub fn new(model: impl Into<String>, dimensions: u32) -> Self {
        Self {
            model: model.into(),
            dimensions,
            normalised: true,
            max_texts: 1_000,
            max_text_bytes: 8 * 1_024,
            relevance_threshold: None,
            extras: None,
        }
    }
}

/// Scales a vector to length 1. One of length 0 stays as it is.
///
/// ```
/// let mut vector = vec![3.0, 4.0];
/// keepsake_sdk::embeddings::normalise(&mut vector);
/// assert_eq!(vector, [0.6, 0.8]);
/// ```
pub fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

/// The cosine of two vectors of the same model, from -1 to 1; 0 where one of
/// them has length 0.
pub fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths = (product(one, one) * product(other, other)).sqrt();
    if lengths > 0.0 {
        product(one, other) / lengths
    } else {
        0.0
    }
}
