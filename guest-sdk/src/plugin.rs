//! What a plugin implements: one of three traits, and an agent one more if it
//! likes.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::embeddings::{EmbeddingInfo, Kind};
use crate::error::{Error, Result};
use crate::memory::Fact;
use crate::model::{Answer, ModelInfo, Request};
use crate::session::Session;

/// A plugin that answers customers. Register it with
/// [`register_agent!`](crate::register_agent).
///
/// Each turn runs in a new instance of the component: what is to last belongs
/// into the session's memory, not into statics.
pub trait Agent {
    /// What this agent is. May use no part of the host.
    fn describe() -> Description;

    /// Answers one message.
    ///
    /// # Errors
    /// An error ends the turn, not the session; the operator sees its text.
    fn handle(session: &Session, turn: Turn) -> Result<Reply>;
}

/// An agent that can say facts in fewer words. Register it with
/// [`register_summarizer!`](crate::register_summarizer), besides
/// [`register_agent!`](crate::register_agent).
///
/// The host asks it when facts are let go because they are old or too many, and
/// keeps its summaries in their place.
pub trait Summarizer {
    /// At most `most` summaries of facts, which come oldest first. All of the
    /// facts are verified or none is: a summary is as verified as they were, and
    /// must say nothing that they do not say. Facts that no summary stands for
    /// go without one.
    ///
    /// # Errors
    /// After an error the facts stay.
    fn summarize(session: &Session, facts: &[Fact], most: usize) -> Result<Vec<Summary>>;
}

/// A text that stands for facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// From 1 byte to 64 KiB; a sentence or a few.
    pub content: String,
    /// The ids of the facts that it stands for; none means all that were given.
    pub of: Vec<String>,
}

impl Summary {
    /// A summary of all facts that were given.
    pub fn new(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            of: Vec::new(),
        }
    }

    /// The same, of these facts only.
    #[must_use]
    pub fn of<'a>(mut self, facts: impl IntoIterator<Item = &'a Fact>) -> Self {
        self.of = facts.into_iter().map(|fact| fact.id.clone()).collect();
        self
    }
}

/// A plugin that turns texts into vectors. Register it with
/// [`register_embedding_provider!`](crate::register_embedding_provider).
pub trait EmbeddingProvider {
    /// What this provider is. Does not change while it runs.
    ///
    /// # Errors
    /// When it cannot work; the host then does not start.
    fn info(context: &Context) -> Result<EmbeddingInfo>;

    /// One vector for each text, in the order of the texts: as many finite
    /// numbers as `info` says. An empty text is allowed.
    ///
    /// # Errors
    /// When the texts cannot be embedded; the agent is told.
    fn embed(context: &Context, texts: &[String], kind: Kind) -> Result<Vec<Vec<f32>>>;
}

/// A plugin that answers chats. Register it with
/// [`register_model_provider!`](crate::register_model_provider).
pub trait ModelProvider {
    /// What this provider is.
    ///
    /// # Errors
    /// When it cannot work; the host then does not start.
    fn info(context: &Context) -> Result<ModelInfo>;

    /// Answers a conversation, whole or in pieces: see [`Answer`].
    ///
    /// # Errors
    /// When there can be no answer; the agent is told.
    fn chat(context: &Context, request: Request) -> Result<Answer>;
}

/// What an agent is.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// From 1 to 64 of `a-z 0-9 -`.
    pub name: String,
    /// The agent's version.
    pub version: String,
    /// One sentence for the operator.
    pub summary: String,
    /// The JSON Schema that customers' profiles must fit; none means any object.
    pub profile_schema: Option<Value>,
}

impl Description {
    /// An agent of this name and version with any object as a profile.
    pub fn new(
        name: impl Into<String>,
        version: impl Into<String>,
        summary: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            summary: summary.into(),
            profile_schema: None,
        }
    }

    /// The same, with profiles that must fit a type. The schema is made of the
    /// type and its doc comments.
    ///
    /// ```
    /// # use keepsake_sdk::{Description, schemars::{self, JsonSchema}};
    /// #[derive(JsonSchema)]
    /// struct Profile {
    ///     /// What the customer is called.
    ///     name: Option<String>,
    /// }
    ///
    /// let description = Description::new("helper", "0.1.0", "Helps.").profile::<Profile>();
    /// assert!(description.profile_schema.unwrap()["properties"]["name"].is_object());
    /// ```
    #[must_use]
    pub fn profile<T: JsonSchema>(self) -> Self {
        self.profile_schema(schemars::schema_for!(T).to_value())
    }

    /// The same, with a JSON Schema that profiles must fit.
    #[must_use]
    pub fn profile_schema(mut self, schema: Value) -> Self {
        self.profile_schema = Some(schema);
        self
    }
}

/// One message in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// What the customer wrote.
    pub message: String,
    /// What later hosts add.
    pub extras: Option<Value>,
}

impl Turn {
    /// A turn with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            extras: None,
        }
    }
}

/// One reply out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// What the customer reads.
    pub text: String,
    /// Values for the program that reads the reply.
    pub data: Option<Value>,
}

impl Reply {
    /// A reply with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            data: None,
        }
    }

    /// The same, with values for a program.
    ///
    /// # Errors
    /// [`Error::Invalid`] when they cannot be written as JSON.
    pub fn with_data(mut self, data: &impl Serialize) -> Result<Self> {
        self.data = Some(serde_json::to_value(data).map_err(Error::from)?);
        Ok(self)
    }
}

impl<T: Into<String>> From<T> for Reply {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}
