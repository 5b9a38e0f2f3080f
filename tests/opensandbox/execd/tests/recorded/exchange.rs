//! The recorded exchanges, as they lie in `captures/`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[derive(Clone, Deserialize)]
pub(crate) struct Exchange {
    pub(crate) name: String,
    pub(crate) request: Option<Request>,
    pub(crate) response: Response,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    body: Option<Body>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Response {
    pub(crate) status: u16,
    #[serde(default)]
    pub(crate) headers: Vec<(String, String)>,
    body: Option<Body>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Body {
    Text(String),
    Base64(String),
}

impl Request {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        bytes(self.body.as_ref())
    }
}

impl Response {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        bytes(self.body.as_ref())
    }
}

fn bytes(body: Option<&Body>) -> Vec<u8> {
    match body {
        None => Vec::new(),
        Some(Body::Text(text)) => text.clone().into_bytes(),
        Some(Body::Base64(text)) => STANDARD.decode(text).expect("base64 in a recording"),
    }
}

/// The exchanges of one recording.
pub(crate) fn load(capture: &str) -> Vec<Exchange> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../captures")
        .join(capture);
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
