//! The tables, and how an older file is brought up to date.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::{Result, StorageError};

/// "KEEP" in ASCII: tells our files from those of other applications.
const APPLICATION: i32 = 0x4b45_4550;

/// One step for each schema version, oldest first. A step that was released is
/// never changed.
const MIGRATIONS: [&str; 1] = [FIRST];

/// The newest schema version that this program knows.
pub(super) const KNOWN: u32 = MIGRATIONS.len() as u32;

/// Times are milliseconds since 1970, hashes are 32 bytes.
///
/// The upper half of a fact's number is its scope's, the lower half counts the
/// facts in that scope. Facts and vectors of one scope so lie next to each
/// other, and a range of numbers is a scope: no index and no other scope is
/// read. The same goes for `words`, whose key begins with the scope.
///
/// Every table is strict: whoever changes the file by hand cannot leave a value
/// of another type, which reading would not expect.
const FIRST: &str = "
CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    team TEXT NOT NULL,              -- '' for none
    next_fact INTEGER NOT NULL DEFAULT 1,
    facts INTEGER NOT NULL DEFAULT 0,
    words INTEGER NOT NULL DEFAULT 0,
    UNIQUE (resource, team)
) STRICT;

CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    agent TEXT NOT NULL,
    agent_hash TEXT,
    plugin TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    turns INTEGER NOT NULL DEFAULT 0,
    entries INTEGER NOT NULL DEFAULT 0,
    first_hash BLOB,
    head_hash BLOB
) STRICT;
CREATE INDEX sessions_of_scope ON sessions (scope);

CREATE TABLE session_sandboxes (
    session INTEGER NOT NULL REFERENCES sessions (number),
    place INTEGER NOT NULL,
    sandbox TEXT NOT NULL,
    PRIMARY KEY (session, place),
    UNIQUE (session, sandbox)
) STRICT, WITHOUT ROWID;

-- One row: what the newest session is, so that its removal is found.
CREATE TABLE chain (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    sessions INTEGER NOT NULL,
    newest TEXT NOT NULL,
    newest_first BLOB NOT NULL
) STRICT;

CREATE TABLE entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions (number),
    place INTEGER NOT NULL,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload_hash BLOB NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    salt BLOB,                       -- NULL with the payload: erased
    payload TEXT,
    erased_by INTEGER,               -- the entry that says so, by its number
    UNIQUE (session, place)
) STRICT;
CREATE INDEX entries_of_scope ON entries (scope);

CREATE TABLE working (
    scope INTEGER NOT NULL REFERENCES scopes (id),
    key TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE profiles (
    scope INTEGER PRIMARY KEY REFERENCES scopes (id),
    updated_at INTEGER NOT NULL,
    value TEXT NOT NULL
) STRICT;

-- What ranking reads comes first, long texts last, so that a scan of a scope
-- does not load them.
CREATE TABLE facts (
    number INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_until INTEGER,
    superseded_by BLOB,
    words INTEGER NOT NULL,
    content_key INTEGER NOT NULL,    -- 64 bits of the text's hash
    source_session TEXT,
    source_place INTEGER,
    source_hash BLOB,
    source_scope INTEGER,
    subject TEXT,
    attribute TEXT,
    thread TEXT,
    position INTEGER,
    instruction_like INTEGER NOT NULL,
    masked INTEGER NOT NULL,
    quote TEXT,
    extras TEXT,
    metadata TEXT NOT NULL,
    content TEXT NOT NULL
) STRICT;
CREATE INDEX facts_by_content ON facts (content_key);
CREATE INDEX facts_by_subject ON facts (subject, attribute, number) WHERE subject IS NOT NULL;

-- The entries that quote a fact, to be erased with it.
CREATE TABLE fact_entries (
    fact INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (fact, entry)
) STRICT, WITHOUT ROWID;

CREATE TABLE words (
    scope INTEGER NOT NULL,
    word TEXT NOT NULL,
    fact INTEGER NOT NULL,           -- no foreign key: it would need an index as large as this table
    times INTEGER NOT NULL,
    PRIMARY KEY (scope, word, fact)
) STRICT, WITHOUT ROWID;

CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL
) STRICT;

CREATE TABLE vectors (
    fact INTEGER PRIMARY KEY REFERENCES facts (number) ON DELETE CASCADE,
    model INTEGER NOT NULL REFERENCES models (id),
    vector BLOB NOT NULL
) STRICT;
CREATE INDEX vectors_of_model ON vectors (model);
";

/// Looks before anything is written: a foreign file must stay as it is.
pub(super) fn refuse_what_is_not_ours(connection: &Connection, path: &Path) -> Result<()> {
    // One view of the file: another host may be making the tables meanwhile, and
    // half of that looks like a foreign file.
    let view = connection.unchecked_transaction()?;
    let tables: i64 = view.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let application: i32 = pragma(&view, "application_id")?;
    let version: i32 = pragma(&view, "user_version")?;
    view.finish()?;
    let empty = application == 0 && version == 0 && tables == 0;
    if application != APPLICATION && !empty {
        return Err(StorageError::ForeignFile {
            path: path.to_path_buf(),
        });
    }
    refuse_newer(version, path)
}

/// Brings the file up to date in one transaction. Another process may be
/// doing the same, so the version is read again once the file is ours alone.
pub(super) fn migrate(connection: &Connection, path: &Path) -> Result<()> {
    if pragma::<i32>(connection, "user_version")? == KNOWN as i32 {
        return Ok(());
    }
    let transaction =
        rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let version: i32 = pragma(&transaction, "user_version")?;
    refuse_newer(version, path)?;
    let from = usize::try_from(version).unwrap_or(0);
    for step in &MIGRATIONS[from..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", KNOWN)?;
    transaction.commit()?;
    Ok(())
}

fn refuse_newer(version: i32, path: &Path) -> Result<()> {
    let found = u32::try_from(version).unwrap_or(u32::MAX);
    if found > KNOWN {
        return Err(StorageError::NewerSchema {
            path: path.to_path_buf(),
            found,
            known: KNOWN,
        });
    }
    Ok(())
}

/// The value of a setting that the file keeps.
pub(super) fn pragma<T: rusqlite::types::FromSql>(
    connection: &Connection,
    name: &str,
) -> Result<T> {
    Ok(connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))?)
}
