//! Remembering: all facts of a call or none, in one transaction with their
//! ledger entries, their words and their vectors.

mod checked;
mod sources;
mod supersede;

use keepsake_types::{Timestamp, limits, now};
use rusqlite::{OptionalExtension, params};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::facts::Loader;
use super::model::{FactVectors, NewFact, Outcome, Remembered};
use super::{Change, Memory, object_text, vectors, words};
use crate::ledger::Kind;
use crate::scope;
use crate::{Result, StorageError};

pub use checked::check_new_facts;
use checked::{Checked, check_number};
use sources::{Source, check_sources};
use supersede::end_superseded;

impl Memory {
    /// Remembers facts, all or none, and answers in the order given. `vectors`
    /// holds one for each fact; without it, facts are found by their words only.
    ///
    /// A current fact with the same text, subject, attribute, thread and
    /// position is repeated: its times grow, and it takes over metadata, vector
    /// and, where it had none, source. Another text for the same subject and
    /// attribute ends the validity of the older fact, as `supersedes` does.
    ///
    /// # Errors
    /// `Invalid` for a source that is missing, foreign or tampered with, a
    /// quote that the source does not hold, a fact to be superseded that is not
    /// known, and vectors that do not fit their model; `Limit` with one of
    /// `remember-many-facts`, `fact-bytes`, `fact-metadata-bytes`,
    /// `fact-name-bytes`, `fact-supersedes`, `json-depth`.
    pub async fn remember_many(
        &self,
        facts: Vec<NewFact>,
        vectors: Option<FactVectors>,
    ) -> Result<Vec<Remembered>> {
        check_number(&facts)?;
        let now = now();
        let facts: Vec<Checked> = facts
            .into_iter()
            .map(|fact| Checked::new(fact, now))
            .collect::<Result<_>>()?;
        if let Some(vectors) = &vectors {
            vectors::check(vectors, facts.len())?;
        }
        if facts.is_empty() {
            return Ok(Vec::new());
        }
        self.write(move |change| remember(change, &facts, vectors.as_ref(), now))
            .await
    }
}

fn remember(
    change: &Change<'_>,
    facts: &[Checked],
    vectors: Option<&FactVectors>,
    now: Timestamp,
) -> Result<Vec<Remembered>> {
    let sources = check_sources(change, facts)?;
    let model = vectors
        .map(|vectors| vectors::obtain_model(change.connection, vectors))
        .transpose()?;
    let mut done = Vec::with_capacity(facts.len());
    for (place, checked) in facts.iter().enumerate() {
        let known = find_same(change, checked, now)?;
        let (number, outcome) = match known {
            Some((number, id)) => {
                repeat(change, checked, sources[place].as_ref(), number, id, now)?;
                (number, Outcome::Repeated)
            }
            None => insert(change, checked, sources[place].as_ref(), now)?,
        };
        if let (Some(vectors), Some(model)) = (vectors, model) {
            vectors::store(change.connection, number, model, &vectors.vectors[place])?;
        }
        done.push((number, outcome));
    }
    let mut loader = Loader::new(change.connection, change.scope);
    done.into_iter()
        .map(|(number, outcome)| {
            let fact = loader.load(number)?.ok_or_else(|| {
                StorageError::Internal("a fact that was just remembered is not there".to_owned())
            })?;
            Ok(Remembered { outcome, fact })
        })
        .collect()
}

/// A current fact that says the same about the same.
fn find_same(
    change: &Change<'_>,
    checked: &Checked,
    now: Timestamp,
) -> Result<Option<(i64, Uuid)>> {
    let (from, to) = scope::fact_range(change.scope);
    let fact = &checked.fact;
    Ok(change
        .connection
        .prepare_cached(
            "SELECT number, id FROM facts
             WHERE content_key = ?1 AND number BETWEEN ?2 AND ?3 AND content = ?4
                AND subject IS ?5 AND attribute IS ?6 AND thread IS ?7 AND position IS ?8
                AND superseded_by IS NULL AND (valid_until IS NULL OR valid_until > ?9)
             ORDER BY number LIMIT 1",
        )?
        .query_row(
            params![
                checked.content_key,
                from,
                to,
                fact.content,
                fact.subject,
                fact.attribute,
                fact.thread,
                fact.position,
                now
            ],
            |row| Ok((row.get(0)?, Uuid::from_bytes(row.get(1)?))),
        )
        .optional()?)
}

fn repeat(
    change: &Change<'_>,
    checked: &Checked,
    source: Option<&Source>,
    number: i64,
    id: Uuid,
    now: Timestamp,
) -> Result<()> {
    let fact = &checked.fact;
    change
        .connection
        .prepare_cached(
            // min and max with NULL are NULL, which here is never.
            "UPDATE facts SET updated_at = ?2, valid_from = min(valid_from, ?3),
                    valid_until = max(valid_until, ?4)
             WHERE number = ?1",
        )?
        .execute(params![
            number,
            now,
            checked.valid_from,
            checked.valid_until
        ])?;
    if !fact.metadata.is_empty() || fact.extras.is_some() {
        merge_values(change, checked, number)?;
    }
    if let Some(source) = source {
        change
            .connection
            .prepare_cached(
                "UPDATE facts SET source_session = ?2, source_place = ?3, source_hash = unhex(?4),
                        source_scope = ?5, quote = ?6
                 WHERE number = ?1 AND source_session IS NULL",
            )?
            .execute(params![
                number,
                source.session,
                source.index,
                source.hash,
                source.scope,
                fact.quote
            ])?;
    }
    let ended = end_superseded(change, checked, number, id, now)?;
    let mut payload = described(checked, source);
    payload.insert("fact".to_owned(), json!(id));
    if !ended.is_empty() {
        payload.insert("superseded".to_owned(), json!(ended));
    }
    change.record_for_fact(&Kind::FactRepeated, Value::Object(payload), number)
}

/// Adds the members of new metadata and extras to those of a known fact.
fn merge_values(change: &Change<'_>, checked: &Checked, number: i64) -> Result<()> {
    let known = Loader::new(change.connection, change.scope).load(number)?;
    let Some(known) = known else { return Ok(()) };
    let bound = limits::FACT_METADATA_BYTES;
    let mut metadata = known.metadata;
    metadata.extend(checked.fact.metadata.clone());
    let metadata = object_text(&metadata, "a fact's metadata", "fact-metadata-bytes", bound)?;
    let extras = match (known.extras, checked.fact.extras.clone()) {
        (Some(mut known), Some(new)) => {
            known.extend(new);
            Some(known)
        }
        (known, new) => known.or(new),
    };
    let extras = extras
        .map(|extras| object_text(&extras, "a fact's extras", "fact-metadata-bytes", bound))
        .transpose()?;
    change
        .connection
        .prepare_cached("UPDATE facts SET metadata = ?2, extras = ?3 WHERE number = ?1")?
        .execute(params![number, metadata, extras])?;
    Ok(())
}

fn insert(
    change: &Change<'_>,
    checked: &Checked,
    source: Option<&Source>,
    now: Timestamp,
) -> Result<(i64, Outcome)> {
    let fact = &checked.fact;
    let id = Uuid::now_v7();
    let place: i64 = change
        .connection
        .prepare_cached(
            "UPDATE scopes SET next_fact = next_fact + 1, facts = facts + 1 WHERE id = ?1
             RETURNING next_fact - 1",
        )?
        .query_row([change.scope], |row| row.get(0))?;
    let (from, to) = scope::fact_range(change.scope);
    if place < 1 {
        // It would lead into another memory.
        return Err(StorageError::Invalid(
            "the count of facts in the database was changed by another program: restore a backup"
                .to_owned(),
        ));
    }
    let number = from.saturating_add(place);
    if number >= to {
        return Err(StorageError::Limit {
            name: "facts",
            message: format!("one memory holds {} facts in its lifetime", to - from),
        });
    }
    let length = words::enter(change.connection, change.scope, number, &fact.content)?;
    change
        .connection
        .prepare_cached("UPDATE scopes SET words = words + ?2 WHERE id = ?1")?
        .execute(params![change.scope, length])?;
    change
        .connection
        .prepare_cached(
            "INSERT INTO facts (number, id, created_at, updated_at, valid_from, valid_until, words,
                content_key, source_session, source_place, source_hash, source_scope, subject,
                attribute, thread, position, instruction_like, masked, quote, extras, metadata, content)
             VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, unhex(?10), ?11, ?12, ?13, ?14, ?15, ?16,
                ?17, ?18, ?19, ?20, ?21)",
        )?
        .execute(params![
            number,
            id.as_bytes(),
            now,
            checked.valid_from,
            checked.valid_until,
            length,
            checked.content_key,
            source.map(|source| &source.session),
            source.map(|source| source.index),
            source.map(|source| &source.hash),
            source.map(|source| source.scope),
            fact.subject,
            fact.attribute,
            fact.thread,
            fact.position,
            fact.flags.instruction_like,
            fact.flags.masked,
            fact.quote,
            checked.extras,
            checked.metadata,
            fact.content
        ])?;
    let ended = end_superseded(change, checked, number, id, now)?;
    let mut payload = described(checked, source);
    payload.insert("fact".to_owned(), json!(id));
    if ended.is_empty() {
        change.record_for_fact(&Kind::FactRemembered, Value::Object(payload), number)?;
        return Ok((number, Outcome::Stored));
    }
    payload.insert("superseded".to_owned(), json!(ended));
    change.record_for_fact(&Kind::FactSuperseded, Value::Object(payload), number)?;
    Ok((number, Outcome::Superseded))
}

/// What the ledger keeps of a fact.
fn described(checked: &Checked, source: Option<&Source>) -> Map<String, Value> {
    let fact = &checked.fact;
    let mut members = Map::new();
    let mut keep = |name: &str, value: Value| {
        if !value.is_null() {
            members.insert(name.to_owned(), value);
        }
    };
    keep("content", json!(fact.content));
    if !fact.metadata.is_empty() {
        keep("metadata", json!(fact.metadata));
    }
    keep("subject", json!(fact.subject));
    keep("attribute", json!(fact.attribute));
    keep("thread", json!(fact.thread));
    keep("position", json!(fact.position));
    keep("valid-from", json!(fact.valid_from));
    keep("expires-at", json!(fact.expires_at));
    keep("quote", json!(fact.quote));
    keep("extras", json!(fact.extras));
    if let Some(source) = source {
        keep(
            "source",
            json!({ "session": source.session, "index": source.index, "hash": source.hash }),
        );
    }
    members
}
