//! A model provider that fails in the way that its setting `misbehave` names.
#![cfg(target_arch = "wasm32")]

wit_bindgen::generate!({
    path: "../../../wit",
    world: "model-provider",
});

use std::cell::Cell;

use exports::keepsake::host::model::{
    Completion, Delta, FinishReason, Guest, GuestCompletion, Message, ModelInfo, Request, Response,
    Role,
};
use keepsake::host::settings;
use keepsake::host::types::{Error, Unavailable};

struct Unruly;

export!(Unruly);

fn misbehave() -> String {
    settings::get("misbehave")
        .ok()
        .flatten()
        .unwrap_or_default()
        .trim_matches('"')
        .to_owned()
}

struct Answer {
    pieces: Cell<u32>,
}

impl GuestCompletion for Answer {
    fn next(&self) -> Result<Option<Delta>, Error> {
        let piece = self.pieces.get();
        self.pieces.set(piece + 1);
        match (misbehave().as_str(), piece) {
            ("panic-midway", 2) => panic!("the model's own words"),
            ("break-midway", 2) => Err(Error::Unavailable(Unavailable {
                message: "the line broke".into(),
                retry_after_ms: None,
            })),
            (_, 0..3) => Ok(Some(Delta::Text(format!("piece{piece} ")))),
            _ => Ok(None),
        }
    }

    fn finish(&self) -> Result<Response, Error> {
        Ok(Response {
            message: Message {
                role: Role::Assistant,
                content: "piece0 piece1 piece2 ".into(),
                tool_calls: Vec::new(),
                tool_call_id: None,
            },
            finish_reason: FinishReason::Stop,
            usage: None,
            model: "unruly".into(),
        })
    }
}

impl Guest for Unruly {
    type Completion = Answer;

    fn info() -> Result<ModelInfo, Error> {
        Ok(ModelInfo {
            model: "unruly".into(),
            context_tokens: None,
            extras: None,
        })
    }

    fn chat(_request: Request) -> Result<Completion, Error> {
        match misbehave().as_str() {
            "panic" => panic!("the model's own words"),
            "loop" => loop {
                std::hint::black_box(());
            },
            "refuse" => Err(Error::Denied("this account has no credit".into())),
            _ => Ok(Completion::new(Answer {
                pieces: Cell::new(0),
            })),
        }
    }
}
