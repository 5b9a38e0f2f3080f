//! Sessions that a session starts for an agent's agents: each on a fork of the
//! memory, in a task of its own that nothing outlives.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use keepsake_plugin::{
    ChildAgents, ChildEnded, ChildRequest, ChildTold, Ledger, ModelBudget, SpawnRefused,
    SpawnedChild,
};
use keepsake_storage::{Branch, Kind, ModelUse};
use keepsake_types::text::printable;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::{Parts, Session};
use crate::app::Permitted;
use crate::config::MemoryConfig;
use crate::failure::{ExitCode, Failure};

/// Where a session stands among those that came of one message.
#[derive(Clone)]
pub(crate) struct Lineage {
    /// The session that started this one, how far it is from the first, and what
    /// the first has left to ask of models; none for the first.
    pub(super) parent: Option<Parent>,
    /// How many agents the message has started, whoever did.
    pub(super) started: Arc<AtomicU64>,
}

#[derive(Clone)]
pub(super) struct Parent {
    pub(super) session: String,
    pub(super) depth: u64,
    pub(super) model_budget: Arc<ModelBudget>,
}

impl Lineage {
    /// That of a session that no agent started.
    pub(crate) fn first() -> Self {
        Self {
            parent: None,
            started: Arc::default(),
        }
    }

    /// A message came in from outside: it may start agents anew.
    pub(super) fn message_begins(&self) {
        if self.parent.is_none() {
            self.started.store(0, Ordering::Relaxed);
        }
    }

    fn depth(&self) -> u64 {
        self.parent.as_ref().map_or(0, |parent| parent.depth)
    }
}

/// The agents that one turn starts.
pub(super) struct TurnChildren {
    parts: Parts,
    session: String,
    account: Option<String>,
    ledger: Ledger,
    model_budget: Arc<ModelBudget>,
    lineage: Lineage,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl TurnChildren {
    pub(super) fn of(session: &Session) -> Arc<Self> {
        Arc::new(Self {
            parts: session.parts.clone(),
            session: session.id.clone(),
            account: session.account(),
            ledger: session.ledger.clone(),
            model_budget: Arc::clone(&session.model_budget),
            lineage: session.lineage.clone(),
            tasks: Mutex::default(),
        })
    }

    /// Waits until all of them have ended, which they do once their handles are gone.
    pub(super) async fn ended(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            if let Err(error) = task.await {
                tracing::warn!("an agent's agent was ended from within: {error}");
            }
        }
    }

    /// Takes one agent out of what the message may start.
    fn take(&self) -> Result<(), SpawnRefused> {
        let limits = self.parts.limits.agents;
        if self.lineage.depth() >= limits.depth {
            return Err(SpawnRefused::Limit {
                name: "agent-depth",
                message: format!(
                    "agents may stand {} deep below the first: do without, or raise `limits.agent-depth` in the host's configuration",
                    limits.depth
                ),
            });
        }
        let taken =
            self.lineage
                .started
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |started| {
                    (started < limits.children).then_some(started + 1)
                });
        match taken {
            Ok(_) => Ok(()),
            Err(_) => Err(SpawnRefused::Limit {
                name: "agent-children",
                message: format!(
                    "one message may start {} agents: do without, or raise `limits.agent-children` in the host's configuration",
                    limits.children
                ),
            }),
        }
    }

    /// Tells the operator, and nobody else, what would grant it. Which agents there
    /// are is told to no one: the agent may read what its session recorded.
    async fn denied(&self, agent: &str) -> SpawnRefused {
        let parent = self.parts.agent.name();
        let asked = printable(&agent[..agent.floor_char_boundary(64)]);
        let reason = format!("agent `{parent}` may not start an agent of this name");
        let allow = format!("[agents.{asked:?}]\nplugin = \"FILE.wasm\"\nparents = [{parent:?}]");
        tracing::warn!("{reason}: `{asked}`; to grant it, write into host.toml:\n{allow}");
        let denied = json!({
            "what": "agents.spawn",
            "agent": asked,
            "reason": reason,
            "allow": allow,
        });
        match self.ledger.write(Kind::Denied, denied).await {
            Ok(_) => SpawnRefused::Denied(reason),
            Err(error) => error.into(),
        }
    }

    /// Begins the child's session on the fork.
    async fn begin(&self, request: &ChildRequest, branch: &Branch) -> Result<Session, Failure> {
        let config = &self.parts.plugins.config().agents[&request.agent];
        let plugins = &self.parts.plugins;
        let Permitted { agent, rights } = plugins
            .child_agent(&config.plugin, request.settings.clone(), &self.parts.rights)
            .await?;
        let mut sandbox = self.parts.sandbox.clone();
        sandbox.network &= plugins.config().sandbox.network || rights.sandbox_network;
        if request.fork_sandbox.is_some() && sandbox.network != self.parts.sandbox.network {
            return Err(Failure::new(
                ExitCode::Denied,
                format!(
                    "{} may not reach the network, which a copy of its starter's sandbox does: grant it `sandbox-network`, or let it have a sandbox of its own",
                    agent.name()
                ),
            ));
        }
        let parts = Parts {
            agent,
            rights,
            sandbox,
            // What a fork is let go of would be let go of by a merge.
            upkeep: MemoryConfig::default(),
            ..self.parts.clone()
        };
        let lineage = Lineage {
            parent: Some(Parent {
                session: self.session.clone(),
                depth: self.lineage.depth() + 1,
                model_budget: Arc::clone(&self.model_budget),
            }),
            started: Arc::clone(&self.lineage.started),
        };
        let resource = branch.memory().resource().clone();
        let session = Session::open(parts, resource, self.account.clone(), None, lineage).await?;
        if let (Some(parent), Some(sandboxes)) = (&request.fork_sandbox, &session.sandboxes)
            && let Err(error) = sandboxes.begin_as_fork_of(parent).await
        {
            session.end(true).await?;
            return Err(Failure::new(
                ExitCode::Other,
                format!("its sandbox could not be copied: {error}"),
            ));
        }
        Ok(session)
    }
}

#[async_trait::async_trait]
impl ChildAgents for TurnChildren {
    async fn spawn(&self, request: ChildRequest) -> Result<SpawnedChild, SpawnRefused> {
        let parent = self.parts.agent.name();
        let granted = self.parts.plugins.config().agents.get(&request.agent);
        if !granted.is_some_and(|agent| agent.parents.iter().any(|name| name == parent)) {
            return Err(self.denied(&request.agent).await);
        }
        self.take()?;
        let fork = format!("agent-{}", uuid::Uuid::now_v7());
        let branch = request.memory.fork(&fork).await?;
        let session = match self.begin(&request, &branch).await {
            Ok(session) => session,
            Err(failure) => {
                tracing::warn!("agent `{}` was not started: {failure}", request.agent);
                branch.discard().await?;
                return Err(SpawnRefused::Unavailable(
                    "the agent could not be started; the operator was told why".into(),
                ));
            }
        };
        let id = session.id.clone();
        let (messages, received) = mpsc::channel(1);
        let (tell, told) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let spawned = json!({
            "agent": request.agent,
            "session": id,
            "fork": branch.memory().resource().fork,
            "depth": self.lineage.depth() + 1,
        });
        let recorded = self.ledger.write(Kind::AgentSpawned, spawned).await;
        let (ledger, its) = (self.ledger.clone(), branch.clone());
        let task = tokio::spawn(async move {
            let ended = live(session, its, ledger, received, tell).await;
            if let Err(error) = &ended {
                tracing::warn!("what an ended agent learned was not discarded: {error}");
            }
            // Nobody waits for one whose handle went with the turn.
            let _ = end.send(ended);
        });
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(task);
        // Its handle is dropped where it was not recorded, which ends it.
        recorded?;
        Ok(SpawnedChild {
            session: id,
            branch,
            messages,
            told,
            ended,
        })
    }
}

/// A child's life: turns as messages come, until nobody listens any more.
async fn live(
    mut session: Session,
    branch: Branch,
    ledger: Ledger,
    mut messages: mpsc::Receiver<String>,
    tell: mpsc::UnboundedSender<ChildTold>,
) -> ChildEnded {
    loop {
        let message = tokio::select! {
            biased;
            () = tell.closed() => break,
            message = messages.recv() => message,
        };
        let Some(message) = message else { break };
        let answer = match one_turn(&mut session, message, &tell).await {
            Ok(answer) => answer,
            Err(failure) => {
                tracing::warn!("a turn of an agent's agent was not recorded: {failure}");
                break;
            }
        };
        let _ = tell.send(answer);
    }
    let (id, turns) = (session.id.clone(), session.turn);
    let database = session.parts.database.clone();
    if let Err(failure) = session.end(true).await {
        tracing::warn!("the end of an agent's agent is not in the ledger: {failure}");
    }
    // Before the fork goes, which takes along what its sessions recorded.
    let used = database.model_use(&id).await.unwrap_or_else(|error| {
        tracing::warn!("what an agent's agent asked of models is not counted: {error}");
        ModelUse::default()
    });
    let discarded = branch.discard().await;
    let ended = json!({
        "session": id,
        "turns": turns,
        "model-calls": used.calls,
        "model-tokens": used.tokens,
    });
    ledger.write(Kind::AgentEnded, ended).await?;
    discarded.map(drop)
}

/// One message, by the way of any message; cut off when nobody listens any more.
async fn one_turn(
    session: &mut Session,
    message: String,
    tell: &mpsc::UnboundedSender<ChildTold>,
) -> Result<ChildTold, Failure> {
    let (emit, mut emitted) = mpsc::unbounded_channel();
    let turn = session.turn(message, emit, tell.closed());
    tokio::pin!(turn);
    let report = loop {
        tokio::select! {
            biased;
            Some(chunk) = emitted.recv() => drop(tell.send(ChildTold::Emitted(chunk))),
            report = &mut turn => break report?,
        }
    };
    while let Ok(chunk) = emitted.try_recv() {
        let _ = tell.send(ChildTold::Emitted(chunk));
    }
    Ok(match report.outcome {
        Ok(reply) => ChildTold::Reply(reply.text),
        Err(failure) => ChildTold::Failed {
            code: failure.code().to_owned(),
            message: failure.message(),
        },
    })
}
