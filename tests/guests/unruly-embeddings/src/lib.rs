//! An embedding provider that breaks its contract in the way that its setting
//! `misbehave` names.
#![cfg(target_arch = "wasm32")]

wit_bindgen::generate!({
    path: "../../../wit",
    world: "embedding-provider",
});

use exports::keepsake::host::embeddings::{EmbeddingInfo, Guest, Kind, Vector};
use keepsake::host::settings;
use keepsake::host::types::{Error, Unavailable};

struct Unruly;

thread_local! {
    /// Calls of this instance so far.
    static CALLS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

export!(Unruly);

fn misbehave() -> String {
    setting("misbehave").trim_matches('"').to_owned()
}

fn setting(key: &str) -> String {
    settings::get(key).ok().flatten().unwrap_or_default()
}

impl Guest for Unruly {
    fn info() -> Result<EmbeddingInfo, Error> {
        if misbehave() == "no-info" {
            return Err(Error::Unavailable(Unavailable {
                message: "my weights are away".into(),
                retry_after_ms: None,
            }));
        }
        Ok(EmbeddingInfo {
            model: "unruly".into(),
            dimensions: setting("dimensions").parse().unwrap_or(4),
            normalised: true,
            max_texts: 8,
            max_text_bytes: 1_000,
            relevance_threshold: None,
            extras: None,
        })
    }

    fn embed(texts: Vec<String>, kind: Kind) -> Result<Vec<Vector>, Error> {
        let width = setting("dimensions").parse().unwrap_or(4);
        let mut vector = vec![0.0; width];
        if let Some(first) = vector.first_mut() {
            *first = 1.0;
        }
        let count = texts.len();
        let calls = CALLS.get();
        CALLS.set(calls + 1);
        let refused = |what: &str| Err(Error::Invalid(format!("I do not take {what}")));
        let any = |what: fn(&str) -> bool| texts.iter().any(|text| what(text));
        match misbehave().as_str() {
            "panic" => panic!("the provider's own words"),
            "loop" => loop {
                std::hint::black_box(());
            },
            "unavailable" => Err(Error::Unavailable(Unavailable {
                message: "try later".into(),
                retry_after_ms: Some(1_500),
            })),
            "count" => Ok(vec![vector; count + 1]),
            "none" => Ok(Vec::new()),
            "nan" => {
                vector[0] = f32::NAN;
                Ok(vec![vector; count])
            }
            "infinite" => {
                vector[0] = f32::INFINITY;
                Ok(vec![vector; count])
            }
            "width" => Ok(vec![vec![1.0; width + 3]; count]),
            "length" => {
                vector[0] = 2.0;
                Ok(vec![vector; count])
            }
            "order" => Ok(embedded(&texts, width).into_iter().rev().collect()),
            "random" => Ok(embedded(&texts, width)
                .into_iter()
                .map(|vector| shaken(vector, calls))
                .collect()),
            "empty-list" if texts.is_empty() => refused("no texts"),
            "empty-text" if any(|text| text.is_empty()) => refused("empty texts"),
            "long" if any(|text| text.len() > 500) => refused("texts so long"),
            "emoji" if any(|text| text.contains('🎈')) => panic!("cut within a character"),
            "right-to-left" if any(|text| text.contains('ع')) => refused("Arabic"),
            "nul" if any(|text| text.contains('\0')) => refused("NUL"),
            "query" if matches!(kind, Kind::Query) => Ok(vec![vector; count]),
            "tired" if calls > 300 => refused("so many calls"),
            "sound" | "order" | "random" | "empty-list" | "empty-text" | "long" | "emoji"
            | "right-to-left" | "nul" | "query" | "tired" => Ok(embedded(&texts, width)),
            _ => Ok(vec![vector; count]),
        }
    }
}

/// Each word at a place of its own, as far as there are places.
fn embedded(texts: &[String], width: usize) -> Vec<Vector> {
    texts
        .iter()
        .map(|text| {
            let mut vector = vec![0.0_f32; width];
            let words = text.split(|c: char| !c.is_alphanumeric());
            for word in words.filter(|word| !word.is_empty()) {
                let place = word.to_lowercase().bytes().fold(7_usize, |sum, byte| {
                    sum.wrapping_mul(31).wrapping_add(usize::from(byte))
                });
                vector[place % width] += 1.0;
            }
            normalised(vector)
        })
        .collect()
}

/// The vector as it would be by a model whose numbers drift.
fn shaken(mut vector: Vector, calls: u32) -> Vector {
    let place = calls as usize % vector.len();
    vector[place] += 0.3;
    normalised(vector)
}

fn normalised(mut vector: Vector) -> Vector {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
    vector
}
