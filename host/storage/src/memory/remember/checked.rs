//! The rules for a fact that need no file.

use keepsake_types::{Timestamp, limits, now};
use uuid::Uuid;

use super::super::facts::stored_time;
use super::super::model::NewFact;
use super::super::object_text;
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

pub(super) fn check_number(facts: &[NewFact]) -> Result<()> {
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
pub(super) struct Checked {
    pub(super) fact: NewFact,
    pub(super) metadata: String,
    pub(super) extras: Option<String>,
    pub(super) content_key: i64,
    pub(super) valid_from: i64,
    pub(super) valid_until: Option<i64>,
    pub(super) supersedes: Vec<Uuid>,
}

impl Checked {
    pub(super) fn new(fact: NewFact, now: Timestamp) -> Result<Self> {
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
