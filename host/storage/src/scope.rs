//! Scopes: whose memory it is, as a number.
//!
//! A resource and its team are two columns, never one joined text, so that no
//! spelling of one can pass for another.

use keepsake_types::ResourceRef;
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

/// A team that is absent is stored as the empty text, which no team has for a
/// name: SQLite takes any two NULLs for different, and a scope would not be unique.
fn team(resource: &ResourceRef) -> &str {
    resource.team.as_deref().unwrap_or_default()
}

/// The scope of a resource, where it has one.
pub(crate) fn find(connection: &Connection, resource: &ResourceRef) -> Result<Option<ScopeId>> {
    Ok(connection
        .prepare_cached("SELECT id FROM scopes WHERE resource = ?1 AND team = ?2")?
        .query_row(params![resource.resource, team(resource)], |row| row.get(0))
        .optional()?)
}

/// The scope of a resource, made if need be.
pub(crate) fn obtain(connection: &Connection, resource: &ResourceRef) -> Result<ScopeId> {
    resource.checked()?;
    if let Some(scope) = find(connection, resource)? {
        return Ok(scope);
    }
    let scope: ScopeId = connection
        .prepare_cached("INSERT INTO scopes (resource, team) VALUES (?1, ?2) RETURNING id")?
        .query_row(params![resource.resource, team(resource)], |row| row.get(0))?;
    if scope > LARGEST {
        return Err(StorageError::Limit {
            name: "resources",
            message: format!(
                "one file holds {LARGEST} resources: use another data folder for more"
            ),
        });
    }
    Ok(scope)
}

/// Whose a scope is; none when its row is gone.
pub(crate) fn resource(connection: &Connection, scope: ScopeId) -> Result<Option<ResourceRef>> {
    Ok(connection
        .prepare_cached("SELECT resource, team FROM scopes WHERE id = ?1")?
        .query_row([scope], |row| from_columns(row, 0, 1))
        .optional()?)
}

/// Reads a resource from two columns.
pub(crate) fn from_columns(
    row: &rusqlite::Row<'_>,
    resource: usize,
    team: usize,
) -> rusqlite::Result<ResourceRef> {
    let team: String = row.get(team)?;
    Ok(ResourceRef {
        resource: row.get(resource)?,
        team: (!team.is_empty()).then_some(team),
    })
}
