//! Ranking by words: BM25 within one scope (Robertson and Zaragoza, "The
//! Probabilistic Relevance Framework: BM25 and Beyond", 2009).

use rusqlite::Connection;

use super::super::identifiers::Identifier;
use super::super::postings::{self, Posting};
use super::super::words;
use crate::Result;
use crate::scope::ScopeId;

/// How soon a repeated word stops to count, and how much a fact's length does.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Times the average length beyond which a fact's length counts no further. A
/// long text answers by one of its parts, and what else it says is no reason to
/// take the words in that part for incidental: one that holds all words of a
/// question is an answer however long it is.
const LONGEST: f64 = 2.0;
/// Characters of a beginning, as in `invo*`; shorter ones would hold everything.
const PREFIX_CHARACTERS: usize = 2;

/// The facts that hold words of the query.
#[derive(Default)]
pub(super) struct Hits {
    /// Facts in ascending order, with their share of the highest score that the
    /// query could reach: `k1 + 1` times the sum of the inverse frequencies of
    /// its words, those that no fact holds included. So it stays small where
    /// only an incidental word matched.
    coverage: Vec<(i64, f64)>,
    /// Facts in ascending order, with how many identifiers of the query they hold.
    identifiers: Vec<(i64, u32)>,
}

impl Hits {
    pub(super) fn find(
        connection: &Connection,
        scope: ScopeId,
        query: &str,
        identifiers: &[Identifier],
    ) -> Result<Self> {
        let statistics = Statistics::read(connection, scope)?;
        let mut scores: Vec<(i64, f64)> = Vec::new();
        let mut highest = 0.0;
        let mut count = |found: Vec<Posting>| {
            let weight = statistics.weight(found.len());
            highest += (K1 + 1.0) * weight;
            let scored = found
                .into_iter()
                .map(|posting| (posting.fact, weight * statistics.saturation(posting)));
            scores = merged(std::mem::take(&mut scores), scored, |left, right| {
                left + right
            });
        };
        for word in words::words(query).into_keys() {
            count(postings::read(connection, scope, &word)?);
        }
        for prefix in prefixes(query) {
            count(postings::read_prefix(connection, scope, &prefix)?);
        }
        for (_, score) in &mut scores {
            *score /= highest;
        }
        let mut holders = Vec::new();
        for identifier in identifiers {
            let mut found = Vec::new();
            for form in &identifier.forms {
                let holding = postings::read(connection, scope, form)?;
                let holding = holding.into_iter().map(|posting| (posting.fact, 1));
                found = merged(found, holding, |one, _| one);
            }
            holders = merged(holders, found.into_iter(), |left, right| left + right);
        }
        Ok(Self {
            coverage: scores,
            identifiers: holders,
        })
    }

    /// How much of the query's words a fact holds, from 0 to 1; none when it
    /// holds no word.
    pub(super) fn coverage(&self, fact: i64) -> Option<f64> {
        at(&self.coverage, fact)
    }

    /// How many identifiers of the query a fact holds.
    pub(super) fn identifiers(&self, fact: i64) -> u32 {
        at(&self.identifiers, fact).unwrap_or(0)
    }

    /// The facts that hold an identifier, those that hold most of them first;
    /// at most so many.
    pub(super) fn holders(&self, most: usize) -> Vec<i64> {
        best(&self.identifiers, most, Ord::cmp)
    }

    /// The facts that hold a word, best first; at most so many.
    pub(super) fn best_first(&self, most: usize) -> Vec<i64> {
        best(&self.coverage, most, f64::total_cmp)
    }
}

fn at<T: Copy>(facts: &[(i64, T)], fact: i64) -> Option<T> {
    let place = facts.binary_search_by_key(&fact, |(fact, _)| *fact).ok()?;
    Some(facts[place].1)
}

fn best<T>(
    facts: &[(i64, T)],
    most: usize,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Vec<i64> {
    // Numbers grow with time: equals are ordered newest first.
    let best_first =
        |left: &&(i64, T), right: &&(i64, T)| order(&right.1, &left.1).then(right.0.cmp(&left.0));
    let mut facts: Vec<&(i64, T)> = facts.iter().collect();
    if most < facts.len() {
        // Sorting all that hold a common word would take longer than finding them.
        facts.select_nth_unstable_by(most, best_first);
        facts.truncate(most);
    }
    facts.sort_unstable_by(best_first);
    facts.into_iter().map(|(fact, _)| *fact).collect()
}

/// Two lists in ascending order as one.
fn merged<T: Copy>(
    left: Vec<(i64, T)>,
    right: impl Iterator<Item = (i64, T)>,
    both: impl Fn(T, T) -> T,
) -> Vec<(i64, T)> {
    let mut merged = Vec::with_capacity(left.len() + right.size_hint().0);
    let mut left = left.into_iter().peekable();
    for (fact, value) in right {
        while let Some(before) = left.next_if(|(other, _)| *other < fact) {
            merged.push(before);
        }
        match left.next_if(|(other, _)| *other == fact) {
            Some((_, other)) => merged.push((fact, both(other, value))),
            None => merged.push((fact, value)),
        }
    }
    merged.extend(left);
    merged
}

/// What is known of all facts of a scope.
struct Statistics {
    facts: f64,
    /// How many words a fact has on average.
    average: f64,
}

impl Statistics {
    fn read(connection: &Connection, scope: ScopeId) -> Result<Self> {
        let (facts, length): (f64, f64) = connection
            .prepare_cached("SELECT facts, words FROM scopes WHERE id = ?1")?
            .query_row([scope], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self {
            facts,
            average: (length / facts.max(1.0)).max(1.0),
        })
    }

    /// The inverse frequency of a word that so many facts hold.
    fn weight(&self, holding: usize) -> f64 {
        let holding = holding as f64;
        (1.0 + (self.facts - holding + 0.5).max(0.0) / (holding + 0.5)).ln()
    }

    fn saturation(&self, posting: Posting) -> f64 {
        let times = f64::from(posting.times);
        let length = (f64::from(posting.length) / self.average).min(LONGEST);
        let slack = K1 * (1.0 - B + B * length);
        times * (K1 + 1.0) / (times + slack)
    }
}

/// The beginnings that a query asks for: `invo*`.
fn prefixes(query: &str) -> Vec<String> {
    let mut prefixes: Vec<String> = query
        .split_whitespace()
        .filter_map(|word| word.strip_suffix('*'))
        .map(words::folded)
        .filter_map(|word| {
            let start = word
                .char_indices()
                .rev()
                .take_while(|(_, c)| c.is_alphanumeric())
                .last()?
                .0;
            Some(words::bounded(&word[start..]).to_owned())
        })
        .filter(|prefix| prefix.chars().count() >= PREFIX_CHARACTERS)
        .collect();
    prefixes.sort_unstable();
    prefixes.dedup();
    prefixes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lists_become_one_in_order() {
        let left = vec![(1, 1), (3, 1), (5, 1)];
        let right = vec![(0, 1), (3, 1), (4, 1), (9, 1)];
        assert_eq!(
            merged(left, right.into_iter(), |a, b| a + b),
            [(0, 1), (1, 1), (3, 2), (4, 1), (5, 1), (9, 1)]
        );
    }

    #[test]
    fn a_star_asks_for_a_beginning() {
        assert_eq!(
            prefixes("the Invo* of (Caf\u{e9}* or x* or *"),
            ["cafe", "invo"]
        );
    }
}
