//! Letting go what was chosen, and putting summaries in its place.

use std::collections::HashMap;

use keepsake_types::{Timestamp, now};
use rusqlite::params;
use serde_json::{Map, Value, json};

use super::super::model::{Fact, FactFlags, FactVectors, NewFact, Verification};
use super::super::remember::{self, Checked};
use super::super::{Change, Memory, facts, summaries, vectors};
use super::{Compaction, CompactionPlan, Going, Summary, SummaryGroup};
use crate::ledger::{self, Kind};
use crate::{Result, StorageError};

impl Memory {
    /// Lets the facts of a plan go and puts summaries in place of its group, in
    /// one transaction: the summaries are there before the originals are gone.
    /// `vectors` holds one for each summary. A fact that was changed or
    /// forgotten since the plan was made is passed over, and so is a summary
    /// that would stand for one, with the facts that it is of. Facts of the
    /// group that no summary names go.
    ///
    /// What goes is deleted for good, as by [`Memory::forget`].
    ///
    /// # Errors
    /// `Invalid` for more summaries than the group allows and for one that
    /// names a fact outside of it; as [`Memory::remember_many`] for its text.
    pub async fn carry_out(
        &self,
        plan: CompactionPlan,
        summaries: Vec<Summary>,
        vectors: Option<FactVectors>,
    ) -> Result<Compaction> {
        let now = now();
        if let Some(vectors) = &vectors {
            vectors::check(vectors, summaries.len())?;
        }
        let summaries = checked(&plan, summaries, now)?;
        self.write(move |change| carry_out(change, &plan, &summaries, vectors.as_ref()))
            .await
    }

    /// Records that a compaction failed and that the facts stay. It counts as
    /// one, so that the next comes after as many new facts as usual.
    ///
    /// # Errors
    /// Only when the file cannot be written.
    pub async fn record_failed_compaction(&self, reason: &str) -> Result<()> {
        let payload = json!({ "facts": [], "error": reason });
        self.write(move |change| {
            note_compaction(change)?;
            change.record(&Kind::FactsCompacted, payload).map(drop)
        })
        .await
    }
}

/// A summary that keeps the rules, and the places of its facts in the group.
struct Accepted {
    fact: Checked,
    of: Vec<usize>,
}

fn checked(
    plan: &CompactionPlan,
    summaries: Vec<Summary>,
    now: Timestamp,
) -> Result<Vec<Accepted>> {
    let refused = |why: String| {
        StorageError::Invalid(format!(
            "a summary cannot be used: {why}; nothing was let go"
        ))
    };
    let none = SummaryGroup {
        facts: Vec::new(),
        most: 0,
    };
    let group = plan.group.as_ref().unwrap_or(&none);
    if summaries.len() > group.most {
        return Err(refused(format!(
            "there are {} of them, and room for {}",
            summaries.len(),
            group.most
        )));
    }
    let places: HashMap<&str, usize> = group
        .facts
        .iter()
        .enumerate()
        .map(|(place, fact)| (fact.id.as_str(), place))
        .collect();
    summaries
        .into_iter()
        .map(|summary| {
            let mut of: Vec<usize> = summary
                .of
                .iter()
                .map(|id| {
                    places.get(id.as_str()).copied().ok_or_else(|| {
                        refused(format!("`{}` is none of its facts", id.escape_default()))
                    })
                })
                .collect::<Result<_>>()?;
            of.sort_unstable();
            of.dedup();
            if of.is_empty() {
                of = (0..group.facts.len()).collect();
            }
            let originals: Vec<&Fact> = of.iter().map(|place| &group.facts[*place]).collect();
            let fact = Checked::new(new_fact(summary.content, &originals), now)
                .map_err(|error| refused(error.to_string()))?;
            Ok(Accepted { fact, of })
        })
        .collect()
}

/// What a summary takes over from the facts that it stands for.
fn new_fact(content: String, originals: &[&Fact]) -> NewFact {
    let common = |same: &dyn Fn(&Fact) -> bool| originals.iter().all(|fact| same(fact));
    let first = originals.first();
    let metadata: Map<String, Value> = first.map_or_else(Map::new, |first| {
        let members = first.metadata.iter();
        members
            .filter(|(name, value)| common(&|fact| fact.metadata.get(*name) == Some(*value)))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    });
    let thread = first.and_then(|first| first.thread.clone());
    NewFact {
        content,
        metadata,
        valid_from: originals.iter().map(|fact| fact.valid_from).min(),
        thread: thread.filter(|thread| common(&|fact| fact.thread.as_ref() == Some(thread))),
        flags: FactFlags {
            instruction_like: originals.iter().any(|fact| fact.flags.instruction_like),
            masked: originals.iter().any(|fact| fact.flags.masked),
        },
        ..NewFact::default()
    }
}

/// What a fact of the group is to become.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Goes,
    Summarised,
    Stays,
}

fn carry_out(
    change: &Change<'_>,
    plan: &CompactionPlan,
    accepted: &[Accepted],
    vectors: Option<&FactVectors>,
) -> Result<Compaction> {
    let mut fates = group_fates(change, plan)?;
    let unchanged: Vec<bool> = fates.iter().map(|fate| *fate == Fate::Goes).collect();
    let mut written = Vec::new();
    let vectors = vectors::Given::new(change.connection, vectors)?;
    for (place, summary) in accepted.iter().enumerate() {
        if !summary.of.iter().all(|place| unchanged[*place]) {
            for place in &summary.of {
                if fates[*place] == Fate::Goes {
                    fates[*place] = Fate::Stays;
                }
            }
            continue;
        }
        let (number, entry) = write_summary(change, plan, summary)?;
        if let Some(vectors) = &vectors {
            vectors.store(place, number)?;
        }
        for place in &summary.of {
            fates[*place] = Fate::Summarised;
        }
        written.push(entry);
    }
    let grouped = plan.grouped.iter().zip(&fates);
    let going = grouped
        .filter(|(_, fate)| **fate != Fate::Stays)
        .map(|(going, _)| going);
    let mut entries = Vec::new();
    let mut removed = Vec::new();
    for fact in plan.plain.iter().chain(going) {
        if let Some(id) = unchanged_id(change, fact)? {
            entries.extend(facts::delete(change.connection, change.scope, fact.number)?);
            removed.push(id);
        }
    }
    let remaining: u64 = change
        .connection
        .prepare_cached("SELECT facts FROM scopes WHERE id = ?1")?
        .query_row([change.scope], |row| row.get(0))?;
    if !removed.is_empty() {
        let payload = json!({
            "max-age-ms": plan.options.max_age_ms,
            "max-facts": plan.options.max_facts,
            "facts": removed,
            "summaries": written,
            "remaining": remaining,
        });
        change.record(&Kind::FactsCompacted, payload)?;
        ledger::erase(change.connection, change.number, &entries)?;
    }
    note_compaction(change)?;
    Ok(Compaction {
        removed: removed.len() as u64,
        summarised: fates
            .iter()
            .filter(|fate| **fate == Fate::Summarised)
            .count() as u64,
        remaining,
    })
}

/// A fact of the group goes unless it was changed meanwhile.
fn group_fates(change: &Change<'_>, plan: &CompactionPlan) -> Result<Vec<Fate>> {
    plan.grouped
        .iter()
        .map(|fact| {
            Ok(match unchanged_id(change, fact)? {
                Some(_) => Fate::Goes,
                None => Fate::Stays,
            })
        })
        .collect()
}

/// The id of a fact that is still as it was chosen.
fn unchanged_id(change: &Change<'_>, fact: &Going) -> Result<Option<String>> {
    let state = summaries::state(change.connection, fact.number)?;
    Ok(state
        .filter(|(_, updated_at)| *updated_at == fact.updated_at)
        .map(|(id, _)| id))
}

/// Answers with the summary's number, and what the ledger says of it.
fn write_summary(
    change: &Change<'_>,
    plan: &CompactionPlan,
    summary: &Accepted,
) -> Result<(i64, Value)> {
    let Some(group) = &plan.group else {
        return Err(StorageError::Internal("a summary has no facts".to_owned()));
    };
    let originals: Vec<i64> = summary
        .of
        .iter()
        .map(|place| plan.grouped[*place].number)
        .collect();
    let verified = summary
        .of
        .iter()
        .all(|place| group.facts[*place].verification == Verification::Verified);
    let source = match originals.first() {
        Some(first) if verified => summaries::source(change.connection, *first)?,
        _ => None,
    };
    let number = remember::insert(change, &summary.fact, source.as_ref())?.number;
    summaries::note(change.connection, number, &originals)?;
    let id = summaries::state(change.connection, number)?.map(|(id, _)| id);
    let of: Vec<&str> = summary
        .of
        .iter()
        .map(|place| group.facts[*place].id.as_str())
        .collect();
    Ok((number, json!({ "fact": id, "of": of })))
}

/// Notes how many facts this memory had ever had when it was compacted.
fn note_compaction(change: &Change<'_>) -> Result<()> {
    change
        .connection
        .prepare_cached(
            "INSERT INTO compactions (scope, next_fact)
             SELECT id, next_fact FROM scopes WHERE id = ?1
             ON CONFLICT (scope) DO UPDATE SET next_fact = excluded.next_fact",
        )?
        .execute(params![change.scope])?;
    Ok(())
}
