//! What the tests of this plugin share.
#![allow(dead_code, reason = "each test file uses a part")]

use keepsake_sdk::model::{Delta, Message, Request, Response};
use keepsake_sdk::testing::{Host, HttpAnswer};
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

/// What was told piece by piece, and how the answer ended.
pub(crate) struct Told {
    pub(crate) deltas: Vec<Delta>,
    pub(crate) end: Result<Response>,
}

impl Told {
    pub(crate) fn text(&self) -> String {
        let texts = self.deltas.iter().map(|delta| match delta {
            Delta::Text(text) => text.as_str(),
            _ => "",
        });
        texts.collect()
    }

    pub(crate) fn whole(self) -> Response {
        let text = self.text();
        let response = self.end.unwrap();
        assert_eq!(response.message.content, text, "the pieces are the whole");
        response
    }
}

pub(crate) fn ask(host: &Host, request: Request) -> Result<Told> {
    let mut answer = ModelOpenai::chat(&host.context(), request)?;
    let mut deltas = Vec::new();
    let broken = loop {
        match answer.next_delta() {
            Ok(Some(delta)) => deltas.push(delta),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let end = answer.finish();
    if let Some(error) = broken {
        assert_eq!(end.as_ref().unwrap_err(), &error, "an error stays");
    }
    Ok(Told { deltas, end })
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
