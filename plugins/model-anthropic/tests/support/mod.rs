//! What the tests of this plugin share. The exchanges were written after the
//! public documentation of the form; none was recorded from a real server.
#![allow(dead_code, reason = "each test file uses a part")]

use keepsake_sdk::model::{Message, Request};
use keepsake_sdk::testing::{Host, HttpAnswer, Told};
use keepsake_sdk::{ModelProvider, Result};
use model_anthropic::ModelAnthropic;
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
    ModelAnthropic::chat(&host.context(), request).map(Told::read)
}

/// What comes of an answer to `Hello!`.
pub(crate) fn told(answer: HttpAnswer) -> Told {
    ask(&host().http_answers(answer), hello()).unwrap()
}

/// A stream of these events, each named by its type and in a chunk of its own.
pub(crate) fn stream(events: &[Value]) -> HttpAnswer {
    let answer = HttpAnswer::new(200).header("content-type", "text/event-stream");
    events
        .iter()
        .fold(answer, |answer, event| answer.chunk(written(event, "\n")))
}

/// An event as it is written, with these line ends.
pub(crate) fn written(event: &Value, end: &str) -> String {
    let name = event["type"].as_str().unwrap_or_default();
    format!("event: {name}{end}data: {event}{end}{end}")
}

pub(crate) fn begin() -> Value {
    json!({ "type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 7, "output_tokens": 1 },
    }})
}

pub(crate) fn block(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

pub(crate) fn part(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

pub(crate) fn text(index: u64, text: &str) -> Value {
    part(index, json!({ "type": "text_delta", "text": text }))
}

pub(crate) fn arguments(index: u64, json: &str) -> Value {
    part(
        index,
        json!({ "type": "input_json_delta", "partial_json": json }),
    )
}

pub(crate) fn close(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

pub(crate) fn ends(reason: &str) -> Value {
    json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
            "usage": { "output_tokens": 5 } })
}

pub(crate) fn stop() -> Value {
    json!({ "type": "message_stop" })
}

/// A block of text that has nothing in it yet.
pub(crate) fn empty_text() -> Value {
    json!({ "type": "text", "text": "" })
}

/// A whole answer with this text.
pub(crate) fn said(words: &str) -> Vec<Value> {
    vec![
        begin(),
        block(0, empty_text()),
        text(0, words),
        close(0),
        ends("end_turn"),
        stop(),
    ]
}
