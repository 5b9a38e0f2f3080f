//! Scopes: whose memory it is, as a number.
//!
//! A resource, its team and its fork are three columns, never one joined text, so that no
//! spelling of one can pass for another.

use keepsake_types::{ResourceRef, limits};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{Result, StorageError};

/// The number of a resource's scope. A fact's number holds it in its upper
/// half, which puts the facts of one scope next to each other in the file.
pub(crate) type ScopeId = i64;

/// The largest number, so that twice 32 bits hold a fact's.
const LARGEST: ScopeId = (1 << 31) - 1;

/// The number of the first fact that a scope could have, and that of the last.
pub(crate) fn fact_range(scope: ScopeId) -> (i64, i64) {
    (scope << 32, (scope << 32) | 0xffff_ffff)
}

/// The scope that a fact belongs to, which its number holds.
pub(crate) fn of_fact(number: i64) -> ScopeId {
    number >> 32
}

/// A team or fork that is absent is stored as the empty text, which none has for
/// a name: SQLite takes any two NULLs for different, and a scope would not be unique.
pub(crate) fn column(name: Option<&String>) -> &str {
    name.map_or("", String::as_str)
}

/// The scope of a resource, where it has one.
pub(crate) fn find(connection: &Connection, resource: &ResourceRef) -> Result<Option<ScopeId>> {
    Ok(connection
        .prepare_cached("SELECT id FROM scopes WHERE resource = ?1 AND team = ?2 AND fork = ?3")?
        .query_row(
            params![
                resource.resource,
                column(resource.team.as_ref()),
                column(resource.fork.as_ref())
            ],
            |row| row.get(0),
        )
        .optional()?)
}

/// The scope of a resource, made if need be; a fork is made by forking alone.
pub(crate) fn obtain(connection: &Connection, resource: &ResourceRef) -> Result<ScopeId> {
    resource.checked()?;
    if let Some(scope) = find(connection, resource)? {
        return Ok(scope);
    }
    if resource.fork.is_some() {
        return Err(no_fork(resource));
    }
    let scope: ScopeId = connection
        .prepare_cached("INSERT INTO scopes (resource, team) VALUES (?1, ?2) RETURNING id")?
        .query_row(
            params![resource.resource, column(resource.team.as_ref())],
            |row| row.get(0),
        )?;
    check_number(scope)?;
    Ok(scope)
}

/// Refuses a scope whose facts could not be numbered.
pub(crate) fn check_number(scope: ScopeId) -> Result<()> {
    if scope > LARGEST {
        return Err(StorageError::Limit {
            name: "resources",
            message: format!(
                "one file holds {LARGEST} resources and forks: use another data folder for more"
            ),
        });
    }
    Ok(())
}

/// That there is no such fork.
pub(crate) fn no_fork(resource: &ResourceRef) -> StorageError {
    StorageError::NotFound(format!(
        "the memory of `{}` has no fork `{}`: `host memory forks` lists those that there are",
        resource.resource,
        column(resource.fork.as_ref())
    ))
}

/// Whose a scope is; none when its row is gone.
pub(crate) fn resource(connection: &Connection, scope: ScopeId) -> Result<Option<ResourceRef>> {
    Ok(connection
        .prepare_cached("SELECT resource, team, fork FROM scopes WHERE id = ?1")?
        .query_row([scope], |row| from_columns(row, 0))
        .optional()?)
}

/// Reads a resource from three columns, of which this is the first.
pub(crate) fn from_columns(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<ResourceRef> {
    let named = |name: String| (!name.is_empty()).then_some(name);
    Ok(ResourceRef {
        resource: row.get(first)?,
        team: named(row.get(first + 1)?),
        fork: named(row.get(first + 2)?),
    })
}

/// A scope whose entries count, up to one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) scope: ScopeId,
    /// The number of the last entry that counts.
    pub(crate) last_entry: i64,
}

impl Reach {
    /// All that a scope's sessions recorded.
    pub(crate) fn whole(scope: ScopeId) -> Self {
        Self {
            scope,
            last_entry: i64::MAX,
        }
    }
}

/// A scope and those that it was forked from, each up to the fork.
pub(crate) fn lineage(connection: &Connection, scope: ScopeId) -> Result<Vec<Reach>> {
    let mut fork =
        connection.prepare_cached("SELECT parent, last_entry FROM forks WHERE scope = ?1")?;
    let mut lineage = vec![Reach::whole(scope)];
    // A file that was tampered with may lead in a circle.
    for place in 0..limits::FORK_DEPTH {
        let youngest = lineage[place];
        let parent = fork.query_row([youngest.scope], |row| {
            Ok(Reach {
                scope: row.get(0)?,
                last_entry: youngest.last_entry.min(row.get(1)?),
            })
        });
        match parent.optional()? {
            Some(parent) => lineage.push(parent),
            None => break,
        }
    }
    Ok(lineage)
}
