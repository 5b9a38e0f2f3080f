//! What a doctor wants to know of the file.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{Database, schema};
use crate::Result;
use crate::memory::postings;

/// The state of a database file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Check {
    /// Where the file is.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// The size of the write-ahead log beside it, in bytes.
    pub log_bytes: u64,
    /// The version of its tables.
    pub schema: u32,
    /// The newest version that this program knows.
    pub known_schema: u32,
    /// How changes reach the file; `wal` is right.
    pub journal_mode: String,
    /// The version of the SQLite library.
    pub sqlite: String,
    /// Whether the structure of the file is whole, and facts and their words agree.
    pub sound: bool,
    /// What is wrong with that; at most 100 lines.
    pub damage: Vec<String>,
    /// What it holds.
    pub counts: Counts,
}

/// How many of each thing a database holds.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Resources that ever had a session or a memory.
    pub resources: u64,
    /// Forks of their memories.
    pub forks: u64,
    /// Sessions.
    pub sessions: u64,
    /// Ledger entries.
    pub entries: u64,
    /// Keys of working memory.
    pub working_keys: u64,
    /// Profiles.
    pub profiles: u64,
    /// Facts, current or not.
    pub facts: u64,
    /// Vectors by model.
    pub models: Vec<ModelCount>,
}

/// How many vectors there are of one model.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ModelCount {
    /// The model's id.
    pub model: String,
    /// How wide its vectors are.
    pub dimensions: u32,
    /// How many there are.
    pub vectors: u64,
}

impl Database {
    /// Looks the whole file over. Takes longer the larger it is. What is wrong
    /// with the ledger is found by [`Database::verify`] instead.
    ///
    /// # Errors
    /// When the file is damaged so far that it cannot be read.
    pub async fn check(&self) -> Result<Check> {
        let path = self.path().to_path_buf();
        self.read(move |connection| check(connection, &path)).await
    }
}

/// Looks over what a connection sees of the file at `path`.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<Check> {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let mut damage = damage(connection)?;
    if damage.is_empty() {
        damage = postings::disagreements(connection)?;
    }
    Ok(Check {
        path: path.to_path_buf(),
        bytes: size(path),
        log_bytes: size(Path::new(&log)),
        schema: schema::pragma(connection, "user_version")?,
        known_schema: schema::KNOWN,
        journal_mode: schema::pragma(connection, "journal_mode")?,
        sqlite: rusqlite::version().to_owned(),
        sound: damage.is_empty(),
        damage,
        counts: counts(connection)?,
    })
}

fn damage(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA quick_check(100)")?;
    let lines = statement
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<String>>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

fn counts(connection: &Connection) -> Result<Counts> {
    let count = |table: &str| -> Result<u64> {
        Ok(
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                row.get(0)
            })?,
        )
    };
    let mut statement = connection.prepare(
        "SELECT m.name, m.dimensions, count(v.fact) FROM models m
         LEFT JOIN vectors v ON v.model = m.id GROUP BY m.id ORDER BY m.name",
    )?;
    let models = statement
        .query_map([], |row| {
            Ok(ModelCount {
                model: row.get(0)?,
                dimensions: row.get(1)?,
                vectors: row.get(2)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Counts {
        resources: count("scopes WHERE fork = ''")?,
        forks: count("forks")?,
        sessions: count("sessions")?,
        entries: count("entries")?,
        working_keys: count("working")?,
        profiles: count("profiles")?,
        facts: count("facts")?,
        models,
    })
}
