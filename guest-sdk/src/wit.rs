//! Short names for the generated modules.

pub(crate) use crate::bindings::agent_plugin::keepsake::host::{
    agents, embeddings, log, memory, model, sandbox, session, types,
};
