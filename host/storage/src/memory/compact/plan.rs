//! Choosing what is to go.

use keepsake_types::{limits, now};
use rusqlite::{Connection, params};

use super::super::facts::Loader;
use super::super::model::Verification;
use super::{CompactOptions, CompactionPlan, Going, SummaryGroup};
use crate::Result;
use crate::scope::{self, ScopeId};

/// One summary for so many facts, and one for what is left.
const FACTS_OF_A_SUMMARY: usize = 20;

/// In which order facts go where there are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Ended,
    Unverified,
    UnverifiedValue,
    Verified,
}

/// What choosing needs to know of a fact.
#[derive(Clone, Copy)]
struct Candidate {
    going: Going,
    ended: bool,
    sourced: bool,
    value: bool,
    /// It may be summarised as far as its row tells.
    fit: bool,
    worth: Worth,
}

pub(super) fn plan(
    connection: &Connection,
    scope: ScopeId,
    options: CompactOptions,
    summarise: bool,
) -> Result<CompactionPlan> {
    let mut plan = CompactionPlan {
        options,
        ..CompactionPlan::default()
    };
    let total: usize = connection
        .prepare_cached("SELECT facts FROM scopes WHERE id = ?1")?
        .query_row([scope], |row| row.get(0))?;
    let excess = |left: usize| {
        options
            .max_facts
            .map_or(0, |most| left.saturating_sub(most))
    };
    if options.max_age_ms.is_none() && excess(total) == 0 {
        return Ok(plan);
    }
    let time = options.now.unwrap_or_else(now);
    let oldest = options.max_age_ms.map_or(0, |age| time.saturating_sub(age));
    let oldest = i64::try_from(oldest).unwrap_or(i64::MAX);
    let mut facts = candidates(connection, scope, time)?;
    let aged = facts
        .iter()
        .filter(|fact| fact.going.updated_at < oldest)
        .count();
    let beyond = excess(facts.len() - aged);
    if aged + beyond == 0 {
        return Ok(plan);
    }
    let mut loader = Loader::new(connection, scope);
    if beyond > 0 || summarise {
        judge(&mut loader, &mut facts)?;
    }
    facts.sort_by_key(|fact| {
        let age = (fact.going.updated_at, fact.going.number);
        if fact.going.updated_at < oldest {
            (false, Worth::Ended, age)
        } else {
            (true, fact.worth, age)
        }
    });
    let (going, staying) = facts.split_at(aged + beyond);
    if !summarise {
        let going = going.iter().take(limits::COMPACTED_FACTS);
        plan.plain = going.map(|fact| fact.going).collect();
        return Ok(plan);
    }
    let room = options
        .max_facts
        .map_or(usize::MAX, |most| most.saturating_sub(staying.len()));
    choose_group(&mut loader, &mut plan, going, staying, room)?;
    Ok(plan)
}

/// The facts of the scope, oldest first.
fn candidates(connection: &Connection, scope: ScopeId, time: u64) -> Result<Vec<Candidate>> {
    let (from, to) = scope::fact_range(scope);
    let time = i64::try_from(time).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(
        "SELECT number, updated_at, superseded_by IS NOT NULL OR coalesce(valid_until <= ?3, 0),
            source_session IS NOT NULL, subject IS NOT NULL,
            valid_until IS NULL AND valid_from <= ?3
                AND NOT EXISTS (SELECT 1 FROM summaries WHERE fact = number)
         FROM facts WHERE number BETWEEN ?1 AND ?2 ORDER BY number",
    )?;
    let facts = statement.query_map(params![from, to, time], |row| {
        Ok(Candidate {
            going: Going {
                number: row.get(0)?,
                updated_at: row.get(1)?,
            },
            ended: row.get(2)?,
            sourced: row.get(3)?,
            value: row.get(4)?,
            fit: row.get(5)?,
            worth: Worth::Ended,
        })
    })?;
    Ok(facts.collect::<rusqlite::Result<_>>()?)
}

/// Finds out what each fact is worth. Only facts with a source can be verified.
fn judge(loader: &mut Loader<'_>, facts: &mut [Candidate]) -> Result<()> {
    for fact in facts {
        let verified = !fact.ended
            && fact.sourced
            && loader
                .load(fact.going.number)?
                .is_some_and(|fact| fact.verification == Verification::Verified);
        fact.worth = match (fact.ended, verified, fact.value) {
            (true, _, _) => Worth::Ended,
            (_, true, _) => Worth::Verified,
            (_, _, true) => Worth::UnverifiedValue,
            _ => Worth::Unverified,
        };
    }
    Ok(())
}

/// Takes the first facts that can be summarised together, and what just goes.
/// There are no more summaries than there is room for among the facts that stay;
/// for a summary to have room, a fact more of the same kind goes into it.
fn choose_group(
    loader: &mut Loader<'_>,
    plan: &mut CompactionPlan,
    going: &[Candidate],
    staying: &[Candidate],
    room: usize,
) -> Result<()> {
    let kind = |fact: &Candidate| {
        let fits =
            fact.fit && !fact.value && matches!(fact.worth, Worth::Unverified | Worth::Verified);
        fits.then_some(fact.worth)
    };
    let plain = going.iter().filter(|fact| kind(fact).is_none());
    plan.plain = plain
        .take(limits::COMPACTED_FACTS)
        .map(|fact| fact.going)
        .collect();
    let of_kind = |wanted| going.iter().filter(move |fact| kind(fact) == Some(wanted));
    let Some(wanted) = [Worth::Unverified, Worth::Verified]
        .into_iter()
        .find(|wanted| of_kind(*wanted).next().is_some())
    else {
        return Ok(());
    };
    let mut members: Vec<&Candidate> = of_kind(wanted).collect();
    let mut most = usize::MAX;
    if members.len() <= limits::SUMMARISED_FACTS {
        let wish = members.len().div_ceil(FACTS_OF_A_SUMMARY);
        let further = staying.iter().take_while(|fact| kind(fact) == Some(wanted));
        let further: Vec<_> = further.take(wish.saturating_sub(room)).collect();
        most = room.saturating_add(further.len());
        members.extend(further);
        // A fact that is replaced by its own summary makes no room.
        if most == 0 || (plan.options.max_facts.is_some() && members.len() < 2) {
            plan.plain.extend(members.iter().map(|fact| fact.going));
            return Ok(());
        }
    }
    let mut facts = Vec::new();
    let mut bytes = 0;
    for member in members.iter().take(limits::SUMMARISED_FACTS) {
        let Some(fact) = loader.load(member.going.number)? else {
            continue;
        };
        bytes += fact.content.len();
        if bytes > limits::SUMMARISED_BYTES && !facts.is_empty() {
            break;
        }
        facts.push(fact);
        plan.grouped.push(member.going);
    }
    let most = most.min(facts.len().div_ceil(FACTS_OF_A_SUMMARY));
    plan.group = Some(SummaryGroup { facts, most });
    Ok(())
}
