//! Agents as plugins: a fresh instance for each turn, so that nothing leaks
//! from one to the next and an idle session holds none.

use std::sync::Arc;

use keepsake_types::limits;
use keepsake_types::text::printable;
use serde::Serialize;
use serde_json::Value;

use crate::bindings::agent::exports::keepsake::host::agent::Turn;
use crate::bindings::agent::keepsake::host::types::Error;
use crate::bindings::agent::{AgentPlugin as AgentInstance, AgentPluginPre};
use crate::bindings::summarizing::SummarizingPre;
use crate::call::Guest;
use crate::capability::http::HttpAccess;
use crate::capability::memory::profile::ProfileSchema;
use crate::capability::session::{TurnContext, TurnState};
use crate::capability::settings::Settings;
use crate::capability::{code, describe};
use crate::engine::{GuestLimits, PluginEngine};
use crate::error::{PluginError, PluginFailure};
use crate::linker;
use crate::loader::LoadedPlugin;
use crate::report::{PluginKind, PluginReport};
use crate::state::State;

/// What an agent says of itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// From 1 to 64 of `a-z 0-9 -`.
    pub name: String,
    /// The agent's own version.
    pub version: String,
    /// One sentence for the operator.
    pub summary: String,
    /// The JSON Schema that profiles must fit.
    pub profile_schema: Option<Value>,
}

/// One reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What to show.
    pub text: String,
    /// Values for the program that reads the reply.
    pub data: Option<Value>,
}

/// How a turn ended that gave no reply. The session goes on.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The agent answered with an error of its own.
    #[error("agent `{agent}` could not answer: {message}")]
    Agent {
        /// The agent's name.
        agent: String,
        /// The error's stable name, such as `unavailable`.
        code: String,
        /// What the agent said.
        message: String,
    },
    /// The agent trapped, ran out of a limit or broke its contract.
    #[error(transparent)]
    Failed(#[from] PluginFailure),
    /// The agent's reply cannot be used.
    #[error("agent `{agent}` replied wrongly: {reason}")]
    BadReply {
        /// The agent's name.
        agent: String,
        /// What is wrong with the reply.
        reason: String,
    },
}

/// An agent that is a plugin. Cheap to share; holds no instance.
pub struct AgentPlugin {
    guest: Guest,
    hash: String,
    description: Description,
    profile_schema: Option<Arc<ProfileSchema>>,
    pre: AgentPluginPre<State>,
    /// The same component by its second export, where it has that.
    summarizer: Option<SummarizingPre<State>>,
    needs: Needs,
}

/// Which providers an agent can come to need, by what it imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// It embeds texts, or has memory embed what it remembers and recalls.
    pub embeddings: bool,
    /// It asks a model.
    pub model: bool,
}

impl Needs {
    /// The functions of memory that embed something.
    const EMBEDDING: [&str; 5] = [
        "[method]scope.remember",
        "[method]scope.remember-many",
        "[method]scope.recall",
        "[method]scope.snippet",
        "[method]scope.compact",
    ];

    fn of(report: &PluginReport) -> Self {
        let embeds = |function: &&str| report.imports_ours("memory", Some(function));
        Self {
            embeddings: report.imports_ours("embeddings", None)
                || Self::EMBEDDING.iter().any(embeds),
            model: report.imports_ours("model", None),
        }
    }
}

impl AgentPlugin {
    /// Links an agent and asks it to describe itself.
    ///
    /// # Errors
    /// When the plugin is no agent, does not fit this host, fails, or describes
    /// itself in a way that cannot be used.
    pub async fn new(
        engine: &PluginEngine,
        plugin: LoadedPlugin,
        limits: GuestLimits,
        settings: Settings,
        access: HttpAccess,
    ) -> Result<Arc<Self>, PluginError> {
        let plugin = plugin.expect(PluginKind::Agent)?;
        let summarises = plugin.report.exports_ours("summarizer");
        let (pre, summarizer) = linker::link(&plugin, linker::for_agent(engine), |pre| {
            let summarizer = match summarises {
                true => Some(SummarizingPre::new(pre.clone())?),
                false => None,
            };
            Ok((AgentPluginPre::new(pre)?, summarizer))
        })?;
        let guest = Guest::new(plugin.name(), engine, limits, settings, access);
        let description = describe_agent(&guest, &pre).await?;
        let profile_schema = match &description.profile_schema {
            Some(schema) => Some(Arc::new(ProfileSchema::new(schema).map_err(|reason| {
                guest.broken(format!("its profile schema cannot be used: {reason}"))
            })?)),
            None => None,
        };
        Ok(Arc::new(Self {
            guest,
            hash: plugin.report.hash.clone(),
            description,
            profile_schema,
            pre,
            summarizer,
            needs: Needs::of(&plugin.report),
        }))
    }

    /// The plugin's name, from its file.
    pub fn name(&self) -> &str {
        &self.guest.name
    }

    /// BLAKE3 of the component, hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Which providers it can come to need.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// What the agent says of itself.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The schema that the agent wants profiles to fit.
    pub fn profile_schema(&self) -> Option<Arc<ProfileSchema>> {
        self.profile_schema.clone()
    }

    /// Handles one message in a fresh instance.
    ///
    /// # Errors
    /// When the agent answers with an error, fails, or replies with what is no
    /// reply. Dropping the future ends the turn at once.
    pub async fn handle(&self, message: String, context: TurnContext) -> Result<Reply, TurnError> {
        let mut store = self.guest.store(Some(TurnState::new(context)));
        let turn = Turn {
            message,
            extras: None,
        };
        let handled = async {
            let instance: AgentInstance = self.pre.instantiate_async(&mut store).await?;
            instance
                .keepsake_host_agent()
                .call_handle(&mut store, &turn)
                .await
        };
        match self.guest.within(handled).await {
            Ok(Ok(reply)) => self.checked(reply.text, reply.data),
            Ok(Err(error)) => Err(self.refused(&error)),
            Err(error) => Err(self.guest.failure(&store, error).into()),
        }
    }

    /// Whether it says facts in fewer words when they are let go.
    pub fn summarises(&self) -> bool {
        self.summarizer.is_some()
    }

    /// Asks it for at most `most` summaries of facts, in a fresh instance.
    ///
    /// # Errors
    /// When the agent answers with an error, fails, or does not summarise.
    pub(crate) async fn summarise(
        &self,
        facts: Vec<keepsake_storage::Fact>,
        most: usize,
        context: TurnContext,
    ) -> Result<Vec<keepsake_storage::Summary>, TurnError> {
        let Some(pre) = &self.summarizer else {
            return Ok(Vec::new());
        };
        let mut store = self.guest.store(Some(TurnState::new(context)));
        let facts: Vec<_> = facts.into_iter().map(Into::into).collect();
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let asked = async {
            let instance = pre.instantiate_async(&mut store).await?;
            instance
                .keepsake_host_summarizer()
                .call_summarize(&mut store, &facts, most)
                .await
        };
        match self.guest.within(asked).await {
            Ok(Ok(summaries)) => Ok(summaries
                .into_iter()
                .map(|summary| keepsake_storage::Summary {
                    content: summary.content,
                    of: summary.of,
                })
                .collect()),
            Ok(Err(error)) => Err(self.refused(&error)),
            Err(error) => Err(self.guest.failure(&store, error).into()),
        }
    }

    fn refused(&self, error: &Error) -> TurnError {
        TurnError::Agent {
            agent: self.guest.name.clone(),
            code: code(error).to_owned(),
            message: describe(error),
        }
    }

    fn checked(&self, text: String, data: Option<String>) -> Result<Reply, TurnError> {
        let wrong = |reason| TurnError::BadReply {
            agent: self.guest.name.clone(),
            reason,
        };
        let bytes = text.len() + data.as_ref().map_or(0, String::len);
        if bytes > limits::REPLY_BYTES {
            return Err(wrong(format!(
                "it has {bytes} bytes; a reply has at most {} (reply-bytes)",
                limits::REPLY_BYTES
            )));
        }
        let data = match data {
            Some(data) => Some(serde_json::from_str(&data).map_err(|error| {
                wrong(format!(
                    "its data is not JSON ({error}): {}",
                    excerpt(&data)
                ))
            })?),
            None => None,
        };
        Ok(Reply { text, data })
    }
}

async fn describe_agent(
    guest: &Guest,
    pre: &AgentPluginPre<State>,
) -> Result<Description, PluginError> {
    let mut store = guest.store(None);
    let asked = async {
        let instance = pre.instantiate_async(&mut store).await?;
        instance
            .keepsake_host_agent()
            .call_describe(&mut store)
            .await
    };
    let told = match guest.within(asked).await {
        Ok(told) => told,
        Err(error) => return Err(guest.failed(guest.failure(&store, error))),
    };
    let named = !told.name.is_empty()
        && told.name.len() <= 64
        && told
            .name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !named {
        return Err(guest.broken(format!(
            "it describes itself as {:?}; a name has from 1 to 64 of a-z 0-9 -",
            excerpt(&told.name)
        )));
    }
    let profile_schema = match &told.profile_schema {
        Some(schema) => Some(serde_json::from_str(schema).map_err(|error| {
            guest.broken(format!(
                "its profile schema is not JSON ({error}): {}",
                excerpt(schema)
            ))
        })?),
        None => None,
    };
    Ok(Description {
        name: told.name,
        version: excerpt(&told.version),
        summary: excerpt(&told.summary),
        profile_schema,
    })
}

/// A text's beginning, made printable.
fn excerpt(text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(400)];
    let more = if cut.len() < text.len() { "…" } else { "" };
    printable(&format!("{cut}{more}")).replace('\n', " ")
}
