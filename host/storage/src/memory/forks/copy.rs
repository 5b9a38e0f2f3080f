//! Making a fork: every row of a scope again, under another number.
//!
//! A copied fact keeps the lower half of its number, so that the word index, which
//! holds only those, is copied as it is. Vectors are copied as well: no provider is
//! asked.

use keepsake_types::{ResourceRef, limits, now};
use rusqlite::{Connection, params};
use serde_json::json;

use super::super::{Change, working};
use super::state::{self, State};
use crate::ledger::Kind;
use crate::scope::{self, ScopeId};
use crate::{Result, StorageError, json};

/// The scope of the fork, made if need be.
pub(super) fn fork(change: &Change<'_>, fork: &ResourceRef) -> Result<ScopeId> {
    let connection = change.connection;
    if let Some(scope) = scope::find(connection, fork)? {
        return Ok(scope);
    }
    check_limits(change, fork)?;
    let scope = new_scope(change, fork)?;
    copy_working(connection, change.scope, scope)?;
    copy_facts(connection, change.scope, scope)?;
    let facts: u64 = connection
        .prepare_cached("SELECT facts FROM scopes WHERE id = ?1")?
        .query_row([scope], |row| row.get(0))?;
    let entry = change.append(
        &Kind::MemoryForked,
        json!({ "fork": fork.fork, "facts": facts }),
    )?;
    let profile = working::profile(connection, change.scope)?;
    connection
        .prepare_cached(
            "INSERT INTO forks (scope, parent, forked_at, last_entry, profile)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            scope,
            change.scope,
            now(),
            entry.number,
            json::canonical(&profile.into())
        ])?;
    Ok(scope)
}

fn check_limits(change: &Change<'_>, fork: &ResourceRef) -> Result<()> {
    let path = scope::column(fork.fork.as_ref());
    let depth = path.split('/').count();
    if depth > limits::FORK_DEPTH {
        return Err(StorageError::limit(
            "fork-depth",
            "forks within forks",
            depth,
            limits::FORK_DEPTH,
        ));
    }
    let forks: usize = change
        .connection
        .prepare_cached(
            "SELECT count(*) FROM scopes WHERE resource = ?1 AND team = ?2 AND fork <> ''",
        )?
        .query_row(
            params![fork.resource, scope::column(fork.team.as_ref())],
            |row| row.get(0),
        )?;
    if forks >= limits::FORKS {
        return Err(StorageError::limit(
            "forks",
            "forks of one resource",
            forks + 1,
            limits::FORKS,
        ));
    }
    let facts: usize = change
        .connection
        .prepare_cached("SELECT facts FROM scopes WHERE id = ?1")?
        .query_row([change.scope], |row| row.get(0))?;
    if facts > limits::FORK_FACTS {
        return Err(StorageError::limit(
            "fork-facts",
            "facts that a fork copies",
            facts,
            limits::FORK_FACTS,
        ));
    }
    Ok(())
}

/// The fork's row, with the counts of what is about to be copied.
fn new_scope(change: &Change<'_>, fork: &ResourceRef) -> Result<ScopeId> {
    let scope: ScopeId = change
        .connection
        .prepare_cached(
            "INSERT INTO scopes (resource, team, fork, next_fact, facts, words)
             SELECT resource, team, ?2, next_fact, facts, words FROM scopes WHERE id = ?1
             RETURNING id",
        )?
        .query_row(
            params![change.scope, scope::column(fork.fork.as_ref())],
            |row| row.get(0),
        )?;
    scope::check_number(scope)?;
    Ok(scope)
}

fn copy_working(connection: &Connection, from: ScopeId, to: ScopeId) -> Result<()> {
    for statement in [
        "INSERT INTO working (scope, key, updated_at, value)
         SELECT ?2, key, updated_at, value FROM working WHERE scope = ?1",
        "INSERT INTO profiles (scope, updated_at, value)
         SELECT ?2, updated_at, value FROM profiles WHERE scope = ?1",
        "INSERT INTO compactions (scope, next_fact)
         SELECT ?2, next_fact FROM compactions WHERE scope = ?1",
    ] {
        connection
            .prepare_cached(statement)?
            .execute(params![from, to])?;
    }
    let mut values =
        connection.prepare_cached("SELECT key, value FROM working WHERE scope = ?1")?;
    let mut rows = values.query([to])?;
    let mut note = connection
        .prepare_cached("INSERT INTO fork_values (scope, key, state) VALUES (?1, ?2, ?3)")?;
    while let Some(row) = rows.next()? {
        let value = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        note.execute(params![
            to,
            row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?,
            state::of_text(value)
        ])?;
    }
    Ok(())
}

/// An id for a copy of a fact, as no two facts of a file have the same. It keeps
/// the time in the original's.
pub(super) const NEW_ID: &str = "unhex(substr(hex(id), 1, 12) || '7'
    || substr(hex(randomblob(2)), 1, 3) || '8' || substr(hex(randomblob(8)), 1, 15))";

/// What a copy of a fact takes over as it is. Where its source belongs to is told,
/// as it need not be where the copy does.
pub(super) const COPIED: &str = "created_at, updated_at, valid_from, valid_until, superseded_by,
    words, content_key, source_session, source_place, source_hash, subject, attribute, thread,
    position, instruction_like, masked, quote, extras, metadata, content";
pub(super) const SOURCE_SCOPE: &str =
    "CASE WHEN source_session IS NOT NULL THEN coalesce(source_scope, number >> 32) END";

fn copy_facts(connection: &Connection, from: ScopeId, to: ScopeId) -> Result<()> {
    let (first, last) = scope::fact_range(from);
    let further = scope::fact_range(to).0 - first;
    for statement in [
        format!(
            "INSERT INTO facts (number, id, source_scope, {COPIED})
             SELECT number + ?3, {NEW_ID}, {SOURCE_SCOPE}, {COPIED} FROM facts
             WHERE number BETWEEN ?1 AND ?2 ORDER BY number"
        )
        .as_str(),
        // Within the copy, what was superseded was so by a copied fact.
        "UPDATE facts SET superseded_by = coalesce(
            (SELECT copy.id FROM facts original JOIN facts copy ON copy.number = original.number + ?3
             WHERE original.id = facts.superseded_by AND original.number BETWEEN ?1 AND ?2),
            superseded_by)
         WHERE number BETWEEN ?1 + ?3 AND ?2 + ?3 AND superseded_by IS NOT NULL",
        "INSERT INTO vectors (fact, model, vector)
         SELECT fact + ?3, model, vector FROM vectors WHERE fact BETWEEN ?1 AND ?2 ORDER BY fact",
        "INSERT INTO fact_entries (fact, entry)
         SELECT fact + ?3, entry FROM fact_entries WHERE fact BETWEEN ?1 AND ?2",
        "INSERT INTO summaries (fact, facts)
         SELECT fact + ?3, facts FROM summaries WHERE fact BETWEEN ?1 AND ?2",
        "INSERT INTO fact_sources (fact, session, place, hash, scope)
         SELECT fact + ?3, session, place, hash, scope FROM fact_sources
         WHERE fact BETWEEN ?1 AND ?2",
    ] {
        connection
            .prepare_cached(statement)?
            .execute(params![first, last, further])?;
    }
    connection
        .prepare_cached(
            "INSERT INTO postings (scope, word, first, facts)
             SELECT ?2, word, first, facts FROM postings WHERE scope = ?1",
        )?
        .execute(params![from, to])?;
    note_states(connection, to, further)
}

/// Notes the state of each copied fact, which is that of its original.
fn note_states(connection: &Connection, fork: ScopeId, further: i64) -> Result<()> {
    let (first, last) = scope::fact_range(fork);
    let mut facts = connection.prepare_cached(&format!(
        "SELECT f.number, {} FROM facts f WHERE f.number BETWEEN ?1 AND ?2 ORDER BY f.number",
        state::columns("f")
    ))?;
    let mut rows = facts.query([first, last])?;
    while let Some(row) = rows.next()? {
        let fact: i64 = row.get(0)?;
        note_state(connection, fact, fact - further, &State::from_row(row, 1)?)?;
    }
    Ok(())
}

/// Notes in which state a fork's fact and its parent's were the same.
pub(super) fn note_state(
    connection: &Connection,
    fact: i64,
    origin: i64,
    state: &State,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO fork_facts (fact, origin, updated_at, state) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (fact) DO UPDATE SET origin = excluded.origin,
                updated_at = excluded.updated_at, state = excluded.state",
        )?
        .execute(params![fact, origin, state.updated_at, state.hash])?;
    Ok(())
}
