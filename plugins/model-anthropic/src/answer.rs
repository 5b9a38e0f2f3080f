//! Answers in Anthropic's form: a message of numbered blocks, each of which
//! begins, goes on and ends.

mod calls;

use keepsake_sdk::http::chat::{AnswerForm, AnswerRoom, Deltas, cut_off, given};
use keepsake_sdk::http::events::Event;
use keepsake_sdk::http::{Refusal, StatusCode};
use keepsake_sdk::model::{self, Delta, FinishReason, Response};
use keepsake_sdk::{Error, Result};
use serde_json::{Value, json};

use crate::wire::{Block, Part, Piece, Usage, Whole, status_of};
use calls::Calls;

/// The kinds of events that say something of an answer. Others, such as `ping`
/// and what later servers tell besides, are passed over unread.
const KINDS: [&str; 6] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
];

/// What has come of one answer.
pub(crate) struct Message {
    model: String,
    origin: String,
    text: String,
    calls: Calls,
    stop: Option<String>,
    usage: Usage,
    room: AnswerRoom,
}

impl Message {
    /// Nothing yet of an answer from there, by `model` where nobody says by which.
    pub(crate) fn new(model: &str, origin: &str) -> Self {
        Self {
            model: model.to_owned(),
            origin: origin.to_owned(),
            text: String::new(),
            calls: Calls::default(),
            stop: None,
            usage: Usage::default(),
            room: AnswerRoom::default(),
        }
    }

    /// Takes an event of this kind; true where it is the last.
    fn take(&mut self, kind: &str, piece: Piece, deltas: &mut Deltas) -> Result<bool> {
        match kind {
            "message_start" => self.take_message(piece.message.unwrap_or_default(), deltas)?,
            "content_block_start" => {
                let block = piece.content_block.unwrap_or_default();
                self.begin_block(piece.index, block, deltas)?;
            }
            "content_block_delta" => {
                self.take_part(piece.index, piece.delta.unwrap_or_default(), deltas)?;
            }
            "content_block_stop" => self.end_block(piece.index, deltas)?,
            "message_delta" => {
                self.ends_because(piece.delta.unwrap_or_default().stop_reason);
                self.usage = self.usage.updated(piece.usage.unwrap_or_default());
            }
            "message_stop" => {
                if self.is_blank() {
                    return Err(cut_off(&self.origin));
                }
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }

    /// A message with all that it holds by now.
    fn take_message(&mut self, message: Whole, deltas: &mut Deltas) -> Result<()> {
        if let Some(model) = given(&message.model) {
            model.clone_into(&mut self.model);
        }
        self.usage = self.usage.updated(message.usage.unwrap_or_default());
        self.ends_because(message.stop_reason);
        for (place, block) in message.content.into_iter().flatten().enumerate() {
            let index = u64::try_from(place).ok();
            self.begin_block(index, block, deltas)?;
            self.end_block(index, deltas)?;
        }
        Ok(())
    }

    fn begin_block(&mut self, index: Option<u64>, block: Block, deltas: &mut Deltas) -> Result<()> {
        if block.kind.as_deref() == Some("tool_use") {
            let call = self.calls.begin(index, block)?;
            deltas.push_back(Delta::ToolCall(call));
            return Ok(());
        }
        self.say(block.text, block.thinking, deltas)
    }

    fn take_part(&mut self, index: Option<u64>, part: Part, deltas: &mut Deltas) -> Result<()> {
        if let Some(arguments) = given(&part.partial_json) {
            self.room.take(arguments.len())?;
            if let Some(call) = self.calls.go_on(index, arguments)? {
                deltas.push_back(Delta::ToolCall(call));
            }
        }
        self.say(part.text, part.thinking, deltas)
    }

    fn end_block(&mut self, index: Option<u64>, deltas: &mut Deltas) -> Result<()> {
        if let Some(call) = self.calls.end(index) {
            self.room.take(call.arguments.len())?;
            deltas.push_back(Delta::ToolCall(call));
        }
        Ok(())
    }

    fn say(
        &mut self,
        text: Option<String>,
        thought: Option<String>,
        deltas: &mut Deltas,
    ) -> Result<()> {
        if let Some(thought) = given(&thought) {
            self.room.take(thought.len())?;
            deltas.push_back(Delta::Other(json!({ "reasoning": thought }).to_string()));
        }
        if let Some(text) = given(&text) {
            self.room.take(text.len())?;
            self.text.push_str(text);
            deltas.push_back(Delta::Text(text.to_owned()));
        }
        Ok(())
    }

    fn ends_because(&mut self, reason: Option<String>) {
        if let Some(reason) = given(&reason) {
            self.stop = Some(reason.to_owned());
        }
    }

    fn is_blank(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty() && self.stop.is_none()
    }

    fn read<T: serde::de::DeserializeOwned>(&self, value: Value) -> Result<T> {
        T::deserialize(value).map_err(|error| self.not_the_form(&error.to_string()))
    }

    fn not_the_form(&self, reason: &str) -> Error {
        Error::unavailable(format!(
            "{} answers in a form that is not Anthropic's: {reason}; check `base-url`",
            self.origin
        ))
    }

    /// An error that stands where the answer should be.
    fn refused(&self, body: &[u8]) -> Error {
        let said = serde_json::from_slice::<Value>(body).unwrap_or(Value::Null);
        let kind = said["error"]["type"].as_str().unwrap_or_default();
        let status = status_of(kind).and_then(|status| StatusCode::from_u16(status).ok());
        Refusal::of(&self.origin, status.unwrap_or(StatusCode::OK), body).of_chat()
    }
}

impl AnswerForm for Message {
    fn take_event(&mut self, event: &Event, deltas: &mut Deltas) -> Result<bool> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(false);
        }
        let Ok(value) = serde_json::from_str::<Value>(data) else {
            return Err(self.refused(data.as_bytes()));
        };
        let kind = value["type"].as_str().unwrap_or(&event.name).to_owned();
        if kind == "error" || !value["error"].is_null() {
            return Err(self.refused(data.as_bytes()));
        }
        if kind.is_empty() {
            return Err(self.not_the_form("an event does not say of which kind it is"));
        }
        if !KINDS.contains(&kind.as_str()) {
            return Ok(false);
        }
        let piece = self.read(value)?;
        self.take(&kind, piece, deltas)
    }

    fn take_whole(&mut self, body: &[u8], deltas: &mut Deltas) -> Result<()> {
        let answer = serde_json::from_slice::<Value>(body).ok();
        match answer {
            Some(value) if value["content"].is_array() && value["error"].is_null() => {
                let message = self.read(value)?;
                self.take_message(message, deltas)?;
                match self.is_blank() {
                    true => Err(cut_off(&self.origin)),
                    false => Ok(()),
                }
            }
            _ => Err(self.refused(body)),
        }
    }

    fn is_finished(&self) -> bool {
        self.stop.is_some()
    }

    fn response(&self) -> Result<Response> {
        let calls = self.calls.whole()?;
        let finish_reason = match self.stop.as_deref() {
            None | Some("end_turn" | "stop_sequence" | "tool_use") if !calls.is_empty() => {
                FinishReason::ToolCalls
            }
            None | Some("end_turn" | "stop_sequence" | "tool_use") => FinishReason::Stop,
            Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
            Some("refusal") => FinishReason::ContentFilter,
            Some(other) => FinishReason::Other(other.to_owned()),
        };
        let usage = self.usage.counted();
        Ok(Response {
            message: model::Message {
                tool_calls: calls,
                ..model::Message::assistant(self.text.clone())
            },
            finish_reason,
            usage: usage.map(|(input_tokens, output_tokens)| model::Usage {
                input_tokens,
                output_tokens,
            }),
            model: self.model.clone(),
        })
    }
}
