//! The host behind the wrappers within a component: the imports.

use crate::bindings::agent_plugin::keepsake::host::settings;
use crate::embeddings::{EmbeddingInfo, Kind};
use crate::error::{Error, Result};
use crate::host::{
    BranchHost, ChildHost, CompletionHost, ExecutionHost, Host, SandboxHost, ScopeHost,
    Surroundings,
};
use crate::log::Level;
use crate::memory::{
    Compaction, EpisodeNode, EpisodePage, Fact, FactPage, ForkDifference, MergeReport, NewFact,
    Recollection, Remembered, WorkingPage,
};
use crate::model::{Delta, ModelInfo, Request, Response};
use crate::sandbox::{Checkpoint, Command, ExecEvent, ExecResult, FileInfo, Metrics};
use crate::session::{Exchange, SessionInfo};
use crate::wit::{agents, embeddings, log, memory, model, sandbox, session, types};

/// What providers import. Apart from [`AgentHost`], so that a provider's
/// component imports nothing else.
pub(crate) struct ProviderHost;

/// What agents import.
pub(crate) struct AgentHost;

impl Surroundings for ProviderHost {
    fn setting(&self, key: &str) -> Result<Option<String>> {
        Ok(settings::get(key)?)
    }

    fn log(&self, level: Level, message: &str, fields: Option<&str>) {
        log::log(level, message, fields);
    }
}

impl Surroundings for AgentHost {
    fn setting(&self, key: &str) -> Result<Option<String>> {
        ProviderHost.setting(key)
    }

    fn log(&self, level: Level, message: &str, fields: Option<&str>) {
        ProviderHost.log(level, message, fields);
    }
}

impl Host for AgentHost {
    fn info(&self) -> SessionInfo {
        session::info()
    }

    fn exchanges(&self, before: Option<u32>, limit: u32) -> Result<Vec<Exchange>> {
        Ok(session::exchanges(before, limit)?)
    }

    fn open_scope(&self) -> Result<Box<dyn ScopeHost>> {
        Ok(Box::new(session::open_scope()?))
    }

    fn open_account_scope(&self) -> Result<Option<Box<dyn ScopeHost>>> {
        let scope = session::open_account_scope()?;
        Ok(scope.map(|scope| Box::new(scope) as Box<dyn ScopeHost>))
    }

    fn open_team_scope(&self) -> Result<Option<Box<dyn ScopeHost>>> {
        let scope = session::open_team_scope()?;
        Ok(scope.map(|scope| Box::new(scope) as Box<dyn ScopeHost>))
    }

    fn open_sandbox(&self) -> Result<Box<dyn SandboxHost>> {
        Ok(Box::new(session::open_sandbox()?))
    }

    fn emit(&self, chunk: &str) -> Result<()> {
        Ok(session::emit(chunk)?)
    }

    fn embedding_info(&self) -> Result<EmbeddingInfo> {
        Ok(embeddings::info()?)
    }

    fn embed(&self, texts: &[String], kind: Kind) -> Result<Vec<Vec<f32>>> {
        Ok(embeddings::embed(texts, kind)?)
    }

    fn model_info(&self) -> Result<ModelInfo> {
        Ok(model::info()?)
    }

    fn chat(&self, request: &Request) -> Result<Box<dyn CompletionHost>> {
        Ok(Box::new(model::chat(request)?))
    }

    fn spawn(&self, agent: &str, options: &agents::SpawnOptions) -> Result<Box<dyn ChildHost>> {
        Ok(Box::new(agents::spawn(agent, options)?))
    }
}

/// Each function hands on to the import of its name.
macro_rules! hand_on {
    ($resource:ty { $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)* }) => {
        $(
            fn $name(&self $(, $argument: $type)*) -> Result<$answer> {
                <$resource>::$name(self $(, $argument)*).map_err(Error::from)
            }
        )*
    };
}

impl ScopeHost for memory::Scope {
    hand_on! { memory::Scope {
        get(key: &str) -> Option<String>;
        set(key: &str, value: &str) -> ();
        compare_and_set(key: &str, expected: Option<&str>, value: Option<&str>) -> bool;
        delete(key: &str) -> bool;
        list_working(page: &types::Page) -> WorkingPage;
        profile() -> String;
        update_profile(patch: &str) -> String;
        clear_profile() -> ();
        remember_many(facts: &[NewFact]) -> Vec<Remembered>;
        recall(query: &str, options: &memory::RecallOptions) -> Recollection;
        find(id: &str) -> Option<Fact>;
        list_facts(page: &types::Page) -> FactPage;
        forget(ids: &[String]) -> u64;
        expire(id: &str, at: u64) -> bool;
        compact(options: &memory::CompactOptions) -> Compaction;
        snippet(options: &memory::SnippetOptions) -> String;
        episodes(options: &memory::EpisodeOptions) -> EpisodePage;
        episode_tree() -> Vec<EpisodeNode>;
    } }

    fn fork(&self, child: &str) -> Result<Box<dyn BranchHost>> {
        Ok(Box::new(memory::Scope::fork(self, child)?))
    }
}

impl BranchHost for memory::Branch {
    fn scope(&self) -> Result<Box<dyn ScopeHost>> {
        Ok(Box::new(memory::Branch::scope(self)?))
    }

    hand_on! { memory::Branch {
        diff() -> ForkDifference;
        merge() -> MergeReport;
        discard() -> ();
    } }
}

impl SandboxHost for sandbox::Sandbox {
    fn id(&self) -> String {
        sandbox::Sandbox::id(self)
    }

    hand_on! { sandbox::Sandbox {
        exec(command: &Command) -> ExecResult;
        read_file(path: &str) -> Vec<u8>;
        write_file(path: &str, content: &[u8]) -> ();
        list_files(path: &str) -> Vec<FileInfo>;
        remove_file(path: &str) -> bool;
        checkpoint(name: &str) -> Checkpoint;
        metrics() -> Metrics;
        close() -> ();
    } }

    fn start(&self, command: &Command) -> Result<Box<dyn ExecutionHost>> {
        Ok(Box::new(sandbox::Sandbox::start(self, command)?))
    }

    fn fork(&self, checkpoint: Option<&str>) -> Result<Box<dyn SandboxHost>> {
        Ok(Box::new(sandbox::Sandbox::fork(self, checkpoint)?))
    }
}

impl ExecutionHost for sandbox::Execution {
    hand_on! { sandbox::Execution {
        next() -> Option<ExecEvent>;
        kill() -> ();
    } }
}

impl CompletionHost for model::Completion {
    hand_on! { model::Completion {
        next() -> Option<Delta>;
        finish() -> Response;
    } }
}

impl ChildHost for agents::Child {
    fn session(&self) -> String {
        agents::Child::session(self)
    }

    hand_on! { agents::Child {
        send(message: &str) -> ();
        next() -> Option<agents::ChildEvent>;
        diff() -> ForkDifference;
        merge() -> MergeReport;
        discard() -> ();
    } }
}
