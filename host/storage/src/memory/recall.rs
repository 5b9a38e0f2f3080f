//! Recall: finding the facts of one scope that answer a query.
//!
//! A fact's score is the cosine between its vector and the query's, plus its
//! coverage of the query's words. Coverage is BM25 over the highest score that
//! the query could reach, which is `k1 + 1` times the sum of the inverse
//! frequencies of its words, those that no fact holds included: from 0 to 1,
//! and small when only an incidental word matched. Frequencies are those of the
//! scope, so that nothing in another customer's memory moves a score.

use std::collections::HashMap;

use keepsake_types::{limits, now};
use rusqlite::{Connection, params};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::facts::Loader;
use super::model::{
    QueryVector, RecallMode, RecallOptions, Recalled, Recollection, Score, Verification,
};
use super::{Memory, check_page, vectors, words};
use crate::ledger::Kind;
use crate::scope::{self, ScopeId};
use crate::{Result, StorageError};

/// How soon a repeated word stops to count, and how much a fact's length does.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// What full coverage is worth against a cosine of 1.
const COVERAGE_WEIGHT: f64 = 1.0;

impl Memory {
    /// Facts that answer `query`, best first; says in the ledger what was
    /// recalled. `vector` is the query as the embedding provider sees it, which
    /// only [`RecallMode::Words`] does without; in [`RecallMode::Hybrid`]
    /// without one, words alone decide.
    ///
    /// Facts without a common word whose cosine is under the model's relevance
    /// threshold are left out, where it has one. Equal scores are ordered
    /// newest first, then by id.
    ///
    /// # Errors
    /// `Invalid` for an empty query, a limit of 0, and a vector that is missing
    /// or does not fit its model; `Limit` `query-bytes` or `page-items`.
    pub async fn recall(
        &self,
        query: &str,
        vector: Option<QueryVector>,
        options: RecallOptions,
    ) -> Result<Recollection> {
        let query = Query::new(query, vector, &options)?;
        let (query, options, facts) = self
            .view
            .read((Query::default(), options.clone(), Vec::new()), {
                move |connection, scope| {
                    let facts = recall(connection, scope, &query, &options)?;
                    Ok((query, options, facts))
                }
            })
            .await?;
        let receipt = receipt(&query, &options, &facts);
        let receipt = self
            .write(move |change| change.record(&Kind::Recalled, receipt))
            .await?;
        Ok(Recollection { facts, receipt })
    }
}

/// A query that keeps the rules.
#[derive(Default)]
pub(super) struct Query {
    text: String,
    vector: Option<QueryVector>,
}

impl Query {
    pub(super) fn new(
        text: &str,
        vector: Option<QueryVector>,
        options: &RecallOptions,
    ) -> Result<Self> {
        check_page(options.limit)?;
        if text.trim().is_empty() {
            return Err(StorageError::Invalid(
                "a query must not be empty".to_owned(),
            ));
        }
        if text.len() > limits::QUERY_BYTES {
            return Err(StorageError::limit(
                "query-bytes",
                "bytes of a query",
                text.len(),
                limits::QUERY_BYTES,
            ));
        }
        let vector = vector.filter(|_| options.mode != RecallMode::Words);
        if vector.is_none() && options.mode == RecallMode::Vectors {
            return Err(StorageError::Invalid(
                "to recall by vectors the query's vector is needed: configure an embedding provider, \
                 or recall by words"
                    .to_owned(),
            ));
        }
        if let Some(vector) = &vector {
            vectors::check_one(&vector.model, &vector.vector)?;
        }
        Ok(Self {
            text: text.to_owned(),
            vector,
        })
    }
}

/// The best facts, with why they are.
pub(super) fn recall(
    connection: &Connection,
    scope: ScopeId,
    query: &Query,
    options: &RecallOptions,
) -> Result<Vec<Recalled>> {
    let mut loader = Loader::new(connection, scope);
    let mut facts = Vec::new();
    for ranked in rank(connection, scope, query, options)? {
        if facts.len() == options.limit {
            break;
        }
        // Only those that are shown are read whole and verified.
        let Some(fact) = loader.load(ranked.number)? else {
            continue;
        };
        if !options.verified_only || fact.verification == Verification::Verified {
            facts.push(Recalled {
                fact,
                score: ranked.score,
            });
        }
    }
    Ok(facts)
}

/// A fact that may be recalled: what ranking needs to know of it.
struct Candidate {
    number: i64,
    id: Uuid,
    created_at: i64,
    coverage: Option<f64>,
    cosine: Option<f64>,
}

struct Ranked {
    number: i64,
    score: Score,
}

fn rank(
    connection: &Connection,
    scope: ScopeId,
    query: &Query,
    options: &RecallOptions,
) -> Result<Vec<Ranked>> {
    let hits = if options.mode == RecallMode::Vectors {
        WordHits::default()
    } else {
        WordHits::find(connection, scope, &query.text)?
    };
    let cosines = match &query.vector {
        Some(vector) => {
            match vectors::find_model(connection, &vector.model, vector.vector.len())? {
                Some(model) => vectors::cosines(connection, scope, model, &vector.vector)?,
                None => Vec::new(),
            }
        }
        None => Vec::new(),
    };
    let mut candidates = candidates(connection, scope, options, &hits, &cosines)?;

    let word_ranks = places(&mut candidates, |candidate| candidate.coverage);
    let vector_ranks = places(&mut candidates, |candidate| candidate.cosine);
    let threshold = query
        .vector
        .as_ref()
        .and_then(|vector| vector.relevance_threshold)
        .map(f64::from);
    candidates.retain(|candidate| {
        candidate.coverage.is_some()
            || candidate
                .cosine
                .is_some_and(|cosine| threshold.is_none_or(|threshold| cosine >= threshold))
    });
    let total = |candidate: &Candidate| {
        candidate.cosine.unwrap_or(0.0) + COVERAGE_WEIGHT * candidate.coverage.unwrap_or(0.0)
    };
    candidates.retain(|candidate| {
        options
            .min_score
            .is_none_or(|least| total(candidate) >= least)
    });
    candidates.sort_by(|left, right| best_first(left, right, total(left), total(right)));
    Ok(candidates
        .iter()
        .map(|candidate| Ranked {
            number: candidate.number,
            score: Score {
                total: total(candidate),
                word_rank: word_ranks.get(&candidate.number).copied(),
                vector_rank: vector_ranks.get(&candidate.number).copied(),
                cosine: candidate.cosine,
            },
        })
        .collect())
}

fn best_first(
    left: &Candidate,
    right: &Candidate,
    left_score: f64,
    right_score: f64,
) -> std::cmp::Ordering {
    right_score
        .total_cmp(&left_score)
        .then(right.created_at.cmp(&left.created_at))
        .then(left.id.cmp(&right.id))
}

/// The place of each candidate that has a score, from 1.
fn places(
    candidates: &mut [Candidate],
    score: impl Fn(&Candidate) -> Option<f64>,
) -> HashMap<i64, u32> {
    let order = |candidate: &Candidate| score(candidate).unwrap_or(f64::NEG_INFINITY);
    candidates.sort_by(|left, right| best_first(left, right, order(left), order(right)));
    candidates
        .iter()
        .take_while(|candidate| score(candidate).is_some())
        .zip(1..)
        .map(|(candidate, place)| (candidate.number, place))
        .collect()
}

/// The facts that hold a word of the query.
#[derive(Default)]
struct WordHits {
    /// For each fact, the weight and the count of each word that it holds.
    facts: HashMap<i64, Vec<(f64, u32)>>,
    /// The highest score that the query could reach.
    highest: f64,
    /// How many words a fact of this scope has on average.
    average: f64,
}

impl WordHits {
    fn find(connection: &Connection, scope: ScopeId, query: &str) -> Result<Self> {
        let (facts, length): (f64, f64) = connection
            .prepare_cached("SELECT facts, words FROM scopes WHERE id = ?1")?
            .query_row([scope], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut hits = Self {
            average: (length / facts.max(1.0)).max(1.0),
            ..Self::default()
        };
        let mut statement = connection.prepare_cached(
            "SELECT fact, times FROM words WHERE scope = ?1 AND word = ?2 ORDER BY fact",
        )?;
        for word in words::words(query).into_keys() {
            let found = statement
                .query_map(params![scope, word], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<Vec<(i64, u32)>>>()?;
            let frequency = found.len() as f64;
            let weight = (1.0 + (facts - frequency + 0.5) / (frequency + 0.5)).ln();
            hits.highest += (K1 + 1.0) * weight;
            for (fact, times) in found {
                hits.facts.entry(fact).or_default().push((weight, times));
            }
        }
        Ok(hits)
    }

    /// BM25 of a fact over the highest score; none when it holds no word.
    fn coverage(&self, fact: i64, length: f64) -> Option<f64> {
        let held = self.facts.get(&fact)?;
        let slack = K1 * (1.0 - B + B * length / self.average);
        let score: f64 = held
            .iter()
            .map(|(weight, times)| {
                let times = f64::from(*times);
                weight * times * (K1 + 1.0) / (times + slack)
            })
            .sum();
        Some(score / self.highest)
    }
}

/// All facts that fit the options and have a word or a vector.
fn candidates(
    connection: &Connection,
    scope: ScopeId,
    options: &RecallOptions,
    hits: &WordHits,
    cosines: &[(i64, f64)],
) -> Result<Vec<Candidate>> {
    let time = |time: Option<u64>| time.map(|time| i64::try_from(time).unwrap_or(i64::MAX));
    let held_at = time(options.as_of.or_else(|| Some(now())));
    let (from, to) = scope::fact_range(scope);
    let mut statement = connection.prepare_cached(
        "SELECT number, id, created_at, words, CASE WHEN ?6 THEN metadata END FROM facts
         WHERE number BETWEEN ?1 AND ?2 AND valid_from <= ?3
            AND (?4 OR valid_until IS NULL OR valid_until > ?3)
            AND (?5 IS NULL OR created_at >= ?5) AND (?7 IS NULL OR created_at < ?7)
         ORDER BY number",
    )?;
    let mut rows = statement.query(params![
        from,
        to,
        held_at,
        options.include_superseded,
        time(options.since),
        !options.metadata.is_empty(),
        time(options.until)
    ])?;
    let mut candidates = Vec::new();
    let mut vectors = cosines.iter().peekable();
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        // Both lists ascend by number.
        while vectors.next_if(|(fact, _)| *fact < number).is_some() {}
        let cosine = vectors
            .next_if(|(fact, _)| *fact == number)
            .map(|(_, cosine)| *cosine);
        let coverage = hits.coverage(number, row.get(3)?);
        if cosine.is_none() && coverage.is_none() {
            continue;
        }
        if let Some(metadata) = row
            .get_ref(4)?
            .as_str_or_null()
            .map_err(rusqlite::Error::from)?
            && !holds_all(metadata, &options.metadata)?
        {
            continue;
        }
        candidates.push(Candidate {
            number,
            id: Uuid::from_bytes(row.get(1)?),
            created_at: row.get(2)?,
            coverage,
            cosine,
        });
    }
    Ok(candidates)
}

fn holds_all(metadata: &str, wanted: &Map<String, Value>) -> Result<bool> {
    let metadata = crate::json::stored(metadata, "the metadata of a fact")?;
    Ok(wanted
        .iter()
        .all(|(name, value)| metadata.get(name) == Some(value)))
}

fn receipt(query: &Query, options: &RecallOptions, facts: &[Recalled]) -> Value {
    json!({
        "query": query.text,
        "mode": options.mode,
        "model": query.vector.as_ref().map(|vector| &vector.model),
        "as-of": options.as_of,
        "facts": named(facts),
    })
}

/// Recalled facts as the ledger names them.
pub(super) fn named(facts: &[Recalled]) -> Value {
    facts
        .iter()
        .map(|recalled| json!({ "fact": recalled.fact.id, "score": recalled.score.total }))
        .collect()
}
