//! Short names for the generated modules.

pub(crate) use crate::bindings::agent_plugin::keepsake::host::{agents, memory, types};
#[cfg(target_arch = "wasm32")]
pub(crate) use crate::bindings::agent_plugin::keepsake::host::{
    embeddings, log, model, sandbox, session,
};
