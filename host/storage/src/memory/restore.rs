//! Restoring what an export holds: facts as they were, with their ids, times
//! and history, and working memory and the profile with the times at which they
//! were written. What is here already is left as it is.

mod prepared;
mod working;

use keepsake_types::{EntryRef, Timestamp};
use rusqlite::{Connection, params};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::model::{FactVectors, NewFact};
use super::remember::next_number;
use super::{Change, Memory, View, postings, vectors};
use crate::Result;
use crate::ledger::{Chains, Kind, SourceState};
use crate::scope::{self, ScopeId};

use prepared::{Prepared, prepare, values};
pub use working::{RestoredProfile, RestoredValue};

/// A fact as an export holds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RestoredFact {
    /// Its id. Where a fact of another memory has it, the restored one has an
    /// id that is made of this one and the memory's name, always the same.
    pub id: Option<String>,
    /// The fact. `supersedes` must be empty: `superseded_by` says it.
    pub fact: NewFact,
    /// When it was first known; none means now.
    pub created_at: Option<Timestamp>,
    /// When it was last remembered again, or changed; none means `created_at`.
    pub updated_at: Option<Timestamp>,
    /// The id of the fact that replaced it.
    pub superseded_by: Option<String>,
    /// The number of facts that it stands for, where it is their summary.
    pub summary_of: Option<u32>,
    /// The entries besides its source that a summary was learned from.
    pub further_sources: Vec<EntryRef>,
}

/// What became of things that were to be restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Restored {
    /// Those that are new.
    pub stored: u64,
    /// Those that were here already.
    pub repeated: u64,
}

impl View {
    /// Which of these facts [`Memory::restore_facts`] would find here already,
    /// in the order given.
    ///
    /// # Errors
    /// As `restore_facts`, without those about vectors.
    pub async fn holds_restored(&self, facts: Vec<RestoredFact>) -> Result<Vec<bool>> {
        let facts = prepare(facts)?;
        self.read(vec![false; facts.len()], move |connection, scope| {
            facts
                .iter()
                .map(|one| is_here(connection, scope, one))
                .collect()
        })
        .await
    }
}

impl Memory {
    /// Restores facts, all or none, in one transaction. `vectors` holds one for
    /// each fact; without it, facts are found by their words only.
    ///
    /// A fact is here already when one has its id, or the same content,
    /// metadata, subject, attribute, thread, position and time of creation. Of two
    /// values of one property that both hold, as after memory has learned
    /// something since the export, the one that began to hold later goes on.
    ///
    /// A source is kept whether or not it is here; it is looked at whenever the
    /// fact is read. One that belongs to another memory is moved to the extras.
    ///
    /// # Errors
    /// As [`Memory::import_many`], without those about sources; `Invalid` for
    /// what is no id.
    pub async fn restore_facts(
        &self,
        facts: Vec<RestoredFact>,
        vectors: Option<FactVectors>,
    ) -> Result<Restored> {
        let facts = prepare(facts)?;
        if let Some(vectors) = &vectors {
            vectors::check(vectors, facts.len())?;
        }
        if facts.is_empty() {
            return Ok(Restored::default());
        }
        self.write(move |change| restore(change, &facts, vectors.as_ref()))
            .await
    }
}

/// Checks facts by every rule that needs no file.
///
/// # Errors
/// As [`Memory::restore_facts`], without those about vectors.
pub fn check_restored_facts(facts: &[RestoredFact]) -> Result<()> {
    prepare(facts.to_vec()).map(drop)
}

fn restore(
    change: &Change<'_>,
    facts: &[Prepared],
    vectors: Option<&FactVectors>,
) -> Result<Restored> {
    let vectors = vectors::Given::new(change.connection, vectors)?;
    let mut chains = Chains::default();
    let mut words = postings::Batch::default();
    let mut restored = Restored::default();
    let mut ids = Vec::new();
    for (place, one) in facts.iter().enumerate() {
        if is_here(change.connection, change.scope, one)? {
            restored.repeated += 1;
            continue;
        }
        let (number, id) = insert(change, one, &mut words, &mut chains)?;
        if let Some(vectors) = &vectors {
            vectors.store(place, number)?;
        }
        restored.stored += 1;
        ids.push(id);
    }
    words.enter(change.connection, change.scope)?;
    if !ids.is_empty() {
        // Without the texts: nothing rests on this entry, and what it does not
        // hold need not be erased from it.
        change.record(&Kind::FactsRestored, json!({ "facts": ids }))?;
    }
    Ok(restored)
}

/// Whether this memory has the fact, current or not.
fn is_here(connection: &Connection, scope: ScopeId, one: &Prepared) -> Result<bool> {
    let (from, to) = scope::fact_range(scope);
    if let Some(id) = one.id {
        let id = own_id(connection, scope, id)?;
        let here = connection
            .prepare_cached("SELECT 1 FROM facts WHERE id = ?1 AND number BETWEEN ?2 AND ?3")?
            .exists(params![id.as_bytes(), from, to])?;
        if here {
            return Ok(true);
        }
    }
    let fact = &one.fact;
    Ok(connection
        .prepare_cached(
            "SELECT 1 FROM facts
             WHERE content_key IN (?1, ?11) AND number BETWEEN ?2 AND ?3 AND content = ?4 AND metadata = ?5
                AND subject IS ?6 AND attribute IS ?7 AND thread IS ?8 AND position IS ?9
                AND (?10 IS NULL OR created_at = ?10)",
        )?
        .exists(params![
            one.content_keys[0],
            from,
            to,
            fact.content,
            one.metadata,
            fact.subject,
            fact.attribute,
            fact.thread,
            fact.position,
            one.dated,
            one.content_keys[1]
        ])?)
}

/// The id that a fact has in this scope. No two facts of one file have the same:
/// where the memory that it was exported from lies in this file as well, the
/// restored one has another, and so have the facts that name it.
fn own_id(connection: &Connection, scope: ScopeId, id: Uuid) -> Result<Uuid> {
    let (from, to) = scope::fact_range(scope);
    let elsewhere = connection
        .prepare_cached("SELECT 1 FROM facts WHERE id = ?1 AND number NOT BETWEEN ?2 AND ?3")?
        .exists(params![id.as_bytes(), from, to])?;
    if !elsewhere {
        return Ok(id);
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"keepsake-restored-fact");
    hasher.update(&scope.to_le_bytes());
    hasher.update(id.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Ok(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

fn insert(
    change: &Change<'_>,
    one: &Prepared,
    words: &mut postings::Batch,
    chains: &mut Chains,
) -> Result<(i64, Uuid)> {
    let connection = change.connection;
    let fact = &one.fact;
    let own = |id| own_id(connection, change.scope, id);
    let id = one.id.map_or_else(|| Ok(Uuid::now_v7()), own)?;
    let superseded_by = one.superseded_by.map(own).transpose()?;
    let number = next_number(connection, change.scope)?;
    let length = words.add(number, &fact.content);
    connection
        .prepare_cached("UPDATE scopes SET words = words + ?2 WHERE id = ?1")?
        .execute(params![change.scope, length])?;
    let Origin { source, extras } = origin(change, fact, chains)?;
    let extras = extras
        .map(|extras| values(&extras, "a fact's extras"))
        .transpose()?;
    connection
        .prepare_cached(
            "INSERT INTO facts (number, id, created_at, updated_at, valid_from, valid_until,
                superseded_by, words, content_key, source_session, source_place, source_hash,
                subject, attribute, thread, position, instruction_like, masked, quote, extras,
                metadata, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, unhex(?12), ?13, ?14, ?15, ?16,
                ?17, ?18, ?19, ?20, ?21, ?22)",
        )?
        .execute(params![
            number,
            id.as_bytes(),
            one.created_at,
            one.updated_at,
            one.valid_from,
            one.valid_until,
            superseded_by.as_ref().map(Uuid::as_bytes),
            length,
            one.content_keys[0],
            source.map(|source| &source.session),
            source.map(|source| source.index),
            source.and_then(|source| source.hash.as_ref()),
            fact.subject,
            fact.attribute,
            fact.thread,
            fact.position,
            fact.flags.instruction_like,
            fact.flags.masked,
            fact.quote,
            extras,
            one.metadata,
            fact.content
        ])?;
    if one.valid_until.is_none() && superseded_by.is_none() {
        settle(change, one, number, id)?;
    }
    if let Some(facts) = one.summary_of {
        note_summary(change, one, number, facts, chains)?;
    }
    if let Some(source) = source {
        // What a verified fact rests on besides its source: that the ledger
        // knows its text.
        let payload = json!({
            "fact": id, "content": fact.content, "source": source, "restored": true,
        });
        change.record_for_fact(&Kind::FactRemembered, payload, number)?;
    }
    Ok((number, id))
}

/// What is kept of where a fact is from.
struct Origin<'a> {
    source: Option<&'a EntryRef>,
    extras: Option<Map<String, Value>>,
}

/// The source as it is kept, and the extras, where a source goes that is
/// another memory's.
fn origin<'a>(change: &Change<'_>, fact: &'a NewFact, chains: &mut Chains) -> Result<Origin<'a>> {
    let mut origin = Origin {
        source: fact.source.as_ref(),
        extras: fact.extras.clone(),
    };
    if let Some(source) = origin.source
        && is_foreign(change, source, chains)?
    {
        origin
            .extras
            .get_or_insert_with(Map::new)
            .insert("source".to_owned(), json!(source));
        origin.source = None;
    }
    Ok(origin)
}

/// Whether an entry is in another memory's sessions.
fn is_foreign(change: &Change<'_>, source: &EntryRef, chains: &mut Chains) -> Result<bool> {
    let lineage = scope::lineage(change.connection, change.scope)?;
    let state = chains.state(change.connection, source, &lineage)?;
    Ok(state == SourceState::ForeignScope)
}

/// Notes that a fact is a summary, with its further sources but those that are
/// another memory's.
fn note_summary(
    change: &Change<'_>,
    one: &Prepared,
    number: i64,
    facts: u32,
    chains: &mut Chains,
) -> Result<()> {
    change
        .connection
        .prepare_cached("INSERT INTO summaries (fact, facts) VALUES (?1, ?2)")?
        .execute(params![number, facts])?;
    let mut note = change.connection.prepare_cached(
        "INSERT OR IGNORE INTO fact_sources (fact, session, place, hash, scope)
         VALUES (?1, ?2, ?3, unhex(?4), ?5)",
    )?;
    for source in &one.further_sources {
        if !is_foreign(change, source, chains)? {
            note.execute(params![
                number,
                source.session,
                source.index,
                source.hash,
                change.scope
            ])?;
        }
    }
    Ok(())
}

/// Of two values of one property that both go on, ends the one that began first.
fn settle(change: &Change<'_>, one: &Prepared, number: i64, id: Uuid) -> Result<()> {
    let fact = &one.fact;
    let (Some(subject), Some(attribute)) = (&fact.subject, &fact.attribute) else {
        return Ok(());
    };
    let (from, to) = scope::fact_range(change.scope);
    let others = change
        .connection
        .prepare_cached(
            "SELECT number, id, valid_from FROM facts
             WHERE subject = ?1 AND attribute = ?2 AND number BETWEEN ?3 AND ?4 AND number <> ?5
                AND valid_until IS NULL AND superseded_by IS NULL
             ORDER BY valid_from, number",
        )?
        .query_map(params![subject, attribute, from, to, number], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<rusqlite::Result<Vec<(i64, [u8; 16], i64)>>>()?;
    let mut end = change.connection.prepare_cached(
        "UPDATE facts SET valid_until = ?2, superseded_by = ?3 WHERE number = ?1",
    )?;
    for (other, other_id, valid_from) in others {
        if valid_from > one.valid_from {
            end.execute(params![number, valid_from, other_id])?;
            break;
        }
        end.execute(params![other, one.valid_from, id.as_bytes()])?;
    }
    Ok(())
}
