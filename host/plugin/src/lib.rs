//! Plugins: WebAssembly components that hold an agent's logic or provide
//! embeddings and models, and what they may ask of the host.
//!
//! In reading order: a file's bytes become a [`LoadedPlugin`] with a
//! [`PluginReport`]; by its kind it becomes an [`AgentPlugin`], an
//! [`EmbeddingPlugin`] or a [`ModelPlugin`]; an agent handles a turn in a
//! [`TurnContext`], through the interfaces in `capability`.
//!
//! Only this crate knows wasmtime and the types generated from `wit/`.

mod bindings;
mod cache;
mod calibration;
mod call;
mod capability;
mod children;
mod compaction;
mod conformance;
mod engine;
mod error;
mod ledger;
mod linker;
mod loader;
mod report;
mod state;
mod used;

mod agent;
mod embedder;
mod model_budget;
mod model_provider;
mod provider;

pub use agent::{AgentPlugin, Description, Needs, Reply, TurnError};
pub use cache::{CacheUse, ComponentCache};
pub use capability::http::HttpAccess;
pub use capability::memory::profile::ProfileSchema;
pub use capability::sandbox::SessionSandboxes;
pub use capability::session::TurnContext;
pub use capability::settings::Settings;
pub use children::{ChildAgents, ChildEnded, ChildRequest, ChildTold, SpawnRefused, SpawnedChild};
pub use compaction::{CompactionError, Summariser, compact};
pub use conformance::{Check, Verdict, check_embeddings, check_model};
pub use embedder::EmbeddingPlugin;
pub use engine::{DEFAULT_INSTANCES, EngineLimits, GuestLimits, LARGEST_MEMORY, PluginEngine};
pub use error::{FailureCause, PluginError, PluginFailure};
pub use ledger::Ledger;
pub use loader::{LoadedPlugin, PluginSource};
pub use model_budget::{ModelBudget, ModelLimits};
pub use model_provider::{ModelInfo, ModelPlugin};
pub use provider::{Provider, Unready};
pub use report::{Interface, PluginKind, PluginReport, WIT_VERSION};
