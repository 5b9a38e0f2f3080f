//! Vectors: kept as bytes beside their model, compared within one scope and
//! one model only.

use keepsake_types::limits;
use rusqlite::{Connection, OptionalExtension, params};

use super::model::{FactVectors, UnembeddedPage};
use super::{Memory, View, check_page, facts, position};
use crate::database::Database;
use crate::scope::{self, ScopeId};
use crate::{Result, StorageError};

/// Sums that are kept apart, so that the compiler can add them at once. Fixed,
/// so that a cosine is the same number on every machine.
const LANES: usize = 8;

impl View {
    /// Facts that have no vector of `model`, oldest first: what is left to be
    /// embedded after the provider was exchanged.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 or an `after` that no page answered with,
    /// `Limit` for a limit that is too large.
    pub async fn unembedded(
        &self,
        model: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<UnembeddedPage> {
        check_page(limit)?;
        let (model, after) = (model.to_owned(), position(after)?);
        self.read(UnembeddedPage::default(), move |connection, scope| {
            unembedded(connection, scope, &model, after, limit)
        })
        .await
    }
}

impl Memory {
    /// Gives facts their vectors, replacing those of another model. Ids that
    /// this memory does not know are passed over. Answers how many were set.
    ///
    /// # Errors
    /// `Invalid` for vectors that do not fit their model, or as many as there are ids.
    pub async fn set_vectors(&self, ids: Vec<String>, vectors: FactVectors) -> Result<u64> {
        check(&vectors, ids.len())?;
        self.write(move |change| {
            let model = obtain_model(change.connection, &vectors)?;
            let mut set = 0;
            for (id, vector) in ids.iter().zip(&vectors.vectors) {
                if let Some(number) = facts::number(change.connection, change.scope, id)? {
                    store(change.connection, number, model, vector)?;
                    set += 1;
                }
            }
            Ok(set)
        })
        .await
    }
}

impl Database {
    /// How many numbers a vector of this model has; none for a model that no
    /// fact was embedded with.
    ///
    /// # Errors
    /// Only when the file cannot be read.
    pub async fn model_dimensions(&self, model: &str) -> Result<Option<u32>> {
        let model = model.to_owned();
        self.read(move |connection| {
            Ok(connection
                .prepare_cached("SELECT dimensions FROM models WHERE name = ?1")?
                .query_row([model], |row| row.get(0))
                .optional()?)
        })
        .await
    }

    /// Forgets a model and all its vectors, so that its name may stand for
    /// vectors of another width. Facts are kept, and found by their words until
    /// they are embedded again. Answers whether it was known.
    ///
    /// # Errors
    /// Only when the file cannot be written.
    pub async fn drop_model(&self, model: &str) -> Result<bool> {
        let model = model.to_owned();
        self.write(move |connection| {
            connection
                .prepare_cached(
                    "DELETE FROM vectors WHERE model = (SELECT id FROM models WHERE name = ?1)",
                )?
                .execute([&model])?;
            let dropped = connection
                .prepare_cached("DELETE FROM models WHERE name = ?1")?
                .execute([&model])?;
            Ok(dropped > 0)
        })
        .await
    }
}

/// Checks vectors before anything is written.
pub(super) fn check(vectors: &FactVectors, facts: usize) -> Result<()> {
    if vectors.vectors.len() != facts {
        return Err(StorageError::Invalid(format!(
            "{} vectors were given for {facts} facts: each fact needs one",
            vectors.vectors.len()
        )));
    }
    vectors.vectors.iter().try_for_each(|vector| {
        if vector.len() != vectors.dimensions as usize {
            return Err(StorageError::Invalid(format!(
                "model `{}` says that its vectors have {} dimensions and gave one with {}: the \
                 embedding provider is faulty",
                vectors.model,
                vectors.dimensions,
                vector.len()
            )));
        }
        check_one(&vectors.model, vector)
    })
}

/// Checks one vector by itself.
pub(super) fn check_one(model: &str, vector: &[f32]) -> Result<()> {
    if model.is_empty() || vector.is_empty() {
        return Err(StorageError::Invalid(
            "a vector has at least one dimension and a model with a name".to_owned(),
        ));
    }
    if vector.len() > limits::VECTOR_DIMENSIONS {
        return Err(StorageError::limit(
            "vector-dimensions",
            "dimensions of a vector",
            vector.len(),
            limits::VECTOR_DIMENSIONS,
        ));
    }
    if vector.iter().any(|value| !value.is_finite()) {
        return Err(StorageError::Invalid(format!(
            "model `{model}` gave a vector with a value that is not a number: the embedding \
             provider is faulty"
        )));
    }
    Ok(())
}

/// A model's number in the file, where it has one and that width.
pub(super) fn find_model(
    connection: &Connection,
    model: &str,
    dimensions: usize,
) -> Result<Option<i64>> {
    let found: Option<(i64, usize)> = connection
        .prepare_cached("SELECT id, dimensions FROM models WHERE name = ?1")?
        .query_row([model], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        Some((_, known)) if known != dimensions => Err(StorageError::Invalid(format!(
            "model `{model}` has vectors with {known} dimensions in this database and now gives \
             {dimensions}: go back to the provider that made them, or embed everything anew with \
             `host memory reindex --resource NAME`"
        ))),
        found => Ok(found.map(|(id, _)| id)),
    }
}

/// A model's number in the file, entered if need be.
pub(super) fn obtain_model(connection: &Connection, vectors: &FactVectors) -> Result<i64> {
    if let Some(id) = find_model(connection, &vectors.model, vectors.dimensions as usize)? {
        return Ok(id);
    }
    Ok(connection
        .prepare_cached("INSERT INTO models (name, dimensions) VALUES (?1, ?2) RETURNING id")?
        .query_row(params![vectors.model, vectors.dimensions], |row| row.get(0))?)
}

/// Keeps the vector of a fact, in place of what it had.
pub(super) fn store(connection: &Connection, fact: i64, model: i64, vector: &[f32]) -> Result<()> {
    let bytes: Vec<u8> = vector
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    connection
        .prepare_cached(
            "INSERT INTO vectors (fact, model, vector) VALUES (?1, ?2, ?3)
             ON CONFLICT (fact) DO UPDATE SET model = excluded.model, vector = excluded.vector",
        )?
        .execute(params![fact, model, bytes])?;
    Ok(())
}

/// The cosine between `query` and each vector of the scope and model, by the
/// facts' numbers in ascending order.
pub(super) fn cosines(
    connection: &Connection,
    scope: ScopeId,
    model: i64,
    query: &[f32],
) -> Result<Vec<(i64, f64)>> {
    let (from, to) = scope::fact_range(scope);
    let query_square = dot(query, query);
    let mut statement = connection.prepare_cached(
        // The plus keeps SQLite on the scope's range: the model's index would
        // lead through every scope.
        "SELECT fact, vector FROM vectors WHERE fact BETWEEN ?1 AND ?2 AND +model = ?3 ORDER BY fact",
    )?;
    let mut rows = statement.query(params![from, to, model])?;
    let mut cosines = Vec::new();
    let mut vector = Vec::with_capacity(query.len());
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        vector.clear();
        vector.extend(
            bytes
                .as_chunks::<4>()
                .0
                .iter()
                .map(|value| f32::from_le_bytes(*value)),
        );
        if bytes.len() != query.len() * 4 {
            return Err(StorageError::Invalid(
                "a vector in the database has not the width of its model: the file was changed by \
                 another program; embed everything anew with `host memory reindex --resource NAME`"
                    .to_owned(),
            ));
        }
        cosines.push((row.get(0)?, cosine(query, query_square, &vector)));
    }
    Ok(cosines)
}

/// The cosine between two vectors; 0 where one has no length.
fn cosine(query: &[f32], query_square: f32, vector: &[f32]) -> f64 {
    let (product, square) = (dot(query, vector), dot(vector, vector));
    if query_square.is_normal() && square.is_normal() && product.is_finite() {
        let norms = query_square.sqrt() * square.sqrt();
        return f64::from((product / norms).clamp(-1.0, 1.0));
    }
    // Squares of very large or small values do not fit; squares of any `f32`
    // fit into `f64`.
    let exact = |left: &[f32], right: &[f32]| -> f64 {
        let pairs = left.iter().zip(right);
        pairs
            .map(|(left, right)| f64::from(*left) * f64::from(*right))
            .sum()
    };
    let norms = exact(query, query).sqrt() * exact(vector, vector).sqrt();
    if norms > 0.0 {
        (exact(query, vector) / norms).clamp(-1.0, 1.0)
    } else {
        0.0
    }
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (left_lanes, left_rest) = left.as_chunks::<LANES>();
    let (right_lanes, right_rest) = right.as_chunks::<LANES>();
    for (left, right) in left_lanes.iter().zip(right_lanes) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    let rest: f32 = left_rest
        .iter()
        .zip(right_rest)
        .map(|(left, right)| left * right)
        .sum();
    sums.iter().sum::<f32>() + rest
}

fn unembedded(
    connection: &Connection,
    scope: ScopeId,
    model: &str,
    after: Option<i64>,
    limit: usize,
) -> Result<UnembeddedPage> {
    let (from, to) = scope::fact_range(scope);
    // One more than the given number, which is the last one's in the scope.
    let from = after.map_or(from, |after| from.saturating_add(after).saturating_add(1));
    let mut statement = connection.prepare_cached(
        "SELECT f.number, f.id, f.content FROM facts f
         LEFT JOIN vectors v ON v.fact = f.number
         LEFT JOIN models m ON m.id = v.model
         WHERE f.number BETWEEN ?1 AND ?2 AND m.name IS NOT ?3 ORDER BY f.number LIMIT ?4",
    )?;
    let mut rows = statement.query(params![from, to, model, limit + 1])?;
    let mut page = UnembeddedPage::default();
    let mut last = 0;
    while let Some(row) = rows.next()? {
        if page.facts.len() == limit {
            page.next = Some((last - scope::fact_range(scope).0).to_string());
            break;
        }
        last = row.get(0)?;
        page.facts.push((facts::id_column(row, 1)?, row.get(2)?));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cosine_is_right_for_values_whose_squares_are_not_representable() {
        let tiny = f32::from_bits(1);
        for size in [f32::MAX, 1e20, 1.0, 1e-20, f32::MIN_POSITIVE, tiny] {
            for other in [f32::MAX, 1.0, tiny] {
                let query = [size, size];
                let square = dot(&query, &query);
                let found = cosine(&query, square, &[other, 0.0]);
                assert!(
                    (found - 0.5_f64.sqrt()).abs() < 1e-6,
                    "{size} {other}: {found}"
                );
                assert_eq!(cosine(&query, square, &[0.0, 0.0]), 0.0);
            }
        }
    }

    #[test]
    fn the_product_counts_every_number_whatever_the_width() {
        for width in 0..40_usize {
            let ones = vec![1.0_f32; width];
            assert_eq!(dot(&ones, &ones), width as f32);
        }
    }
}
