//! What was said in a session, by what its ledger says: nothing is kept twice,
//! and what was erased there is not told here.

use keepsake_types::{Timestamp, limits};
use rusqlite::{Connection, params};
use serde_json::Value;

use super::known;
use crate::Result;
use crate::database::Database;
use crate::ledger::Kind;

/// One message and the reply to it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Exchange {
    /// The turn's number in the session.
    pub turn: u64,
    /// When the turn began.
    pub at: Timestamp,
    /// What came in.
    pub message: String,
    /// What went out.
    pub reply: String,
}

impl Database {
    /// The last exchanges of a session before a turn, newest first: at most
    /// `limit`, and no more after [`limits::EXCHANGES_BYTES`] of them. Turns
    /// without a reply are left out, and those that were erased.
    ///
    /// # Errors
    /// `NotFound` for an unknown session, `Invalid` for a limit of 0, `Limit` for
    /// one that is too large.
    pub async fn exchanges(
        &self,
        session: &str,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Exchange>> {
        crate::memory::check_page(limit)?;
        let session = session.to_owned();
        self.read(move |connection| exchanges(connection, &session, before, limit))
            .await
    }
}

fn exchanges(
    connection: &Connection,
    session: &str,
    before: u64,
    limit: usize,
) -> Result<Vec<Exchange>> {
    let (number, _) = known(connection, session)?;
    let mut statement = connection.prepare_cached(
        "SELECT at, kind = ?3, payload FROM entries
         WHERE session = ?1 AND kind IN (?2, ?3) AND payload IS NOT NULL ORDER BY place DESC",
    )?;
    let mut rows = statement.query(params![
        number,
        Kind::TurnStarted.name(),
        Kind::TurnCompleted.name()
    ])?;
    let mut found = Vec::new();
    let mut bytes = 0;
    // Backwards, a turn's reply comes before its message.
    let mut replied: Option<(u64, String)> = None;
    while let Some(row) = rows.next()? {
        let (at, completed, payload): (Timestamp, bool, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        // What cannot be read is for `host ledger verify` to tell.
        let payload: Value = serde_json::from_str(&payload).unwrap_or_default();
        let member = if completed { "reply" } else { "message" };
        let (Some(turn), Some(text)) = (payload["turn"].as_u64(), payload[member].as_str()) else {
            continue;
        };
        if turn >= before {
            continue;
        }
        if completed {
            replied = Some((turn, text.to_owned()));
            continue;
        }
        let Some((_, reply)) = replied.take().filter(|(of, _)| *of == turn) else {
            continue;
        };
        bytes += text.len() + reply.len();
        found.push(Exchange {
            turn,
            at,
            message: text.to_owned(),
            reply,
        });
        if found.len() == limit || bytes >= limits::EXCHANGES_BYTES {
            break;
        }
    }
    Ok(found)
}
