//! The facts whose vectors are nearest to a query's.

use std::collections::HashMap;

use keepsake_types::now;
use rusqlite::{Connection, OptionalExtension, params};

use super::super::model::QueryVector;
use super::super::{View, check_page, facts};
use super::code::Probe;
use super::{check_one, find_model, foreign_width};
use crate::Result;
use crate::database::Snapshot;
use crate::scope::{self, ScopeId};

/// How much further is looked down each time not enough facts were accepted.
const WIDER: usize = 4;

/// A fact and how near its vector is to a query's.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    /// The fact's id.
    pub fact: String,
    /// The cosine of the two vectors, from -1 to 1.
    pub cosine: f64,
}

impl View {
    /// The current facts whose vectors are nearest to a query's, nearest first,
    /// equal ones newest first. Reads neither texts nor words and leaves no
    /// receipt: [`Memory::recall`](crate::Memory::recall) does.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 and a vector that does not fit its model,
    /// `Limit` for a limit that is too large.
    pub async fn nearest(&self, query: QueryVector, limit: usize) -> Result<Vec<Near>> {
        check_page(limit)?;
        check_one(&query.model, &query.vector)?;
        self.read(Vec::new(), move |snapshot, scope| {
            let Some(model) = find_model(snapshot, &query.model, query.vector.len())? else {
                return Ok(Vec::new());
            };
            let mut current = snapshot.prepare_cached(
                "SELECT id FROM facts WHERE number = ?1
                    AND valid_from <= ?2 AND (valid_until IS NULL OR valid_until > ?2)",
            )?;
            let now = now();
            let mut ids = HashMap::new();
            let found = nearest(snapshot, scope, model, &query.vector, limit, &mut |fact| {
                let id = current
                    .query_row(params![fact, now], |row| facts::id_column(row, 0))
                    .optional()?;
                Ok(id.is_some_and(|id| ids.insert(fact, id).is_none()))
            })?;
            Ok(found
                .into_iter()
                .filter_map(|(fact, cosine)| {
                    let fact = ids.remove(&fact)?;
                    Some(Near { fact, cosine })
                })
                .collect())
        })
        .await
    }
}

/// The nearest facts among those that `accept` takes, at most `want`, nearest
/// first and of equal ones the newest first, with their cosines. `accept` is
/// asked once for a fact.
pub(in super::super) fn nearest(
    snapshot: &Snapshot<'_>,
    scope: ScopeId,
    model: i64,
    query: &[f32],
    want: usize,
    accept: &mut dyn FnMut(i64) -> Result<bool>,
) -> Result<Vec<(i64, f64)>> {
    if want == 0 {
        return Ok(Vec::new());
    }
    let probe = Probe::new(query);
    let (from, _) = scope::fact_range(scope);
    let mut asked = HashMap::new();
    let mut looked_at = want + want / 4 + 8;
    loop {
        let found = snapshot
            .indexes()
            .search(snapshot, (scope, model), &probe, looked_at)?;
        // Past a part of all, reading them in their order is faster.
        let some = found.filter(|found| looked_at < found.of / WIDER);
        let all = some.is_none();
        let mut ranked = match some {
            Some(found) => {
                let mut facts: Vec<i64> = found
                    .near
                    .iter()
                    .map(|near| from + i64::from(near.fact))
                    .collect();
                facts.sort_unstable();
                let cosines = cosines_with(snapshot, scope, model, &probe, &facts)?;
                let pairs = facts.into_iter().zip(cosines);
                // Another transaction may have added what this one does not see.
                pairs
                    .filter_map(|(fact, cosine)| Some((fact, cosine?)))
                    .collect()
            }
            None => every_cosine(snapshot, scope, model, &probe)?,
        };
        ranked
            .sort_unstable_by(|left, right| right.1.total_cmp(&left.1).then(right.0.cmp(&left.0)));
        if !all {
            // What came along as possibly as near is complete only so far.
            ranked.truncate(looked_at);
        }
        let mut accepted = Vec::new();
        for (fact, cosine) in ranked {
            if accepted.len() == want {
                break;
            }
            let taken = match asked.get(&fact) {
                Some(taken) => *taken,
                None => {
                    let taken = accept(fact)?;
                    asked.insert(fact, taken);
                    taken
                }
            };
            if taken {
                accepted.push((fact, cosine));
            }
        }
        if all || accepted.len() == want {
            return Ok(accepted);
        }
        looked_at = looked_at.saturating_mul(WIDER);
    }
}

/// The cosines of some facts, in their order; none where a fact is not of this
/// scope or has no vector of the model.
pub(in super::super) fn cosines_of(
    connection: &Connection,
    scope: ScopeId,
    model: i64,
    query: &[f32],
    facts: &[i64],
) -> Result<Vec<Option<f64>>> {
    cosines_with(connection, scope, model, &Probe::new(query), facts)
}

fn cosines_with(
    connection: &Connection,
    scope: ScopeId,
    model: i64,
    probe: &Probe,
    facts: &[i64],
) -> Result<Vec<Option<f64>>> {
    let (from, to) = scope::fact_range(scope);
    let mut statement = connection.prepare_cached(
        "SELECT vector FROM vectors WHERE fact = ?1 AND fact BETWEEN ?2 AND ?3 AND model = ?4",
    )?;
    facts
        .iter()
        .map(|fact| {
            let mut rows = statement.query(params![fact, from, to, model])?;
            let Some(row) = rows.next()? else {
                return Ok(None);
            };
            let bytes = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
            Ok(Some(probe.cosine(bytes).ok_or_else(foreign_width)?))
        })
        .collect()
}

/// The cosine of each vector of the scope and model.
fn every_cosine(
    connection: &Connection,
    scope: ScopeId,
    model: i64,
    probe: &Probe,
) -> Result<Vec<(i64, f64)>> {
    let (from, to) = scope::fact_range(scope);
    let mut statement = connection.prepare_cached(
        // The plus keeps SQLite on the scope's range: the model's index would
        // lead through every scope.
        "SELECT fact, vector FROM vectors WHERE fact BETWEEN ?1 AND ?2 AND +model = ?3",
    )?;
    let mut rows = statement.query(params![from, to, model])?;
    let mut cosines = Vec::new();
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        cosines.push((row.get(0)?, probe.cosine(bytes).ok_or_else(foreign_width)?));
    }
    Ok(cosines)
}
