//! Model providers as plugins: each chat has a store of its own, which lives
//! until the answer is complete or dropped.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use crate::bindings::agent::keepsake::host::types::Error;
use crate::bindings::model_provider::exports::keepsake::host::model::{Delta, Request, Response};
use crate::bindings::model_provider::{ModelProvider, ModelProviderPre};
use crate::call::{CallError, Guest};
use crate::capability::http::HttpAccess;
use crate::capability::settings::Settings;
use crate::capability::unavailable;
use crate::engine::{GuestLimits, PluginEngine};
use crate::error::PluginError;
use crate::linker;
use crate::loader::LoadedPlugin;
use crate::report::PluginKind;
use crate::state::State;

/// Chats of one provider that are under way at the same time.
const CHATS: usize = 16;

/// What a model provider is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// The model's name.
    pub model: String,
    /// How many tokens a conversation may have, where that is known.
    pub context_tokens: Option<u32>,
    /// What the provider tells agents besides, a JSON object.
    pub extras: Option<String>,
}

/// A model provider that is a plugin.
pub struct ModelPlugin {
    guest: Guest,
    info: ModelInfo,
    pre: ModelProviderPre<State>,
    permits: Arc<Semaphore>,
}

impl ModelPlugin {
    /// Links a provider and asks it what it is.
    ///
    /// # Errors
    /// When the plugin is no model provider, does not fit this host, or fails.
    pub async fn new(
        engine: &PluginEngine,
        plugin: LoadedPlugin,
        limits: GuestLimits,
        settings: Settings,
        http: HttpAccess,
    ) -> Result<Arc<Self>, PluginError> {
        let plugin = plugin.expect(PluginKind::ModelProvider)?;
        let linker = linker::for_model_provider(engine);
        let pre = linker::link(&plugin, linker, ModelProviderPre::new)?;
        let mut provider = Self {
            info: ModelInfo {
                model: String::new(),
                context_tokens: None,
                extras: None,
            },
            guest: Guest::new(plugin.name(), engine, limits, settings, http),
            pre,
            permits: Arc::new(Semaphore::new(CHATS)),
        };
        provider.info = provider.ask_info().await?;
        Ok(Arc::new(provider))
    }

    /// The plugin's name.
    pub fn name(&self) -> &str {
        &self.guest.name
    }

    /// What the provider says it is.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn ask_info(&self) -> Result<ModelInfo, PluginError> {
        let mut store = self.guest.store(None);
        let asked = async {
            let instance = self.pre.instantiate_async(&mut store).await?;
            instance.keepsake_host_model().call_info(&mut store).await
        };
        match self.guest.within(asked).await {
            Ok(Ok(info)) => Ok(ModelInfo {
                model: info.model,
                context_tokens: info.context_tokens,
                extras: info.extras,
            }),
            Ok(Err(error)) => Err(self.guest.mute(&error)),
            Err(error) => Err(self.guest.failed(self.guest.failure(&store, error))),
        }
    }

    /// Begins an answer.
    pub(crate) async fn chat(self: &Arc<Self>, request: &Request) -> Result<Chat, Error> {
        // Waits for one of the places: a queue, not an error.
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|_| Error::Internal("the host is shutting down".into()))?;
        let mut store = self.guest.store(None);
        let begun = async {
            let instance = self.pre.instantiate_async(&mut store).await?;
            let completion = instance
                .keepsake_host_model()
                .call_chat(&mut store, request)
                .await?;
            Ok((instance, completion))
        };
        match self.guest.within(begun).await {
            Ok((instance, Ok(completion))) => Ok(Chat {
                provider: Arc::clone(self),
                store,
                instance,
                completion,
                broken: false,
                _permit: permit,
            }),
            Ok((_, Err(error))) => Err(error),
            Err(error) => Err(told(self, &store, error)),
        }
    }
}

/// An answer on its way, with the provider's instance that makes it.
pub(crate) struct Chat {
    provider: Arc<ModelPlugin>,
    store: Store<State>,
    instance: ModelProvider,
    completion: ResourceAny,
    /// The instance trapped or was cut off, and cannot be entered again.
    broken: bool,
    _permit: OwnedSemaphorePermit,
}

impl Chat {
    /// The next piece; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Delta>, Error> {
        self.enter()?;
        let guest = self.instance.keepsake_host_model().completion();
        let call = guest.call_next(&mut self.store, self.completion);
        match self.provider.guest.within(call).await {
            Ok(answer) => answer,
            Err(error) => Err(self.breaks(error)),
        }
    }

    /// The whole answer.
    pub(crate) async fn finish(&mut self) -> Result<Response, Error> {
        self.enter()?;
        let guest = self.instance.keepsake_host_model().completion();
        let call = guest.call_finish(&mut self.store, self.completion);
        match self.provider.guest.within(call).await {
            Ok(answer) => answer,
            Err(error) => Err(self.breaks(error)),
        }
    }

    fn enter(&mut self) -> Result<(), Error> {
        if self.broken {
            return Err(unavailable("this answer broke off; ask again"));
        }
        self.provider.guest.arm(&mut self.store);
        Ok(())
    }

    fn breaks(&mut self, error: CallError) -> Error {
        self.broken = true;
        told(&self.provider, &self.store, error)
    }
}

/// A provider's failure is an error to the agent, never a trap of the agent;
/// the operator's log has the details.
fn told(provider: &ModelPlugin, store: &Store<State>, error: CallError) -> Error {
    let failure = provider.guest.failure(store, error);
    tracing::warn!(target: "plugin", "{failure}\n{}", failure.details());
    unavailable(format!(
        "model provider `{}` failed: {}",
        provider.name(),
        failure.cause
    ))
}
