//! Comparing a fork with its parent: who changed what since both were last the
//! same. Reads only; a difference shows it, a merge carries it out.

use std::collections::{BTreeSet, HashMap, HashSet};

use keepsake_types::{ResourceRef, limits};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value};

use super::super::remember::Property;
use super::super::working;
use super::state::{self, COLUMNS, Hash, State};
use crate::scope::{self, ScopeId};
use crate::{Result, StorageError, json};

/// The two sides of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides {
    pub(super) fork: ScopeId,
    pub(super) parent: ScopeId,
}

impl Sides {
    /// The scopes of a fork and of what it was made of.
    pub(super) fn of(connection: &Connection, fork: &ResourceRef) -> Result<Self> {
        if fork.fork.is_none() {
            return Err(StorageError::Invalid(format!(
                "the memory of `{}` is no fork, and has no parent to be compared with",
                fork.resource
            )));
        }
        let scope = super::existing(connection, fork)?;
        let parent = connection
            .prepare_cached("SELECT parent FROM forks WHERE scope = ?1")?
            .query_row([scope], |row| row.get(0))?;
        Ok(Self {
            fork: scope,
            parent,
        })
    }
}

/// What a merge does about one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The parent has no such thing.
    Add,
    /// The parent takes the fork's.
    Change,
    /// The parent's own says the same, and grows newer.
    Renew,
    /// The parent has learned the same fact itself, and takes its evidence.
    Join,
    /// It goes from the parent as well.
    Remove,
    /// Both sides came to the same.
    Settle,
}

/// A fact that is not as it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct FactChange {
    pub(super) step: Step,
    /// Its number in the fork; where it was removed, the one that it had.
    pub(super) fork: i64,
    /// The parent's fact, where there is one. In a conflict about a new fact, the
    /// one that stands in its way.
    pub(super) parent: Option<i64>,
    /// Both sides changed it, so that the parent's is left.
    pub(super) conflict: bool,
}

/// A key of working memory or a member of the profile that is not as it was.
#[derive(Clone, Debug)]
pub(super) struct ValueChange {
    pub(super) step: Step,
    pub(super) name: String,
    pub(super) conflict: bool,
}

/// All that is not as it was.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) facts: Vec<FactChange>,
    pub(super) working: Vec<ValueChange>,
    pub(super) profile: Vec<ValueChange>,
}

pub(super) fn compare(connection: &Connection, sides: Sides) -> Result<Comparison> {
    Ok(Comparison {
        facts: facts(connection, sides)?,
        working: working(connection, sides)?,
        profile: profile(connection, sides)?,
    })
}

fn facts(connection: &Connection, sides: Sides) -> Result<Vec<FactChange>> {
    let mut origins = HashSet::new();
    let mut changes = known_facts(connection, sides, &mut origins)?;
    let new = new_facts(connection, sides)?;
    for change in &changes {
        if let (true, Some(parent)) = (change.conflict, change.parent) {
            origins.remove(&parent);
        }
    }
    for fork in new {
        changes.push(new_fact(connection, sides, fork, &origins)?);
    }
    hold_back_what_was_superseded(connection, &mut changes)?;
    Ok(changes)
}

/// Of the facts that both sides had, those that are not as they were. `origins` is
/// given the parent's facts that the fork has as well.
fn known_facts(
    connection: &Connection,
    sides: Sides,
    origins: &mut HashSet<i64>,
) -> Result<Vec<FactChange>> {
    let (from, to) = scope::fact_range(sides.fork);
    let mut statement = connection.prepare_cached(&format!(
        "SELECT b.fact, b.updated_at, b.state, f.number, p.number, b.origin, {}, {}
         FROM fork_facts b LEFT JOIN facts f ON f.number = b.fact
         LEFT JOIN facts p ON p.number = b.origin
         WHERE b.fact BETWEEN ?1 AND ?2 ORDER BY b.fact",
        state::columns("f"),
        state::columns("p")
    ))?;
    let mut rows = statement.query([from, to])?;
    let mut changes = Vec::new();
    while let Some(row) = rows.next()? {
        let base = State {
            updated_at: row.get(1)?,
            hash: row.get(2)?,
        };
        let side = |number: usize, first| -> Result<Option<State>> {
            Ok(match row.get::<_, Option<i64>>(number)? {
                Some(_) => Some(State::from_row(row, first)?),
                None => None,
            })
        };
        let (fork, parent) = (side(3, 6)?, side(4, 6 + COLUMNS)?);
        let origin: i64 = row.get(5)?;
        if parent.is_some() {
            origins.insert(origin);
        }
        if let Some((step, conflict)) = known_fact(base, fork, parent) {
            changes.push(FactChange {
                step,
                fork: row.get(0)?,
                parent: parent.map(|_| origin),
                conflict,
            });
        }
    }
    Ok(changes)
}

/// What is to be done about a fact that both sides had, and whether it is a
/// conflict; none where the fork left it alone.
fn known_fact(base: State, fork: Option<State>, parent: Option<State>) -> Option<(Step, bool)> {
    let parent_left_it = parent.is_some_and(|parent| parent.hash == base.hash);
    match (fork, parent) {
        (None, None) => Some((Step::Settle, false)),
        (None, Some(_)) => Some((Step::Remove, !parent_left_it)),
        (Some(fork), None) => (fork != base).then_some((Step::Change, true)),
        (Some(fork), Some(_)) if fork == base => None,
        (Some(fork), Some(parent)) => {
            let newer = fork.updated_at > parent.updated_at;
            Some(if fork.hash == parent.hash || fork.hash == base.hash {
                (if newer { Step::Renew } else { Step::Settle }, false)
            } else {
                (Step::Change, !parent_left_it)
            })
        }
    }
}

/// The facts that the fork learned since, in their order.
fn new_facts(connection: &Connection, sides: Sides) -> Result<Vec<i64>> {
    let (from, to) = scope::fact_range(sides.fork);
    let mut statement = connection.prepare_cached(
        "SELECT number FROM facts WHERE number BETWEEN ?1 AND ?2
            AND NOT EXISTS (SELECT 1 FROM fork_facts WHERE fact = facts.number)
         ORDER BY number LIMIT ?3",
    )?;
    let numbers = statement
        .query_map(params![from, to, limits::FORK_FACTS + 1], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<i64>>>()?;
    if numbers.len() > limits::FORK_FACTS {
        return Err(StorageError::limit(
            "fork-facts",
            "facts that a merge brings",
            numbers.len(),
            limits::FORK_FACTS,
        ));
    }
    Ok(numbers)
}

fn new_fact(
    connection: &Connection,
    sides: Sides,
    fork: i64,
    origins: &HashSet<i64>,
) -> Result<FactChange> {
    let change = |step, parent, conflict| FactChange {
        step,
        fork,
        parent,
        conflict,
    };
    if let Some((parent, step)) = same_fact(connection, sides, fork, origins)? {
        return Ok(change(step, Some(parent), false));
    }
    let rival = rival(connection, sides, fork, origins)?;
    Ok(change(Step::Add, rival, rival.is_some()))
}

/// The parent's own fact with the same text in the same place that holds at the
/// same time, and whether it lacks the evidence that the fork's has.
fn same_fact(
    connection: &Connection,
    sides: Sides,
    fork: i64,
    origins: &HashSet<i64>,
) -> Result<Option<(i64, Step)>> {
    let (from, to) = scope::fact_range(sides.parent);
    let mut statement = connection.prepare_cached(
        "SELECT p.number, p.source_session IS NULL AND f.source_session IS NOT NULL
         FROM facts f JOIN facts p ON p.content_key = f.content_key
         WHERE f.number = ?1 AND p.number BETWEEN ?2 AND ?3 AND p.content = f.content
            AND p.thread IS f.thread AND p.position IS f.position
            AND p.subject IS f.subject AND p.attribute IS f.attribute
            AND (p.valid_until IS NULL OR p.valid_until > f.valid_from)
            AND (f.valid_until IS NULL OR f.valid_until > p.valid_from)
         ORDER BY p.number",
    )?;
    let mut rows = statement.query([fork, from, to])?;
    while let Some(row) = rows.next()? {
        let parent: i64 = row.get(0)?;
        if !origins.contains(&parent) {
            let step = if row.get(1)? {
                Step::Join
            } else {
                Step::Settle
            };
            return Ok(Some((parent, step)));
        }
    }
    Ok(None)
}

/// A value that the parent has for the same property at the same time and that is
/// not the fork's as well: it was learned or changed since. Of one property, one
/// value holds at a time.
fn rival(
    connection: &Connection,
    sides: Sides,
    fork: i64,
    origins: &HashSet<i64>,
) -> Result<Option<i64>> {
    type Row = (Option<String>, Option<String>, i64, Option<i64>);
    let (subject, attribute, since, until): Row = connection
        .prepare_cached(
            "SELECT subject, attribute, valid_from, valid_until FROM facts WHERE number = ?1",
        )?
        .query_row([fork], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    let Some(property) = Property::of(subject.as_ref(), attribute.as_ref()) else {
        return Ok(None);
    };
    if until.is_some_and(|until| until <= since) {
        return Ok(None);
    }
    let holding = property.holding(connection, sides.parent, since, until)?;
    Ok(holding.into_iter().find(|fact| !origins.contains(fact)))
}

/// A fact that was superseded by one which is not brought goes on in the parent: it
/// is in conflict too.
fn hold_back_what_was_superseded(
    connection: &Connection,
    changes: &mut [FactChange],
) -> Result<()> {
    let mut held_back: Vec<i64> = changes
        .iter()
        .filter(|change| change.conflict && change.step == Step::Add)
        .map(|change| change.fork)
        .collect();
    if held_back.is_empty() {
        return Ok(());
    }
    let mut superseding = connection.prepare_cached(
        "SELECT newer.number FROM facts older JOIN facts newer ON newer.id = older.superseded_by
         WHERE older.number = ?1",
    )?;
    let mut superseded: HashMap<i64, Vec<usize>> = HashMap::new();
    for (place, change) in changes.iter().enumerate() {
        if !change.conflict && matches!(change.step, Step::Add | Step::Change) {
            let newer = superseding.query_row([change.fork], |row| row.get(0));
            if let Some(newer) = newer.optional()? {
                superseded.entry(newer).or_default().push(place);
            }
        }
    }
    while let Some(newer) = held_back.pop() {
        for place in superseded.remove(&newer).unwrap_or_default() {
            let older = &mut changes[place];
            older.conflict = true;
            if older.step == Step::Add {
                held_back.push(older.fork);
            }
        }
    }
    Ok(())
}

/// What is to be done about a value of both sides; none where the fork left it.
fn value_step<T: PartialEq>(
    base: Option<T>,
    fork: Option<T>,
    parent: Option<T>,
) -> Option<(Step, bool)> {
    if fork == base {
        return None;
    }
    if fork == parent {
        return Some((Step::Settle, false));
    }
    let step = match (&fork, &parent) {
        (None, _) => Step::Remove,
        (Some(_), None) => Step::Add,
        (Some(_), Some(_)) => Step::Change,
    };
    Some((step, parent != base))
}

fn working(connection: &Connection, sides: Sides) -> Result<Vec<ValueChange>> {
    let mut statement = connection.prepare_cached(
        "SELECT key FROM working WHERE scope = ?1
         UNION SELECT key FROM fork_values WHERE scope = ?1 ORDER BY key",
    )?;
    let mut base =
        connection.prepare_cached("SELECT state FROM fork_values WHERE scope = ?1 AND key = ?2")?;
    let mut rows = statement.query([sides.fork])?;
    let mut changes = Vec::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let value = |scope| -> Result<Option<Hash>> {
            let text = working::get(connection, scope, &name)?;
            Ok(text.map(|text| state::of_text(&text)))
        };
        let before: Option<Hash> = base
            .query_row(params![sides.fork, name], |row| row.get(0))
            .optional()?;
        if let Some((step, conflict)) = value_step(before, value(sides.fork)?, value(sides.parent)?)
        {
            changes.push(ValueChange {
                step,
                name,
                conflict,
            });
        }
    }
    Ok(changes)
}

/// The parent's profile when both were last the same.
pub(super) fn base_profile(connection: &Connection, fork: ScopeId) -> Result<Map<String, Value>> {
    let text: String = connection
        .prepare_cached("SELECT profile FROM forks WHERE scope = ?1")?
        .query_row([fork], |row| row.get(0))?;
    match json::stored(&text, "the profile that a fork was made with")? {
        Value::Object(profile) => Ok(profile),
        _ => Ok(Map::new()),
    }
}

fn profile(connection: &Connection, sides: Sides) -> Result<Vec<ValueChange>> {
    let base = base_profile(connection, sides.fork)?;
    let fork = working::profile(connection, sides.fork)?;
    let parent = working::profile(connection, sides.parent)?;
    let names: BTreeSet<&String> = base.keys().chain(fork.keys()).collect();
    Ok(names
        .into_iter()
        .filter_map(|name| {
            let step = value_step(base.get(name), fork.get(name), parent.get(name));
            step.map(|(step, conflict)| ValueChange {
                step,
                name: name.clone(),
                conflict,
            })
        })
        .collect())
}
