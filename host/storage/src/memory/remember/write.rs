//! What passing the gate does to the file: a known fact grows, a new one is
//! stored, or neither. Each writes one ledger entry.

use keepsake_types::limits;
use rusqlite::{Connection, params};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::facts::Loader;
use super::super::model::Outcome;
use super::super::{Change, object_text, postings};
use super::checked::Checked;
use super::known::Known;
use super::sources::Source;
use super::supersede::{end_named, end_other_values, holds_since};
use crate::ledger::Kind;
use crate::scope::{self, ScopeId};
use crate::{Result, StorageError};

/// What became of a fact.
pub(in super::super) struct Done {
    /// The fact that it is now, or the known one that is closest.
    pub(in super::super) number: i64,
    pub(super) outcome: Outcome,
    /// Known facts that say nearly the same.
    pub(super) near: Vec<i64>,
}

impl Done {
    pub(super) fn new(number: i64, outcome: Outcome) -> Self {
        Self {
            number,
            outcome,
            near: Vec::new(),
        }
    }

    pub(super) fn is_new(&self) -> bool {
        matches!(self.outcome, Outcome::Stored | Outcome::Superseded)
    }

    /// Whether the fact has the text that was given, and so its vector.
    pub(super) fn has_its_text(&self) -> bool {
        self.is_new() || self.outcome == Outcome::Repeated
    }
}

/// Records a fact that is not stored, with the known ones that are why, the
/// closest first.
pub(super) fn hold_back(
    change: &Change<'_>,
    checked: &Checked,
    outcome: Outcome,
    known: Vec<i64>,
) -> Result<Done> {
    let mut find = change
        .connection
        .prepare_cached("SELECT id FROM facts WHERE number = ?1")?;
    let ids: Vec<Uuid> = known
        .iter()
        .map(|number| Ok(find.query_row([number], |row| row.get(0).map(Uuid::from_bytes))?))
        .collect::<Result<_>>()?;
    let closest = known[0];
    let mut payload = described(checked, None);
    let gate = gate_member(&mut payload);
    gate.insert("outcome".to_owned(), json!(outcome));
    gate.insert("known".to_owned(), json!(ids));
    change.record_for_facts(&Kind::FactHeldBack, Value::Object(payload), &known)?;
    let near = if outcome == Outcome::NearDuplicate {
        known
    } else {
        Vec::new()
    };
    Ok(Done {
        number: closest,
        outcome,
        near,
    })
}

/// Lets a known fact's times grow.
pub(super) fn repeat(
    change: &Change<'_>,
    checked: &Checked,
    source: Option<&Source>,
    known: &Known,
) -> Result<Done> {
    let fact = &checked.fact;
    let Known { number, id, .. } = *known;
    let since: i64 = change
        .connection
        .prepare_cached(
            // max with NULL is NULL, which here is never. What another fact ends
            // does not come to hold longer.
            "UPDATE facts SET updated_at = ?2, valid_from = min(valid_from, ?3),
                    valid_until = CASE WHEN superseded_by IS NULL THEN max(valid_until, ?4)
                        ELSE valid_until END,
                    subject = coalesce(subject, ?5), attribute = coalesce(attribute, ?6)
             WHERE number = ?1
             RETURNING valid_from",
        )?
        .query_row(
            params![
                number,
                checked.now,
                checked.valid_from,
                checked.valid_until,
                fact.subject,
                fact.attribute
            ],
            |row| row.get(0),
        )?;
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
    let mut ended = end_named(change, checked, number, id, checked.valid_from)?;
    let property = known.property.as_ref();
    ended.extend(end_other_values(
        change, checked, property, number, id, since,
    )?);
    let mut payload = described(checked, source);
    payload.insert("fact".to_owned(), json!(id));
    if !ended.is_empty() {
        payload.insert("superseded".to_owned(), json!(ended));
    }
    let (kind, outcome) = if known.to_the_letter {
        (Kind::FactRepeated, Outcome::Repeated)
    } else {
        (Kind::FactMerged, Outcome::Merged)
    };
    change.record_for_fact(&kind, Value::Object(payload), number)?;
    Ok(Done::new(number, outcome))
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

/// Counts one fact more in a scope, and answers with its number.
pub(in super::super) fn next_number(connection: &Connection, scope: ScopeId) -> Result<i64> {
    let place: i64 = connection
        .prepare_cached(
            "UPDATE scopes SET next_fact = next_fact + 1, facts = facts + 1 WHERE id = ?1
             RETURNING next_fact - 1",
        )?
        .query_row([scope], |row| row.get(0))?;
    let (from, to) = scope::fact_range(scope);
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
    Ok(number)
}

/// Stores a new fact and ends what it replaces.
pub(in super::super) fn insert(
    change: &Change<'_>,
    checked: &Checked,
    source: Option<&Source>,
) -> Result<Done> {
    let fact = &checked.fact;
    let since = holds_since(change, checked)?;
    let id = Uuid::now_v7();
    let number = next_number(change.connection, change.scope)?;
    let length = postings::enter(change.connection, change.scope, number, &fact.content)?;
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
            checked.created_at,
            since,
            checked.valid_until,
            length,
            checked.keys[0],
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
    let mut ended = end_named(change, checked, number, id, since)?;
    let property = checked.property();
    ended.extend(end_other_values(
        change,
        checked,
        property.as_ref(),
        number,
        id,
        since,
    )?);
    let mut payload = described(checked, source);
    payload.insert("fact".to_owned(), json!(id));
    if ended.is_empty() {
        change.record_for_fact(&Kind::FactRemembered, Value::Object(payload), number)?;
        return Ok(Done::new(number, Outcome::Stored));
    }
    payload.insert("superseded".to_owned(), json!(ended));
    change.record_for_fact(&Kind::FactSuperseded, Value::Object(payload), number)?;
    Ok(Done::new(number, Outcome::Superseded))
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
    if checked.imported {
        keep("imported", json!(true));
        keep("created-at", json!(checked.created_at));
    }
    if let Some(source) = source {
        keep(
            "source",
            json!({ "session": source.session, "index": source.index, "hash": source.hash }),
        );
    }
    if checked.masked > 0 {
        gate_member(&mut members).insert("masked".to_owned(), json!(checked.masked));
    }
    if fact.flags.instruction_like {
        gate_member(&mut members).insert("instruction-like".to_owned(), json!(true));
    }
    if checked.keep {
        gate_member(&mut members).insert("kept".to_owned(), json!(true));
    }
    members
}

/// What the gate did, which an entry keeps apart from what was given.
fn gate_member(payload: &mut Map<String, Value>) -> &mut Map<String, Value> {
    let gate = payload
        .entry("gate")
        .or_insert_with(|| Value::Object(Map::new()));
    match gate {
        Value::Object(members) => members,
        // It was made one line above.
        _ => unreachable!("the gate's member is an object"),
    }
}
