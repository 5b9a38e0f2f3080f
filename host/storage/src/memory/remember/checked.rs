//! The rules for a fact that need no file.

use keepsake_gate::{Statement, mask, mask_members, reads_like_instructions};
use keepsake_types::{Timestamp, limits, now};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::super::facts::stored_time;
use super::super::model::NewFact;
use super::super::object_text;
use super::import::ImportedFact;
use super::property::Property;
use super::supersede::unknown_superseded;
use crate::{Result, StorageError};

/// Checks facts by every rule that needs no file, so that nothing is spent on
/// facts which [`Memory::remember_many`](crate::Memory::remember_many) would refuse.
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

pub(super) fn check_number<T>(facts: &[T]) -> Result<()> {
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

/// The texts of facts as [`Memory::remember_many`](crate::Memory::remember_many)
/// keeps them, for the embedding provider: obvious secrets in them are masked.
#[must_use]
pub fn kept_texts(facts: &[NewFact]) -> Vec<String> {
    facts
        .iter()
        .map(|fact| mask(&fact.content).text.into_owned())
        .collect()
}

/// A fact that keeps every rule which can be checked without the file.
pub(in super::super) struct Checked {
    /// As it is kept, without the secrets that were in it.
    pub(super) fact: NewFact,
    /// As it was given, to be looked for in the source's output.
    pub(super) quote: Option<String>,
    /// Its text, taken apart for comparison.
    pub(super) statement: Statement,
    /// How many places were masked.
    pub(super) masked: usize,
    /// It is to be stored whatever it resembles.
    pub(super) keep: bool,
    pub(super) metadata: String,
    pub(super) extras: Option<String>,
    /// The key of its statement in its place, and the key that a file of the
    /// first version has for its text.
    pub(super) keys: [i64; 2],
    /// When the call was made.
    pub(super) now: Timestamp,
    pub(super) created_at: i64,
    /// It comes from a file of facts and not from an agent.
    pub(super) imported: bool,
    pub(super) valid_from: i64,
    pub(super) valid_until: Option<i64>,
    pub(super) supersedes: Vec<Uuid>,
}

impl Checked {
    /// What the fact gives a value of.
    pub(super) fn property(&self) -> Option<Property> {
        Property::of(self.fact.subject.as_ref(), self.fact.attribute.as_ref())
    }

    /// A fact that an agent learned now.
    pub(in super::super) fn new(fact: NewFact, now: Timestamp) -> Result<Self> {
        let mut fact = fact;
        let keep = take_keep(&mut fact);
        let quote = fact.quote.clone();
        check_texts(&fact)?;
        let masked = mask_fact(&mut fact);
        fact.flags.masked |= masked > 0;
        let mut checked = Self::first_remembered(fact, now, now)?;
        (checked.quote, checked.masked, checked.keep) = (quote, masked, keep);
        if checked.valid_until == Some(checked.valid_from) {
            return Err(expires_first());
        }
        Ok(checked)
    }

    /// A fact that was first remembered earlier, maybe elsewhere. It holds since
    /// then where nothing else is said, and may have ceased at once.
    pub(super) fn imported(imported: ImportedFact, now: Timestamp) -> Result<Self> {
        let created_at = imported.created_at.unwrap_or(now);
        check_texts(&imported.fact)?;
        let mut checked = Self::first_remembered(imported.fact, created_at, now)?;
        checked.imported = true;
        Ok(checked)
    }

    fn first_remembered(fact: NewFact, created_at: Timestamp, now: Timestamp) -> Result<Self> {
        let mut fact = fact;
        fact.flags.instruction_like |= reads_like_instructions(&fact.content);
        for name in [&mut fact.subject, &mut fact.attribute]
            .into_iter()
            .flatten()
        {
            // So that a blank more is no other name.
            *name = Statement::even(name);
            if name.is_empty() {
                return Err(StorageError::Invalid(
                    "a subject or attribute must not be blank: leave it out".to_owned(),
                ));
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
            // A clock that is ahead does not hide a fact until then.
            fact.valid_from.unwrap_or(created_at.min(now)),
            "the time since which a fact holds",
        )?;
        let valid_until = fact
            .expires_at
            .map(|at| stored_time(at, "the time at which a fact expires"))
            .transpose()?;
        if valid_until.is_some_and(|until| until < valid_from) {
            return Err(expires_first());
        }
        let created_at = stored_time(created_at, "the time at which a fact was first remembered")?;
        let (metadata, extras) = values(&fact)?;
        let statement = Statement::new(&fact.content);
        let keys = content_keys(&fact, &statement);
        Ok(Self {
            quote: None,
            statement,
            masked: 0,
            keep: false,
            fact,
            metadata,
            extras,
            keys,
            now,
            created_at,
            imported: false,
            valid_from,
            valid_until,
            supersedes,
        })
    }
}

/// Checks the texts of a fact and how deep its values are, before they are looked into.
fn check_texts(fact: &NewFact) -> Result<()> {
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
        // Names are shown in lists, and tell a property from another. A tab in them is read
        // as the space that it looks like.
        let unseen = |character: char| character.is_control() && character != '\t';
        if name == "fact-name-bytes" && text.chars().any(unseen) {
            let name = what.trim_start_matches("bytes of ");
            return Err(StorageError::Invalid(format!(
                "{name} must hold no control characters: leave them out"
            )));
        }
    }
    values(fact)?;
    Ok(())
}

/// A fact's metadata and extras as they are stored.
fn values(fact: &NewFact) -> Result<(String, Option<String>)> {
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
    Ok((metadata, extras))
}

/// Whether a fact is to be stored whatever it resembles. That is said to the
/// gate and is no part of the fact.
fn take_keep(fact: &mut NewFact) -> bool {
    let Some(extras) = &mut fact.extras else {
        return false;
    };
    let Some(Value::Bool(keep)) = extras.get("keep") else {
        return false;
    };
    let keep = *keep;
    extras.remove("keep");
    if extras.is_empty() {
        fact.extras = None;
    }
    keep
}

/// Masks what must not be kept, wherever a fact holds text that it is shown
/// with. Answers in how many places. The thread is a name that the caller gave
/// and stays: two threads must not become one.
fn mask_fact(fact: &mut NewFact) -> usize {
    let texts = [
        Some(&mut fact.content),
        fact.quote.as_mut(),
        fact.subject.as_mut(),
        fact.attribute.as_mut(),
    ];
    let mut places = 0;
    for text in texts.into_iter().flatten() {
        let masked = mask(text);
        if masked.places > 0 {
            places += masked.places;
            *text = masked.text.into_owned();
        }
    }
    let values: [Option<&mut Map<String, Value>>; 2] =
        [Some(&mut fact.metadata), fact.extras.as_mut()];
    places
        + values
            .into_iter()
            .flatten()
            .map(mask_members)
            .sum::<usize>()
}

fn expires_first() -> StorageError {
    StorageError::Invalid(
        "a fact must not expire before it holds: give an `expires-at` that is later than its \
         `valid-from` (the time of this call where none is given)"
            .to_owned(),
    )
}

/// The key of a fact's statement in its place, and the key that a file of the
/// first version has for its text.
pub(in crate::memory) fn content_keys(fact: &NewFact, statement: &Statement) -> [i64; 2] {
    [
        content_key(fact, statement),
        first_content_key(&fact.content),
    ]
}

/// Finds statements that are the same in the same place of a thread, without an
/// index as large as the texts. The texts themselves are compared as well. With
/// the place in it, a text that is said in every turn has a key for each.
fn content_key(fact: &NewFact, statement: &Statement) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(statement.form().as_bytes());
    if let Some(thread) = &fact.thread {
        hasher.update(&[0]).update(thread.as_bytes());
    }
    if let Some(position) = fact.position {
        hasher.update(&[1]).update(&position.to_le_bytes());
    }
    first_bytes(&hasher.finalize())
}

fn first_content_key(content: &str) -> i64 {
    first_bytes(&blake3::hash(content.as_bytes()))
}

fn first_bytes(hash: &blake3::Hash) -> i64 {
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_le_bytes(first)
}
