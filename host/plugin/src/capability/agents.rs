//! `keepsake:host/agents`: agents that hand work to other agents. A handle is all
//! that keeps a child alive: dropped by the guest, or with the turn's store, it ends
//! the child.

use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use wasmtime::component::{HasData, Resource, ResourceTable};

use crate::bindings::agent::keepsake::host::agents::{
    self, ChildEvent, ForkDifference, MergeReport, SpawnOptions,
};
use crate::bindings::agent::keepsake::host::types::{Error, LimitReached, OtherError};
use crate::capability::memory::Branch;
use crate::capability::session::TurnState;
use crate::capability::unavailable;
use crate::children::{ChildEnded, ChildRequest, ChildTold, SpawnRefused, SpawnedChild};
use crate::state::State;
use keepsake_types::limits;

/// A guest's handle on a child session.
#[expect(unreachable_pub, reason = "the generated code exports it")]
pub struct Child {
    session: String,
    branch: Branch,
    running: Option<Running>,
}

/// The ends of a child that has not ended.
struct Running {
    messages: mpsc::Sender<String>,
    told: mpsc::UnboundedReceiver<ChildTold>,
    ended: oneshot::Receiver<ChildEnded>,
    /// A message was sent whose reply did not come yet.
    at_work: bool,
}

impl Child {
    fn running(&mut self) -> Result<&mut Running, Error> {
        let gone = || Error::NotFound("this child has ended".into());
        self.running.as_mut().ok_or_else(gone)
    }

    fn send(&mut self, message: String) -> Result<(), Error> {
        let running = self.running()?;
        if message.len() > limits::MESSAGE_BYTES {
            return Err(Error::Limit(LimitReached {
                name: "message-bytes".into(),
                message: format!(
                    "the message has {} bytes; at most {} are taken",
                    message.len(),
                    limits::MESSAGE_BYTES
                ),
            }));
        }
        if running.at_work {
            return Err(Error::Invalid(
                "the child is at work: take what it tells with `next` until its reply".into(),
            ));
        }
        if running.messages.try_send(message).is_err() {
            return Err(ended_by_itself());
        }
        running.at_work = true;
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<ChildEvent>, Error> {
        let running = self.running()?;
        if !running.at_work {
            return Ok(None);
        }
        match running.told.recv().await {
            Some(ChildTold::Emitted(chunk)) => Ok(Some(ChildEvent::Emitted(chunk))),
            Some(ChildTold::Reply(reply)) => {
                running.at_work = false;
                Ok(Some(ChildEvent::Reply(reply)))
            }
            Some(ChildTold::Failed { code, message }) => {
                running.at_work = false;
                Err(Error::Other(OtherError { code, message }))
            }
            None => {
                running.at_work = false;
                Err(ended_by_itself())
            }
        }
    }

    /// Ends the child and waits until nothing is left of it.
    async fn end(&mut self) -> Result<(), Error> {
        let Running { told, ended, .. } = self.running.take().ok_or_else(|| {
            Error::NotFound("this child has ended, and what it learned is gone".into())
        })?;
        drop(told);
        match ended.await {
            Ok(discarded) => Ok(discarded?),
            Err(_) => Err(ended_by_itself()),
        }
    }
}

fn ended_by_itself() -> Error {
    unavailable("the child ended before its time; the operator was told why")
}

pub(crate) struct AgentsView<'a> {
    table: &'a mut ResourceTable,
    turn: Option<&'a TurnState>,
}

impl<'a> AgentsView<'a> {
    pub(crate) fn new(state: &'a mut State) -> Self {
        Self {
            table: &mut state.table,
            turn: state.turn.as_ref(),
        }
    }
}

async fn start(
    turn: Option<&TurnState>,
    agent: String,
    options: SpawnOptions,
) -> Result<Child, Error> {
    let Some(TurnState { context, .. }) = turn else {
        return Err(Error::Denied(
            "agents are started only while a message is handled".into(),
        ));
    };
    let Some(agents) = &context.agents else {
        return Err(Error::Denied("this agent may not start agents".into()));
    };
    let settings = settings(options.settings)?;
    let fork_sandbox = match (options.fork_sandbox, &context.sandboxes) {
        (false, _) => None,
        (true, Some(sandboxes)) => Some(sandboxes.clone()),
        (true, None) => {
            return Err(Error::Denied(
                "this session was granted no sandbox, so that there is none to copy".into(),
            ));
        }
    };
    let SpawnedChild {
        session,
        branch,
        messages,
        told,
        ended,
    } = agents
        .spawn(ChildRequest {
            agent,
            settings,
            memory: context.memory.clone(),
            fork_sandbox,
        })
        .await?;
    Ok(Child {
        session,
        branch: Branch::of_child(context, branch),
        running: Some(Running {
            messages,
            told,
            ended,
            at_work: false,
        }),
    })
}

fn settings(given: Option<String>) -> Result<Map<String, Value>, Error> {
    let Some(given) = given else {
        return Ok(Map::new());
    };
    match serde_json::from_str(&given) {
        Ok(Value::Object(settings)) => Ok(settings),
        Ok(_) => Err(Error::Invalid("the settings are no JSON object".into())),
        Err(error) => Err(Error::Invalid(format!(
            "the settings are not JSON: {error}"
        ))),
    }
}

impl From<SpawnRefused> for Error {
    fn from(refused: SpawnRefused) -> Self {
        match refused {
            SpawnRefused::Denied(reason) => Self::Denied(reason),
            SpawnRefused::Limit { name, message } => Self::Limit(LimitReached {
                name: name.into(),
                message,
            }),
            SpawnRefused::Unavailable(reason) => unavailable(reason),
            SpawnRefused::Storage(error) => error.into(),
        }
    }
}

pub(crate) struct HasAgents;

impl HasData for HasAgents {
    type Data<'a> = AgentsView<'a>;
}

impl agents::Host for AgentsView<'_> {
    async fn spawn(
        &mut self,
        agent: String,
        options: SpawnOptions,
    ) -> wasmtime::Result<Result<Resource<Child>, Error>> {
        match start(self.turn, agent, options).await {
            Ok(child) => Ok(Ok(self.table.push(child)?)),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl agents::HostChild for AgentsView<'_> {
    async fn session(&mut self, child: Resource<Child>) -> wasmtime::Result<String> {
        Ok(self.table.get(&child)?.session.clone())
    }

    async fn send(
        &mut self,
        child: Resource<Child>,
        message: String,
    ) -> wasmtime::Result<Result<(), Error>> {
        Ok(self.table.get_mut(&child)?.send(message))
    }

    async fn next(
        &mut self,
        child: Resource<Child>,
    ) -> wasmtime::Result<Result<Option<ChildEvent>, Error>> {
        Ok(self.table.get_mut(&child)?.next().await)
    }

    async fn diff(
        &mut self,
        child: Resource<Child>,
    ) -> wasmtime::Result<Result<ForkDifference, Error>> {
        Ok(self.table.get(&child)?.branch.diff().await)
    }

    async fn merge(
        &mut self,
        child: Resource<Child>,
    ) -> wasmtime::Result<Result<MergeReport, Error>> {
        Ok(self.table.get(&child)?.branch.merge().await)
    }

    async fn discard(&mut self, child: Resource<Child>) -> wasmtime::Result<Result<(), Error>> {
        Ok(self.table.get_mut(&child)?.end().await)
    }

    async fn drop(&mut self, child: Resource<Child>) -> wasmtime::Result<()> {
        // One that was discarded has ended already; what goes wrong is in the log.
        let _ = self.table.delete(child)?.end().await;
        Ok(())
    }
}
