//! Sessions that a program left which did not end by itself.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

use super::{end, known};
use crate::Result;
use crate::database::Database;
use crate::ledger::{Kind, append};

/// Abandoned sessions that are ended at once; the next program goes on.
const MOST: usize = 100;

impl Database {
    /// Ends sessions that run and that no living program works on: what is not
    /// finished of a turn is recorded as failed, and the session as ended.
    /// Answers their ids. They can be resumed like others.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub async fn end_abandoned_sessions(&self) -> Result<Vec<String>> {
        let running = self.read(|snapshot| running(snapshot)).await?;
        let (held, path) = (self.held(), self.path().to_path_buf());
        let mut abandoned = Vec::new();
        for id in running {
            // One of this program's own is no other's to end.
            if !held.holds(&id) && held.take(&path, &id)? {
                abandoned.push(id);
            }
        }
        if abandoned.is_empty() {
            return Ok(abandoned);
        }
        let ids = abandoned.clone();
        let ended = self
            .write(move |connection| {
                let mut ended = Vec::new();
                for id in ids {
                    // It may have ended before it was taken.
                    let (number, session) = known(connection, &id)?;
                    if session.ended_at.is_some() {
                        continue;
                    }
                    fail_unfinished_turn(connection, number)?;
                    let payload = json!({ "turns": session.turns, "abandoned": true });
                    end(connection, number, &payload)?;
                    ended.push(id);
                }
                Ok(ended)
            })
            .await;
        for id in &abandoned {
            held.release(id);
        }
        ended
    }
}

fn running(connection: &Connection) -> Result<Vec<String>> {
    Ok(connection
        .prepare_cached("SELECT id FROM sessions WHERE ended_at IS NULL ORDER BY number LIMIT ?1")?
        .query_map([MOST], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?)
}

/// Records that a turn failed which was begun and never finished.
pub(super) fn fail_unfinished_turn(connection: &Connection, number: i64) -> Result<()> {
    let last: Option<(String, Option<String>)> = connection
        .prepare_cached(
            "SELECT kind, payload FROM entries
             WHERE session = ?1 AND kind IN ('turn-started', 'turn-completed', 'turn-failed')
             ORDER BY place DESC LIMIT 1",
        )?
        .query_row(params![number], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((kind, payload)) = last else {
        return Ok(());
    };
    if Kind::from_name(&kind) != Kind::TurnStarted {
        return Ok(());
    }
    // Its payload may be erased.
    let started: Value = payload
        .and_then(|payload| serde_json::from_str(&payload).ok())
        .unwrap_or_default();
    let failed = json!({
        "turn": started["turn"],
        "code": "host-ended",
        "error": "the host ended in the middle of the turn; what the turn did before that stands",
        "details": "",
    });
    append(connection, number, &Kind::TurnFailed, &failed)?;
    Ok(())
}
