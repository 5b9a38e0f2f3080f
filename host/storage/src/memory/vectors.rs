//! Vectors: kept as bytes beside their model, compared within one scope and
//! one model only. `code` is how they are stored, `index` how they are searched
//! in memory, `cache` which of them are there, `nearest` what uses it.

mod cache;
mod code;
mod index;
mod nearest;
mod rotation;
mod scan;

use keepsake_types::limits;
use rusqlite::{Connection, OptionalExtension, params};

use super::model::{FactVectors, UnembeddedPage};
use super::{Memory, View, check_page, facts, position};
use crate::database::Database;
use crate::scope::{self, ScopeId};
use crate::{Result, StorageError};

pub(crate) use cache::Indexes;
pub use nearest::Near;
pub(super) use nearest::{cosines_of, nearest};

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

    /// How many facts there are.
    ///
    /// # Errors
    /// Only when the file cannot be read.
    pub async fn count_facts(&self) -> Result<u64> {
        self.read(0, |connection, scope| {
            Ok(connection
                .prepare_cached("SELECT facts FROM scopes WHERE id = ?1")?
                .query_row([scope], |row| row.get(0))?)
        })
        .await
    }

    /// How many facts have no vector of `model`.
    ///
    /// # Errors
    /// Only when the file cannot be read.
    pub async fn count_unembedded(&self, model: &str) -> Result<u64> {
        let model = model.to_owned();
        self.read(0, move |connection, scope| {
            let (from, to) = scope::fact_range(scope);
            // Of the vectors, only the index on their models is read.
            let counts: (u64, u64) = connection
                .prepare_cached(
                    "SELECT s.facts, (SELECT count(*) FROM vectors v JOIN models m ON m.id = v.model
                        WHERE m.name = ?2 AND v.fact BETWEEN ?3 AND ?4)
                     FROM scopes s WHERE s.id = ?1",
                )?
                .query_row(params![scope, model, from, to], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            Ok(counts.0.saturating_sub(counts.1))
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
fn obtain_model(connection: &Connection, vectors: &FactVectors) -> Result<i64> {
    if let Some(id) = find_model(connection, &vectors.model, vectors.dimensions as usize)? {
        return Ok(id);
    }
    Ok(connection
        .prepare_cached("INSERT INTO models (name, dimensions) VALUES (?1, ?2) RETURNING id")?
        .query_row(params![vectors.model, vectors.dimensions], |row| row.get(0))?)
}

/// The vectors that a call was given, in the transaction that stores them.
pub(super) struct Given<'a> {
    connection: &'a Connection,
    vectors: &'a FactVectors,
    model: i64,
}

impl<'a> Given<'a> {
    /// Enters their model if need be; none where the call was given none.
    pub(super) fn new(
        connection: &'a Connection,
        vectors: Option<&'a FactVectors>,
    ) -> Result<Option<Self>> {
        vectors
            .map(|vectors| {
                Ok(Self {
                    connection,
                    vectors,
                    model: obtain_model(connection, vectors)?,
                })
            })
            .transpose()
    }

    /// Keeps the vector at `place` of the call for a fact.
    pub(super) fn store(&self, place: usize, fact: i64) -> Result<()> {
        store(
            self.connection,
            fact,
            self.model,
            &self.vectors.vectors[place],
        )
    }

    /// The cosines of the vector at `place` and those of some facts, as
    /// [`cosines_of`] answers them.
    pub(super) fn cosines(
        &self,
        place: usize,
        scope: ScopeId,
        facts: &[i64],
    ) -> Result<Vec<Option<f64>>> {
        let vector = &self.vectors.vectors[place];
        cosines_of(self.connection, scope, self.model, vector, facts)
    }
}

/// Keeps the vector of a fact, in place of what it had.
fn store(connection: &Connection, fact: i64, model: i64, vector: &[f32]) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO vectors (fact, model, vector) VALUES (?1, ?2, ?3)
             ON CONFLICT (fact) DO UPDATE SET model = excluded.model, vector = excluded.vector",
        )?
        .execute(params![fact, model, code::encode(vector)])?;
    Ok(())
}

/// The vector of a fact with its model.
pub(super) fn of(connection: &Connection, fact: i64) -> Result<Option<FactVectors>> {
    let found: Option<(String, u32, Vec<u8>)> = connection
        .prepare_cached(
            "SELECT m.name, m.dimensions, v.vector FROM vectors v JOIN models m ON m.id = v.model
             WHERE v.fact = ?1",
        )?
        .query_row([fact], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    found
        .map(|(model, dimensions, bytes)| {
            let vector = code::decode(&bytes, dimensions as usize).ok_or_else(foreign_width)?;
            Ok(FactVectors {
                model,
                dimensions,
                vectors: vec![vector],
            })
        })
        .transpose()
}

/// Brings vectors of a file that was written before they were stored as `code`
/// describes into that form.
pub(crate) fn recode(connection: &Connection) -> Result<()> {
    let mut given = connection.prepare("SELECT fact, vector FROM vectors ORDER BY fact")?;
    let mut kept = connection.prepare("UPDATE vectors SET vector = ?2 WHERE fact = ?1")?;
    let mut rows = given.query([])?;
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        let numbers = bytes.as_chunks::<4>().0.iter();
        let vector: Vec<f32> = numbers.map(|number| f32::from_le_bytes(*number)).collect();
        kept.execute(params![row.get::<_, i64>(0)?, code::encode(&vector)])?;
    }
    Ok(())
}

/// A vector has more or fewer bytes than its model says.
fn foreign_width() -> StorageError {
    StorageError::Invalid(
        "a vector in the database has not the width of its model: the file was changed by another \
         program; embed everything anew with `host memory reindex --resource NAME`"
            .to_owned(),
    )
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
