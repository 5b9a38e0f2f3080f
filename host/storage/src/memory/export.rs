//! Exporting: all that is known of one resource, from one unchanging view of the
//! file, handed on record by record.

use keepsake_types::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value};
use tokio::sync::mpsc::Sender;

use super::facts::Loader;
use super::model::{Fact, FactVectors};
use super::{View, vectors, working};
use crate::scope::{self, ScopeId};
use crate::{Result, json};

/// Facts after which what is known of their sources' sessions is let go, so that
/// an export of any size needs little memory.
const FACTS_A_LOADER: usize = 10_000;

/// One thing that is known of a resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Exported {
    /// The profile.
    Profile {
        /// The document.
        value: Map<String, Value>,
        /// When it was last written.
        updated_at: Timestamp,
    },
    /// A key of working memory.
    Working {
        /// The key.
        key: String,
        /// The value.
        value: Value,
        /// When it was last written.
        updated_at: Timestamp,
    },
    /// A fact, whether it still holds or not.
    Fact {
        /// The fact.
        fact: Box<Fact>,
        /// Its vector, where it has one and vectors were asked for.
        vector: Option<FactVectors>,
    },
}

impl View {
    /// Sends all that is known of the resource: the profile, working memory by
    /// its keys, then facts, those that do not hold any more included, in the
    /// order in which they came. All of it as it was when the export began. Ends
    /// early where nobody receives any more.
    ///
    /// # Errors
    /// Only when the file cannot be read.
    pub async fn export(&self, with_vectors: bool, records: Sender<Exported>) -> Result<()> {
        self.read((), move |connection, scope| {
            export(connection, scope, with_vectors, |record| {
                records.blocking_send(record).is_ok()
            })
        })
        .await
    }
}

/// Hands on each record until `taken` says that nobody takes them.
fn export(
    connection: &Connection,
    scope: ScopeId,
    with_vectors: bool,
    taken: impl Fn(Exported) -> bool,
) -> Result<()> {
    let profile: Option<Timestamp> = connection
        .prepare_cached("SELECT updated_at FROM profiles WHERE scope = ?1")?
        .query_row([scope], |row| row.get(0))
        .optional()?;
    if let Some(updated_at) = profile {
        let value = working::profile(connection, scope)?;
        if !taken(Exported::Profile { value, updated_at }) {
            return Ok(());
        }
    }
    let mut statement = connection.prepare_cached(
        "SELECT key, value, updated_at FROM working WHERE scope = ?1 ORDER BY key",
    )?;
    let mut rows = statement.query([scope])?;
    while let Some(row) = rows.next()? {
        let key: String = row.get(0)?;
        let value = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let value = json::stored(value, &format!("the value under `{key}`"))?;
        let updated_at = row.get(2)?;
        if !taken(Exported::Working {
            key,
            value,
            updated_at,
        }) {
            return Ok(());
        }
    }
    let (from, to) = scope::fact_range(scope);
    let mut statement = connection.prepare_cached(
        "SELECT number FROM facts WHERE number BETWEEN ?1 AND ?2 ORDER BY number",
    )?;
    let mut rows = statement.query(params![from, to])?;
    let mut loader = Loader::new(connection, scope);
    let mut loaded = 0;
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        if loaded == FACTS_A_LOADER {
            loader = Loader::new(connection, scope);
            loaded = 0;
        }
        loaded += 1;
        let Some(fact) = loader.load(number)? else {
            continue;
        };
        let vector = if with_vectors {
            vectors::of(connection, number)?
        } else {
            None
        };
        let fact = Box::new(fact);
        if !taken(Exported::Fact { fact, vector }) {
            return Ok(());
        }
    }
    Ok(())
}
