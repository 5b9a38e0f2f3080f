//! The JSON of `/embeddings`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::settings::{Encoding, Truncate};

/// What is sent.
#[derive(Serialize)]
pub(crate) struct Asked<'a> {
    pub(crate) model: &'a str,
    pub(crate) input: Vec<&'a str>,
    pub(crate) encoding_format: Encoding,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dimensions: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) truncate: Option<Truncate>,
}

/// What comes back.
#[derive(Deserialize)]
pub(crate) struct Answered {
    pub(crate) data: Vec<Item>,
}

/// One text's vector.
#[derive(Deserialize)]
pub(crate) struct Item {
    /// Which text of the request it is for; some servers leave it out.
    pub(crate) index: Option<usize>,
    pub(crate) embedding: Numbers,
}

/// A vector, in either of the two ways of writing it: not every server keeps to
/// the one that it was asked for.
#[derive(Debug, PartialEq)]
pub(crate) struct Numbers(pub(crate) Vec<f32>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EitherWay).map(Self)
    }
}

struct EitherWay;

impl<'de> Visitor<'de> for EitherWay {
    type Value = Vec<f32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers, or their bytes as base64")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Vec<f32>, A::Error> {
        let mut vector = Vec::new();
        // Read with more range than is kept: what is too large becomes infinite,
        // and is told as that.
        while let Some(number) = numbers.next_element::<f64>()? {
            vector.push(number as f32);
        }
        Ok(vector)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<f32>, E> {
        let bytes = STANDARD
            .decode(text)
            .map_err(|error| E::custom(format!("a vector is no base64: {error}")))?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            let length = bytes.len();
            return Err(E::custom(format!(
                "{length} bytes are no whole numbers of 4 bytes"
            )));
        }
        Ok(numbers.iter().copied().map(f32::from_le_bytes).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<f32>, serde_json::Error> {
        serde_json::from_str::<Numbers>(text).map(|numbers| numbers.0)
    }

    #[test]
    fn a_vector_is_read_in_both_ways_of_writing_it() {
        assert_eq!(read("[1, -0.5, 2e-3]").unwrap(), [1.0, -0.5, 0.002]);
        // 1.0 and -2.0, the lowest byte first.
        assert_eq!(read("\"AACAPwAAAMA=\"").unwrap(), [1.0, -2.0]);
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        for text in [
            "null",
            "7",
            "[null]",
            "[\"1\"]",
            "\"AACAPw\"",
            "\"AAA=\"",
            "\"?\"",
            "{}",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
