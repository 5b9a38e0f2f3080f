//! A fork as a guest holds it: a scope like any other, and its way back.

use keepsake_storage as storage;

use super::{Branch, Scope};
use crate::bindings::agent::keepsake::host::memory::{Fact, ForkDifference, MergeReport};
use crate::bindings::agent::keepsake::host::types::Error;
use crate::capability::session::TurnContext;

impl Scope {
    pub(super) async fn fork(&self, child: &str) -> Result<Branch, Error> {
        let branch = self.memory.fork(child).await?;
        let scope = Self {
            memory: branch.memory().clone(),
            ..self.clone()
        };
        Ok(Branch { branch, scope })
    }
}

impl Branch {
    /// What a child learns, seen from the one that started it.
    pub(crate) fn of_child(context: &TurnContext, branch: storage::Branch) -> Self {
        let scope = Scope::new(context, branch.memory().clone());
        Self { branch, scope }
    }

    pub(super) fn scope(&self) -> Scope {
        self.scope.clone()
    }

    pub(crate) async fn diff(&self) -> Result<ForkDifference, Error> {
        let difference = self.branch.diff().await?;
        let facts = |facts: Vec<storage::Fact>| facts.into_iter().map(Fact::from).collect();
        Ok(ForkDifference {
            added: facts(difference.added),
            changed: facts(difference.changed),
            removed: difference.removed,
            working: difference.working,
            profile: difference.profile,
            conflicts: difference.conflicts.into_iter().map(name).collect(),
        })
    }

    pub(crate) async fn merge(&self) -> Result<MergeReport, Error> {
        let report = self.branch.merge(self.scope.check()).await?;
        Ok(MergeReport {
            added: report.added,
            changed: report.changed,
            removed: report.removed,
            conflicts: report.conflicts.into_iter().map(name).collect(),
        })
    }

    pub(super) async fn discard(&self) -> Result<(), Error> {
        self.branch.discard().await?;
        Ok(())
    }
}

/// How a guest is told of a conflict.
fn name(conflict: storage::Conflict) -> String {
    match conflict {
        storage::Conflict::Fact(id) => id,
        storage::Conflict::Working(key) => key,
        storage::Conflict::Profile(member) => format!("profile.{member}"),
    }
}
