//! Facts as rows: reading them with their verification, and letting them go.

use keepsake_types::{EntryRef, Timestamp, limits, now};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::model::{Fact, FactFlags, FactPage, Verification};
use super::{Memory, View, check_page, position, postings, summaries};
use crate::ledger::{self, Chains, Kind, SourceState};
use crate::scope::{self, Reach, ScopeId};
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
        check_forgotten(&ids)?;
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

/// One call forgets so many facts at the most.
pub(super) fn check_forgotten(ids: &[String]) -> Result<()> {
    if ids.len() > limits::REMEMBER_MANY_FACTS {
        return Err(StorageError::limit(
            "remember-many-facts",
            "facts to be forgotten in one call",
            ids.len(),
            limits::REMEMBER_MANY_FACTS,
        ));
    }
    Ok(())
}

/// Reads facts within one transaction, each session of their sources once.
pub(super) struct Loader<'a> {
    connection: &'a Connection,
    scope: ScopeId,
    /// Found out with the first source.
    lineage: Option<Vec<Reach>>,
    chains: Chains,
}

impl<'a> Loader<'a> {
    pub(super) fn new(connection: &'a Connection, scope: ScopeId) -> Self {
        Self {
            connection,
            scope,
            lineage: None,
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
        if let Some(source) = fact.source.clone() {
            fact.verification = match self.source_state(&source, source_scope)? {
                Verification::Verified if !self.is_as_remembered(number, &fact)? => {
                    Verification::Tampered
                }
                state => state,
            };
        }
        fact.summary_of = summaries::summary_of(self.connection, number)?;
        if fact.summary_of.is_some() {
            for (source, scope) in summaries::further_sources(self.connection, number)? {
                // A summary holds as far as the weakest of its sources.
                if fact.verification == Verification::Verified {
                    fact.verification = self.source_state(&source, Some(scope))?;
                }
                fact.further_sources.push(source);
            }
        }
        Ok(fact)
    }

    fn source_state(&mut self, source: &EntryRef, scope: Option<ScopeId>) -> Result<Verification> {
        let lineage = match self.lineage.take() {
            Some(lineage) => lineage,
            None => scope::lineage(self.connection, self.scope)?,
        };
        let mut scopes = lineage.clone();
        scopes.extend(scope.map(Reach::whole));
        self.lineage = Some(lineage);
        Ok(match self.chains.state(self.connection, source, &scopes)? {
            SourceState::Verified => Verification::Verified,
            SourceState::Dangling => Verification::Dangling,
            // It was not foreign when the fact was remembered.
            SourceState::Tampered | SourceState::ForeignScope => Verification::Tampered,
        })
    }

    /// Whether the ledger says, in an intact chain, that the fact was remembered
    /// with this text, and with this source and quote. A fact's row is in no
    /// chain itself.
    fn is_as_remembered(&mut self, number: i64, fact: &Fact) -> Result<bool> {
        let first = self
            .connection
            .prepare_cached(&format!("{ENTRIES} ORDER BY entries.number LIMIT 1"))?
            .query_row([number], FactEntry::from_row)
            .optional()?;
        let Some(first) = first else {
            return Ok(false);
        };
        let said = first.payload();
        if said["content"].as_str() != Some(&fact.content) || !self.is_intact(&first)? {
            return Ok(false);
        }
        if says_source(&said, fact) {
            return Ok(true);
        }
        // It came with a later entry, by which the fact was repeated.
        let source = fact.source.as_ref();
        let later = self
            .connection
            .prepare_cached(&format!(
                "{ENTRIES} AND json_extract(CASE WHEN json_valid(entries.payload)
                    THEN entries.payload END, '$.source.hash') = ?2
                 ORDER BY entries.number LIMIT 1"
            ))?
            .query_row(
                params![number, source.and_then(|source| source.hash.as_ref())],
                FactEntry::from_row,
            )
            .optional()?;
        let Some(later) = later else {
            return Ok(false);
        };
        Ok(says_source(&later.payload(), fact) && self.is_intact(&later)?)
    }

    fn is_intact(&mut self, said: &FactEntry) -> Result<bool> {
        let scopes = [Reach::whole(said.scope)];
        let state = self.chains.state(self.connection, &said.entry, &scopes)?;
        Ok(state == SourceState::Verified)
    }
}

/// The entries that speak of fact 1.
const ENTRIES: &str = "SELECT sessions.id, entries.place, sessions.scope, entries.payload
     FROM fact_entries
     JOIN entries ON entries.number = fact_entries.entry
     JOIN sessions ON sessions.number = entries.session
     WHERE fact_entries.fact = ?1";

/// An entry that speaks of a fact.
struct FactEntry {
    entry: EntryRef,
    scope: ScopeId,
    payload: Option<String>,
}

impl FactEntry {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            entry: EntryRef {
                session: row.get(0)?,
                index: row.get(1)?,
                hash: None,
            },
            scope: row.get(2)?,
            payload: row.get(3)?,
        })
    }

    fn payload(&self) -> Value {
        let payload = self.payload.as_deref().unwrap_or_default();
        serde_json::from_str(payload).unwrap_or_default()
    }
}

fn says_source(said: &Value, fact: &Fact) -> bool {
    let source = &said["source"];
    fact.source.as_ref().is_some_and(|known| {
        source["session"].as_str() == Some(&known.session)
            && source["index"].as_u64() == Some(known.index)
            && source["hash"].as_str() == known.hash.as_deref()
            && said["quote"].as_str() == fact.quote.as_deref()
    })
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
                further_sources: Vec::new(),
                summary_of: None,
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

/// Deletes a fact. Answers with the numbers of the entries that quote it and that
/// no other memory's fact, a fork's or its parent's, rests on.
pub(super) fn delete(connection: &Connection, scope: ScopeId, number: i64) -> Result<Vec<i64>> {
    let (content, length): (String, u64) = connection
        .prepare_cached("SELECT content, words FROM facts WHERE number = ?1")?
        .query_row([number], |row| Ok((row.get(0)?, row.get(1)?)))?;
    postings::remove(connection, scope, number, &content)?;
    connection
        .prepare_cached("DELETE FROM facts WHERE number = ?1")?
        .execute([number])?;
    connection
        .prepare_cached("UPDATE scopes SET facts = facts - 1, words = words - ?2 WHERE id = ?1")?
        .execute(params![scope, length])?;
    let entries = connection
        .prepare_cached("DELETE FROM fact_entries WHERE fact = ?1 RETURNING entry")?
        .query_map([number], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<i64>>>()?;
    let (from, to) = scope::fact_range(scope);
    // Nothing rests on an entry that held a fact back.
    let mut rests = connection.prepare_cached(
        "SELECT 1 FROM fact_entries l JOIN entries e ON e.number = l.entry
         WHERE l.entry = ?1 AND l.fact NOT BETWEEN ?2 AND ?3 AND e.kind <> ?4",
    )?;
    let held_back = Kind::FactHeldBack.name();
    let mut free = Vec::with_capacity(entries.len());
    for entry in entries {
        if !rests.exists(params![entry, from, to, held_back])? {
            free.push(entry);
        }
    }
    Ok(free)
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
