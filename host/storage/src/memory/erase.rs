//! Erasing: all that is known of one resource goes, and what its sessions
//! recorded. The chain still holds, and says what was erased.

use keepsake_types::ResourceRef;
use rusqlite::{Connection, params};
use serde_json::json;
use uuid::Uuid;

use crate::database::Database;
use crate::ledger::{self, Kind};
use crate::scope::{self, ScopeId};
use crate::sessions::{self, BeginSession, OPERATOR_AGENT};
use crate::{Result, StorageError};

/// How many things of each kind a resource has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Holdings {
    /// Facts, those that do not hold any more included.
    pub facts: u64,
    /// Keys of working memory.
    pub working_keys: u64,
    /// Whether there is a profile: 0 or 1.
    pub profiles: u64,
    /// Sessions.
    pub sessions: u64,
    /// Ledger entries whose content is there.
    pub entries: u64,
}

/// What was erased.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Erased {
    /// The name under which the resource's sessions are listed from now on.
    pub known_as: String,
    /// How much it was.
    #[serde(flatten)]
    pub erased: Holdings,
}

impl Database {
    /// What a resource has; none where nothing is known of it.
    ///
    /// # Errors
    /// `Invalid` when its name is not well formed.
    pub async fn holdings(&self, resource: &ResourceRef) -> Result<Option<Holdings>> {
        resource.checked()?;
        let resource = resource.clone();
        self.read(
            move |connection| match scope::find(connection, &resource)? {
                Some(scope) => {
                    let entries = entries_of(connection, scope, &resource)?.len() as u64;
                    holdings(connection, scope, entries).map(Some)
                }
                None => Ok(None),
            },
        )
        .await
    }

    /// Erases all that is known of a resource: its profile, working memory and
    /// facts with their words and vectors, the content of every entry of its
    /// sessions, and its name. Sessions of it that still run are ended. Entries
    /// stay with their times, kinds and hashes; the chain holds, and a new
    /// session, of the resource's new name, records the erasure. Nothing is
    /// written where nothing is known of the resource.
    ///
    /// What is erased is overwritten in the file; [`Database::scrub`] makes sure
    /// that no copy of it is left in the file or its log.
    ///
    /// # Errors
    /// `Invalid` when its name is not well formed.
    pub async fn erase(&self, resource: &ResourceRef) -> Result<Option<Erased>> {
        resource.checked()?;
        let resource = resource.clone();
        self.write(move |connection| {
            scope::find(connection, &resource)?
                .map(|scope| erase(connection, scope, &resource))
                .transpose()
        })
        .await
    }
}

fn holdings(connection: &Connection, scope: ScopeId, entries: u64) -> Result<Holdings> {
    let (from, to) = scope::fact_range(scope);
    Ok(connection
        .prepare_cached(
            "SELECT (SELECT count(*) FROM facts WHERE number BETWEEN ?2 AND ?3),
                    (SELECT count(*) FROM working WHERE scope = ?1),
                    (SELECT count(*) FROM profiles WHERE scope = ?1),
                    (SELECT count(*) FROM sessions WHERE scope = ?1)",
        )?
        .query_row(params![scope, from, to], |row| {
            Ok(Holdings {
                facts: row.get(0)?,
                working_keys: row.get(1)?,
                profiles: row.get(2)?,
                sessions: row.get(3)?,
                entries,
            })
        })?)
}

/// The numbers of the entries that may hold something of the resource: those of
/// its own sessions, and those of others that worked on its memory. Entries that
/// say what was erased hold nothing of it, and the chain needs them. Those by which
/// its sessions remembered a fact of another memory, their team's, say no more
/// than that fact does, and are what it is verified by.
fn entries_of(connection: &Connection, scope: ScopeId, resource: &ResourceRef) -> Result<Vec<i64>> {
    let (from, to) = scope::fact_range(scope);
    let mut statement = connection.prepare_cached(
        "SELECT number FROM entries
         WHERE payload IS NOT NULL AND kind NOT IN (?6, ?7)
            AND (scope = ?1
                    AND number NOT IN (SELECT entry FROM fact_entries WHERE fact NOT BETWEEN ?2 AND ?3)
                OR number IN (SELECT entry FROM fact_entries WHERE fact BETWEEN ?2 AND ?3)
                OR (payload LIKE '%\"scope\":%' AND CASE WHEN json_valid(payload)
                        THEN json_extract(payload, '$.scope.resource') = ?4
                            AND json_extract(payload, '$.scope.team') IS ?5 END))
         ORDER BY number",
    )?;
    let numbers = statement.query_map(
        params![
            scope,
            from,
            to,
            resource.resource,
            resource.team,
            Kind::PayloadErased.name(),
            Kind::ResourceErased.name()
        ],
        |row| row.get(0),
    )?;
    Ok(numbers.collect::<rusqlite::Result<_>>()?)
}

fn erase(connection: &Connection, scope: ScopeId, resource: &ResourceRef) -> Result<Erased> {
    end_running_sessions(connection, scope)?;
    let entries = entries_of(connection, scope, resource)?;
    let erased = holdings(connection, scope, entries.len() as u64)?;
    let (from, to) = scope::fact_range(scope);
    for statement in [
        "DELETE FROM vectors WHERE fact BETWEEN ?2 AND ?3 AND ?1 = ?1",
        "DELETE FROM fact_entries WHERE fact BETWEEN ?2 AND ?3 AND ?1 = ?1",
        "DELETE FROM facts WHERE number BETWEEN ?2 AND ?3 AND ?1 = ?1",
        "DELETE FROM postings WHERE scope = ?1 AND ?2 < ?3",
        "DELETE FROM working WHERE scope = ?1 AND ?2 < ?3",
        "DELETE FROM profiles WHERE scope = ?1 AND ?2 < ?3",
        "DELETE FROM compactions WHERE scope = ?1 AND ?2 < ?3",
    ] {
        connection
            .prepare_cached(statement)?
            .execute(params![scope, from, to])?;
    }
    // Its sessions and entries still need an owner, who has no name any more.
    let known_as = format!("erased-{}", Uuid::now_v7());
    connection
        .prepare_cached("UPDATE scopes SET resource = ?2, facts = 0, words = 0 WHERE id = ?1")?
        .execute(params![scope, known_as])?;

    let session = Uuid::now_v7().to_string();
    let owner = ResourceRef {
        resource: known_as.clone(),
        team: resource.team.clone(),
    };
    sessions::begin(
        connection,
        &session,
        &BeginSession::new(owner, OPERATOR_AGENT),
    )?;
    let number = ledger::running_session(connection, &session)?;
    let payload = serde_json::to_value(erased).map_err(|error| {
        StorageError::Internal(format!("what was erased cannot be recorded: {error}"))
    })?;
    ledger::append(connection, number, &Kind::ResourceErased, &payload)?;
    ledger::erase_owner(connection, number, &entries, &known_as)?;
    sessions::end(connection, number, &json!({}))?;
    Ok(Erased { known_as, erased })
}

/// A session that goes on would write of the resource again.
fn end_running_sessions(connection: &Connection, scope: ScopeId) -> Result<()> {
    let running = connection
        .prepare_cached("SELECT number FROM sessions WHERE scope = ?1 AND ended_at IS NULL")?
        .query_map([scope], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<i64>>>()?;
    for number in running {
        sessions::end(connection, number, &json!({ "reason": "erased" }))?;
    }
    Ok(())
}
