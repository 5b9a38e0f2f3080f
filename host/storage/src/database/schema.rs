//! The tables, and how an older file is brought up to date.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::memory::{postings, vectors};
use crate::{Result, StorageError};

/// "KEEP" in ASCII: tells our files from those of other applications.
const APPLICATION: i32 = 0x4b45_4550;

/// One step for each schema version, oldest first. A step that was released is
/// never changed.
const MIGRATIONS: &[Step] = &[
    Step::Sql(FIRST),
    Step::Both(POSTINGS, postings::rebuild),
    Step::Sql(COMPACTIONS),
    Step::Sql(PROPERTIES),
    Step::Both(CODES, vectors::recode),
    Step::Sql(RUNNING),
    Step::Sql(FORKS),
    Step::Sql(PARENTS),
];

/// How the tables of one version become those of the next.
enum Step {
    /// By statements.
    Sql(&'static str),
    /// By statements, and then by what they cannot express.
    Both(&'static str, fn(&Connection) -> Result<()>),
}

impl Step {
    fn carry_out(&self, connection: &Connection) -> Result<()> {
        match self {
            Self::Sql(statements) => connection.execute_batch(statements)?,
            Self::Both(statements, code) => {
                connection.execute_batch(statements)?;
                code(connection)?;
            }
        }
        Ok(())
    }
}

/// The newest version of the tables that this program knows.
pub const KNOWN: u32 = MIGRATIONS.len() as u32;

/// Times are milliseconds since 1970, hashes are 32 bytes.
///
/// The upper half of a fact's number is its scope's, the lower half counts the
/// facts in that scope. Facts and vectors of one scope so lie next to each
/// other, and a range of numbers is a scope: no index and no other scope is
/// read. The same goes for words, whose key begins with the scope.
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

/// Words move from one row for each fact and word to segments, which are a
/// fraction of the size; see `memory/postings.rs`. Facts of one thread are found
/// by their places in it, within one scope.
const POSTINGS: &str = "
DROP TABLE words;
CREATE TABLE postings (
    scope INTEGER NOT NULL,
    word TEXT NOT NULL,
    first INTEGER NOT NULL,          -- the lower half of the first fact's number
    facts BLOB NOT NULL,
    PRIMARY KEY (scope, word, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX facts_by_thread ON facts (number >> 32, thread, position) WHERE thread IS NOT NULL;
";

/// What compaction keeps. The tables are apart from `facts`, because few facts
/// are summaries.
const COMPACTIONS: &str = "
-- A summary and the number of facts that it stands for.
CREATE TABLE summaries (
    fact INTEGER PRIMARY KEY REFERENCES facts (number) ON DELETE CASCADE,
    facts INTEGER NOT NULL
) STRICT;

-- The sources of a fact besides the one in its row.
CREATE TABLE fact_sources (
    fact INTEGER NOT NULL REFERENCES facts (number) ON DELETE CASCADE,
    session TEXT NOT NULL,
    place INTEGER NOT NULL,
    hash BLOB NOT NULL,
    scope INTEGER NOT NULL,
    PRIMARY KEY (fact, session, place)
) STRICT, WITHOUT ROWID;

-- What a scope's next_fact was when it was last compacted.
CREATE TABLE compactions (
    scope INTEGER PRIMARY KEY REFERENCES scopes (id) ON DELETE CASCADE,
    next_fact INTEGER NOT NULL
) STRICT;
";

/// A subject and an attribute are the same whatever the case of their letters.
const PROPERTIES: &str = "
DROP INDEX facts_by_subject;
CREATE INDEX facts_by_property
    ON facts (subject COLLATE NOCASE, attribute COLLATE NOCASE, number) WHERE subject IS NOT NULL;
";

/// Vectors take half the room; see `memory/vectors/code.rs`. What changes in a
/// scope's vectors but by new ones at its end is counted, so that an index in
/// memory knows when it is out of date. A row stays when its scope is gone: a
/// count that began anew would be taken for an older one.
const CODES: &str = "
CREATE TABLE vector_changes (
    scope INTEGER PRIMARY KEY,
    changes INTEGER NOT NULL
) STRICT;
CREATE TRIGGER vectors_deleted AFTER DELETE ON vectors BEGIN
    INSERT INTO vector_changes (scope, changes) VALUES (OLD.fact >> 32, 1)
    ON CONFLICT (scope) DO UPDATE SET changes = changes + 1;
END;
CREATE TRIGGER vectors_updated AFTER UPDATE ON vectors BEGIN
    INSERT INTO vector_changes (scope, changes) VALUES (NEW.fact >> 32, 1)
    ON CONFLICT (scope) DO UPDATE SET changes = changes + 1;
END;
CREATE TRIGGER vectors_inserted AFTER INSERT ON vectors
WHEN EXISTS (SELECT 1 FROM vectors WHERE fact > NEW.fact AND fact <= (NEW.fact | 4294967295))
BEGIN
    INSERT INTO vector_changes (scope, changes) VALUES (NEW.fact >> 32, 1)
    ON CONFLICT (scope) DO UPDATE SET changes = changes + 1;
END;
";

/// Sessions that have not ended are few, and looked for at each start.
const RUNNING: &str = "
CREATE INDEX sessions_running ON sessions (number) WHERE ended_at IS NULL;
";

/// Forks of memories. A scope's row says which fork it is, and so the table is
/// made anew: what must be unique in it grew by a column.
const FORKS: &str = "
CREATE TABLE scopes_with_forks (
    id INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    team TEXT NOT NULL,              -- '' for none
    fork TEXT NOT NULL DEFAULT '',   -- '' for none
    next_fact INTEGER NOT NULL DEFAULT 1,
    facts INTEGER NOT NULL DEFAULT 0,
    words INTEGER NOT NULL DEFAULT 0,
    UNIQUE (resource, team, fork)
) STRICT;
INSERT INTO scopes_with_forks (id, resource, team, fork, next_fact, facts, words)
    SELECT id, resource, team, '', next_fact, facts, words FROM scopes;
DROP TABLE scopes;
ALTER TABLE scopes_with_forks RENAME TO scopes;

-- A fork, what it was made of, and the last entry that was there before it.
CREATE TABLE forks (
    scope INTEGER PRIMARY KEY REFERENCES scopes (id),
    parent INTEGER NOT NULL REFERENCES scopes (id),
    forked_at INTEGER NOT NULL,
    last_entry INTEGER NOT NULL,
    profile TEXT NOT NULL            -- the parent's when both were last the same
) STRICT;
CREATE INDEX forks_of_parent ON forks (parent);

-- The facts of a fork that its parent has as well, by number, and in what state
-- both were last the same.
CREATE TABLE fork_facts (
    fact INTEGER PRIMARY KEY,
    origin INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,     -- of the fork's own fact
    state BLOB NOT NULL
) STRICT;

-- The same of working memory.
CREATE TABLE fork_values (
    scope INTEGER NOT NULL,
    key TEXT NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

-- An entry may be what facts of several memories rest on.
CREATE INDEX fact_entries_by_entry ON fact_entries (entry);
";

/// Which session started another, by its id. It stays when the first entry, which
/// says the same, is erased with the fork that the session worked on.
const PARENTS: &str = "
ALTER TABLE sessions ADD COLUMN parent TEXT;
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
    // A table that others refer to cannot be made anew while that is watched, and
    // within a transaction it cannot be said not to watch.
    let watched: bool = pragma(connection, "foreign_keys")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    let migrated = carry_out_missing(connection, path);
    connection.pragma_update(None, "foreign_keys", watched)?;
    migrated
}

fn carry_out_missing(connection: &Connection, path: &Path) -> Result<()> {
    let transaction =
        rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let version: i32 = pragma(&transaction, "user_version")?;
    refuse_newer(version, path)?;
    let from = usize::try_from(version).unwrap_or(0);
    for step in &MIGRATIONS[from..] {
        step.carry_out(&transaction)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_file_of_the_first_version_are_found_after_it_was_brought_up_to_date() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(FIRST).unwrap();
        connection
            .execute_batch(
                "INSERT INTO scopes (id, resource, team, next_fact, facts, words)
                 VALUES (3, 'jordan', '', 3, 2, 7);
                 INSERT INTO facts (number, id, created_at, updated_at, valid_from, words, content_key,
                    instruction_like, masked, metadata, content)
                 VALUES (12884901889, randomblob(16), 1, 1, 1, 4, 1, 0, 0, '{}', 'the Pro plan'),
                        (12884901890, randomblob(16), 1, 1, 1, 3, 2, 0, 0, '{}', 'a plan for ORD-1234');
                 PRAGMA user_version = 1;",
            )
            .unwrap();
        migrate(&connection, Path::new("memory")).unwrap();
        let held = |word| postings::read(&connection, 3, word).unwrap().len();
        assert_eq!((held("plan"), held("pro"), held("ord1234")), (2, 1, 1));
        let words: u64 = connection
            .query_row("SELECT words FROM scopes", [], |row| row.get(0))
            .unwrap();
        assert_eq!(words, 2 + 5);
        assert_eq!(pragma::<u32>(&connection, "user_version").unwrap(), KNOWN);
    }

    /// A file as the version before the step with this number left it.
    fn of_version(version: usize) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        for step in &MIGRATIONS[..version] {
            step.carry_out(&connection).unwrap();
        }
        connection
            .pragma_update(None, "user_version", version as i64)
            .unwrap();
        connection
    }

    fn tables(connection: &Connection) -> Vec<String> {
        let mut statement = connection
            .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
            .unwrap();
        let tables = statement.query_map([], |row| row.get(0)).unwrap();
        tables.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_file_of_every_older_version_is_brought_up_to_date() {
        let newest = tables(&of_version(MIGRATIONS.len()));
        for version in 0..MIGRATIONS.len() {
            let connection = of_version(version);
            migrate(&connection, Path::new("keepsake.db")).unwrap();
            assert_eq!(tables(&connection), newest, "from version {version}");
            let now: u32 = pragma(&connection, "user_version").unwrap();
            assert_eq!(now, KNOWN);
        }
    }

    #[test]
    fn what_refers_to_a_resource_still_does_after_the_table_of_them_was_made_anew() {
        let connection = of_version(6);
        connection
            .pragma_update(None, "foreign_keys", true)
            .unwrap();
        connection
            .execute_batch(
                "INSERT INTO scopes (id, resource, team, next_fact) VALUES (3, 'jordan', 'acme', 7);
                 INSERT INTO working VALUES (3, 'plan', 1, '1');
                 INSERT INTO compactions VALUES (3, 5);",
            )
            .unwrap();
        migrate(&connection, Path::new("keepsake.db")).unwrap();
        let kept: (String, String, String, i64, i64) = connection
            .query_row(
                "SELECT s.resource, s.team, s.fork, s.next_fact, c.next_fact FROM working w
                 JOIN scopes s ON s.id = w.scope JOIN compactions c ON c.scope = s.id",
                [],
                |row| {
                    Ok((
                        row.get(0)?,
                        row.get(1)?,
                        row.get(2)?,
                        row.get(3)?,
                        row.get(4)?,
                    ))
                },
            )
            .unwrap();
        assert_eq!(kept, ("jordan".into(), "acme".into(), String::new(), 7, 5));
        // Watched again, and by the new table.
        assert!(connection.execute("DELETE FROM scopes", []).is_err());
        let broken = connection
            .prepare("PRAGMA foreign_key_check")
            .unwrap()
            .exists([])
            .unwrap();
        assert!(!broken);
    }
}
