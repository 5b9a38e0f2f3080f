//! The JSON of `/chat/completions`, as loosely as servers keep to it.

use serde::Deserialize;
use serde_json::Value;

/// One event of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Piece {
    pub(crate) model: Option<String>,
    pub(crate) choices: Option<Vec<Choice>>,
    pub(crate) usage: Option<Usage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Choice {
    pub(crate) index: Option<u64>,
    /// In a stream.
    pub(crate) delta: Option<Said>,
    /// In a whole answer.
    pub(crate) message: Option<Said>,
    pub(crate) finish_reason: Option<String>,
}

/// What the model says, or the next part of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Said {
    pub(crate) content: Option<Content>,
    /// In place of `content` where the model declines.
    pub(crate) refusal: Option<String>,
    /// What the model thinks before it speaks, by either name.
    pub(crate) reasoning_content: Option<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) tool_calls: Option<Vec<Call>>,
    /// What came before `tool_calls`.
    pub(crate) function_call: Option<Function>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
pub(crate) struct Part {
    /// None in parts that are no text.
    pub(crate) text: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Call {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<String>,
    pub(crate) function: Option<Function>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Function {
    pub(crate) name: Option<String>,
    /// Text, by the rule; an object from some servers.
    pub(crate) arguments: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    pub(crate) prompt_tokens: Option<u64>,
    pub(crate) completion_tokens: Option<u64>,
}

impl Content {
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

impl Function {
    /// The arguments, or the next part of them, as text.
    pub(crate) fn arguments_text(&self) -> String {
        match &self.arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }
}

/// Whether what a server sent in place of a piece is an error.
pub(crate) fn is_error(value: &Value) -> bool {
    let says = |name: &str| value.get(name).is_some_and(|said| !said.is_null());
    says("error")
        || value["object"] == "error"
        || value.get("choices").is_none() && (says("detail") || says("message"))
}
