//! What a component of each kind is linked with. An interface that is not
//! linked cannot be called, whatever a plugin imports.

use wasmtime::component::{HasData, InstancePre, Linker, ResourceType};

use crate::bindings::agent::keepsake::host as interfaces;
use crate::capability::agents::{AgentsView, HasAgents};
use crate::capability::embeddings::{EmbeddingsView, HasEmbeddings};
use crate::capability::log::HasLog;
use crate::capability::memory::{HasMemory, MemoryView};
use crate::capability::model::{Completion, HasModel, ModelView};
use crate::capability::sandbox::{HasSandbox, SandboxView};
use crate::capability::session::{HasSession, SessionView};
use crate::capability::settings::HasSettings;
use crate::engine::PluginEngine;
use crate::error::PluginError;
use crate::loader::LoadedPlugin;
use crate::report::WIT_VERSION;
use crate::state::State;

/// What providers get: settings and a log, and WASI without any right but, for
/// HTTP, to what [`HttpAccess`](crate::HttpAccess) covers.
pub(crate) fn for_provider(engine: &PluginEngine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine.wasmtime());
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    interfaces::types::add_to_linker::<State, Nothing>(&mut linker, |_| Nothing)?;
    interfaces::settings::add_to_linker::<State, HasSettings>(&mut linker, |state| {
        state.used.called();
        &mut state.settings
    })?;
    interfaces::log::add_to_linker::<State, HasLog>(&mut linker, |state| {
        state.used.called();
        &mut state.log
    })?;
    Ok(linker)
}

/// What model providers get besides: the types of the interface that they
/// export, which their components may import, and none of its functions.
pub(crate) fn for_model_provider(engine: &PluginEngine) -> wasmtime::Result<Linker<State>> {
    let mut linker = for_provider(engine)?;
    let name = format!("keepsake:host/model@{WIT_VERSION}");
    linker.instance(&name)?.resource(
        "completion",
        ResourceType::host::<Completion>(),
        |_, _| Ok(()),
    )?;
    Ok(linker)
}

/// What agents get besides.
pub(crate) fn for_agent(engine: &PluginEngine) -> wasmtime::Result<Linker<State>> {
    let mut linker = for_provider(engine)?;
    interfaces::session::add_to_linker::<State, HasSession>(&mut linker, |state| {
        SessionView::new(state)
    })?;
    interfaces::memory::add_to_linker::<State, HasMemory>(&mut linker, |state| {
        MemoryView::new(state)
    })?;
    interfaces::sandbox::add_to_linker::<State, HasSandbox>(&mut linker, |state| {
        SandboxView::new(state)
    })?;
    interfaces::embeddings::add_to_linker::<State, HasEmbeddings>(&mut linker, |state| {
        EmbeddingsView::new(state)
    })?;
    interfaces::model::add_to_linker::<State, HasModel>(&mut linker, |state| {
        ModelView::new(state)
    })?;
    interfaces::agents::add_to_linker::<State, HasAgents>(&mut linker, |state| {
        AgentsView::new(state)
    })?;
    Ok(linker)
}

/// The data of `types`, which has no function.
struct Nothing;

impl HasData for Nothing {
    type Data<'a> = Nothing;
}

impl interfaces::types::Host for Nothing {}

/// Links a component, so that its instances are cheap; `kind` makes what calls
/// its exports.
///
/// # Errors
/// [`PluginError::DoesNotFit`].
pub(crate) fn link<T>(
    plugin: &LoadedPlugin,
    linker: wasmtime::Result<Linker<State>>,
    kind: impl FnOnce(InstancePre<State>) -> wasmtime::Result<T>,
) -> Result<T, PluginError> {
    linker
        .and_then(|linker| linker.instantiate_pre(&plugin.component))
        .and_then(kind)
        .map_err(|error| does_not_fit(plugin.name(), &error))
}

/// What the checks by name did not find: a type that is not ours under a name
/// that is.
fn does_not_fit(name: &str, error: &wasmtime::Error) -> PluginError {
    let reason = error
        .chain()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ");
    PluginError::DoesNotFit {
        name: name.to_owned(),
        problems: vec![format!(
            "its types are not those of this host ({reason}): build it again with the SDK of this host"
        )],
    }
}
