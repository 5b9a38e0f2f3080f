//! The peer that the host is measured against: wasmtime embedded by hand, with
//! the settings that were found best and nothing of the host around it.

use wasmtime::component::{Component, Linker, Resource, ResourceTable, ResourceType};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
    StoreLimits, StoreLimitsBuilder,
};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

mod bindings {
    #![allow(missing_docs, reason = "generated")]
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "agent-plugin",
        imports: { default: async | trappable },
        exports: { default: async },
        with: { "keepsake:host/memory.scope": super::Scope },
    });
}

use bindings::AgentPluginPre;
use bindings::exports::keepsake::host::agent::Turn;
use bindings::keepsake::host::memory::{Fact, FactPage, Verification};
use bindings::keepsake::host::session::SessionInfo;
use bindings::keepsake::host::types::{EntryRef, Error, Page};

/// What a store of the peer holds.
pub struct State {
    table: ResourceTable,
    wasi: WasiCtx,
    limits: StoreLimits,
}

/// The peer's stand-in for memory.
pub struct Scope;

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

/// An agent that was linked with nothing but what the benchmarks call.
pub struct Bare {
    engine: Engine,
    agent: AgentPluginPre<State>,
}

impl Bare {
    /// Compiles an agent.
    ///
    /// # Errors
    /// When it is no agent or this machine cannot run it.
    pub fn compile(wasm: &[u8]) -> anyhow::Result<Self> {
        let engine = engine()?;
        let component = Component::new(&engine, wasm)?;
        Self::link(engine, &component)
    }

    /// Loads an agent that [`Bare::precompile`] compiled.
    ///
    /// # Errors
    /// When it was compiled for another engine.
    pub fn load(path: &std::path::Path) -> anyhow::Result<Self> {
        let engine = engine()?;
        // SAFETY: the benchmark wrote the file a moment ago, from a component
        // of this repository, into a folder of its own.
        #[allow(unsafe_code, reason = "how wasmtime loads compiled code")]
        let component = unsafe { Component::deserialize_file(&engine, path)? };
        Self::link(engine, &component)
    }

    /// An agent's compiled code.
    ///
    /// # Errors
    /// When it is no component.
    pub fn precompile(wasm: &[u8]) -> anyhow::Result<Vec<u8>> {
        Ok(engine()?.precompile_component(wasm)?)
    }

    fn link(engine: Engine, component: &Component) -> anyhow::Result<Self> {
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        linker.define_unknown_imports_as_traps(component)?;
        linker.allow_shadowing(true);
        let mut memory = linker.instance("keepsake:host/memory@0.1.0")?;
        memory.resource("scope", ResourceType::host::<Scope>(), |_, _| Ok(()))?;
        memory.func_wrap_async(
            "[method]scope.list-facts",
            |_, (_, page): (Resource<Scope>, Page)| {
                Box::new(async move { Ok((Ok::<_, Error>(five_facts(&page)),)) })
            },
        )?;
        let mut session = linker.instance("keepsake:host/session@0.1.0")?;
        session.resource("scope", ResourceType::host::<Scope>(), |_, _| Ok(()))?;
        session.func_wrap_async("open-scope", |mut store, (): ()| {
            Box::new(async move {
                let state: &mut State = store.data_mut();
                Ok((Ok::<_, Error>(state.table.push(Scope)?),))
            })
        })?;
        session.func_wrap_async("info", |_, (): ()| {
            Box::new(async { Ok((session_info(),)) })
        })?;
        Ok(Self {
            agent: AgentPluginPre::new(linker.instantiate_pre(component)?)?,
            engine,
        })
    }

    /// One message, in a fresh instance.
    ///
    /// # Errors
    /// When the agent traps or refuses.
    pub async fn handle(&self, message: &str) -> anyhow::Result<String> {
        let state = State {
            table: ResourceTable::new(),
            wasi: WasiCtx::builder().build(),
            limits: StoreLimitsBuilder::new().memory_size(128 << 20).build(),
        };
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limits);
        let agent = self.agent.instantiate_async(&mut store).await?;
        let turn = Turn {
            message: message.to_owned(),
            extras: None,
        };
        match agent
            .keepsake_host_agent()
            .call_handle(&mut store, &turn)
            .await?
        {
            Ok(reply) => Ok(reply.text),
            Err(error) => anyhow::bail!("the agent refused: {error:?}"),
        }
    }
}

fn session_info() -> SessionInfo {
    SessionInfo {
        session: "01a237b5-644a-7117-bcc4-bdd5f1d6d0f3".into(),
        resource: "jordan".into(),
        account: None,
        team: None,
        agent: "bench-agent".into(),
        turn: 0,
        started_at: 1_796_146_288_123,
        channel: "{}".into(),
    }
}

/// What the host's memory answers with in the benchmark, made from nothing.
fn five_facts(page: &Page) -> FactPage {
    let fact = |number: u32| Fact {
        id: format!("01a237b5-644a-7117-bcc4-bdd5f1d6d0f{number}"),
        content: format!("Jordan asked for invoice number {number} of last year."),
        metadata: "{}".into(),
        source: None::<EntryRef>,
        verification: Verification::Unverified,
        created_at: 1_796_146_288_123,
        updated_at: 1_796_146_288_123,
        subject: None,
        attribute: None,
        valid_from: 1_796_146_288_123,
        valid_until: None,
        superseded_by: None,
        thread: None,
        position: None,
        instruction_like: false,
        masked: false,
        extras: None,
    };
    FactPage {
        facts: (0..page.limit).map(fact).collect(),
        next: Some("5".into()),
    }
}

fn engine() -> anyhow::Result<Engine> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(100);
    pool.total_core_instances(400);
    pool.total_memories(100);
    pool.total_tables(400);
    pool.total_stacks(100);
    pool.max_memory_size(128 << 20);
    pool.table_elements(50_000);
    pool.max_tables_per_module(4);
    pool.linear_memory_keep_resident(2 << 20);
    pool.table_keep_resident(64 << 10);
    pool.pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config.wasm_component_model(true);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Ok(Engine::new(&config)?)
}
