//! A conversation as this model sees it, free of any binding.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Who sets the rules.
    System,
    /// The customer.
    User,
    /// The model.
    Assistant,
    /// A tool's answer.
    Tool,
}

/// One message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The text.
    pub content: String,
    /// What an assistant's message calls.
    pub calls: Vec<Call>,
    /// The call that a tool's message answers.
    pub answers: Option<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Ties the answer to the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// A tool that may be called.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The names of its arguments.
    pub arguments: BTreeSet<String>,
}

/// What is asked of the model.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// Oldest first.
    pub messages: Vec<Message>,
    /// What may be called.
    pub tools: Vec<Tool>,
}

/// What the model answers: a text, or calls whose answers it waits for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Empty when there are calls.
    pub text: String,
    /// What to call.
    pub calls: Vec<Call>,
}

impl Tool {
    /// A tool by its name and the JSON Schema of its arguments.
    #[must_use]
    pub fn new(name: impl Into<String>, parameters: &Value) -> Self {
        let arguments = parameters
            .get("properties")
            .and_then(Value::as_object)
            .map(|properties| properties.keys().cloned().collect())
            .unwrap_or_default();
        Self {
            name: name.into(),
            arguments,
        }
    }

    /// Whether it takes an argument of this name.
    pub(crate) fn takes(&self, argument: &str) -> bool {
        self.arguments.contains(argument)
    }
}

impl Conversation {
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    pub(crate) fn system(&self) -> impl Iterator<Item = &str> {
        self.messages
            .iter()
            .filter(|message| message.role == Role::System)
            .map(|message| message.content.as_str())
    }

    /// The customer's last message and what happened since.
    pub(crate) fn last_turn(&self) -> (&str, &[Message]) {
        match self
            .messages
            .iter()
            .rposition(|message| message.role == Role::User)
        {
            Some(at) => (&self.messages[at].content, &self.messages[at + 1..]),
            None => ("", &[]),
        }
    }
}

/// A call of this turn and its answer, where that has come.
pub(crate) struct Done<'a> {
    pub(crate) call: &'a Call,
    pub(crate) answer: Option<&'a str>,
}

impl Done<'_> {
    /// The answer, unless it tells of a failure.
    pub(crate) fn success(&self) -> Option<&str> {
        self.answer.filter(|answer| !is_failure(answer))
    }

    pub(crate) fn failed(&self) -> bool {
        self.answer.is_some_and(is_failure)
    }
}

/// The calls in these messages with their answers, in order.
pub(crate) fn done(since: &[Message]) -> Vec<Done<'_>> {
    let answer = |id: &str| {
        since
            .iter()
            .find(|message| message.role == Role::Tool && message.answers.as_deref() == Some(id))
            .map(|message| message.content.as_str())
    };
    since
        .iter()
        .flat_map(|message| &message.calls)
        .map(|call| Done {
            call,
            answer: answer(&call.id),
        })
        .collect()
}

fn is_failure(answer: &str) -> bool {
    match serde_json::from_str::<Value>(answer) {
        Ok(Value::Object(members)) => members.get("error").is_some_and(|error| !error.is_null()),
        Ok(_) => false,
        Err(_) => answer.trim_start().to_lowercase().starts_with("error"),
    }
}
