//! Facts as rows: reading them with their verification, and letting them go.

use keepsake_types::{EntryRef, Timestamp, limits, now};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::model::{Fact, FactFlags, FactPage, Verification};
use super::{Memory, View, check_page, position, words};
use crate::ledger::{self, Chains, Kind, SourceState};
use crate::scope::{self, ScopeId};
use crate::{Result, StorageError, json};

impl View {
    /// One fact, current or not; none when this memory has no such fact.
    ///
    /// # Errors
    /// Only when the file cannot be read.
    pub async fn find(&self, id: &str) -> Result<Option<Fact>> {
        let id = id.to_owned();
        self.read(None, move |connection, scope| {
            let Some(number) = number(connection, scope, &id)? else {
                return Ok(None);
            };
            Loader::new(connection, scope).load(number)
        })
        .await
    }

    /// Current facts by pages, newest first.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 or an `after` that no page answered with,
    /// `Limit` for a limit that is too large.
    pub async fn list_facts(&self, after: Option<&str>, limit: usize) -> Result<FactPage> {
        check_page(limit)?;
        let after = position(after)?;
        self.read(FactPage::default(), move |connection, scope| {
            list(connection, scope, after, limit)
        })
        .await
    }
}

impl Memory {
    /// As [`View::find`].
    ///
    /// # Errors
    /// As [`View::find`].
    pub async fn find(&self, id: &str) -> Result<Option<Fact>> {
        self.view.find(id).await
    }

    /// As [`View::list_facts`].
    ///
    /// # Errors
    /// As [`View::list_facts`].
    pub async fn list_facts(&self, after: Option<&str>, limit: usize) -> Result<FactPage> {
        self.view.list_facts(after, limit).await
    }

    /// Deletes facts for good: their texts, words and vectors, and the payloads
    /// of the ledger entries that they were remembered by. The chain holds, and
    /// the ledger says which payloads were erased. Ids that this memory does not
    /// know are passed over. Answers how many were deleted.
    ///
    /// What was deleted is overwritten in the file; the write-ahead log beside
    /// it may hold older pages until the last process closes the file.
    ///
    /// # Errors
    /// `Limit` `remember-many-facts` for too many ids.
    pub async fn forget(&self, ids: Vec<String>) -> Result<u64> {
        if ids.len() > limits::REMEMBER_MANY_FACTS {
            return Err(StorageError::limit(
                "remember-many-facts",
                "facts to be forgotten in one call",
                ids.len(),
                limits::REMEMBER_MANY_FACTS,
            ));
        }
        self.write(move |change| {
            let mut forgotten = Vec::new();
            let mut entries = Vec::new();
            for id in ids {
                if let Some(number) = number(change.connection, change.scope, &id)? {
                    entries.extend(delete(change.connection, change.scope, number)?);
                    forgotten.push(id);
                }
            }
            if !forgotten.is_empty() {
                change.record(&Kind::FactForgotten, json!({ "facts": forgotten }))?;
                ledger::erase(change.connection, change.number, &entries)?;
            }
            Ok(forgotten.len() as u64)
        })
        .await
    }

    /// Sets when a fact ceases to hold. A fact that was replaced does not come
    /// to hold longer by it. Answers whether it is known.
    ///
    /// # Errors
    /// `Invalid` for a time that is too far in the future to be stored.
    pub async fn expire(&self, id: &str, at: Timestamp) -> Result<bool> {
        let (id, at) = (
            id.to_owned(),
            stored_time(at, "the time at which a fact expires")?,
        );
        self.write(move |change| {
            let Some(number) = number(change.connection, change.scope, &id)? else {
                return Ok(false);
            };
            change
                .connection
                .prepare_cached(
                    "UPDATE facts SET updated_at = ?2, valid_until =
                        CASE WHEN superseded_by IS NULL THEN ?3 ELSE min(valid_until, ?3) END
                     WHERE number = ?1",
                )?
                .execute(params![number, now(), at])?;
            change.record(&Kind::FactExpired, json!({ "fact": id, "at": at }))?;
            Ok(true)
        })
        .await
    }
}

/// Reads facts within one transaction, each session of their sources once.
pub(super) struct Loader<'a> {
    connection: &'a Connection,
    scope: ScopeId,
    chains: Chains,
}

impl<'a> Loader<'a> {
    pub(super) fn new(connection: &'a Connection, scope: ScopeId) -> Self {
        Self {
            connection,
            scope,
            chains: Chains::default(),
        }
    }

    pub(super) fn load(&mut self, number: i64) -> Result<Option<Fact>> {
        let found = self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM facts WHERE number = ?1"))?
            .query_row([number], RawFact::from_row)
            .optional()?;
        found.map(|raw| self.finish(number, raw)).transpose()
    }

    fn finish(&mut self, number: i64, raw: RawFact) -> Result<Fact> {
        let RawFact {
            mut fact,
            source_scope,
            metadata,
            extras,
        } = raw;
        fact.metadata = object(&metadata, &fact.id)?;
        fact.extras = extras.map(|extras| object(&extras, &fact.id)).transpose()?;
        if let Some(source) = &fact.source {
            let scopes = [self.scope, source_scope.unwrap_or(self.scope)];
            fact.verification = match self.chains.state(self.connection, source, &scopes)? {
                SourceState::Verified if !self.is_as_remembered(number, &fact.content)? => {
                    Verification::Tampered
                }
                SourceState::Verified => Verification::Verified,
                SourceState::Dangling => Verification::Dangling,
                // It was not foreign when the fact was remembered.
                SourceState::Tampered | SourceState::ForeignScope => Verification::Tampered,
            };
        }
        Ok(fact)
    }

    /// Whether the ledger says, in an intact chain, that the fact was remembered
    /// with this text. A fact's row is in no chain itself.
    fn is_as_remembered(&mut self, number: i64, content: &str) -> Result<bool> {
        let first = self
            .connection
            .prepare_cached(
                "SELECT sessions.id, sessions.scope, entries.place, entries.payload
                 FROM fact_entries
                 JOIN entries ON entries.number = fact_entries.entry
                 JOIN sessions ON sessions.number = entries.session
                 WHERE fact_entries.fact = ?1
                 ORDER BY entries.number LIMIT 1",
            )?
            .query_row([number], |row| {
                let entry = EntryRef {
                    session: row.get(0)?,
                    index: row.get(2)?,
                    hash: None,
                };
                let scope: ScopeId = row.get(1)?;
                let payload: Option<String> = row.get(3)?;
                Ok((entry, scope, payload))
            })
            .optional()?;
        let Some((entry, scope, Some(payload))) = first else {
            return Ok(false);
        };
        let said = serde_json::from_str::<Value>(&payload)
            .is_ok_and(|payload| payload["content"].as_str() == Some(content));
        Ok(said && self.chains.state(self.connection, &entry, &[scope])? == SourceState::Verified)
    }
}

const COLUMNS: &str = "id, content, source_session, source_place, source_hash, source_scope, quote, \
     created_at, updated_at, subject, attribute, valid_from, valid_until, superseded_by, thread, \
     position, instruction_like, masked, metadata, extras";

/// A fact whose JSON is still text and whose source was not looked at.
struct RawFact {
    fact: Fact,
    source_scope: Option<ScopeId>,
    metadata: String,
    extras: Option<String>,
}

impl RawFact {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let session: Option<String> = row.get(2)?;
        let source = match session {
            Some(session) => Some(EntryRef {
                session,
                index: row.get(3)?,
                hash: row
                    .get::<_, Option<Vec<u8>>>(4)?
                    .map(|hash| crate::ledger::hexadecimal(&hash)),
            }),
            None => None,
        };
        let superseded_by: Option<[u8; 16]> = row.get(13)?;
        Ok(Self {
            fact: Fact {
                id: id_column(row, 0)?,
                content: row.get(1)?,
                metadata: Map::new(),
                source,
                quote: row.get(6)?,
                verification: Verification::Unverified,
                created_at: row.get(7)?,
                updated_at: row.get(8)?,
                subject: row.get(9)?,
                attribute: row.get(10)?,
                valid_from: row.get(11)?,
                valid_until: row.get(12)?,
                superseded_by: superseded_by.map(|id| Uuid::from_bytes(id).to_string()),
                thread: row.get(14)?,
                position: row.get(15)?,
                flags: FactFlags {
                    instruction_like: row.get(16)?,
                    masked: row.get(17)?,
                },
                extras: None,
            },
            source_scope: row.get(5)?,
            metadata: row.get(18)?,
            extras: row.get(19)?,
        })
    }
}

/// A fact's id, which is stored as 16 bytes.
pub(super) fn id_column(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    row.get::<_, [u8; 16]>(column)
        .map(|bytes| Uuid::from_bytes(bytes).to_string())
}

fn object(text: &str, id: &str) -> Result<Map<String, Value>> {
    match json::stored(text, &format!("what belongs to fact {id}"))? {
        Value::Object(object) => Ok(object),
        _ => Ok(Map::new()),
    }
}

/// A time as SQLite can hold it.
pub(super) fn stored_time(time: Timestamp, what: &str) -> Result<i64> {
    i64::try_from(time).map_err(|_| {
        StorageError::Invalid(format!(
            "{what} is {time}, which is past what can be stored"
        ))
    })
}

/// The number of a fact of this scope; none for an id of another scope, and
/// for what is no id.
pub(super) fn number(connection: &Connection, scope: ScopeId, id: &str) -> Result<Option<i64>> {
    let Ok(id) = Uuid::parse_str(id) else {
        return Ok(None);
    };
    let (from, to) = scope::fact_range(scope);
    Ok(connection
        .prepare_cached("SELECT number FROM facts WHERE id = ?1 AND number BETWEEN ?2 AND ?3")?
        .query_row(params![id.as_bytes(), from, to], |row| row.get(0))
        .optional()?)
}

/// Deletes a fact. Answers with the numbers of the entries that quote it.
fn delete(connection: &Connection, scope: ScopeId, number: i64) -> Result<Vec<i64>> {
    let (content, length): (String, u64) = connection
        .prepare_cached("SELECT content, words FROM facts WHERE number = ?1")?
        .query_row([number], |row| Ok((row.get(0)?, row.get(1)?)))?;
    words::remove(connection, scope, number, &content)?;
    connection
        .prepare_cached("DELETE FROM facts WHERE number = ?1")?
        .execute([number])?;
    connection
        .prepare_cached("UPDATE scopes SET facts = facts - 1, words = words - ?2 WHERE id = ?1")?
        .execute(params![scope, length])?;
    let entries = connection
        .prepare_cached("DELETE FROM fact_entries WHERE fact = ?1 RETURNING entry")?
        .query_map([number], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(entries)
}

/// The numbers of the newest current facts before one, newest first.
pub(super) fn newest(
    connection: &Connection,
    scope: ScopeId,
    before: i64,
    limit: usize,
) -> Result<Vec<i64>> {
    let (from, _) = scope::fact_range(scope);
    let mut statement = connection.prepare_cached(
        "SELECT number FROM facts WHERE number >= ?1 AND number < ?2
            AND valid_from <= ?3 AND (valid_until IS NULL OR valid_until > ?3)
         ORDER BY number DESC LIMIT ?4",
    )?;
    let numbers = statement.query_map(params![from, before, now(), limit], |row| row.get(0))?;
    Ok(numbers.collect::<rusqlite::Result<_>>()?)
}

fn list(
    connection: &Connection,
    scope: ScopeId,
    after: Option<i64>,
    limit: usize,
) -> Result<FactPage> {
    let (from, to) = scope::fact_range(scope);
    // Within the scope a position is small; anything else is past its end.
    let before = after.map_or(to, |after| from.saturating_add(after.max(0)).min(to));
    let numbers = newest(connection, scope, before, limit + 1)?;
    let next = (numbers.len() > limit).then(|| (numbers[limit - 1] - from).to_string());
    let mut loader = Loader::new(connection, scope);
    let mut facts = Vec::new();
    for number in numbers.into_iter().take(limit) {
        facts.extend(loader.load(number)?);
    }
    Ok(FactPage { facts, next })
}
