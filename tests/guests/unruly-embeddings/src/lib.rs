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

    fn embed(texts: Vec<String>, _kind: Kind) -> Result<Vec<Vector>, Error> {
        let width = setting("dimensions").parse().unwrap_or(4);
        let mut vector = vec![0.0; width];
        if let Some(first) = vector.first_mut() {
            *first = 1.0;
        }
        let count = texts.len();
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
            _ => Ok(vec![vector; count]),
        }
    }
}
