//! Forks: copies of a memory that go their own way, and their way back.
//!
//! A fork is a scope of its own, made by one transaction (`copy.rs`). What both
//! sides had when they were last the same is kept as a short hash of each fact and
//! value (`state.rs`), so that it can be told which side changed what
//! (`compare.rs`). A difference lists that, a merge carries it out (`merge.rs`),
//! and to discard a fork is to erase it (`discard.rs`).

mod compare;
mod copy;
mod difference;
mod discard;
mod merge;
mod state;

use keepsake_types::{ResourceRef, Timestamp};
use rusqlite::Connection;

use super::erase::Holdings;
use super::remember::Shown;
use super::working::ProfileCheck;
use super::{Memory, View, Writer};
use crate::Result;
use crate::scope::{self, ScopeId};

pub use difference::{Conflict, Difference};
pub use merge::MergeReport;

/// A fork as it stood when it was read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fork {
    /// Its name in the memory that it is a fork of.
    pub name: String,
    /// What it is reached by.
    #[serde(flatten)]
    pub resource: ResourceRef,
    /// When it was made.
    pub forked_at: Timestamp,
    /// How many facts it has.
    pub facts: u64,
}

/// A fork and its way back, used by one session.
#[derive(Clone, Debug)]
pub struct Branch {
    parent: Memory,
    memory: Memory,
}

impl View {
    /// The forks of this memory in the order of their names, without those of
    /// forks; at most [`FORKS`](keepsake_types::limits::FORKS).
    ///
    /// # Errors
    /// `NotFound` where this is a fork that is not there.
    pub async fn forks(&self) -> Result<Vec<Fork>> {
        self.read(Vec::new(), |snapshot, scope| list(snapshot, scope))
            .await
    }

    /// How this fork differs from the memory that it is a fork of: what
    /// [`Branch::merge`] would do.
    ///
    /// # Errors
    /// `NotFound` where this is no fork, or not there; `Limit`
    /// `fork-difference-facts` for more facts than a list holds.
    pub async fn difference(&self) -> Result<Difference> {
        let resource = self.resource.clone();
        self.database
            .read(move |snapshot| difference::difference(snapshot, &resource))
            .await
    }
}

impl Memory {
    /// An independent copy of this memory under the name `child`: working memory,
    /// the profile and all facts with their history, words and vectors. Made in
    /// one transaction with its ledger entry. Where there is a fork of that name,
    /// it is that fork, as it is now.
    ///
    /// Copied facts are verified by what happened in this memory before the fork;
    /// neither side sees what the other learns later.
    ///
    /// # Errors
    /// `Invalid` for what is no name of a fork; `Limit` `forks`, `fork-depth` or
    /// `fork-facts`.
    pub async fn fork(&self, child: &str) -> Result<Branch> {
        let resource = self.resource().forked(child)?;
        let forked = resource.clone();
        let scope = self
            .write(move |change| copy::fork(change, &forked))
            .await?;
        Ok(self.branch_at(resource, scope))
    }

    /// The fork of this memory with the name `child`.
    ///
    /// # Errors
    /// `Invalid` for what is no name of a fork, `NotFound` where there is none.
    pub async fn branch(&self, child: &str) -> Result<Branch> {
        let resource = self.resource().forked(child)?;
        let wanted = resource.clone();
        let scope = self
            .view
            .database
            .read(move |snapshot| existing(snapshot, &wanted))
            .await?;
        Ok(self.branch_at(resource, scope))
    }

    fn branch_at(&self, resource: ResourceRef, scope: ScopeId) -> Branch {
        let memory = Memory {
            view: View {
                database: self.view.database.clone(),
                resource: resource.clone(),
            },
            session: Writer {
                scope,
                elsewhere: Some(resource),
                ends: false,
                ..self.session.clone()
            },
            shown: Shown::default(),
        };
        Branch {
            parent: self.clone(),
            memory,
        }
    }
}

impl Branch {
    /// The fork's memory, used by the session that opened it.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The memory that it is a fork of.
    pub fn parent(&self) -> &Memory {
        &self.parent
    }

    /// As [`View::difference`].
    ///
    /// # Errors
    /// As [`View::difference`].
    pub async fn diff(&self) -> Result<Difference> {
        self.memory.view.difference().await
    }

    /// Brings what the fork changed since both were last the same into its parent,
    /// in one transaction with its ledger entry. What both sides changed, each in
    /// another way, is left as the parent has it. `check` sees the profile that
    /// would be, as with [`Memory::update_profile`]. The fork stays, and a second
    /// merge brings what came after the first.
    ///
    /// # Errors
    /// `Invalid` for a profile that `check` refuses, and then nothing is brought;
    /// `NotFound` for a fork that is gone; `Limit` `fork-facts`, `working-keys` or
    /// `working-value-bytes`.
    pub async fn merge(&self, check: Option<ProfileCheck>) -> Result<MergeReport> {
        let fork = self.memory.resource().clone();
        self.parent
            .write(move |change| merge::merge(change, &fork, check.as_ref()))
            .await
    }

    /// Deletes the fork and its own forks for good: what they hold, and what the
    /// entries say that were written for them alone. Their sessions are ended.
    /// What was merged stays. Answers how much went.
    ///
    /// # Errors
    /// `NotFound` for a fork that is gone.
    pub async fn discard(&self) -> Result<Holdings> {
        let fork = self.memory.resource().clone();
        self.parent
            .write(move |change| discard::discard(change, &fork))
            .await
    }
}

/// The scope of a fork that is there.
fn existing(connection: &Connection, fork: &ResourceRef) -> Result<ScopeId> {
    scope::find(connection, fork)?.ok_or_else(|| scope::no_fork(fork))
}

fn list(connection: &Connection, parent: ScopeId) -> Result<Vec<Fork>> {
    let mut statement = connection.prepare_cached(
        "SELECT s.resource, s.team, s.fork, f.forked_at, s.facts FROM forks f
         JOIN scopes s ON s.id = f.scope WHERE f.parent = ?1 ORDER BY s.fork",
    )?;
    let forks = statement.query_map([parent], |row| {
        let resource = scope::from_columns(row, 0)?;
        Ok(Fork {
            name: resource
                .parent()
                .map_or_else(String::new, |(_, name)| name.to_owned()),
            resource,
            forked_at: row.get(3)?,
            facts: row.get(4)?,
        })
    })?;
    Ok(forks.collect::<rusqlite::Result<_>>()?)
}
