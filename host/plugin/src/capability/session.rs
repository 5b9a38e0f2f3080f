//! `keepsake:host/session`: the facts of a turn and the handles it grants.

use std::sync::Arc;

use keepsake_storage::{Kind, Layer, Memory};
use keepsake_types::{ResourceRef, Timestamp};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use wasmtime::component::{HasData, Resource};

use crate::agent::AgentPlugin;
use crate::bindings::agent::keepsake::host::session::{self, Exchange, SessionInfo};
use crate::bindings::agent::keepsake::host::types::Error;
use crate::capability::memory::Scope;
use crate::capability::memory::profile::ProfileSchema;
use crate::capability::sandbox::{SandboxHandle, SessionSandboxes};
use crate::children::ChildAgents;
use crate::embedder::EmbeddingPlugin;
use crate::ledger::Ledger;
use crate::model_budget::ModelBudget;
use crate::model_provider::ModelPlugin;
use crate::provider::Provider;
use crate::state::State;
use crate::used::Handles;

/// What the session gives an agent for one turn. All of it was decided by the
/// host before the agent's first instruction.
#[derive(Clone)]
pub struct TurnContext {
    /// The session's id.
    pub session: String,
    /// Whose memory the session works on.
    pub resource: ResourceRef,
    /// The name under which the agent runs.
    pub agent: String,
    /// The turn's number in the session, from 0.
    pub turn: u32,
    /// When the turn began.
    pub started_at: Timestamp,
    /// What the channel tells about the message; a JSON object.
    pub channel: Value,
    /// The memory of `resource`.
    pub memory: Memory,
    /// The memories beyond that, which the session was granted: its account's and
    /// its team's.
    pub wider: Vec<(Layer, Memory)>,
    /// The schema that the agent described for profiles.
    pub profile_schema: Option<Arc<ProfileSchema>>,
    /// Where the turn's effects are recorded.
    pub ledger: Ledger,
    /// The embedding provider.
    pub embedder: Option<Provider<EmbeddingPlugin>>,
    /// The model provider.
    pub model: Option<Provider<ModelPlugin>>,
    /// What the session may still ask of it.
    pub model_budget: Arc<ModelBudget>,
    /// The session's sandboxes; none when it was granted none.
    pub sandboxes: Option<Arc<SessionSandboxes>>,
    /// The agent, which summarises facts that it lets go if it can; without it,
    /// compaction is denied.
    pub compactor: Option<Arc<AgentPlugin>>,
    /// The agents that this one may hand work to; none where it may to none.
    pub agents: Option<Arc<dyn ChildAgents>>,
    /// Where emitted chunks go.
    pub emit: UnboundedSender<String>,
}

impl TurnContext {
    fn memory_of(&self, layer: Layer) -> Option<&Memory> {
        let mut wider = self.wider.iter();
        wider.find_map(|(of, memory)| (*of == layer).then_some(memory))
    }
}

/// What an agent's store holds of its turn.
pub(crate) struct TurnState {
    pub(crate) context: TurnContext,
}

impl TurnState {
    pub(crate) fn new(context: TurnContext) -> Self {
        Self { context }
    }
}

pub(crate) struct SessionView<'a> {
    handles: Handles<'a>,
    turn: Option<&'a mut TurnState>,
}

impl<'a> SessionView<'a> {
    pub(crate) fn new(state: &'a mut State) -> Self {
        Self {
            handles: Handles::new(&mut state.table, &mut state.used),
            turn: state.turn.as_mut(),
        }
    }

    /// The turn, or the answer to one who asks outside of a turn.
    fn turn(&mut self) -> Result<&mut TurnState, Error> {
        self.turn
            .as_deref_mut()
            .ok_or_else(|| Error::Denied("a session exists only while a message is handled".into()))
    }
}

impl SessionView<'_> {
    /// A handle on a memory besides the session's own, where it was granted.
    fn open_granted(
        &mut self,
        layer: Layer,
    ) -> wasmtime::Result<Result<Option<Resource<Scope>>, Error>> {
        let scope = match self.turn() {
            Ok(turn) => {
                let memory = turn.context.memory_of(layer).cloned();
                memory.map(|memory| Scope::new(&turn.context, memory))
            }
            Err(error) => return Ok(Err(error)),
        };
        match scope {
            Some(scope) => Ok(self.handles.push(scope)?.map(Some)),
            None => Ok(Ok(None)),
        }
    }
}

impl From<keepsake_storage::Exchange> for Exchange {
    fn from(exchange: keepsake_storage::Exchange) -> Self {
        Self {
            turn: u32::try_from(exchange.turn).unwrap_or(u32::MAX),
            at: exchange.at,
            message: exchange.message,
            reply: exchange.reply,
        }
    }
}

pub(crate) struct HasSession;

impl HasData for HasSession {
    type Data<'a> = SessionView<'a>;
}

impl session::Host for SessionView<'_> {
    async fn info(&mut self) -> wasmtime::Result<SessionInfo> {
        let turn = self.turn.as_deref().ok_or_else(|| {
            wasmtime::Error::msg(
                "`session.info` was called outside of a turn; `describe` may call `log` only",
            )
        })?;
        let context = &turn.context;
        Ok(SessionInfo {
            session: context.session.clone(),
            resource: context.resource.resource.clone(),
            account: context
                .memory_of(Layer::Account)
                .map(|memory| memory.resource().resource.clone()),
            team: context.resource.team.clone(),
            agent: context.agent.clone(),
            turn: context.turn,
            started_at: context.started_at,
            channel: context.channel.to_string(),
        })
    }

    async fn exchanges(
        &mut self,
        before: Option<u32>,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<Exchange>, Error>> {
        let context = match self.turn() {
            Ok(turn) => &turn.context,
            Err(error) => return Ok(Err(error)),
        };
        let before = before.map_or(context.turn, |before| before.min(context.turn));
        let found = context.ledger.exchanges(before, limit as usize).await;
        let found = found.map(|found| found.into_iter().map(Exchange::from).collect());
        Ok(found.map_err(Error::from))
    }

    async fn open_scope(&mut self) -> wasmtime::Result<Result<Resource<Scope>, Error>> {
        let scope = match self.turn() {
            Ok(turn) => Scope::own(&turn.context),
            Err(error) => return Ok(Err(error)),
        };
        self.handles.push(scope)
    }

    async fn open_account_scope(
        &mut self,
    ) -> wasmtime::Result<Result<Option<Resource<Scope>>, Error>> {
        self.open_granted(Layer::Account)
    }

    async fn open_team_scope(
        &mut self,
    ) -> wasmtime::Result<Result<Option<Resource<Scope>>, Error>> {
        self.open_granted(Layer::Team)
    }

    async fn open_sandbox(&mut self) -> wasmtime::Result<Result<Resource<SandboxHandle>, Error>> {
        let (sandboxes, ledger) = match self.turn() {
            Ok(turn) => (turn.context.sandboxes.clone(), turn.context.ledger.clone()),
            Err(error) => return Ok(Err(error)),
        };
        let Some(sandboxes) = sandboxes else {
            let reason = "this session was granted no sandbox";
            let denied = json!({ "what": "sandbox", "reason": reason });
            if let Err(error) = ledger.write(Kind::Denied, denied).await {
                return Ok(Err(error.into()));
            }
            return Ok(Err(Error::Denied(reason.into())));
        };
        match sandboxes.open().await {
            Ok(handle) => self.handles.push(handle),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn emit(&mut self, chunk: String) -> wasmtime::Result<Result<(), Error>> {
        if let Err(error) = self.handles.used.emits(chunk.len()) {
            return Ok(Err(error));
        }
        let turn = match self.turn() {
            Ok(turn) => turn,
            Err(error) => return Ok(Err(error)),
        };
        // Nobody may be listening any more; the turn is cut off by its caller then.
        let _ = turn.context.emit.send(chunk);
        Ok(Ok(()))
    }
}
