//! What a fact's conversation adds to it: "Two weeks ago, and it was wonderful"
//! answers a question that only the line before it holds.
//!
//! The weights were set on the conversations in `tests/eval/data`, at the middle
//! of what does equally well; `make eval` shows what they are worth.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params};

use super::pool::{Candidate, Place, Pool};
use super::turn::Asked;
use crate::Result;
use crate::scope::ScopeId;

/// What the score of a neighbour is worth against the fact's own, by its
/// distance in places.
const NEIGHBOUR_WEIGHTS: [f64; 2] = [0.15, 0.08];
/// How far neighbours are looked for.
const REACH: u32 = NEIGHBOUR_WEIGHTS.len() as u32;
/// What the turn before is worth besides, where it is a question: this one is
/// the answer.
const QUESTION_BEFORE_WEIGHT: f64 = 0.2;
/// What the fit of the whole conversation is worth.
const THREAD_WEIGHT: f64 = 0.2;
/// A conversation is as good as its best few facts.
const THREAD_SCORES: usize = 3;

/// What it is worth that the one who speaks is asked about.
const SPEAKER_WEIGHT: f64 = 0.15;
/// What it is worth that a turn tells a time where one is asked for.
const TIME_WEIGHT: f64 = 0.1;
/// What a turn loses that does nothing but ask.
const ASKING_COST: f64 = 0.1;
/// What a turn loses for each halving of its words below a full one, about: the
/// cosine of few words is high by chance.
const SHORT_COST: f64 = 0.07;
const FULL_WORDS: u32 = 25;

/// The best facts whose neighbours join the pool.
const LEADERS: usize = 100;

/// Adds the neighbours of the best candidates, so that a fact that says nothing
/// by itself can be found by what was said beside it.
pub(super) fn widen(pool: &mut Pool<'_>, base: impl Fn(&Candidate) -> f64) -> Result<()> {
    let mut leaders: Vec<(f64, i64, &Place)> = pool
        .candidates
        .iter()
        .filter_map(|candidate| {
            let place = candidate.place.as_ref()?;
            Some((base(candidate), candidate.number, place))
        })
        .collect();
    leaders.sort_by(|left, right| right.0.total_cmp(&left.0).then(right.1.cmp(&left.1)));
    leaders.truncate(LEADERS);
    let (connection, scope) = pool.connection();
    let mut neighbours = Vec::new();
    for (_, _, place) in leaders {
        neighbours.extend(beside(connection, scope, place)?);
    }
    neighbours.sort_unstable();
    neighbours.dedup();
    pool.add_more(neighbours)
}

fn beside(connection: &Connection, scope: ScopeId, place: &Place) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT number FROM facts
         WHERE number >> 32 = ?1 AND thread = ?2 AND position BETWEEN ?3 AND ?4",
    )?;
    let numbers = statement.query_map(
        params![
            scope,
            place.thread,
            place.position.saturating_sub(REACH),
            place.position.saturating_add(REACH)
        ],
        |row| row.get(0),
    )?;
    Ok(numbers.collect::<rusqlite::Result<_>>()?)
}

/// Whether a candidate stands next to one of these places.
pub(super) fn stands_beside(candidate: &Candidate, places: &HashSet<(&str, u32)>) -> bool {
    let Some(place) = &candidate.place else {
        return false;
    };
    [place.position.checked_sub(1), place.position.checked_add(1)]
        .into_iter()
        .flatten()
        .any(|beside| places.contains(&(place.thread.as_str(), beside)))
}

/// What its conversation adds to each candidate, in their order.
pub(super) fn context(query: &str, candidates: &[Candidate], base: &[f64]) -> Vec<f64> {
    let asked = Asked::read(query);
    let mut threads: HashMap<&str, Thread> = HashMap::new();
    for (candidate, base) in candidates.iter().zip(base) {
        if let Some(place) = &candidate.place {
            let thread = threads.entry(&place.thread).or_default();
            thread
                .places
                .insert(place.position, (*base, place.turn.asks()));
        }
    }
    for thread in threads.values_mut() {
        thread.measure();
    }
    candidates
        .iter()
        .map(|candidate| match &candidate.place {
            Some(place) => {
                let lent = threads
                    .get(place.thread.as_str())
                    .map_or(0.0, |thread| thread.lends(place.position));
                lent + wording(&asked, place)
            }
            None => 0.0,
        })
        .collect()
}

/// What a turn's wording adds to its score.
fn wording(asked: &Asked, place: &Place) -> f64 {
    let turn = &place.turn;
    let when = |holds: bool, worth: f64| if holds { worth } else { 0.0 };
    let share = f64::from(turn.words.clamp(1, FULL_WORDS)) / f64::from(FULL_WORDS);
    when(asked.names(turn), SPEAKER_WEIGHT) + when(asked.when && turn.tells_time, TIME_WEIGHT)
        - ASKING_COST * turn.asking
        + SHORT_COST * share.ln()
}

/// A conversation, as far as its facts are in the pool.
#[derive(Default)]
struct Thread {
    /// For each place, what the fact there says by itself, and whether it asks.
    places: HashMap<u32, (f64, bool)>,
    /// How well the conversation as a whole fits the query.
    whole: f64,
}

impl Thread {
    fn measure(&mut self) {
        let mut scores: Vec<f64> = self.places.values().map(|(score, _)| *score).collect();
        scores.sort_by(|left, right| right.total_cmp(left));
        scores.truncate(THREAD_SCORES);
        self.whole = scores.iter().sum::<f64>() / THREAD_SCORES as f64;
    }

    fn lends(&self, position: u32) -> f64 {
        let at = |place: Option<u32>| place.and_then(|place| self.places.get(&place));
        let score = |place: Option<u32>| at(place).map_or(0.0, |(score, _)| *score);
        let beside: f64 = NEIGHBOUR_WEIGHTS
            .iter()
            .zip(1..)
            .map(|(weight, distance)| {
                let before = position.checked_sub(distance);
                weight * (score(before) + score(position.checked_add(distance)))
            })
            .sum();
        let question = match at(position.checked_sub(1)) {
            Some((score, true)) => QUESTION_BEFORE_WEIGHT * score,
            _ => 0.0,
        };
        beside + question + THREAD_WEIGHT * self.whole
    }
}
