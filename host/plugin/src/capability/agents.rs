//! `keepsake:host/agents`: agents that hand work to other agents. This host
//! does not start agents for agents, and says so.

use wasmtime::component::{HasData, Resource};

use crate::bindings::agent::keepsake::host::agents::{
    self, ChildEvent, ForkDifference, MergeReport, SpawnOptions,
};
use crate::bindings::agent::keepsake::host::types::Error;

/// A child session. There is none, so that no guest can hold a handle on one.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the generated code exports it")]
pub enum Child {}

pub(crate) struct Agents;

impl HasData for Agents {
    type Data<'a> = Agents;
}

impl agents::Host for Agents {
    async fn spawn(
        &mut self,
        _agent: String,
        _options: SpawnOptions,
    ) -> wasmtime::Result<Result<Resource<Child>, Error>> {
        Ok(Err(Error::Unsupported(
            "this host does not let agents start other agents".into(),
        )))
    }
}

/// What a guest gets that made up a handle: the table refuses it before any of
/// these is reached, and none of them has anything to give.
fn no_such_child<T>() -> wasmtime::Result<T> {
    Err(wasmtime::Error::msg("there is no such child session"))
}

impl agents::HostChild for Agents {
    async fn session(&mut self, _child: Resource<Child>) -> wasmtime::Result<String> {
        no_such_child()
    }

    async fn send(
        &mut self,
        _child: Resource<Child>,
        _message: String,
    ) -> wasmtime::Result<Result<(), Error>> {
        no_such_child()
    }

    async fn next(
        &mut self,
        _child: Resource<Child>,
    ) -> wasmtime::Result<Result<Option<ChildEvent>, Error>> {
        no_such_child()
    }

    async fn diff(
        &mut self,
        _child: Resource<Child>,
    ) -> wasmtime::Result<Result<ForkDifference, Error>> {
        no_such_child()
    }

    async fn merge(
        &mut self,
        _child: Resource<Child>,
    ) -> wasmtime::Result<Result<MergeReport, Error>> {
        no_such_child()
    }

    async fn discard(&mut self, _child: Resource<Child>) -> wasmtime::Result<Result<(), Error>> {
        no_such_child()
    }

    async fn drop(&mut self, _child: Resource<Child>) -> wasmtime::Result<()> {
        no_such_child()
    }
}
