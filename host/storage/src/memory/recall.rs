//! Recall: finding the facts of one scope that answer a query.
//!
//! 1. `lexical.rs` scores by words: BM25 over the highest score that the query
//!    could reach, a share from 0 to 1. `nearest` scores by the cosine between
//!    vectors.
//! 2. `pool.rs` takes the best of both, as far as the options admit them, and the
//!    facts that hold an identifier of the query.
//! 3. `context.rs` adds the facts that stand beside them in a conversation, and
//!    `turn.rs` what their wording tells about their part in it.
//! 4. `fusion.rs` makes one score of all that, and the order.
//! 5. `layers.rs` puts what an account and a team know beside it, where that is
//!    asked for.
//!
//! Word frequencies are those of the scope, so that nothing in another
//! customer's memory moves a score.

mod context;
mod fusion;
mod layers;
mod lexical;
mod pool;
mod turn;

use keepsake_types::limits;
use serde_json::{Value, json};

use super::facts::Loader;
use super::model::{
    Fact, Layer, QueryVector, RecallMode, RecallOptions, Recalled, Recollection, Verification,
};
use super::{Memory, check_page, vectors};
use crate::database::Snapshot;
use crate::ledger::Kind;
use crate::scope::ScopeId;
use crate::{Result, StorageError};

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
        self.recall_wider(&[], query, vector, options).await
    }

    /// As [`Memory::recall`], with what is known in wider memories of the same
    /// session, given from the nearest to the widest. Of facts that give the same
    /// property of the same subject, or say the same, only the nearest is
    /// recalled; equal scores are ordered nearest first.
    ///
    /// # Errors
    /// As [`Memory::recall`]; `Invalid` for a memory of another session.
    pub async fn recall_wider(
        &self,
        wider: &[(Layer, Memory)],
        query: &str,
        vector: Option<QueryVector>,
        options: RecallOptions,
    ) -> Result<Recollection> {
        let query = Query::new(query, vector, &options)?;
        let layers = layers::of(self, wider)?;
        let (query, options, facts) = self
            .view
            .database
            .read(move |snapshot| {
                let facts = layers::recall(snapshot, &layers, &query, &options)?;
                Ok((query, options, facts))
            })
            .await?;
        self.shown.note(&facts);
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

/// The best facts of one scope, with why they are.
pub(super) fn recall(
    snapshot: &Snapshot<'_>,
    scope: ScopeId,
    query: &Query,
    options: &RecallOptions,
) -> Result<Vec<Recalled>> {
    let found = find(snapshot, scope, query, options, |_| Ok(true))?;
    Ok(found.into_iter().map(|found| found.recalled).collect())
}

/// A fact that was found, and how many of the query's identifiers it holds, which
/// goes before its score.
struct Found {
    recalled: Recalled,
    identifiers: u32,
}

/// The best facts of one scope among those that `keep` lets pass.
fn find(
    snapshot: &Snapshot<'_>,
    scope: ScopeId,
    query: &Query,
    options: &RecallOptions,
    mut keep: impl FnMut(&Fact) -> Result<bool>,
) -> Result<Vec<Found>> {
    let mut loader = Loader::new(snapshot, scope);
    let mut facts = Vec::new();
    for ranked in fusion::rank(snapshot, scope, query, options)? {
        if facts.len() == options.limit {
            break;
        }
        // Only those that are shown are read whole and verified.
        let Some(fact) = loader.load(ranked.number)? else {
            continue;
        };
        if options.verified_only && fact.verification != Verification::Verified {
            continue;
        }
        if keep(&fact)? {
            facts.push(Found {
                recalled: Recalled {
                    fact,
                    score: ranked.score,
                    layer: Layer::This,
                },
                identifiers: ranked.identifiers,
            });
        }
    }
    Ok(facts)
}

/// What was asked, how, and what came of it. Options that change nothing are
/// left out.
fn receipt(query: &Query, options: &RecallOptions, facts: &[Recalled]) -> Value {
    let vector = query.vector.as_ref();
    let mut receipt = json!({
        "query": query.text,
        "mode": options.mode,
        "model": vector.map(|vector| &vector.model),
        "as-of": options.as_of,
        "limit": options.limit,
        "facts": named(facts),
    });
    let mut add = |name: &str, value: Value| receipt[name] = value;
    if let Some(threshold) = vector.and_then(|vector| vector.relevance_threshold) {
        add("relevance-threshold", json!(threshold));
    }
    if let Some(min_score) = options.min_score {
        add("min-score", json!(min_score));
    }
    if !options.metadata.is_empty() {
        add("metadata", json!(options.metadata));
    }
    for (name, time) in [("since", options.since), ("until", options.until)] {
        if let Some(time) = time {
            add(name, json!(time));
        }
    }
    for (name, set) in [
        ("verified-only", options.verified_only),
        ("include-superseded", options.include_superseded),
    ] {
        if set {
            add(name, json!(true));
        }
    }
    receipt
}

/// Recalled facts as the ledger names them: without their texts, so that one
/// that is forgotten is forgotten.
pub(super) fn named(facts: &[Recalled]) -> Value {
    facts
        .iter()
        .map(|Recalled { fact, score, layer }| {
            let mut named = json!({
                "fact": fact.id,
                "score": score.total,
                "word-rank": score.word_rank,
                "vector-rank": score.vector_rank,
                "cosine": score.cosine,
                "verification": fact.verification,
            });
            if *layer != Layer::This {
                named["layer"] = json!(layer);
            }
            named
        })
        .collect()
}
