//! What an agent's turn is given to hand work to other agents. How a child session
//! runs is its giver's affair; here is what both sides tell each other.

use std::sync::Arc;

use keepsake_storage::{Branch, Memory, StorageError};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::capability::sandbox::SessionSandboxes;

/// Agents that an agent may start in one turn.
#[async_trait::async_trait]
pub trait ChildAgents: Send + Sync {
    /// Starts one: a session of its own on a fork of the memory. Dropping what this
    /// answers ends it.
    ///
    /// # Errors
    /// When it is not granted, a bound is reached, or it cannot be started. Nothing
    /// is left of it then.
    async fn spawn(&self, request: ChildRequest) -> Result<SpawnedChild, SpawnRefused>;
}

/// Which agent is to start, and with what.
pub struct ChildRequest {
    /// The name that the operator knows it under.
    pub agent: String,
    /// Settings that the operator has not made.
    pub settings: Map<String, Value>,
    /// The memory that the child gets a fork of.
    pub memory: Memory,
    /// The sandboxes whose own one the child's begins as a copy of; none for a new one.
    pub fork_sandbox: Option<Arc<SessionSandboxes>>,
}

/// A child session that runs until this is dropped.
pub struct SpawnedChild {
    /// Its id.
    pub session: String,
    /// The fork that it works on, and its way back.
    pub branch: Branch,
    /// Takes a message while no other is being handled.
    pub messages: mpsc::Sender<String>,
    /// What it tells. Closing it ends the child.
    pub told: mpsc::UnboundedReceiver<ChildTold>,
    /// Ready when the child has ended and its fork was discarded.
    pub ended: oneshot::Receiver<ChildEnded>,
}

/// Whether an ended child's fork could be discarded.
pub type ChildEnded = Result<(), StorageError>;

/// What a child tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildTold {
    /// A piece of the reply that is coming into being.
    Emitted(String),
    /// The reply.
    Reply(String),
    /// It could not answer.
    Failed {
        /// The stable name of why, such as `trap`.
        code: String,
        /// Why, for a reader.
        message: String,
    },
}

/// Why no child was started.
#[derive(Debug)]
pub enum SpawnRefused {
    /// It is not granted.
    Denied(String),
    /// A bound was reached.
    Limit {
        /// The bound's name.
        name: &'static str,
        /// What the bound is.
        message: String,
    },
    /// It could not be started.
    Unavailable(String),
    /// The memory or the ledger answered with an error.
    Storage(StorageError),
}

impl From<StorageError> for SpawnRefused {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}
