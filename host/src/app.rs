//! The one place that builds concrete things out of the configuration and
//! wires them to each other.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use keepsake_plugin::{
    AgentPlugin, CacheUse, ComponentCache, DEFAULT_INSTANCES, EmbeddingPlugin, HttpAccess,
    LoadedPlugin, ModelPlugin, PluginEngine, PluginError, PluginSource, Settings,
};
use keepsake_sandbox::{LocalBackend, LocalOptions, OpenSandboxBackend, SandboxBackend};
use keepsake_storage::Database;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::cli::SandboxChoice;
use crate::config::{Config, PluginChoice};
use crate::failure::{ExitCode, Failure};
use crate::provider_access::http_access;

/// Held by the plugin whose loading is shown.
static COMPILING: Mutex<()> = Mutex::new(());

/// The database's name in the data folder.
const DATABASE_FILE: &str = "keepsake.db";

/// What commands work with. Parts are made when they are asked for, so that
/// `host memory list` starts no engine.
pub(crate) struct App {
    pub(crate) config: Config,
}

impl App {
    pub(crate) fn new(config: Config) -> Self {
        Self { config }
    }

    /// Where the database lies.
    pub(crate) fn database_path(&self) -> PathBuf {
        self.config.data.join(DATABASE_FILE)
    }

    /// The lines that a terminal's history remembers.
    pub(crate) fn history_path(&self) -> PathBuf {
        self.config.data.join("history")
    }

    pub(crate) async fn database(&self) -> Result<Database, Failure> {
        Ok(Database::open(self.database_path()).await?)
    }

    /// The database for a command that has nothing to look at without one.
    pub(crate) async fn existing_database(&self) -> Result<Database, Failure> {
        let path = self.database_path();
        if !path.exists() {
            return Err(Failure::new(
                ExitCode::Storage,
                format!(
                    "there is no memory at `{}`: `host run` makes it at its first message; if it lies elsewhere, name the folder with --data",
                    path.display()
                ),
            ));
        }
        self.database().await
    }

    pub(crate) fn plugins(&self) -> Result<Plugins, Failure> {
        let cache = match std::env::var_os("HOST_CACHE") {
            Some(folder) if folder.is_empty() => ComponentCache::disabled(),
            Some(folder) => ComponentCache::new(folder),
            None => ComponentCache::default_folder()
                .map_or_else(ComponentCache::disabled, ComponentCache::new),
        };
        Ok(Plugins {
            engine: PluginEngine::new(DEFAULT_INSTANCES)?,
            cache,
            config: self.config.clone(),
        })
    }

    pub(crate) fn sandbox_backend(&self) -> Result<Option<Arc<dyn SandboxBackend>>, Failure> {
        Ok(match self.config.sandbox.backend {
            SandboxChoice::None => None,
            SandboxChoice::Local => Some(Arc::new(LocalBackend::new(LocalOptions {
                allow_unisolated: self.config.sandbox.allow_unisolated,
                ..LocalOptions::default()
            }))),
            SandboxChoice::OpenSandbox => Some(Arc::new(self.opensandbox()?)),
        })
    }

    /// The OpenSandbox server of the settings, whichever backend is in use.
    pub(crate) fn opensandbox(&self) -> Result<OpenSandboxBackend, Failure> {
        let sandbox = &self.config.sandbox;
        let options = sandbox.opensandbox.options(&sandbox.base)?;
        Ok(OpenSandboxBackend::new(options)?)
    }
}

/// The engine, and what plugins are made of.
#[derive(Clone)]
pub(crate) struct Plugins {
    engine: PluginEngine,
    cache: ComponentCache,
    config: Config,
}

impl Plugins {
    /// The component that a name stands for: a file, or a built-in.
    pub(crate) fn source(&self, choice: &PluginChoice) -> Result<PluginSource, PluginError> {
        let path = choice.base.join(&choice.name);
        // A file wins only where the name says that it is one, so that a
        // folder named like a built-in hides nothing.
        if !looks_like_path(&choice.name)
            && let Some((wasm, hash)) = keepsake_builtin::find(&choice.name)
        {
            return Ok(PluginSource::hashed(choice.name.clone(), wasm, hash));
        }
        PluginSource::from_file(&path, &keepsake_builtin::names())
    }

    pub(crate) fn load(&self, choice: &PluginChoice) -> Result<LoadedPlugin, PluginError> {
        let source = self.source(choice)?;
        // Of plugins that are loaded side by side, one shows that it takes long.
        let first = COMPILING.try_lock();
        let compiling = first
            .is_ok()
            .then(|| crate::progress::after_a_moment(&format!("compiling {}", source.name)));
        let plugin = LoadedPlugin::load(&self.engine, &self.cache, &source)?;
        drop(compiling);
        if plugin.cache_use != CacheUse::Hit {
            tracing::debug!("{} was compiled", source.name);
        }
        Ok(plugin)
    }

    pub(crate) async fn agent(
        &self,
        choice: &PluginChoice,
    ) -> Result<Arc<AgentPlugin>, PluginError> {
        let plugin = self.load(choice)?;
        let settings = self.settings(plugin.name());
        AgentPlugin::new(&self.engine, plugin, self.config.limits.clone(), settings).await
    }

    pub(crate) async fn embedder(&self) -> Result<Arc<EmbeddingPlugin>, Failure> {
        let plugin = self.load(&self.config.embeddings)?;
        let access = self.access(plugin.name())?;
        let settings = self.settings(plugin.name());
        let limits = self.config.limits.clone();
        Ok(EmbeddingPlugin::new(&self.engine, plugin, limits, settings, access).await?)
    }

    pub(crate) async fn model(&self) -> Result<Arc<ModelPlugin>, Failure> {
        let plugin = self.load(&self.config.model)?;
        let access = self.access(plugin.name())?;
        let settings = self.settings(plugin.name());
        let limits = self.config.limits.clone();
        Ok(ModelPlugin::new(&self.engine, plugin, limits, settings, access).await?)
    }

    /// Does work of loading on a thread of its own: hashing and compiling hold
    /// a thread up, and there is another processor for the next plugin.
    pub(crate) fn beside<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(Self) -> Result<T, Failure> + Send + 'static,
    ) -> JoinHandle<Result<T, Failure>> {
        let (plugins, runtime) = (self.clone(), Handle::current());
        tokio::task::spawn_blocking(move || runtime.block_on(work(plugins)))
    }

    fn access(&self, plugin: &str) -> Result<HttpAccess, Failure> {
        match self.config.settings.get(plugin) {
            Some(settings) => http_access(plugin, settings),
            None => Ok(HttpAccess::default()),
        }
    }

    fn settings(&self, plugin: &str) -> Settings {
        self.config
            .settings
            .get(plugin)
            .cloned()
            .unwrap_or_default()
            .into()
    }
}

fn looks_like_path(name: &str) -> bool {
    name.contains(std::path::MAIN_SEPARATOR)
        || Path::new(name)
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("wasm"))
}
