#![doc = include_str!("../README.md")]

#[doc(hidden)]
pub mod bindings;

mod agent_loop;
pub mod children;
#[cfg(target_arch = "wasm32")]
mod component;
mod context;
mod conversation;
pub mod embeddings;
mod error;
#[cfg(target_arch = "wasm32")]
mod exports;
mod host;
#[cfg(feature = "http")]
pub mod http;
pub mod log;
pub mod memory;
mod memory_tools;
pub mod model;
mod plugin;
mod register;
pub mod sandbox;
mod sandbox_tools;
mod session;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
pub mod tool;
mod wit;

pub use agent_loop::{
    AgentLoop, CALLS_PER_ROUND, CallMade, Outcome, ROUNDS, SAME_ANSWERS, TOOL_ANSWER_BYTES,
    TOOL_OUTPUT_BYTES,
};
pub use context::Context;
pub use conversation::{CONVERSATION_BYTES, Conversation, SUMMARY_BYTES};
pub use error::{Error, Result};
pub use memory_tools::{
    RememberFact, Source, fact_as_json, get_working_memory, memory_tools, recall_facts,
    remember_fact, remembered_as_json, set_working_memory,
};
pub use plugin::{
    Agent, Description, EmbeddingProvider, ModelProvider, Reply, Summarizer, Summary, Turn,
};
pub use sandbox_tools::{read_file, run_command, sandbox_tools, write_file};
pub use schemars;
pub use session::{Exchange, Session, SessionInfo};

/// The version of the WIT package `keepsake:host` that components are built for.
#[cfg(any(test, target_arch = "wasm32"))]
const WIT_VERSION: &[u8; 5] = b"0.1.0";

/// What the register macros expand to. Not for authors.
#[doc(hidden)]
#[cfg(target_arch = "wasm32")]
pub mod __private {
    pub use crate::bindings::agent_plugin::keepsake::host::types;
    pub use crate::bindings::{agent_plugin, embedding_provider, model_provider, summarizing};
    pub use crate::exports::{
        Running, chat, describe, embed, embedding_info, handle, model_info, summarize,
    };
    pub const WIT_VERSION: &[u8; 5] = crate::WIT_VERSION;
}

#[cfg(test)]
mod tests {
    #[test]
    fn components_name_the_version_that_they_are_built_for() {
        let version = std::str::from_utf8(crate::WIT_VERSION).unwrap();
        let package = include_str!("../../wit/world.wit").lines().next();
        assert_eq!(package, Some(&*format!("package keepsake:host@{version};")));
    }
}
