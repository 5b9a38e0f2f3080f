//! Answers in OpenAI's form, with what servers make of it.

use keepsake_sdk::http::chat::{AnswerForm, Deltas, cut_off};
use keepsake_sdk::http::events::Event;
use keepsake_sdk::http::{Refusal, StatusCode};
use keepsake_sdk::model::Response;
use keepsake_sdk::{Error, Result};
use serde::Deserialize as _;
use serde_json::Value;

use crate::assembly::Assembly;
use crate::wire::{Piece, is_error};

/// How the end of a stream is said.
const DONE: &str = "[DONE]";

/// What has come of one answer.
pub(crate) struct Completion {
    model: String,
    origin: String,
    assembly: Assembly,
}

impl Completion {
    /// Nothing yet of an answer from there, by `model` where nobody says by which.
    pub(crate) fn new(model: &str, origin: &str) -> Self {
        Self {
            model: model.to_owned(),
            origin: origin.to_owned(),
            assembly: Assembly::default(),
        }
    }

    fn take(&mut self, value: &Value, deltas: &mut Deltas) -> Result<()> {
        let piece = Piece::deserialize(value).map_err(|error| {
            Error::unavailable(format!(
                "{} answers in a form that is not OpenAI's: {error}; check `base-url`",
                self.origin
            ))
        })?;
        self.assembly.take(piece, deltas)
    }

    /// An error that stands where the answer should be.
    fn refused(&self, body: &[u8]) -> Error {
        let said = serde_json::from_slice::<Value>(body).unwrap_or(Value::Null);
        let code = |value: &Value| value.as_u64().and_then(|code| u16::try_from(code).ok());
        // Some servers say there which status it would have been.
        let status = [
            &said["error"]["code"],
            &said["error"]["status"],
            &said["code"],
        ]
        .into_iter()
        .find_map(code)
        .filter(|code| (400..600).contains(code))
        .and_then(|code| StatusCode::from_u16(code).ok());
        let status = status.unwrap_or(StatusCode::OK);
        Refusal::of(&self.origin, status, body).of_chat()
    }
}

impl AnswerForm for Completion {
    fn take_event(&mut self, event: &Event, deltas: &mut Deltas) -> Result<bool> {
        let data = event.data.trim();
        if data == DONE {
            return if self.assembly.is_blank() {
                Err(cut_off(&self.origin))
            } else {
                Ok(true)
            };
        }
        if data.is_empty() {
            return Ok(false);
        }
        let value = serde_json::from_str::<Value>(data).ok();
        match value {
            Some(value) if event.name != "error" && !is_error(&value) => {
                self.take(&value, deltas)?;
                Ok(false)
            }
            _ => Err(self.refused(data.as_bytes())),
        }
    }

    fn take_whole(&mut self, body: &[u8], deltas: &mut Deltas) -> Result<()> {
        let answer = serde_json::from_slice::<Value>(body).ok();
        match answer {
            Some(value) if value.get("choices").is_some() && !is_error(&value) => {
                self.take(&value, deltas)?;
                if self.assembly.is_blank() {
                    return Err(cut_off(&self.origin));
                }
                Ok(())
            }
            _ => Err(self.refused(body)),
        }
    }

    fn is_finished(&self) -> bool {
        self.assembly.is_finished()
    }

    fn is_whole(&self, event: &Event) -> bool {
        event.data.trim() == DONE || serde_json::from_str::<Value>(&event.data).is_ok()
    }

    fn response(&self) -> Result<Response> {
        self.assembly.response(&self.model)
    }
}
