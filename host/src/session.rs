//! One conversation of an agent with one customer, from its beginning to its
//! end, turn by turn.

mod children;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use keepsake_plugin::{
    AgentPlugin, EmbeddingPlugin, Ledger, ModelBudget, ModelPlugin, Provider, Reply,
    SessionSandboxes, Summariser, TurnContext, TurnError,
};
use keepsake_rights::Rights;
use keepsake_sandbox::{Network, SandboxBackend, SandboxLimits, SandboxRequest};
use keepsake_storage::{BeginSession, Database, Kind, Layer, Memory, ModelUse, ResumeSession};
use keepsake_types::{ResourceRef, limits, now};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use crate::app::{Permitted, Plugins};
use crate::config::limits::Limits;
use crate::config::{MemoryConfig, SandboxConfig};
use crate::failure::{ExitCode, Failure};
use crate::upkeep::{Task, Upkeep};
pub(crate) use children::Lineage;
use children::TurnChildren;

/// Everything that a session is made of.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) database: Database,
    pub(crate) agent: Arc<AgentPlugin>,
    /// What it may do besides what every agent may, and those that it starts too.
    pub(crate) rights: Rights,
    pub(crate) embedder: Provider<EmbeddingPlugin>,
    pub(crate) model: Provider<ModelPlugin>,
    pub(crate) backend: Option<Arc<dyn SandboxBackend>>,
    pub(crate) sandbox: SandboxConfig,
    pub(crate) limits: Limits,
    pub(crate) upkeep: MemoryConfig,
    /// What agents that this one starts are made of.
    pub(crate) plugins: Plugins,
}

/// A session that was begun and not yet ended.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) resource: ResourceRef,
    /// Whether it was begun by an earlier process.
    pub(crate) resumed: bool,
    parts: Parts,
    memory: Memory,
    /// What the account and the team know.
    wider: Vec<(Layer, Memory)>,
    ledger: Ledger,
    model_budget: Arc<ModelBudget>,
    lineage: Lineage,
    sandboxes: Option<Arc<SessionSandboxes>>,
    turn: u32,
    /// How long its turns took so far, in this program.
    spent: Duration,
    upkeep: Option<Upkeep>,
    /// Facts that were embedded beside the turns of an agent that was replaced.
    embedded: u64,
    /// Ends what programs left that were killed, beside the first turn.
    abandoned: JoinHandle<()>,
}

/// How one message was answered.
pub(crate) struct TurnReport {
    pub(crate) turn: u32,
    pub(crate) outcome: Result<Reply, TurnFailure>,
    /// The first ledger entry of the turn.
    pub(crate) first_entry: u64,
}

/// Why a message got no reply.
pub(crate) enum TurnFailure {
    /// The agent failed or refused.
    Agent(TurnError),
    /// Someone pressed Ctrl-C.
    Interrupted,
    /// The session's turns took as long as they may together.
    SessionOver(Duration),
}

impl TurnFailure {
    /// A stable name for programs.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Agent(TurnError::Agent { code, .. }) => code,
            Self::Agent(TurnError::Failed(failure)) => failure.cause.code(),
            Self::Agent(TurnError::BadReply { .. }) => "bad-reply",
            Self::Interrupted => "interrupted",
            Self::SessionOver(_) => "session-seconds",
        }
    }

    /// What to tell the one at the terminal.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Agent(error) => error.to_string(),
            Self::Interrupted => "the turn was interrupted".into(),
            Self::SessionOver(limit) => format!(
                "the turns of this session took the {} s that they may take together: begin a new session, or raise `limits.session-seconds`",
                limit.as_secs_f64()
            ),
        }
    }

    /// What a plugin author wants to see besides.
    pub(crate) fn details(&self) -> String {
        match self {
            Self::Agent(TurnError::Failed(failure)) => failure.details(),
            _ => String::new(),
        }
    }
}

impl Session {
    /// Begins a session, or goes on with the one of this id.
    pub(crate) async fn open(
        parts: Parts,
        resource: ResourceRef,
        account: Option<String>,
        id: Option<String>,
        lineage: Lineage,
    ) -> Result<Self, Failure> {
        let agent = parts.agent.description().name.clone();
        let database = &parts.database;
        let known = match &id {
            Some(id) => database.session(id).await?.is_some(),
            None => false,
        };
        let hash = Some(parts.agent.hash().to_owned());
        let session = match id {
            Some(id) if known => {
                database
                    .resume_session(ResumeSession {
                        id,
                        resource: resource.clone(),
                        account,
                        agent,
                        agent_hash: hash,
                    })
                    .await?
            }
            id => {
                database
                    .begin_session(BeginSession {
                        id,
                        resource: resource.clone(),
                        account,
                        agent,
                        agent_hash: hash,
                        plugin: Some(parts.agent.name().to_owned()),
                        parent: lineage.parent.as_ref().map(|parent| parent.session.clone()),
                    })
                    .await?
            }
        };
        let memory = database.memory(&resource, &session.id).await?;
        let wider = database.wider_memories(&session.id).await?;
        let ledger = Ledger::new(database.clone(), &session.id);
        let used = match known {
            true => database.model_use(&session.id).await?,
            false => ModelUse::default(),
        };
        let model_budget = match &lineage.parent {
            Some(parent) => Arc::clone(&parent.model_budget),
            None => Arc::new(ModelBudget::new(parts.limits.model, used)),
        };
        let sandboxes = parts.backend.clone().map(|backend| {
            let request = sandbox_request(&parts.sandbox, &session.id, &resource);
            let sandboxes = SessionSandboxes::new(backend, request, ledger.clone());
            Arc::new(sandboxes.at_most(parts.limits.sandboxes))
        });
        let abandoned = tokio::spawn(end_abandoned(database.clone()));
        let mut session = Self {
            id: session.id,
            resource,
            resumed: known,
            parts,
            memory,
            wider,
            ledger,
            model_budget,
            lineage,
            sandboxes,
            turn: u32::try_from(session.turns).unwrap_or(u32::MAX),
            spent: Duration::ZERO,
            upkeep: None,
            embedded: 0,
            abandoned,
        };
        session.upkeep = Some(Upkeep::begin(session.upkeep_task()));
        Ok(session)
    }

    /// The id of the session's sandbox, if one was started.
    pub(crate) fn sandbox(&self) -> Option<String> {
        self.sandboxes.as_ref().and_then(|sandboxes| sandboxes.id())
    }

    /// The name that the session's agent gives itself.
    pub(crate) fn agent_name(&self) -> &str {
        &self.parts.agent.description().name
    }

    /// Has another build of the agent handle the turns from now on. The ledger
    /// tells which one.
    ///
    /// # Errors
    /// When it is an agent of another name, or the ledger cannot be written.
    pub(crate) async fn replace_agent(&mut self, permitted: Permitted) -> Result<(), Failure> {
        let Permitted { agent, rights } = permitted;
        self.parts
            .database
            .resume_session(ResumeSession {
                id: self.id.clone(),
                resource: self.resource.clone(),
                account: None,
                agent: agent.description().name.clone(),
                agent_hash: Some(agent.hash().to_owned()),
            })
            .await?;
        self.parts.agent = agent;
        self.parts.rights = rights;
        // It would ask the old one for summaries.
        if let Some(upkeep) = self.upkeep.take() {
            self.embedded += upkeep.end(true).await;
        }
        self.upkeep = Some(Upkeep::begin(self.upkeep_task()));
        Ok(())
    }

    /// Handles one message. `cancelled` cuts the turn off when it is ready.
    ///
    /// An agent's failure is part of the report: the session goes on. An error
    /// of this function means that the ledger cannot be written.
    pub(crate) async fn turn(
        &mut self,
        message: String,
        emit: UnboundedSender<String>,
        cancelled: impl Future<Output = ()>,
    ) -> Result<TurnReport, Failure> {
        if message.len() > limits::MESSAGE_BYTES {
            return Err(Failure::new(
                ExitCode::Usage,
                format!(
                    "the message has {} bytes; at most {} are taken (message-bytes)",
                    message.len(),
                    limits::MESSAGE_BYTES
                ),
            ));
        }
        let turn = self.turn;
        self.turn = self.turn.saturating_add(1);
        let started = std::time::Instant::now();
        if let Some(upkeep) = &self.upkeep {
            upkeep.turn_begins();
        }
        let first_entry = self
            .ledger
            .write_without_waiting(
                Kind::TurnStarted,
                json!({ "turn": turn, "message": message }),
            )
            .await?
            .index;
        let session = self.parts.limits.session;
        self.lineage.message_begins();
        let children = TurnChildren::of(self);
        let mut context = self.context(turn, emit);
        context.agents = Some(Arc::<TurnChildren>::clone(&children));
        let outcome = tokio::select! {
            // Nothing runs in a session whose time is over.
            biased;
            () = std::future::ready(()), if self.spent >= session => {
                Err(TurnFailure::SessionOver(session))
            }
            answer = self.parts.agent.handle(message, context) => {
                answer.map_err(TurnFailure::Agent)
            }
            () = cancelled => Err(TurnFailure::Interrupted),
            () = tokio::time::sleep(session.saturating_sub(self.spent)) => {
                Err(TurnFailure::SessionOver(session))
            }
        };
        self.spent = self.spent.saturating_add(started.elapsed());
        // With the agent's store its handles went, and what it started ends.
        children.ended().await;
        let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (kind, payload) = match &outcome {
            Ok(reply) => (
                Kind::TurnCompleted,
                json!({
                    "turn": turn,
                    "reply": reply.text,
                    "data": reply.data,
                    "milliseconds": milliseconds,
                }),
            ),
            Err(failure) => (
                Kind::TurnFailed,
                json!({
                    "turn": turn,
                    "code": failure.code(),
                    "error": failure.message(),
                    "details": failure.details(),
                    "milliseconds": milliseconds,
                }),
            ),
        };
        self.ledger.write(kind, payload).await?;
        if let Some(upkeep) = &self.upkeep {
            upkeep.turn_ended();
        }
        Ok(TurnReport {
            turn,
            outcome,
            first_entry,
        })
    }

    /// The account that the session was granted, by its name.
    fn account(&self) -> Option<String> {
        let mut wider = self.wider.iter();
        wider.find_map(|(layer, memory)| {
            (*layer == Layer::Account).then(|| memory.resource().resource.clone())
        })
    }

    /// What is to be done for the memory beside the turns.
    fn upkeep_task(&self) -> Task {
        let (nobody, _) = tokio::sync::mpsc::unbounded_channel();
        let context = self.context(self.turn, nobody);
        Task {
            memory: self.memory.for_new_turn(),
            ledger: self.ledger.clone(),
            embedder: (self.parts.agent.needs().embeddings).then(|| self.parts.embedder.clone()),
            summariser: Summariser::new(&self.parts.agent, &context),
            config: self.parts.upkeep,
        }
    }

    fn context(&self, turn: u32, emit: UnboundedSender<String>) -> TurnContext {
        TurnContext {
            session: self.id.clone(),
            resource: self.resource.clone(),
            agent: self.parts.agent.description().name.clone(),
            turn,
            started_at: now(),
            channel: Value::Object(serde_json::Map::new()),
            memory: self.memory.for_new_turn(),
            wider: self
                .wider
                .iter()
                .map(|(layer, memory)| (*layer, memory.for_new_turn()))
                .collect(),
            profile_schema: self.parts.agent.profile_schema(),
            ledger: self.ledger.clone(),
            embedder: Some(self.parts.embedder.clone()),
            model: Some(self.parts.model.clone()),
            model_budget: Arc::clone(&self.model_budget),
            sandboxes: self.sandboxes.clone(),
            compactor: Some(Arc::clone(&self.parts.agent)),
            agents: None,
            emit,
        }
    }

    /// Ends the session: finishes what is done for its memory, closes its
    /// sandboxes and records the end; with `at_once`, what is under way for the
    /// memory is broken off. Answers how many facts were embedded beside the turns.
    pub(crate) async fn end(mut self, at_once: bool) -> Result<u64, Failure> {
        let embedded = match self.upkeep.take() {
            Some(upkeep) => self.embedded + upkeep.end(at_once).await,
            None => self.embedded,
        };
        // A short run is not to leave them to the next one, which may be as short.
        if let Err(error) = self.abandoned.await {
            tracing::warn!("abandoned sessions were not ended: {error}");
        }
        if let Some(sandboxes) = &self.sandboxes {
            sandboxes.close_all().await;
        }
        self.parts
            .database
            .end_session(&self.id, json!({ "turns": self.turn }))
            .await?;
        Ok(embedded)
    }
}

/// Ends the sessions that programs left which were killed.
async fn end_abandoned(database: Database) {
    match database.end_abandoned_sessions().await {
        Ok(ended) if ended.is_empty() => {}
        Ok(ended) => tracing::warn!(
            "sessions of programs that did not end by themselves were ended: {}",
            ended.join(", ")
        ),
        Err(error) => tracing::warn!("abandoned sessions were not ended: {error}"),
    }
}

fn sandbox_request(
    config: &SandboxConfig,
    session: &str,
    resource: &ResourceRef,
) -> SandboxRequest {
    SandboxRequest {
        labels: [
            ("session".to_owned(), session.to_owned()),
            ("resource".to_owned(), resource.resource.clone()),
        ]
        .into(),
        limits: SandboxLimits {
            wall_time: config.command_timeout,
            ..SandboxLimits::default()
        },
        network: if config.network {
            Network::Full
        } else {
            Network::None
        },
        ..SandboxRequest::default()
    }
}
