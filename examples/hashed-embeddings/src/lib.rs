//! The smallest embedding provider: hashed pieces of words. It knows no
//! meaning, but any language, and finds words that are spelled alike.

use keepsake_sdk::embeddings::{EmbeddingInfo, Kind, normalise};
use keepsake_sdk::{Context, EmbeddingProvider, Result};

const DIMENSIONS: u32 = 256;

/// The provider.
pub struct HashedEmbeddings;

keepsake_sdk::register_embedding_provider!(HashedEmbeddings);

impl EmbeddingProvider for HashedEmbeddings {
    fn info(_: &Context) -> Result<EmbeddingInfo> {
        Ok(EmbeddingInfo::new("hashed-trigrams-256", DIMENSIONS))
    }

    fn embed(_: &Context, texts: &[String], _: Kind) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| embed(text)).collect())
    }
}

/// Counts each run of three characters of each word, by its hash.
fn embed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS as usize];
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let word: Vec<char> = format!("<{}>", word.to_lowercase()).chars().collect();
        for piece in word.windows(3) {
            let hash = piece.iter().fold(0xcbf2_9ce4_8422_2325, fnv);
            vector[(hash % u64::from(DIMENSIONS)) as usize] += 1.0;
        }
    }
    normalise(&mut vector);
    vector
}

/// One step of the hash FNV-1a, on a character instead of a byte.
fn fnv(hash: u64, character: &char) -> u64 {
    (hash ^ u64::from(u32::from(*character))).wrapping_mul(0x0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use keepsake_sdk::embeddings::cosine;

    use super::*;

    #[test]
    fn texts_that_are_spelled_alike_are_near() {
        let [a, b, c] = ["parcel delivery", "Parcels delivered", "green tea"].map(embed);
        assert!(cosine(&a, &b) > 0.5, "{}", cosine(&a, &b));
        assert!(cosine(&a, &c) < 0.2, "{}", cosine(&a, &c));
    }

    #[test]
    fn each_vector_has_length_1_or_holds_nothing() {
        assert!((cosine(&embed("tea"), &embed("tea")) - 1.0).abs() < 1e-6);
        assert_eq!(embed("?!"), vec![0.0; 256]);
    }
}
