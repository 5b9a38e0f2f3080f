//! Sessions by pages.

use keepsake_types::ResourceRef;
use rusqlite::{Connection, params};

use super::{COLUMNS, Session, from_row, with_sandboxes};
use crate::database::Database;
use crate::{Result, scope};

/// One page of sessions.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SessionPage {
    /// Newest first.
    pub sessions: Vec<Session>,
    /// What to give as `after` for the next page; none at the end.
    pub next: Option<String>,
}

impl Database {
    /// Sessions by pages, newest first: of one resource, or of all.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0 or an `after` that no page answered with,
    /// `Limit` for a limit that is too large.
    pub async fn list_sessions(
        &self,
        resource: Option<&ResourceRef>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<SessionPage> {
        crate::memory::check_page(limit)?;
        let before = crate::memory::position(after)?.unwrap_or(i64::MAX);
        let resource = resource.cloned();
        self.read(move |connection| list(connection, resource.as_ref(), before, limit))
            .await
    }
}

fn list(
    connection: &Connection,
    resource: Option<&ResourceRef>,
    before: i64,
    limit: usize,
) -> Result<SessionPage> {
    let scope = match resource {
        None => None,
        Some(resource) => match scope::find(connection, resource)? {
            Some(scope) => Some(scope),
            None => {
                return Ok(SessionPage {
                    sessions: Vec::new(),
                    next: None,
                });
            }
        },
    };
    let filter = if scope.is_some() {
        "s.scope = ?3"
    } else {
        "?3 IS NULL"
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM sessions s JOIN scopes c ON c.id = s.scope
         WHERE s.number < ?1 AND {filter} ORDER BY s.number DESC LIMIT ?2"
    ))?;
    let mut found = statement
        .query_map(params![before, limit + 1, scope], from_row)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found
        .last()
        .filter(|_| more)
        .map(|(number, _)| number.to_string());
    let sessions = found
        .into_iter()
        .map(|found| with_sandboxes(connection, found).map(|(_, session)| session))
        .collect::<Result<_>>()?;
    Ok(SessionPage { sessions, next })
}
