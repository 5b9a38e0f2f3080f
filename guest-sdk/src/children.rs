//! Agents that work for this one.

pub use crate::bindings::agent_plugin::keepsake::host::agents::ChildEvent;
use crate::error::{Error, Result};
use crate::host::ChildHost;
use crate::memory::{ForkDifference, MergeReport};

/// A child session with its own sandbox and a fork of the parent's memory.
/// Dropping it ends the session and discards what was not merged.
pub struct Child {
    host: Box<dyn ChildHost>,
}

impl Child {
    pub(crate) fn new(host: Box<dyn ChildHost>) -> Self {
        Self { host }
    }

    /// The child's session id.
    pub fn session(&self) -> String {
        self.host.session()
    }

    /// Gives it a message.
    ///
    /// # Errors
    /// When the child has ended.
    pub fn send(&self, message: &str) -> Result<()> {
        self.host.send(message)
    }

    /// Gives it a message and waits for its reply. What it emits before goes to
    /// `emitted` as it comes.
    ///
    /// # Errors
    /// When the child failed or has ended, and those of `emitted`.
    pub fn ask(
        &self,
        message: &str,
        mut emitted: impl FnMut(&str) -> Result<()>,
    ) -> Result<String> {
        self.send(message)?;
        while let Some(event) = self.next()? {
            match event {
                ChildEvent::Emitted(chunk) => emitted(&chunk)?,
                ChildEvent::Reply(reply) => return Ok(reply),
            }
        }
        Err(Error::unavailable("the child ended without a reply"))
    }

    /// The next thing it tells, waiting for it; none when nothing is under way.
    ///
    /// # Errors
    /// When the child failed.
    pub fn next(&self) -> Result<Option<ChildEvent>> {
        self.host.next()
    }

    /// What it learned.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn diff(&self) -> Result<ForkDifference> {
        self.host.diff()
    }

    /// Takes over what it learned.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn merge(&self) -> Result<MergeReport> {
        self.host.merge()
    }

    /// Forgets what it learned.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn discard(&self) -> Result<()> {
        self.host.discard()
    }
}
