//! What a fork holds that its parent does not, or holds differently.

use keepsake_types::{ResourceRef, limits};
use rusqlite::{Connection, OptionalExtension};

use super::super::facts::{self, Loader};
use super::super::model::Fact;
use super::compare::{Comparison, FactChange, Sides, Step, ValueChange, compare};
use crate::{Result, StorageError};

/// How a fork differs from its parent by what it changed since both were last the
/// same. What only the parent changed is not in it.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Difference {
    /// The fork's facts that its parent does not have.
    pub added: Vec<Fact>,
    /// The fork's facts that its parent has otherwise.
    pub changed: Vec<Fact>,
    /// Ids of the parent's facts that the fork forgot.
    pub removed: Vec<String>,
    /// Keys of working memory.
    pub working: Vec<String>,
    /// Members of the profile.
    pub profile: Vec<String>,
    /// Which of all that the parent changed as well, in another way; a merge
    /// leaves those.
    pub conflicts: Vec<Conflict>,
}

/// What both sides changed, each in another way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conflict {
    /// A fact, by the id that it has in the parent; where the parent forgot it, by
    /// the one in the fork. A new value in the fork is in conflict with the value
    /// that the parent has for the same property at the same time.
    Fact(String),
    /// A key of working memory.
    Working(String),
    /// A member of the profile.
    Profile(String),
}

pub(super) fn difference(connection: &Connection, fork: &ResourceRef) -> Result<Difference> {
    let sides = Sides::of(connection, fork)?;
    let comparison = compare(connection, sides)?;
    let mut difference = Difference {
        working: names(&comparison.working),
        profile: names(&comparison.profile),
        conflicts: conflicts(connection, &comparison)?,
        ..Difference::default()
    };
    let shown = |change: &&FactChange| change.step != Step::Settle;
    let count = comparison.facts.iter().filter(shown).count();
    if count > limits::FORK_DIFFERENCE_FACTS {
        return Err(StorageError::limit(
            "fork-difference-facts",
            "facts in which a fork differs from its parent",
            count,
            limits::FORK_DIFFERENCE_FACTS,
        ));
    }
    let mut loader = Loader::new(connection, sides.fork);
    for change in comparison.facts.iter().filter(shown) {
        match (change.step, change.parent) {
            (Step::Remove, Some(parent)) => difference.removed.extend(id(connection, parent)?),
            (Step::Add, _) => difference.added.extend(loader.load(change.fork)?),
            _ => difference.changed.extend(loader.load(change.fork)?),
        }
    }
    Ok(difference)
}

fn names(changes: &[ValueChange]) -> Vec<String> {
    let shown = changes.iter().filter(|change| change.step != Step::Settle);
    shown.map(|change| change.name.clone()).collect()
}

/// What is in conflict, each once.
pub(super) fn conflicts(connection: &Connection, comparison: &Comparison) -> Result<Vec<Conflict>> {
    let mut conflicts = Vec::new();
    for change in comparison.facts.iter().filter(|change| change.conflict) {
        let fact = change.parent.unwrap_or(change.fork);
        conflicts.extend(id(connection, fact)?.map(Conflict::Fact));
    }
    let values = |changes: &[ValueChange], kind: fn(String) -> Conflict| {
        let conflicts = changes.iter().filter(|change| change.conflict);
        conflicts
            .map(|change| kind(change.name.clone()))
            .collect::<Vec<_>>()
    };
    conflicts.extend(values(&comparison.working, Conflict::Working));
    conflicts.extend(values(&comparison.profile, Conflict::Profile));
    conflicts.sort_unstable();
    conflicts.dedup();
    Ok(conflicts)
}

fn id(connection: &Connection, fact: i64) -> Result<Option<String>> {
    Ok(connection
        .prepare_cached("SELECT id FROM facts WHERE number = ?1")?
        .query_row([fact], |row| facts::id_column(row, 0))
        .optional()?)
}
