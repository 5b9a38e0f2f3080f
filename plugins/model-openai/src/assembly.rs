//! An answer while its pieces come in.

use keepsake_sdk::Result;
use keepsake_sdk::http::chat::AnswerRoom;
use keepsake_sdk::model::{Delta, FinishReason, Message, Response, Usage};
use serde_json::json;

use crate::calls::Calls;
use crate::wire::{self, Choice, Piece, Said};

/// What has come so far.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    text: String,
    calls: Calls,
    finish: Option<String>,
    usage: Option<Usage>,
    model: Option<String>,
    room: AnswerRoom,
}

impl Assembly {
    /// Takes a piece and puts what there is to tell of it behind `deltas`.
    ///
    /// # Errors
    /// When the answer becomes too large.
    pub(crate) fn take(&mut self, piece: Piece, deltas: &mut impl Extend<Delta>) -> Result<()> {
        if let Some(model) = piece.model.filter(|model| !model.is_empty()) {
            self.model = Some(model);
        }
        // Some servers count in every piece, others only in one without choices.
        if let Some(usage) = piece.usage.as_ref().and_then(counted) {
            self.usage = Some(usage);
        }
        // The plugin asks for one choice; what is numbered otherwise is none.
        let first = |choice: &Choice| choice.index.unwrap_or(0) == 0;
        for choice in piece.choices.unwrap_or_default().into_iter().filter(first) {
            for said in choice.delta.into_iter().chain(choice.message) {
                self.take_said(said, deltas)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish = Some(reason);
            }
        }
        Ok(())
    }

    fn take_said(&mut self, said: Said, deltas: &mut impl Extend<Delta>) -> Result<()> {
        for thought in said.reasoning_content.into_iter().chain(said.reasoning) {
            if !thought.is_empty() {
                self.room.take(thought.len())?;
                deltas.extend([Delta::Other(json!({ "reasoning": thought }).to_string())]);
            }
        }
        let content = said.content.map(wire::Content::into_text);
        for text in content.into_iter().chain(said.refusal) {
            if !text.is_empty() {
                self.room.take(text.len())?;
                self.text.push_str(&text);
                deltas.extend([Delta::Text(text)]);
            }
        }
        let older = said.function_call.map(|function| wire::Call {
            index: Some(0),
            id: None,
            function: Some(function),
        });
        for call in said.tool_calls.unwrap_or_default().into_iter().chain(older) {
            let arguments = call.function.as_ref().map(wire::Function::arguments_text);
            self.room
                .take(arguments.map_or(0, |arguments| arguments.len()))?;
            deltas.extend(self.calls.take(&call)?.map(Delta::ToolCall));
        }
        Ok(())
    }

    /// Whether the server said why the answer ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether nothing of an answer has come.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty() && self.finish.is_none()
    }

    /// The whole answer, by `model` where the server does not say by which.
    ///
    /// # Errors
    /// When a call has no name.
    pub(crate) fn response(&self, model: &str) -> Result<Response> {
        let calls = self.calls.whole()?;
        let finish_reason = match self.finish.as_deref() {
            // Some servers say `stop` where the model waits for its tools.
            None | Some("stop" | "tool_calls" | "function_call") if !calls.is_empty() => {
                FinishReason::ToolCalls
            }
            None | Some("stop" | "tool_calls" | "function_call") => FinishReason::Stop,
            Some("length") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            Some(other) => FinishReason::Other(other.to_owned()),
        };
        Ok(Response {
            message: Message {
                tool_calls: calls,
                ..Message::assistant(self.text.clone())
            },
            finish_reason,
            usage: self.usage,
            model: self.model.clone().unwrap_or_else(|| model.to_owned()),
        })
    }
}

fn counted(usage: &wire::Usage) -> Option<Usage> {
    match (usage.prompt_tokens, usage.completion_tokens) {
        (None, None) => None,
        (input, output) => Some(Usage {
            input_tokens: input.unwrap_or(0),
            output_tokens: output.unwrap_or(0),
        }),
    }
}
