//! What stands behind the wrappers: the real host within a component, the one
//! of [`testing`](crate::testing) elsewhere. Not for authors.
//!
//! Each function is one of the WIT package; JSON travels as text here.

use crate::embeddings::{EmbeddingInfo, Kind};
use crate::error::{Error, Result};
use crate::log::Level;
use crate::memory::{
    Compaction, EpisodeNode, EpisodePage, Fact, FactPage, ForkDifference, MergeReport, NewFact,
    Recollection, Remembered, WorkingPage,
};
use crate::model::{Delta, ModelInfo, Request, Response};
use crate::sandbox::{Checkpoint, Command, ExecEvent, ExecResult, FileInfo, Metrics};
use crate::session::{Exchange, SessionInfo};
use crate::wit;

/// What every plugin may ask for.
pub(crate) trait Surroundings {
    fn setting(&self, key: &str) -> Result<Option<String>>;
    fn log(&self, level: Level, message: &str, fields: Option<&str>);

    /// Only in tests. A component takes the host's own where it is asked for: as
    /// a function of this trait it would be imported by every plugin.
    #[cfg(all(feature = "http", not(target_arch = "wasm32")))]
    fn transport(&self) -> std::rc::Rc<dyn crate::http::Transport>;
}

/// What an agent may ask for besides.
pub(crate) trait Host: Surroundings {
    fn info(&self) -> SessionInfo;
    fn exchanges(&self, before: Option<u32>, limit: u32) -> Result<Vec<Exchange>>;
    fn open_scope(&self) -> Result<Box<dyn ScopeHost>>;
    fn open_account_scope(&self) -> Result<Option<Box<dyn ScopeHost>>>;
    fn open_team_scope(&self) -> Result<Option<Box<dyn ScopeHost>>>;
    fn open_sandbox(&self) -> Result<Box<dyn SandboxHost>>;
    fn emit(&self, chunk: &str) -> Result<()>;
    fn embedding_info(&self) -> Result<EmbeddingInfo>;
    fn embed(&self, texts: &[String], kind: Kind) -> Result<Vec<Vec<f32>>>;
    fn model_info(&self) -> Result<ModelInfo>;
    fn chat(&self, request: &Request) -> Result<Box<dyn CompletionHost>>;
    fn spawn(&self, agent: &str, options: &wit::agents::SpawnOptions)
    -> Result<Box<dyn ChildHost>>;
}

/// One resource's memory.
pub(crate) trait ScopeHost {
    fn get(&self, key: &str) -> Result<Option<String>>;
    fn set(&self, key: &str, value: &str) -> Result<()>;
    fn compare_and_set(
        &self,
        key: &str,
        expected: Option<&str>,
        value: Option<&str>,
    ) -> Result<bool>;
    fn delete(&self, key: &str) -> Result<bool>;
    fn list_working(&self, page: &wit::types::Page) -> Result<WorkingPage>;
    fn profile(&self) -> Result<String>;
    fn update_profile(&self, patch: &str) -> Result<String>;
    fn clear_profile(&self) -> Result<()>;
    fn remember_many(&self, facts: &[NewFact]) -> Result<Vec<Remembered>>;
    fn recall(&self, query: &str, options: &wit::memory::RecallOptions) -> Result<Recollection>;
    fn find(&self, id: &str) -> Result<Option<Fact>>;
    fn list_facts(&self, page: &wit::types::Page) -> Result<FactPage>;
    fn forget(&self, ids: &[String]) -> Result<u64>;
    fn expire(&self, id: &str, at: u64) -> Result<bool>;
    fn compact(&self, options: &wit::memory::CompactOptions) -> Result<Compaction>;
    fn snippet(&self, options: &wit::memory::SnippetOptions) -> Result<String>;
    fn episodes(&self, options: &wit::memory::EpisodeOptions) -> Result<EpisodePage>;
    fn fork(&self, child: &str) -> Result<Box<dyn BranchHost>>;
    fn episode_tree(&self) -> Result<Vec<EpisodeNode>>;
}

/// A fork and its way back.
pub(crate) trait BranchHost {
    fn scope(&self) -> Result<Box<dyn ScopeHost>>;
    fn diff(&self) -> Result<ForkDifference>;
    fn merge(&self) -> Result<MergeReport>;
    fn discard(&self) -> Result<()>;
}

/// One sandbox.
pub(crate) trait SandboxHost {
    fn id(&self) -> String;
    fn exec(&self, command: &Command) -> Result<ExecResult>;
    fn read_file(&self, path: &str) -> Result<Vec<u8>>;
    fn write_file(&self, path: &str, content: &[u8]) -> Result<()>;
    fn list_files(&self, path: &str) -> Result<Vec<FileInfo>>;
    fn remove_file(&self, path: &str) -> Result<bool>;
    fn close(&self) -> Result<()>;

    fn start(&self, _command: &Command) -> Result<Box<dyn ExecutionHost>> {
        Err(not_simulated("start"))
    }
    fn checkpoint(&self, _name: &str) -> Result<Checkpoint> {
        Err(not_simulated("checkpoint"))
    }
    fn fork(&self, _checkpoint: Option<&str>) -> Result<Box<dyn SandboxHost>> {
        Err(not_simulated("fork"))
    }
    fn metrics(&self) -> Result<Metrics> {
        Err(not_simulated("metrics"))
    }
}

/// A running command.
pub(crate) trait ExecutionHost {
    fn next(&self) -> Result<Option<ExecEvent>>;
    fn kill(&self) -> Result<()>;
}

/// An answer on its way.
pub(crate) trait CompletionHost {
    fn next(&self) -> Result<Option<Delta>>;
    fn finish(&self) -> Result<Response>;
}

/// A child session.
pub(crate) trait ChildHost {
    fn session(&self) -> String;
    fn send(&self, message: &str) -> Result<()>;
    fn next(&self) -> Result<Option<wit::agents::ChildEvent>>;
    fn diff(&self) -> Result<ForkDifference>;
    fn merge(&self) -> Result<MergeReport>;
    fn discard(&self) -> Result<()>;
}

pub(crate) fn not_simulated(function: &str) -> Error {
    Error::unsupported(format!("the host of tests does not simulate `{function}`"))
}
