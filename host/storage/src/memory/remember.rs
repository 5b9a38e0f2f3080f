//! Remembering: all facts of a call or none, in one transaction with their
//! ledger entries, their words and their vectors.

use keepsake_types::{EntryRef, Timestamp, limits, now};
use rusqlite::{OptionalExtension, params};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::facts::{Loader, stored_time};
use super::model::{FactVectors, NewFact, Outcome, Remembered};
use super::{Change, Memory, facts, object_text, vectors, words};
use crate::ledger::{self, Chains, Kind, SourceState};
use crate::scope::{self, ScopeId};
use crate::{Result, StorageError};

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

/// Checks facts by every rule that needs no file, so that nothing is spent on
/// facts which [`Memory::remember_many`] would refuse.
///
/// # Errors
/// As `remember_many`, without those about sources and vectors.
pub fn check_new_facts(facts: &[NewFact]) -> Result<()> {
    check_number(facts)?;
    let now = now();
    facts
        .iter()
        .try_for_each(|fact| Checked::new(fact.clone(), now).map(drop))
}

fn check_number(facts: &[NewFact]) -> Result<()> {
    if facts.len() > limits::REMEMBER_MANY_FACTS {
        return Err(StorageError::limit(
            "remember-many-facts",
            "facts in one call",
            facts.len(),
            limits::REMEMBER_MANY_FACTS,
        ));
    }
    Ok(())
}

/// A fact that keeps every rule which can be checked without the file.
struct Checked {
    fact: NewFact,
    metadata: String,
    extras: Option<String>,
    content_key: i64,
    valid_from: i64,
    valid_until: Option<i64>,
    supersedes: Vec<Uuid>,
}

impl Checked {
    fn new(fact: NewFact, now: Timestamp) -> Result<Self> {
        if fact.content.trim().is_empty() {
            return Err(StorageError::Invalid("a fact must not be empty".to_owned()));
        }
        let texts = [
            (
                "fact-bytes",
                "bytes of a fact",
                Some(&fact.content),
                limits::FACT_BYTES,
            ),
            (
                "fact-bytes",
                "bytes of a quote",
                fact.quote.as_ref(),
                limits::FACT_BYTES,
            ),
            (
                "fact-name-bytes",
                "bytes of a subject",
                fact.subject.as_ref(),
                limits::FACT_NAME_BYTES,
            ),
            (
                "fact-name-bytes",
                "bytes of an attribute",
                fact.attribute.as_ref(),
                limits::FACT_NAME_BYTES,
            ),
            (
                "fact-name-bytes",
                "bytes of a thread",
                fact.thread.as_ref(),
                limits::FACT_NAME_BYTES,
            ),
        ];
        for (name, what, text, bound) in texts {
            let Some(text) = text else { continue };
            if text.is_empty() {
                return Err(StorageError::Invalid(format!(
                    "the number of {what} must not be 0: leave it out"
                )));
            }
            if text.len() > bound {
                return Err(StorageError::limit(name, what, text.len(), bound));
            }
        }
        if fact.subject.is_some() != fact.attribute.is_some() {
            return Err(StorageError::Invalid(
                "a fact's subject and attribute are given together or not at all".to_owned(),
            ));
        }
        if fact.quote.is_some() && fact.source.is_none() {
            return Err(StorageError::Invalid(
                "a quote needs the source that it is taken from".to_owned(),
            ));
        }
        if fact.supersedes.len() > limits::FACT_SUPERSEDES {
            return Err(StorageError::limit(
                "fact-supersedes",
                "facts that one fact supersedes",
                fact.supersedes.len(),
                limits::FACT_SUPERSEDES,
            ));
        }
        let supersedes = fact
            .supersedes
            .iter()
            .map(|id| Uuid::parse_str(id).map_err(|_| unknown_superseded(id)))
            .collect::<Result<_>>()?;
        let valid_from = stored_time(
            fact.valid_from.unwrap_or(now),
            "the time since which a fact holds",
        )?;
        let valid_until = fact
            .expires_at
            .map(|at| stored_time(at, "the time at which a fact expires"))
            .transpose()?;
        if valid_until.is_some_and(|until| until <= valid_from) {
            return Err(StorageError::Invalid(
                "a fact must not expire before it holds: `expires-at` is later than `valid-from`"
                    .to_owned(),
            ));
        }
        let bound = limits::FACT_METADATA_BYTES;
        let metadata = object_text(
            &fact.metadata,
            "a fact's metadata",
            "fact-metadata-bytes",
            bound,
        )?;
        let extras = fact
            .extras
            .as_ref()
            .map(|extras| object_text(extras, "a fact's extras", "fact-metadata-bytes", bound))
            .transpose()?;
        let content_key = content_key(&fact.content);
        Ok(Self {
            fact,
            metadata,
            extras,
            content_key,
            valid_from,
            valid_until,
            supersedes,
        })
    }
}

/// Finds equal texts without an index as large as the texts. The texts
/// themselves are compared as well.
fn content_key(content: &str) -> i64 {
    let hash = blake3::hash(content.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_le_bytes(first)
}

fn unknown_superseded(id: &str) -> StorageError {
    StorageError::Invalid(format!(
        "`supersedes` names `{}`, which is no fact of this memory: nothing was remembered",
        id.escape_default()
    ))
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

/// A source that was found to be what it claims, with its hash.
struct Source {
    session: String,
    index: u64,
    hash: String,
    scope: ScopeId,
}

/// Checks the source of each fact, entry by entry, so that each is read once
/// however many facts it has and in whatever order they come.
fn check_sources(change: &Change<'_>, facts: &[Checked]) -> Result<Vec<Option<Source>>> {
    let mut sources: Vec<Option<Source>> = facts.iter().map(|_| None).collect();
    let mut order: Vec<(&EntryRef, usize)> = facts
        .iter()
        .enumerate()
        .filter_map(|(place, checked)| checked.fact.source.as_ref().map(|source| (source, place)))
        .collect();
    order.sort_by(|(left, _), (right, _)| {
        (&left.session, left.index).cmp(&(&right.session, right.index))
    });
    let mut chains = Chains::default();
    let mut read: Option<ledger::Entry> = None;
    for (source, place) in order {
        let fact = &facts[place].fact;
        let refused = |why: &str| {
            StorageError::Invalid(format!(
                "entry {} of session `{}` cannot be the source of fact {}: {why}; nothing was remembered",
                source.index,
                source.session.escape_default(),
                place + 1
            ))
        };
        let own = source.session == change.session.id;
        // A session may learn for its team's memory from what it did itself.
        let scope = if own {
            change.session.session_scope
        } else {
            change.scope
        };
        match chains.state(change.connection, source, &[scope])? {
            SourceState::Verified => {}
            // The same words, so that nothing is said about other memories.
            SourceState::Dangling | SourceState::ForeignScope => {
                return Err(refused("this memory has no such entry"));
            }
            SourceState::Tampered => {
                return Err(refused(
                    "it, or an entry before it, is not what was written",
                ));
            }
        }
        if !read
            .as_ref()
            .is_some_and(|entry| entry.session == source.session && entry.index == source.index)
        {
            read = ledger::one(change.connection, source)?;
        }
        let entry = read
            .as_ref()
            .ok_or_else(|| refused("this memory has no such entry"))?;
        if let Some(quote) = &fact.quote {
            let Some(payload) = &entry.payload else {
                return Err(refused(
                    "its content was erased, so the quote cannot be checked",
                ));
            };
            if !ledger::output_holds(payload, quote) {
                return Err(refused("the quote does not occur in its output"));
            }
        }
        sources[place] = Some(Source {
            session: entry.session.clone(),
            index: entry.index,
            hash: entry.hash.clone(),
            scope,
        });
    }
    Ok(sources)
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
    change.record(&Kind::FactRepeated, Value::Object(payload))?;
    Ok(())
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
    let number = from + place;
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
        change.record(&Kind::FactRemembered, Value::Object(payload))?;
        return Ok((number, Outcome::Stored));
    }
    payload.insert("superseded".to_owned(), json!(ended));
    change.record(&Kind::FactSuperseded, Value::Object(payload))?;
    Ok((number, Outcome::Superseded))
}

/// Ends the validity of what a fact replaces: the facts it names, and those
/// that give the same property of the same subject. Answers which ended now.
fn end_superseded(
    change: &Change<'_>,
    checked: &Checked,
    number: i64,
    id: Uuid,
    now: Timestamp,
) -> Result<Vec<Uuid>> {
    let (from, to) = scope::fact_range(change.scope);
    let mut targets: Vec<i64> = Vec::new();
    for superseded in &checked.supersedes {
        let text = superseded.to_string();
        targets.push(
            facts::number(change.connection, change.scope, &text)?
                .ok_or_else(|| unknown_superseded(&text))?,
        );
    }
    if let (Some(subject), Some(attribute)) = (&checked.fact.subject, &checked.fact.attribute) {
        let mut statement = change.connection.prepare_cached(
            "SELECT number FROM facts
             WHERE subject = ?1 AND attribute = ?2 AND number BETWEEN ?3 AND ?4
                AND superseded_by IS NULL AND (valid_until IS NULL OR valid_until > ?5)
             ORDER BY number",
        )?;
        let same = statement.query_map(
            params![subject, attribute, from, to, checked.valid_from],
            |row| row.get(0),
        )?;
        for target in same {
            targets.push(target?);
        }
    }
    let mut end = change.connection.prepare_cached(
        // Never before it began to hold.
        "UPDATE facts SET superseded_by = ?2, updated_at = ?3,
                valid_until = max(valid_from, min(coalesce(valid_until, ?4), ?4))
         WHERE number = ?1 AND superseded_by IS NULL RETURNING id",
    )?;
    let mut ended = Vec::new();
    for target in targets.into_iter().filter(|target| *target != number) {
        let outcome = end
            .query_row(
                params![target, id.as_bytes(), now, checked.valid_from],
                |row| row.get(0),
            )
            .optional()?;
        ended.extend(outcome.map(Uuid::from_bytes));
    }
    Ok(ended)
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
