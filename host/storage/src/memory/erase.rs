//! Erasing: all that is known of one resource goes with its forks, and what its
//! sessions recorded. The chain still holds, and says what was erased.

use keepsake_types::ResourceRef;
use rusqlite::{Connection, params};
use serde_json::json;
use uuid::Uuid;

use crate::database::Database;
use crate::ledger::{self, Kind};
use crate::scope::{self, ScopeId};
use crate::sessions::{self, BeginSession, OPERATOR_AGENT};
use crate::{Result, StorageError};

/// How many things of each kind a resource has, those of its forks included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Holdings {
    /// Facts, those that do not hold any more included.
    pub facts: u64,
    /// Keys of working memory.
    pub working_keys: u64,
    /// Profiles: one of the resource and one of each fork, where there is one.
    pub profiles: u64,
    /// Forks of its memory.
    pub forks: u64,
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
    /// What a resource has; none where nothing is known of it. Of a fork, what it
    /// and its own forks have.
    ///
    /// # Errors
    /// `Invalid` when its name is not well formed.
    pub async fn holdings(&self, resource: &ResourceRef) -> Result<Option<Holdings>> {
        resource.checked()?;
        let resource = resource.clone();
        self.read(
            move |connection| match scope::find(connection, &resource)? {
                Some(_) => {
                    let family = Family::of(connection, &resource)?;
                    let entries = family.entries(connection)?.len() as u64;
                    family.holdings(connection, entries).map(Some)
                }
                None => Ok(None),
            },
        )
        .await
    }

    /// Erases all that is known of a resource: its profile, working memory and
    /// facts with their words and vectors, the forks of its memory, the content of
    /// every entry of its sessions, and its name. Sessions of it that still run are
    /// ended. Entries stay with their times, kinds and hashes; the chain holds, and
    /// a new session, of the resource's new name, records the erasure. Nothing is
    /// written where nothing is known of the resource.
    ///
    /// What is erased is overwritten in the file; [`Database::scrub`] makes sure
    /// that no copy of it is left in the file or its log.
    ///
    /// # Errors
    /// `Invalid` when its name is not well formed, and for a fork, which is
    /// discarded instead.
    pub async fn erase(&self, resource: &ResourceRef) -> Result<Option<Erased>> {
        resource.checked()?;
        if resource.fork.is_some() {
            return Err(StorageError::Invalid(
                "a fork is not erased but discarded: `host memory discard` does that".to_owned(),
            ));
        }
        let resource = resource.clone();
        self.write(move |connection| {
            scope::find(connection, &resource)?
                .map(|_| erase(connection, &resource))
                .transpose()
        })
        .await
    }
}

/// A memory and the forks below it, which go together.
pub(super) struct Family<'a> {
    resource: &'a ResourceRef,
    scopes: Vec<ScopeId>,
    /// The same as a JSON array, which SQLite reads as a table.
    list: String,
    /// The number of the last entry that came before all of them.
    after: i64,
}

impl<'a> Family<'a> {
    pub(super) fn of(connection: &Connection, resource: &'a ResourceRef) -> Result<Self> {
        let mut statement = connection.prepare_cached(
            "SELECT s.id, coalesce(f.last_entry, 0) FROM scopes s LEFT JOIN forks f ON f.scope = s.id
             WHERE s.resource = ?1 AND s.team = ?2
                AND (?3 = '' OR s.fork = ?3 OR substr(s.fork, 1, length(?3) + 1) = ?3 || '/')
             -- Forks of forks first, as they refer to what they were made of.
             ORDER BY s.id DESC",
        )?;
        let (resource_column, team, fork) = columns(resource);
        let mut rows = statement.query(params![resource_column, team, fork])?;
        let mut scopes: Vec<ScopeId> = Vec::new();
        let mut after = i64::MAX;
        while let Some(row) = rows.next()? {
            scopes.push(row.get(0)?);
            after = after.min(row.get(1)?);
        }
        Ok(Self {
            resource,
            list: json!(scopes).to_string(),
            scopes,
            after,
        })
    }

    pub(super) fn holdings(&self, connection: &Connection, entries: u64) -> Result<Holdings> {
        let mut holdings = Holdings {
            entries,
            ..Holdings::default()
        };
        let mut counts = connection.prepare_cached(
            "SELECT (SELECT count(*) FROM facts WHERE number BETWEEN ?2 AND ?3),
                    (SELECT count(*) FROM working WHERE scope = ?1),
                    (SELECT count(*) FROM profiles WHERE scope = ?1),
                    (SELECT count(*) FROM forks WHERE parent = ?1),
                    (SELECT count(*) FROM sessions WHERE scope = ?1)",
        )?;
        for scope in &self.scopes {
            let (from, to) = scope::fact_range(*scope);
            counts.query_row(params![scope, from, to], |row| {
                holdings.facts += row.get::<_, u64>(0)?;
                holdings.working_keys += row.get::<_, u64>(1)?;
                holdings.profiles += row.get::<_, u64>(2)?;
                holdings.forks += row.get::<_, u64>(3)?;
                holdings.sessions += row.get::<_, u64>(4)?;
                Ok(())
            })?;
        }
        Ok(holdings)
    }

    /// The numbers of the entries that may hold something of these memories: those
    /// of their own sessions, and those of others that worked on them, which are
    /// sessions of the same team, or none, as an account's customers are. Entries that say what was erased hold
    /// nothing of it, and the chain needs them. Those by which a fact of another
    /// memory was remembered, a team's or one that a fork was made of or merged
    /// into, say no more than that fact does, and are what it is verified by.
    pub(super) fn entries(&self, connection: &Connection) -> Result<Vec<i64>> {
        let mut statement = connection.prepare_cached(
            "SELECT number FROM entries
             WHERE scope IN (SELECT id FROM scopes WHERE team = ?3)
                AND number > ?5 AND payload IS NOT NULL AND kind NOT IN (?6, ?7)
                AND NOT EXISTS (SELECT 1 FROM fact_entries WHERE entry = entries.number
                    AND fact >> 32 NOT IN (SELECT value FROM json_each(?1)))
                AND (scope IN (SELECT value FROM json_each(?1))
                    OR EXISTS (SELECT 1 FROM fact_entries WHERE entry = entries.number)
                    OR (payload LIKE '%\"scope\":%' AND CASE WHEN json_valid(payload)
                        THEN json_extract(payload, '$.scope.resource') = ?2
                            AND coalesce(json_extract(payload, '$.scope.team'), '') = ?3
                            AND (?4 = '' OR json_extract(payload, '$.scope.fork') = ?4
                                OR substr(json_extract(payload, '$.scope.fork'), 1, length(?4) + 1)
                                    = ?4 || '/') END))
             ORDER BY number",
        )?;
        let (resource, team, fork) = columns(self.resource);
        let numbers = statement.query_map(
            params![
                self.list,
                resource,
                team,
                fork,
                self.after,
                Kind::PayloadErased.name(),
                Kind::ResourceErased.name()
            ],
            |row| row.get(0),
        )?;
        Ok(numbers.collect::<rusqlite::Result<_>>()?)
    }

    /// Ends the sessions that run: one that goes on would write again.
    pub(super) fn end_sessions(&self, connection: &Connection, reason: &str) -> Result<()> {
        for scope in &self.scopes {
            let running = connection
                .prepare_cached(
                    "SELECT number FROM sessions WHERE scope = ?1 AND ended_at IS NULL",
                )?
                .query_map([scope], |row| row.get(0))?
                .collect::<rusqlite::Result<Vec<i64>>>()?;
            for number in running {
                sessions::end(connection, number, &json!({ "reason": reason }))?;
            }
        }
        Ok(())
    }

    /// Deletes all that the memories hold, and their names. Their sessions and
    /// entries still need an owner, which has the name `known_as` from now on.
    pub(super) fn delete(&self, connection: &Connection, known_as: &str) -> Result<()> {
        for scope in &self.scopes {
            let (from, to) = scope::fact_range(*scope);
            for statement in [
                "DELETE FROM vectors WHERE fact BETWEEN ?2 AND ?3 AND ?1 = ?1",
                "DELETE FROM fact_entries WHERE fact BETWEEN ?2 AND ?3 AND ?1 = ?1",
                "DELETE FROM facts WHERE number BETWEEN ?2 AND ?3 AND ?1 = ?1",
                "DELETE FROM postings WHERE scope = ?1 AND ?2 < ?3",
                "DELETE FROM working WHERE scope = ?1 AND ?2 < ?3",
                "DELETE FROM profiles WHERE scope = ?1 AND ?2 < ?3",
                "DELETE FROM compactions WHERE scope = ?1 AND ?2 < ?3",
                "DELETE FROM forks WHERE scope = ?1 AND ?2 < ?3",
                "DELETE FROM fork_facts WHERE fact BETWEEN ?2 AND ?3 AND ?1 = ?1",
                "DELETE FROM fork_values WHERE scope = ?1 AND ?2 < ?3",
            ] {
                connection
                    .prepare_cached(statement)?
                    .execute(params![scope, from, to])?;
            }
            // A fork that never had a session leaves nothing that needs an owner.
            let gone = connection
                .prepare_cached(
                    "DELETE FROM scopes WHERE id = ?1 AND fork <> ''
                        AND NOT EXISTS (SELECT 1 FROM sessions WHERE scope = ?1)",
                )?
                .execute([scope])?;
            if gone == 0 {
                connection
                    .prepare_cached(
                        "UPDATE scopes SET resource = ?2, facts = 0, words = 0,
                            fork = CASE fork WHEN '' THEN '' ELSE CAST(id AS TEXT) END
                         WHERE id = ?1",
                    )?
                    .execute(params![scope, known_as])?;
            }
        }
        Ok(())
    }
}

/// A resource as its columns hold it.
fn columns(resource: &ResourceRef) -> (&str, &str, &str) {
    (
        resource.resource.as_str(),
        scope::column(resource.team.as_ref()),
        scope::column(resource.fork.as_ref()),
    )
}

/// A name for what has none any more.
pub(super) fn nobody() -> String {
    format!("erased-{}", Uuid::now_v7())
}

fn erase(connection: &Connection, resource: &ResourceRef) -> Result<Erased> {
    let family = Family::of(connection, resource)?;
    family.end_sessions(connection, "erased")?;
    let entries = family.entries(connection)?;
    let erased = family.holdings(connection, entries.len() as u64)?;
    let known_as = nobody();
    family.delete(connection, &known_as)?;

    let session = Uuid::now_v7().to_string();
    let owner = ResourceRef {
        resource: known_as.clone(),
        ..resource.clone()
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
