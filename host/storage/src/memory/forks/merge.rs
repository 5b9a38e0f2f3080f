//! Merging: what a fork changed is carried out in its parent, in one transaction.

use keepsake_types::ResourceRef;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value, json};

use super::super::remember::next_number;
use super::super::working::{self, ProfileCheck};
use super::super::{Change, facts, postings};
use super::compare::{Comparison, FactChange, Sides, Step, ValueChange, base_profile, compare};
use super::copy::{COPIED, NEW_ID, SOURCE_SCOPE, note_state};
use super::difference::{Conflict, conflicts};
use super::state::{self, State};
use crate::ledger::{self, Kind};
use crate::{Result, StorageError};

/// What a merge did in the parent: to facts, keys of working memory and members of
/// the profile together.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MergeReport {
    /// Those that the parent did not have.
    pub added: u64,
    /// Those that it had otherwise.
    pub changed: u64,
    /// Those that went.
    pub removed: u64,
    /// What both sides changed, each in another way, and was left.
    pub conflicts: Vec<Conflict>,
}

impl MergeReport {
    fn count(&mut self, step: Step) {
        match step {
            Step::Add => self.added += 1,
            Step::Change | Step::Renew | Step::Join => self.changed += 1,
            Step::Remove => self.removed += 1,
            Step::Settle => {}
        }
    }
}

pub(super) fn merge(
    change: &Change<'_>,
    fork: &ResourceRef,
    check: Option<&ProfileCheck>,
) -> Result<MergeReport> {
    let sides = Sides::of(change.connection, fork)?;
    if sides.parent != change.scope {
        return Err(StorageError::Internal(
            "a fork was to be merged into a memory that it is no fork of".to_owned(),
        ));
    }
    let comparison = compare(change.connection, sides)?;
    let mut report = MergeReport {
        conflicts: conflicts(change.connection, &comparison)?,
        ..MergeReport::default()
    };
    let mut said = json!({ "fork": fork.fork, "conflicts": report.conflicts });
    merge_facts(change, &comparison, &mut report, &mut said)?;
    merge_working(change, sides, &comparison.working, &mut report, &mut said)?;
    merge_profile(
        change,
        sides,
        &comparison.profile,
        check,
        &mut report,
        &mut said,
    )?;
    if report != MergeReport::default() {
        // Without texts: what facts say, the entries say that they were learned by,
        // which are theirs in the parent as well.
        change.record(&Kind::MemoryMerged, said)?;
    }
    Ok(report)
}

fn merge_facts(
    change: &Change<'_>,
    comparison: &Comparison,
    report: &mut MergeReport,
    said: &mut Value,
) -> Result<()> {
    let connection = change.connection;
    let mut words = postings::Batch::default();
    let mut forgotten = Vec::new();
    let (mut added, mut changed, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    let merged = comparison.facts.iter().filter(|one| !one.conflict);
    for one in merged.clone() {
        report.count(one.step);
        match (one.step, one.parent) {
            (Step::Add, _) => {
                let parent = add(change, one.fork, &mut words)?;
                settle(connection, one.fork, Some(parent))?;
                added.push(id(connection, parent)?);
            }
            (Step::Remove, Some(parent)) => {
                removed.push(id(connection, parent)?);
                forgotten.extend(facts::delete(connection, change.scope, parent)?);
                settle(connection, one.fork, None)?;
            }
            (step, Some(parent)) => {
                take(connection, step, one.fork, parent)?;
                settle(connection, one.fork, Some(parent))?;
                if step != Step::Settle {
                    changed.push(id(connection, parent)?);
                }
            }
            (_, None) => settle(connection, one.fork, None)?,
        }
    }
    words.enter(connection, change.scope)?;
    for one in merged {
        name_what_superseded(connection, one)?;
    }
    said["added"] = json!(added);
    said["changed"] = json!(changed);
    said["removed"] = json!(removed);
    ledger::erase(connection, change.number, &forgotten)
}

/// Copies a new fact of the fork into the parent. Answers with its number there.
fn add(change: &Change<'_>, fork: i64, words: &mut postings::Batch) -> Result<i64> {
    let connection = change.connection;
    let number = next_number(connection, change.scope)?;
    let content: String = connection
        .prepare_cached(&format!(
            "INSERT INTO facts (number, id, source_scope, {COPIED})
             SELECT ?2, {NEW_ID}, {SOURCE_SCOPE}, {COPIED} FROM facts WHERE number = ?1
             RETURNING content"
        ))?
        .query_row([fork, number], |row| row.get(0))?;
    let length = words.add(number, &content);
    connection
        .prepare_cached("UPDATE scopes SET words = words + ?2 WHERE id = ?1")?
        .execute(params![change.scope, length])?;
    for statement in [
        "INSERT INTO vectors (fact, model, vector)
         SELECT ?2, model, vector FROM vectors WHERE fact = ?1",
        "INSERT INTO summaries (fact, facts) SELECT ?2, facts FROM summaries WHERE fact = ?1",
        "INSERT INTO fact_sources (fact, session, place, hash, scope)
         SELECT ?2, session, place, hash, scope FROM fact_sources WHERE fact = ?1",
    ] {
        connection
            .prepare_cached(statement)?
            .execute([fork, number])?;
    }
    share_entries(connection, fork, number)?;
    Ok(number)
}

/// Lets the entries that a fork's fact rests on be the parent's fact's as well.
fn share_entries(connection: &Connection, fork: i64, parent: i64) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO fact_entries (fact, entry)
             SELECT ?2, entry FROM fact_entries WHERE fact = ?1",
        )?
        .execute([fork, parent])?;
    Ok(())
}

/// Gives the parent's fact what the fork's has.
fn take(connection: &Connection, step: Step, fork: i64, parent: i64) -> Result<()> {
    let source = format!(
        "(source_session, source_place, source_hash, source_scope, quote) =
         (SELECT source_session, source_place, source_hash, {SOURCE_SCOPE}, quote
          FROM facts WHERE number = ?1)"
    );
    let all = format!(
        "(valid_from, valid_until, subject, attribute, metadata, extras) =
         (SELECT valid_from, valid_until, subject, attribute, metadata, extras
          FROM facts WHERE number = ?1), {source}"
    );
    let newer = "updated_at = max(updated_at, (SELECT updated_at FROM facts WHERE number = ?1))";
    let columns = match step {
        Step::Change => format!("{newer}, {all}"),
        Step::Join => format!("{newer}, {source}"),
        Step::Renew => newer.to_owned(),
        Step::Add | Step::Remove | Step::Settle => return Ok(()),
    };
    connection
        .prepare_cached(&format!("UPDATE facts SET {columns} WHERE number = ?2"))?
        .execute([fork, parent])?;
    share_entries(connection, fork, parent)
}

/// Notes that both sides are the same now in a fact, which the parent may not have.
fn settle(connection: &Connection, fork: i64, parent: Option<i64>) -> Result<()> {
    let state = connection
        .prepare_cached(&format!(
            "SELECT {} FROM facts f WHERE f.number = ?1",
            state::columns("f")
        ))?
        .query_row([fork], |row| State::from_row(row, 0))
        .optional()?;
    if let (Some(state), Some(parent)) = (state, parent) {
        return note_state(connection, fork, parent, &state);
    }
    connection
        .prepare_cached("DELETE FROM fork_facts WHERE fact = ?1")?
        .execute([fork])?;
    Ok(())
}

/// Names in a merged fact the parent's fact that superseded it, in place of the
/// fork's.
fn name_what_superseded(connection: &Connection, one: &FactChange) -> Result<()> {
    if !matches!(one.step, Step::Add | Step::Change) {
        return Ok(());
    }
    connection
        .prepare_cached(
            "UPDATE facts SET superseded_by = (
                SELECT coalesce(theirs.id, fork.superseded_by) FROM facts fork
                LEFT JOIN facts newer ON newer.id = fork.superseded_by
                LEFT JOIN fork_facts same ON same.fact = newer.number
                LEFT JOIN facts theirs ON theirs.number = same.origin
                WHERE fork.number = ?1)
             WHERE number = (SELECT origin FROM fork_facts WHERE fact = ?1)",
        )?
        .execute([one.fork])?;
    Ok(())
}

fn id(connection: &Connection, fact: i64) -> Result<String> {
    Ok(connection
        .prepare_cached("SELECT id FROM facts WHERE number = ?1")?
        .query_row([fact], |row| facts::id_column(row, 0))?)
}

fn merge_working(
    change: &Change<'_>,
    sides: Sides,
    changes: &[ValueChange],
    report: &mut MergeReport,
    said: &mut Value,
) -> Result<()> {
    let connection = change.connection;
    let mut keys = Vec::new();
    for one in changes.iter().filter(|one| !one.conflict) {
        report.count(one.step);
        match one.step {
            Step::Settle => {}
            Step::Remove => {
                connection
                    .prepare_cached("DELETE FROM working WHERE scope = ?1 AND key = ?2")?
                    .execute(params![sides.parent, one.name])?;
            }
            _ => {
                let (text, at): (String, i64) = connection
                    .prepare_cached(
                        "SELECT value, updated_at FROM working WHERE scope = ?1 AND key = ?2",
                    )?
                    .query_row(params![sides.fork, one.name], |row| {
                        Ok((row.get(0)?, row.get(1)?))
                    })?;
                working::put(change, &one.name, &text, at)?;
            }
        }
        settle_value(connection, sides, &one.name)?;
        if one.step != Step::Settle {
            keys.push(&one.name);
        }
    }
    said["working"] = json!(keys);
    Ok(())
}

fn settle_value(connection: &Connection, sides: Sides, key: &str) -> Result<()> {
    match working::get(connection, sides.fork, key)? {
        Some(text) => connection
            .prepare_cached(
                "INSERT INTO fork_values (scope, key, state) VALUES (?1, ?2, ?3)
                 ON CONFLICT (scope, key) DO UPDATE SET state = excluded.state",
            )?
            .execute(params![sides.fork, key, state::of_text(&text)])?,
        None => connection
            .prepare_cached("DELETE FROM fork_values WHERE scope = ?1 AND key = ?2")?
            .execute(params![sides.fork, key])?,
    };
    Ok(())
}

fn merge_profile(
    change: &Change<'_>,
    sides: Sides,
    changes: &[ValueChange],
    check: Option<&ProfileCheck>,
    report: &mut MergeReport,
    said: &mut Value,
) -> Result<()> {
    let connection = change.connection;
    let fork = working::profile(connection, sides.fork)?;
    let mut base = base_profile(connection, sides.fork)?;
    let mut profile = working::profile(connection, sides.parent)?;
    let mut brought = false;
    let mut members = Vec::new();
    for one in changes.iter().filter(|one| !one.conflict) {
        report.count(one.step);
        take_member(&mut base, &fork, &one.name);
        if one.step != Step::Settle {
            brought = true;
            take_member(&mut profile, &fork, &one.name);
            members.push(&one.name);
        }
    }
    if brought {
        working::put_profile(change, &profile, check)?;
    }
    said["profile"] = json!(members);
    connection
        .prepare_cached("UPDATE forks SET profile = ?2 WHERE scope = ?1")?
        .execute(params![
            sides.fork,
            crate::json::canonical(&Value::Object(base))
        ])?;
    Ok(())
}

fn take_member(target: &mut Map<String, Value>, from: &Map<String, Value>, name: &str) {
    match from.get(name) {
        Some(value) => {
            target.insert(name.to_owned(), value.clone());
        }
        None => {
            target.remove(name);
        }
    }
}
