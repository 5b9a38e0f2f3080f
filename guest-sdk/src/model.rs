//! Chats with a language model, for agents that ask and providers that answer.

use std::collections::VecDeque;

use serde_json::Value;

pub use crate::bindings::agent_plugin::keepsake::host::model::{
    Delta, FinishReason, Message, ModelInfo, Request, Response, Role, ToolCall, ToolCallDelta,
    ToolDefinition, Usage,
};
use crate::error::Result;
use crate::host::CompletionHost;

impl Message {
    fn of(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
        }
    }

    /// Rules for the model.
    pub fn system(content: impl Into<String>) -> Self {
        Self::of(Role::System, content)
    }

    /// What the customer said.
    pub fn user(content: impl Into<String>) -> Self {
        Self::of(Role::User, content)
    }

    /// What the model said.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::of(Role::Assistant, content)
    }

    /// A tool's answer to a call.
    pub fn tool(call: &ToolCall, content: impl Into<String>) -> Self {
        Self {
            tool_call_id: Some(call.id.clone()),
            ..Self::of(Role::Tool, content)
        }
    }
}

impl Request {
    /// A request with these messages and nothing else.
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            messages,
            tools: Vec::new(),
            temperature: None,
            max_tokens: None,
            stop: Vec::new(),
            extras: None,
        }
    }

    /// The same with tools that the model may ask for.
    #[must_use]
    pub fn tools(mut self, tools: Vec<ToolDefinition>) -> Self {
        self.tools = tools;
        self
    }

    /// How freely the model chooses.
    #[must_use]
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// At most so many tokens of answer.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// A text that ends the answer. May be called again for more.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }

    /// Options that only the provider in use knows; a JSON object.
    #[must_use]
    pub fn extras(mut self, extras: &Value) -> Self {
        self.extras = Some(extras.to_string());
        self
    }
}

impl ModelInfo {
    /// A model of this name.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            context_tokens: None,
            extras: None,
        }
    }
}

impl Response {
    /// A complete answer with this text.
    pub fn text(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            message: Message::assistant(text),
            finish_reason: FinishReason::Stop,
            usage: None,
            model: model.into(),
        }
    }

    /// An answer that waits for tools.
    pub fn calls(model: impl Into<String>, calls: Vec<ToolCall>) -> Self {
        Self {
            message: Message {
                tool_calls: calls,
                ..Message::assistant("")
            },
            finish_reason: FinishReason::ToolCalls,
            usage: None,
            model: model.into(),
        }
    }
}

impl ToolCall {
    /// A call with these arguments.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.to_string(),
        }
    }
}

/// An answer on its way, as an agent receives it. Dropping it ends the request.
pub struct Completion {
    host: Box<dyn CompletionHost>,
}

impl Completion {
    pub(crate) fn new(host: Box<dyn CompletionHost>) -> Self {
        Self { host }
    }

    /// The next piece, waiting for it; none at the end.
    ///
    /// # Errors
    /// When the answer broke off.
    pub fn next(&self) -> Result<Option<Delta>> {
        self.host.next()
    }

    /// The whole answer, waiting for what has not come yet.
    ///
    /// # Errors
    /// When the answer broke off.
    pub fn finish(&self) -> Result<Response> {
        self.host.finish()
    }

    /// The whole answer, its text given to `say` piece by piece as it comes:
    /// all pieces together are the text of the answer.
    ///
    /// ```
    /// # use keepsake_sdk::{Session, model::{Message, Request}};
    /// # fn example(session: &Session) -> keepsake_sdk::Result<()> {
    /// let request = Request::new(vec![Message::user("Hello!")]);
    /// let response = session.chat(&request)?.finish_with(|piece| session.emit(piece))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the answer broke off, and those of `say`.
    pub fn finish_with(&self, mut say: impl FnMut(&str) -> Result<()>) -> Result<Response> {
        let mut said = String::new();
        while let Some(delta) = self.next()? {
            if let Delta::Text(piece) = delta
                && !piece.is_empty()
            {
                say(&piece)?;
                said.push_str(&piece);
            }
        }
        let response = self.finish()?;
        // Some providers stream nothing, or not to the end.
        if let Some(rest) = response.message.content.strip_prefix(said.as_str())
            && !rest.is_empty()
        {
            say(rest)?;
        }
        Ok(response)
    }
}

/// An answer that a provider makes piece by piece.
pub trait AnswerStream {
    /// The next piece; none at the end.
    ///
    /// # Errors
    /// When the answer breaks off.
    fn next(&mut self) -> Result<Option<Delta>>;

    /// The whole answer, after what has not been asked for yet.
    ///
    /// # Errors
    /// When the answer breaks off.
    fn finish(&mut self) -> Result<Response>;
}

/// A provider's answer: whole, in pieces that are known, or as a stream.
pub struct Answer(Box<dyn AnswerStream>);

impl Answer {
    /// An answer that is complete, given in one piece of text and one piece a
    /// tool call.
    pub fn whole(response: Response) -> Self {
        let text = Some(response.message.content.clone()).filter(|text| !text.is_empty());
        Self::pieces(text.into_iter().collect(), response)
    }

    /// An answer that is complete, its text given in these pieces.
    pub fn pieces(texts: Vec<String>, response: Response) -> Self {
        let texts = texts.into_iter().map(Delta::Text);
        let calls = response.message.tool_calls.iter().enumerate();
        let calls = calls.map(|(index, call)| {
            Delta::ToolCall(ToolCallDelta {
                index: u32::try_from(index).unwrap_or(u32::MAX),
                id: Some(call.id.clone()),
                name: Some(call.name.clone()),
                arguments: call.arguments.clone(),
            })
        });
        Self(Box::new(Known {
            deltas: texts.chain(calls).collect(),
            response,
        }))
    }

    /// An answer that comes into being.
    pub fn stream(stream: impl AnswerStream + 'static) -> Self {
        Self(Box::new(stream))
    }

    /// The next piece; none at the end.
    ///
    /// # Errors
    /// When the answer breaks off.
    pub fn next_delta(&mut self) -> Result<Option<Delta>> {
        self.0.next()
    }

    /// The whole answer.
    ///
    /// # Errors
    /// When the answer breaks off.
    pub fn finish(&mut self) -> Result<Response> {
        self.0.finish()
    }
}

struct Known {
    deltas: VecDeque<Delta>,
    response: Response,
}

impl AnswerStream for Known {
    fn next(&mut self) -> Result<Option<Delta>> {
        Ok(self.deltas.pop_front())
    }

    fn finish(&mut self) -> Result<Response> {
        self.deltas.clear();
        Ok(self.response.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_an_answer_are_its_text_and_its_calls() {
        let mut response = Response::calls("m", vec![ToolCall::new("1", "look", &Value::Null)]);
        response.message.content = "one two".into();
        let mut answer = Answer::pieces(vec!["one ".into(), "two".into()], response.clone());
        let mut text = String::new();
        let mut calls = 0;
        while let Some(delta) = answer.next_delta().unwrap() {
            match delta {
                Delta::Text(piece) => text.push_str(&piece),
                Delta::ToolCall(_) => calls += 1,
                Delta::Other(_) => panic!("there is none"),
            }
        }
        assert_eq!((text.as_str(), calls), ("one two", 1));
        assert_eq!(answer.finish().unwrap(), response);
        assert_eq!(
            Answer::whole(Response::text("m", "")).next_delta().unwrap(),
            None
        );
    }
}
