//! The rules for what is restored that need no file.

use keepsake_gate::Statement;
use keepsake_types::{EntryRef, limits, now};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::super::facts::stored_time;
use super::super::model::NewFact;
use super::super::object_text;
use super::super::remember::content_keys;
use super::RestoredFact;
use crate::{ImportedFact, Result, StorageError, check_imported_facts};

/// A fact with what is stored of it.
pub(super) struct Prepared {
    pub(super) fact: NewFact,
    pub(super) id: Option<Uuid>,
    pub(super) superseded_by: Option<Uuid>,
    pub(super) content_keys: [i64; 2],
    pub(super) metadata: String,
    /// The time of creation where it was given, which a repeat has as well.
    pub(super) dated: Option<i64>,
    pub(super) summary_of: Option<u32>,
    pub(super) further_sources: Vec<EntryRef>,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) valid_from: i64,
    pub(super) valid_until: Option<i64>,
}

pub(super) fn prepare(facts: Vec<RestoredFact>) -> Result<Vec<Prepared>> {
    let now = now();
    facts
        .into_iter()
        .map(|restored| {
            let imported = ImportedFact {
                fact: restored.fact,
                created_at: restored.created_at,
            };
            check_imported_facts(std::slice::from_ref(&imported))?;
            let fact = imported.fact;
            if !fact.supersedes.is_empty() {
                return Err(StorageError::Invalid(
                    "a restored fact is superseded by others and supersedes none".to_owned(),
                ));
            }
            fact.source
                .iter()
                .chain(&restored.further_sources)
                .try_for_each(check_source)?;
            let created = restored.created_at.unwrap_or(now);
            let created_at = stored_time(created, "the time since which a fact is known")?;
            let updated_at = restored.updated_at.unwrap_or(created);
            let valid_from = fact.valid_from.unwrap_or(created.min(now));
            Ok(Prepared {
                id: restored.id.as_deref().map(checked_id).transpose()?,
                superseded_by: restored
                    .superseded_by
                    .as_deref()
                    .map(checked_id)
                    .transpose()?,
                content_keys: content_keys(&fact, &Statement::new(&fact.content)),
                metadata: values(&fact.metadata, "a fact's metadata")?,
                dated: restored.created_at.map(|_| created_at),
                summary_of: restored.summary_of,
                further_sources: restored.further_sources,
                created_at,
                updated_at: stored_time(updated_at, "the time at which a fact was changed")?,
                valid_from: stored_time(valid_from, "the time since which a fact holds")?,
                valid_until: fact
                    .expires_at
                    .map(|until| stored_time(until, "the time at which a fact expires"))
                    .transpose()?,
                fact,
            })
        })
        .collect()
}

fn checked_id(id: &str) -> Result<Uuid> {
    Uuid::parse_str(id).map_err(|_| {
        StorageError::Invalid(format!(
            "`{}` is no id of a fact: it has the form of a UUID",
            id.escape_default()
        ))
    })
}

/// A source from elsewhere is told from another entry by its hash alone.
fn check_source(source: &EntryRef) -> Result<()> {
    let whole = source
        .hash
        .as_ref()
        .is_some_and(|hash| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if whole {
        return Ok(());
    }
    Err(StorageError::Invalid(
        "a source needs its `hash`, 64 hexadecimal digits: `host ledger show --json` tells that of each entry"
            .to_owned(),
    ))
}

pub(super) fn values(values: &Map<String, Value>, what: &str) -> Result<String> {
    let bound = limits::FACT_METADATA_BYTES;
    object_text(values, what, "fact-metadata-bytes", bound)
}
