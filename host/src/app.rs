//! The one place that builds concrete things out of the configuration and
//! wires them to each other.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use keepsake_plugin::{
    AgentPlugin, CacheUse, ComponentCache, EmbeddingPlugin, GuestLimits, HttpAccess, LoadedPlugin,
    ModelPlugin, PluginEngine, PluginError, PluginSource, Provider, Settings, Unready,
};
use keepsake_rights::Rights;
use keepsake_sandbox::{LocalBackend, LocalOptions, OpenSandboxBackend, SandboxBackend};
use keepsake_storage::{Database, StorageError};
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinHandle};

use crate::cli::SandboxChoice;
use crate::config::limits::Limits;
use crate::config::{Config, DEFAULT_EMBEDDINGS, DEFAULT_MODEL, PluginChoice};
use crate::failure::{ExitCode, Failure};
use crate::permission::{self, Permission, Remembered};
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

    /// Begins to open the database beside what goes on, where there is one. One
    /// is made only once the plugins are known to be sound.
    pub(crate) fn opening_database(&self) -> Opening {
        let path = self.database_path();
        let task = path
            .is_file()
            .then(|| tokio::spawn(Database::open(path.clone())));
        Opening { path, task }
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
            engine: PluginEngine::within(self.config.limits.engine)?,
            cache,
            remembered: permission::remembered(&self.config.data)?,
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

/// A database that may be open by now.
pub(crate) struct Opening {
    path: PathBuf,
    task: Option<JoinHandle<Result<Database, StorageError>>>,
}

impl Opening {
    /// The database, made if there is none.
    pub(crate) async fn finish(self) -> Result<Database, Failure> {
        let opened = match self.task {
            Some(task) => task.await.map_err(broken_off)?,
            None => Database::open(self.path).await,
        };
        Ok(opened?)
    }
}

fn broken_off(error: JoinError) -> Failure {
    Failure::new(
        ExitCode::Other,
        format!("the work was ended from within: {error}"),
    )
}

/// A provider of the settings.
pub(crate) struct Chosen<P> {
    pub(crate) provider: Provider<P>,
    /// It ships with the host, was compiled before and runs as it was tested, so
    /// that nobody has to wait to hear that it works.
    certain: bool,
}

impl<P: Send + Sync + 'static> Chosen<P> {
    /// Makes it beside what goes on, and waits for it where it may fail.
    pub(crate) async fn prepare(&self) -> Result<(), Unready> {
        if self.certain {
            self.provider.make_beside();
            return Ok(());
        }
        self.provider.get().await.map(drop)
    }
}

/// An agent, and what it may do besides what every agent may.
pub(crate) struct Permitted {
    pub(crate) agent: Arc<AgentPlugin>,
    pub(crate) rights: Rights,
}

/// The engine, and what plugins are made of.
#[derive(Clone)]
pub(crate) struct Plugins {
    engine: PluginEngine,
    cache: ComponentCache,
    /// What was granted at a terminal, this time or for good.
    remembered: Vec<Remembered>,
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
        self.load_source(&self.source(choice)?)
    }

    fn load_source(&self, source: &PluginSource) -> Result<LoadedPlugin, PluginError> {
        // Of plugins that are loaded side by side, one shows that it takes long.
        let first = COMPILING.try_lock();
        let compiling = first
            .is_ok()
            .then(|| crate::progress::after_a_moment(&format!("compiling {}", source.name)));
        let plugin = LoadedPlugin::load(&self.engine, &self.cache, source)?;
        drop(compiling);
        if plugin.cache_use != CacheUse::Hit {
            tracing::debug!("{} was compiled", source.name);
        }
        Ok(plugin)
    }

    pub(crate) async fn agent(&self, choice: &PluginChoice) -> Result<Permitted, Failure> {
        let source = self.source(choice)?;
        let permission = self.permission(&source);
        self.permitted(&source, &permission, serde_json::Map::new())
            .await
    }

    /// An agent that one with these rights starts: with settings that the operator
    /// has not made, and with no right that its starter lacks.
    pub(crate) async fn child_agent(
        &self,
        choice: &PluginChoice,
        further: serde_json::Map<String, serde_json::Value>,
        outer: &Rights,
    ) -> Result<Permitted, Failure> {
        let source = self.source(choice)?;
        let mut permission = self.permission(&source);
        permission.rights = permission.rights.within(outer);
        self.permitted(&source, &permission, further).await
    }

    async fn permitted(
        &self,
        source: &PluginSource,
        permission: &Permission,
        further: serde_json::Map<String, serde_json::Value>,
    ) -> Result<Permitted, Failure> {
        let plugin = self.load_source(source)?;
        permission.expect_granted()?;
        permission.expect_left(&plugin.report)?;
        let access = permission.http_access(&self.config, true)?;
        let mut settings = further;
        settings.extend(self.own_settings(plugin.name()));
        let limits = self.config.limits.guest.clone();
        let agent = AgentPlugin::new(&self.engine, plugin, limits, settings.into(), access).await?;
        Ok(Permitted {
            agent,
            rights: permission.rights.clone(),
        })
    }

    /// What a plugin wishes, and what it gets of that here.
    pub(crate) fn permission(&self, source: &PluginSource) -> Permission {
        Permission::of(source, &self.config, &self.remembered)
    }

    /// Asks the one at the terminal for what a plugin was not granted, where there
    /// is one.
    ///
    /// # Errors
    /// When there is no such plugin, or the answer is no.
    pub(crate) fn ask_for(&mut self, choice: &PluginChoice) -> Result<(), Failure> {
        let permission = self.permission(&self.source(choice)?);
        let granted = permission::ask(&permission, &self.config.data)?;
        self.remembered.extend(granted);
        Ok(())
    }

    /// What the operator decided.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) async fn embedder(&self) -> Result<Arc<EmbeddingPlugin>, Failure> {
        let choice = &self.config.embeddings;
        self.embedder_of(choice, self.load(choice)?).await
    }

    /// A plugin as the embedding provider that it is.
    pub(crate) async fn embedder_of(
        &self,
        choice: &PluginChoice,
        plugin: LoadedPlugin,
    ) -> Result<Arc<EmbeddingPlugin>, Failure> {
        let access = self.access(&self.permission(&self.source(choice)?))?;
        let settings = self.settings(plugin.name());
        let limits = self.config.limits.guest.clone();
        Ok(EmbeddingPlugin::new(&self.engine, plugin, limits, settings, access).await?)
    }

    pub(crate) async fn model(&self) -> Result<Arc<ModelPlugin>, Failure> {
        let choice = &self.config.model;
        self.model_of(choice, self.load(choice)?).await
    }

    /// A plugin as the model provider that it is.
    pub(crate) async fn model_of(
        &self,
        choice: &PluginChoice,
        plugin: LoadedPlugin,
    ) -> Result<Arc<ModelPlugin>, Failure> {
        let access = self.access(&self.permission(&self.source(choice)?))?;
        let settings = self.settings(plugin.name());
        let limits = self.config.limits.guest.clone();
        Ok(ModelPlugin::new(&self.engine, plugin, limits, settings, access).await?)
    }

    /// The embedding provider, to be made when it is needed.
    pub(crate) fn embedding_provider(&self) -> Result<Chosen<EmbeddingPlugin>, Failure> {
        self.provider(
            &self.config.embeddings,
            DEFAULT_EMBEDDINGS,
            |engine, plugin, limits, settings, access| async move {
                EmbeddingPlugin::new(&engine, plugin, limits, settings, access).await
            },
        )
    }

    /// The model provider, to be made when it is needed.
    pub(crate) fn model_provider(&self) -> Result<Chosen<ModelPlugin>, Failure> {
        self.provider(
            &self.config.model,
            DEFAULT_MODEL,
            |engine, plugin, limits, settings, access| async move {
                ModelPlugin::new(&engine, plugin, limits, settings, access).await
            },
        )
    }

    /// Looks for a provider and reads its settings, and makes nothing yet.
    fn provider<P, F>(
        &self,
        choice: &PluginChoice,
        default: &str,
        new: fn(PluginEngine, LoadedPlugin, GuestLimits, Settings, HttpAccess) -> F,
    ) -> Result<Chosen<P>, Failure>
    where
        P: Send + Sync + 'static,
        F: Future<Output = Result<Arc<P>, PluginError>> + Send + 'static,
    {
        let source = self.source(choice)?;
        let access = self.access(&self.permission(&source))?;
        let certain = choice.name == default
            && self.cache.has(&self.engine, &source)
            && !self.config.settings.contains_key(&source.name)
            && self.config.limits == Limits::default();
        let (plugins, source) = (self.clone(), Arc::new(source));
        let provider = Provider::new(source.name.clone(), move || {
            let (plugins, source) = (plugins.clone(), Arc::clone(&source));
            let access = access.clone();
            // Hashing and compiling hold a thread up.
            let runtime = Handle::current();
            let made = tokio::task::spawn_blocking(move || {
                let plugin = plugins.load_source(&source)?;
                let settings = plugins.settings(&source.name);
                let limits = plugins.config.limits.guest.clone();
                runtime.block_on(new(plugins.engine, plugin, limits, settings, access))
            });
            async {
                made.await.unwrap_or_else(|error| {
                    Err(PluginError::Engine {
                        reason: format!("loading a provider was ended from within: {error}"),
                    })
                })
            }
        });
        Ok(Chosen { provider, certain })
    }

    /// What a provider may reach: the server of its `base-url`, which that setting
    /// grants, and what else it wishes and was granted.
    fn access(&self, permission: &Permission) -> Result<HttpAccess, Failure> {
        permission.expect_granted()?;
        let own = match self.config.settings.get(permission.name()) {
            Some(settings) => http_access(permission.name(), settings)?,
            None => HttpAccess::default(),
        };
        Ok(own.and(&permission.http_access(&self.config, false)?))
    }

    fn settings(&self, plugin: &str) -> Settings {
        self.own_settings(plugin).into()
    }

    fn own_settings(&self, plugin: &str) -> serde_json::Map<String, serde_json::Value> {
        let settings = self.config.settings.get(plugin);
        settings.cloned().unwrap_or_default()
    }
}

fn looks_like_path(name: &str) -> bool {
    name.contains(std::path::MAIN_SEPARATOR)
        || Path::new(name)
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("wasm"))
}
