//! One score out of several, and the order of facts.

use std::collections::{HashMap, HashSet};

use super::super::model::{RecallMode, RecallOptions, Score};
use super::Query;
use super::context;
use super::pool::{Candidate, Pool};
use crate::Result;
use crate::database::Snapshot;
use crate::scope::ScopeId;

/// What full coverage of the query's words is worth against a cosine of 1.
const COVERAGE_WEIGHT: f64 = 1.0;
/// Coverage that counts for nothing: that much an incidental word gives.
const INCIDENTAL_COVERAGE: f64 = 0.1;
/// Coverage that makes a fact an answer whatever its vector says.
const SUFFICIENT_COVERAGE: f64 = 0.3;

/// A fact in its place.
pub(super) struct Ranked {
    pub(super) number: i64,
    /// How many of the query's identifiers it holds.
    pub(super) identifiers: u32,
    pub(super) score: Score,
}

/// The facts that answer the query, best first.
pub(super) fn rank(
    snapshot: &Snapshot<'_>,
    scope: ScopeId,
    query: &Query,
    options: &RecallOptions,
) -> Result<Vec<Ranked>> {
    let mut pool = Pool::gather(snapshot, scope, query, options)?;
    if options.mode == RecallMode::Hybrid {
        context::widen(&mut pool, by_itself)?;
    }
    let mut scored = scored(&query.text, pool.candidates, options.mode);
    let word_ranks = places(&scored, |candidate| candidate.coverage);
    let vector_ranks = places(&scored, |candidate| candidate.cosine);
    let threshold = query
        .vector
        .as_ref()
        .and_then(|vector| vector.relevance_threshold)
        .map_or(f64::NEG_INFINITY, f64::from);
    drop_strangers(&mut scored, options.mode, threshold);
    scored.retain(|(_, total)| options.min_score.is_none_or(|least| *total >= least));
    scored.sort_by(|left, right| {
        let identifiers = right.0.identifiers.cmp(&left.0.identifiers);
        identifiers.then_with(|| best_first((left.1, &left.0), (right.1, &right.0)))
    });
    Ok(scored
        .into_iter()
        .map(|(candidate, total)| Ranked {
            number: candidate.number,
            identifiers: candidate.identifiers,
            score: Score {
                total,
                word_rank: word_ranks.get(&candidate.number).copied(),
                vector_rank: vector_ranks.get(&candidate.number).copied(),
                cosine: candidate.cosine,
            },
        })
        .collect())
}

/// What a candidate says by itself, without its conversation.
fn by_itself(candidate: &Candidate) -> f64 {
    let coverage = candidate.coverage.unwrap_or(0.0);
    // Among facts without a common word, the nearest must stay first even where
    // another shares an incidental one. What people say to each other holds so
    // little of a question that even that tells.
    let incidental = match (candidate.cosine, &candidate.place) {
        (Some(_), None) => INCIDENTAL_COVERAGE,
        _ => 0.0,
    };
    candidate.cosine.unwrap_or(0.0) + COVERAGE_WEIGHT * (coverage - incidental).max(0.0)
}

/// Drops what is merely the best of strangers, so that an unrelated question
/// recalls nothing. A fact that stands beside an answer is kept.
fn drop_strangers(scored: &mut Vec<(Candidate, f64)>, mode: RecallMode, threshold: f64) {
    if mode == RecallMode::Words {
        return;
    }
    let answers = |candidate: &Candidate| {
        candidate.identifiers > 0
            || candidate.cosine.is_none_or(|cosine| cosine >= threshold)
            || candidate
                .coverage
                .is_some_and(|coverage| coverage >= SUFFICIENT_COVERAGE)
    };
    let answered: HashSet<(&str, u32)> = scored
        .iter()
        .filter(|(candidate, _)| answers(candidate))
        .filter_map(|(candidate, _)| candidate.place.as_ref())
        .map(|place| (place.thread.as_str(), place.position))
        .collect();
    let kept: Vec<bool> = scored
        .iter()
        .map(|(candidate, _)| {
            answers(candidate)
                || mode == RecallMode::Hybrid && context::stands_beside(candidate, &answered)
        })
        .collect();
    let mut kept = kept.into_iter();
    scored.retain(|_| kept.next().unwrap_or(false));
}

/// Candidates with their scores.
fn scored(query: &str, candidates: Vec<Candidate>, mode: RecallMode) -> Vec<(Candidate, f64)> {
    let base: Vec<f64> = candidates.iter().map(by_itself).collect();
    let context = match mode {
        RecallMode::Hybrid => context::context(query, &candidates, &base),
        RecallMode::Words | RecallMode::Vectors => vec![0.0; base.len()],
    };
    let totals = base.into_iter().zip(context);
    candidates
        .into_iter()
        .zip(totals)
        .map(|(candidate, (base, context))| (candidate, base + context))
        .collect()
}

/// Higher scores first, then newer facts, then smaller ids.
fn best_first(left: (f64, &Candidate), right: (f64, &Candidate)) -> std::cmp::Ordering {
    let newer = right.1.created_at.cmp(&left.1.created_at);
    (right.0.total_cmp(&left.0))
        .then(newer)
        .then(left.1.id.cmp(&right.1.id))
}

/// The place of each candidate that has a score, from 1.
fn places(
    candidates: &[(Candidate, f64)],
    score: impl Fn(&Candidate) -> Option<f64>,
) -> HashMap<i64, u32> {
    let mut placed: Vec<(f64, &Candidate)> = candidates
        .iter()
        .filter_map(|(candidate, _)| Some((score(candidate)?, candidate)))
        .collect();
    placed.sort_by(|left, right| best_first(*left, *right));
    placed
        .iter()
        .zip(1..)
        .map(|((_, candidate), place)| (candidate.number, place))
        .collect()
}
