//! What the tests of this plugin share.
#![allow(dead_code, reason = "each test file uses a part")]

use keepsake_sdk::model::{Message, Request};
use keepsake_sdk::testing::{Host, HttpAnswer, Told};
use keepsake_sdk::{ModelProvider, Result};
use model_openai::ModelOpenai;
use serde_json::{Value, json};

pub(crate) fn host() -> Host {
    Host::new()
        .setting("base-url", json!("https://a.example/v1"))
        .setting("model", json!("m"))
}

pub(crate) fn hello() -> Request {
    Request::new(vec![Message::user("Hello!")])
}

pub(crate) fn ask(host: &Host, request: Request) -> Result<Told> {
    ModelOpenai::chat(&host.context(), request).map(Told::read)
}

/// What comes of an answer to `Hello!`.
pub(crate) fn told(answer: HttpAnswer) -> Told {
    ask(&host().http_answers(answer), hello()).unwrap()
}

/// One event of a stream, with a delta.
pub(crate) fn delta(delta: Value) -> String {
    json!({ "id": "c", "model": "m-1", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
        .to_string()
}

/// The event that ends an answer.
pub(crate) fn finish(reason: &str) -> String {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }).to_string()
}

pub(crate) fn text(text: &str) -> String {
    delta(json!({ "content": text }))
}

pub(crate) const DONE: &str = "[DONE]";
