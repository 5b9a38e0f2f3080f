//! Compaction as the real host does it: what goes first, and summaries in the
//! place of what can be summarised.

use serde_json::{Value, json};

use super::Host;
use super::memory::{Store, fact};
use crate::error::{Error, Result};
use crate::memory::{CompactOptions, Compaction, Fact, NewFact, Verification};

/// One summary for so many facts, and one for what is left.
const FACTS_OF_A_SUMMARY: usize = 20;

/// Lets facts of a memory go.
pub(super) fn compact(
    host: &Host,
    store: &Store,
    resource: &str,
    options: &CompactOptions,
) -> Result<Compaction> {
    let facts = store.read(resource, |resource| resource.facts.clone());
    let summarise = host.shared.summarizer.borrow().clone();
    let chosen = choose(&facts, options, store.now(), summarise.is_some());
    let (mut gone, mut summaries, mut summarised) = (chosen.plain, Vec::new(), Vec::new());
    for (group, most) in chosen.groups {
        let Some(summarise) = &summarise else { break };
        let made = summarise(&host.session(), &group, most).map_err(|error| {
            Error::unavailable(format!(
                "the agent's summarizer failed, and the facts stay: {error}"
            ))
        })?;
        if made.len() > most {
            return Err(Error::unavailable(format!(
                "the agent's summarizer made {} summaries where there is room for {most}, and the facts stay",
                made.len()
            )));
        }
        for summary in made {
            let of: Vec<&Fact> = group
                .iter()
                .filter(|fact| summary.of.is_empty() || summary.of.contains(&fact.id))
                .collect();
            summarised.extend(of.iter().map(|fact| fact.id.clone()));
            summaries.push(summary_fact(summary.content, &of, store.tick()));
        }
        gone.extend(group.into_iter().map(|fact| fact.id));
    }
    summarised.sort_unstable();
    summarised.dedup();
    if !gone.is_empty() {
        host.record(
            "facts-compacted",
            json!({ "facts": gone, "summaries": summaries.len() }),
        );
    }
    Ok(store.write(resource, |resource| {
        resource.facts.retain(|fact| !gone.contains(&fact.id));
        resource.facts.extend(summaries);
        Compaction {
            removed: gone.len() as u64,
            summarised: summarised.len() as u64,
            remaining: resource.facts.len() as u64,
        }
    }))
}

/// A summary as the host keeps it: its sources are those of its facts.
fn summary_fact(content: String, of: &[&Fact], at: u64) -> Fact {
    let mut sources = of.iter().filter_map(|fact| fact.source.clone());
    let verified = of.iter().all(|fact| fact.is_verified());
    let new = NewFact {
        source: sources.next().filter(|_| verified),
        valid_from: of.iter().map(|fact| fact.valid_from).min(),
        ..NewFact::new(content)
    };
    let further: Vec<Value> = sources
        .filter(|_| verified)
        .map(|source| json!({ "session": source.session, "index": source.index }))
        .collect();
    let extras = json!({ "summary": { "facts": of.len(), "sources": further } });
    Fact {
        extras: Some(extras.to_string()),
        ..fact(&new, format!("fact-{at}"), at)
    }
}

/// What is chosen to go.
struct Chosen {
    /// Ids of what goes without a summary.
    plain: Vec<String>,
    /// What is summarised together, with the number of summaries there may be.
    groups: Vec<(Vec<Fact>, usize)>,
}

/// Chooses among all facts of a memory, those that do not hold included.
fn choose(facts: &[Fact], options: &CompactOptions, now: u64, summarise: bool) -> Chosen {
    let oldest = options.max_age_ms.map_or(0, |age| now.saturating_sub(age));
    let is_old = |fact: &Fact| fact.updated_at < oldest;
    let mut order: Vec<&Fact> = facts.iter().collect();
    order.sort_by_key(|fact| (!is_old(fact), worth(fact, now), fact.updated_at));
    let old = facts.iter().filter(|fact| is_old(fact)).count();
    let most_facts = options.max_facts.map(|most| most as usize);
    let beyond = most_facts.map_or(0, |most| (facts.len() - old).saturating_sub(most));
    let (going, staying) = order.split_at(old + beyond);
    let mut room = most_facts.map_or(usize::MAX, |most| most.saturating_sub(staying.len()));
    let mut staying = staying.iter().peekable();
    let kind = |fact: &Fact| (summarise && is_fit(fact, now)).then(|| fact.is_verified());
    let mut chosen = Chosen {
        plain: Vec::new(),
        groups: Vec::new(),
    };
    let plain = going.iter().filter(|fact| kind(fact).is_none());
    chosen.plain.extend(plain.map(|fact| fact.id.clone()));
    for verified in [false, true] {
        let of_kind = |fact: &&&Fact| kind(fact) == Some(verified);
        let mut group: Vec<Fact> = going
            .iter()
            .filter(of_kind)
            .map(|fact| (*fact).clone())
            .collect();
        let wish = group.len().div_ceil(FACTS_OF_A_SUMMARY);
        // For a summary to have room, one fact more goes into it.
        while room < wish
            && let Some(fact) = staying.next_if(of_kind)
        {
            group.push((*fact).clone());
            room += 1;
        }
        let most = room.min(wish);
        if most == 0 || (most_facts.is_some() && group.len() < 2) {
            chosen.plain.extend(group.into_iter().map(|fact| fact.id));
        } else {
            room = room.saturating_sub(most);
            chosen.groups.push((group, most));
        }
    }
    chosen
}

fn worth(fact: &Fact, now: u64) -> u8 {
    if fact.superseded_by.is_some() || fact.valid_until.is_some_and(|until| until <= now) {
        0
    } else if fact.verification == Verification::Verified {
        3
    } else {
        1 + u8::from(fact.subject.is_some())
    }
}

fn is_fit(fact: &Fact, now: u64) -> bool {
    let is_summary = fact
        .extras
        .as_ref()
        .is_some_and(|extras| extras.contains("\"summary\""));
    fact.valid_until.is_none() && fact.valid_from <= now && fact.subject.is_none() && !is_summary
}
