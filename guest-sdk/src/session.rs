//! The conversation that an agent is in, and the way to everything else.

use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use crate::bindings::agent_plugin::keepsake::host::session::{Exchange, SessionInfo};
use crate::children::Child;
use crate::context;
use crate::conversation::{self, Conversation};
use crate::embeddings::{EmbeddingInfo, Kind};
use crate::error::Result;
use crate::host::Host;
use crate::log::Level;
use crate::memory::Scope;
use crate::model::{Completion, ModelInfo, Request, Response};
use crate::sandbox::Sandbox;
use crate::wit;

impl SessionInfo {
    /// What the channel tells about the message, as a type; a [`Value`] takes
    /// everything.
    ///
    /// # Errors
    /// [`Invalid`](crate::Error::Invalid) when it is not a `T`.
    pub fn channel_as<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.channel).map_err(|error| {
            crate::Error::Invalid(format!(
                "what the channel tells is not what is wanted: {error}"
            ))
        })
    }
}

/// One turn of a conversation with one customer. Who the customer is comes
/// from the host; an agent can not ask for another one.
#[derive(Clone)]
pub struct Session {
    pub(crate) host: Rc<dyn Host>,
}

impl Session {
    pub(crate) fn new(host: Rc<dyn Host>) -> Self {
        Self { host }
    }

    /// A client for the servers that the operator granted this plugin. The host
    /// adds the secrets that are for them; none of them is ever here.
    #[cfg(feature = "http")]
    pub fn http(&self) -> crate::http::Client {
        #[cfg(target_arch = "wasm32")]
        let transport = Rc::new(crate::http::Outgoing);
        #[cfg(not(target_arch = "wasm32"))]
        let transport = self.host.transport();
        crate::http::Client::new(transport)
    }

    /// The facts of this turn: ids, the turn's number, the time.
    pub fn info(&self) -> SessionInfo {
        self.host.info()
    }

    /// What was said in this session before the turn `before`, or before this
    /// one, newest first; at most `limit` exchanges.
    ///
    /// # Errors
    /// [`Invalid`](crate::Error::Invalid) for a limit of 0,
    /// [`Limit`](crate::Error::Limit) `page-items` past 1,000.
    pub fn exchanges(&self, before: Option<u32>, limit: u32) -> Result<Vec<Exchange>> {
        self.host.exchanges(before, limit)
    }

    /// What was said before in this session, in at most so many bytes: the
    /// newest exchanges word for word, and a summary of the older ones, which the
    /// model is asked for once in a while and which is kept for this session in
    /// the customer's working memory. Nobody sees it in snippets.
    ///
    /// # Errors
    /// When the record or the memory cannot be reached.
    pub fn conversation(&self, room: usize) -> Result<Conversation> {
        conversation::read(self, room)
    }

    /// The memory of this session's customer.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn scope(&self) -> Result<Scope> {
        self.host.open_scope().map(Scope::new)
    }

    /// The memory of the account that this session was granted, which all of the
    /// account's customers have in common; none when it was granted none.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn account_scope(&self) -> Result<Option<Scope>> {
        Ok(self.host.open_account_scope()?.map(Scope::new))
    }

    /// The memory of the team that this session was granted; none when it was
    /// granted no team.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn team_scope(&self) -> Result<Option<Scope>> {
        Ok(self.host.open_team_scope()?.map(Scope::new))
    }

    /// This session's sandbox, which the first call starts.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Error::Unavailable) where none can be had,
    /// [`Denied`](crate::Error::Denied) where the session was granted none.
    pub fn sandbox(&self) -> Result<Sandbox> {
        self.host.open_sandbox().map(Sandbox::new)
    }

    /// Shows a piece of the reply to the customer at once. All pieces together
    /// are the beginning of the reply's text.
    ///
    /// # Errors
    /// [`Limit`](crate::Error::Limit) `emitted-bytes` past 1 MiB a turn.
    pub fn emit(&self, chunk: &str) -> Result<()> {
        self.host.emit(chunk)
    }

    /// The operator's value for a setting; none when there is none.
    ///
    /// # Errors
    /// [`Invalid`](crate::Error::Invalid) that names the setting when the value
    /// is not a `T`.
    pub fn setting<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        context::setting(&*self.host, key)
    }

    /// Writes a line for the operator. Customers never see it.
    pub fn log(&self, level: Level, message: &str) {
        self.host.log(level, message, None);
    }

    /// Writes a line with further values.
    pub fn log_with(&self, level: Level, message: &str, fields: &impl Serialize) {
        context::log_with(&*self.host, level, message, fields);
    }

    /// What the model provider in use is.
    ///
    /// # Errors
    /// When there is no model.
    pub fn model_info(&self) -> Result<ModelInfo> {
        self.host.model_info()
    }

    /// Asks the model, and gives the answer piece by piece.
    ///
    /// # Errors
    /// What the provider answers, or [`Invalid`](crate::Error::Invalid) for a
    /// request that no provider could answer.
    pub fn chat(&self, request: &Request) -> Result<Completion> {
        self.host.chat(request).map(Completion::new)
    }

    /// Asks the model, and waits for the whole answer.
    ///
    /// # Errors
    /// As [`Session::chat`].
    pub fn ask(&self, request: &Request) -> Result<Response> {
        self.chat(request)?.finish()
    }

    /// What the embedding provider in use is.
    ///
    /// # Errors
    /// When there is no provider.
    pub fn embedding_info(&self) -> Result<EmbeddingInfo> {
        self.host.embedding_info()
    }

    /// One vector for each text. Memory embeds by itself; this is for what an
    /// agent wants to compare besides.
    ///
    /// # Errors
    /// What the provider answers.
    pub fn embed(&self, texts: &[String], kind: Kind) -> Result<Vec<Vec<f32>>> {
        self.host.embed(texts, kind)
    }

    /// Hands work to another agent, by the name that the host knows it under.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) where the host runs no
    /// children, [`Denied`](crate::Error::Denied) without the right to it.
    pub fn spawn(
        &self,
        agent: &str,
        fork_sandbox: bool,
        settings: Option<&Value>,
    ) -> Result<Child> {
        let options = wit::agents::SpawnOptions {
            fork_sandbox,
            settings: settings.map(Value::to_string),
            extras: None,
        };
        self.host.spawn(agent, &options).map(Child::new)
    }
}
