//! Writing an entry, within the transaction of what it records.

use keepsake_types::{EntryRef, now};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::Kind;
use super::form::{self, Header};
use crate::{Result, StorageError, json};

/// Kinds that change a session's row as well, and so have calls of their own.
pub(super) fn refuse_reserved(kind: &Kind) -> Result<()> {
    let call = match kind {
        Kind::SessionStarted => "begin_session",
        Kind::SessionResumed => "resume_session",
        Kind::SessionEnded => "end_session",
        Kind::PayloadErased => "forget",
        Kind::ResourceErased => "erase",
        _ => return Ok(()),
    };
    Err(StorageError::Invalid(format!(
        "entries of kind `{kind}` are written by `{call}`: call that instead"
    )))
}

/// The number that a running session has in the file.
pub(crate) fn running_session(connection: &Connection, id: &str) -> Result<i64> {
    let found: Option<(i64, Option<i64>)> = connection
        .prepare_cached("SELECT number, ended_at FROM sessions WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        None => Err(StorageError::NotFound(format!(
            "there is no session `{id}`: `host sessions` lists them"
        ))),
        Some((_, Some(_))) => Err(StorageError::Invalid(format!(
            "session `{id}` has ended and records nothing more: resume it first"
        ))),
        Some((number, None)) => Ok(number),
    }
}

pub(super) fn append_by_id(
    connection: &Connection,
    session: &str,
    kind: &Kind,
    payload: &Value,
) -> Result<EntryRef> {
    let number = running_session(connection, session)?;
    Ok(append(connection, number, kind, payload)?.entry)
}

/// An entry that was just written.
pub(crate) struct Appended {
    /// Its number in the file.
    pub(crate) number: i64,
    /// What points at it.
    pub(crate) entry: EntryRef,
}

/// Writes the next entry of a session, and the session's new count and head.
pub(crate) fn append(
    connection: &Connection,
    number: i64,
    kind: &Kind,
    payload: &Value,
) -> Result<Appended> {
    if !payload.is_object() {
        return Err(StorageError::Invalid(format!(
            "the payload of a `{kind}` entry must be a JSON object"
        )));
    }
    let payload_text = json::payload(payload)?;
    let (session, scope, index, head): (String, i64, u64, Option<Vec<u8>>) = connection
        .prepare_cached("SELECT id, scope, entries, head_hash FROM sessions WHERE number = ?1")?
        .query_row([number], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    let prev = match head {
        Some(head) => head,
        None => first_hash_before(connection)?,
    };
    let mut salt = [0_u8; 16];
    getrandom::fill(&mut salt).map_err(|error| {
        StorageError::Internal(format!("the system gave no random bytes: {error}"))
    })?;
    let payload_hash = form::payload_hash(&salt, &payload_text);
    let at = now();
    let hash = Header {
        session: &session,
        index,
        at,
        kind: kind.name(),
        payload_hash: &payload_hash,
        prev: &prev,
    }
    .hash();
    let row = connection
        .prepare_cached(
            "INSERT INTO entries (session, place, scope, at, kind, payload_hash, prev, hash, salt, payload)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             RETURNING number",
        )?
        .query_row(
            params![
                number, index, scope, at, kind.name(), payload_hash, prev, hash, salt, payload_text
            ],
            |row| row.get(0),
        )?;
    let turns = u32::from(*kind == Kind::TurnStarted);
    connection
        .prepare_cached(
            "UPDATE sessions SET entries = entries + 1, head_hash = ?2, turns = turns + ?3,
                    first_hash = coalesce(first_hash, ?2)
             WHERE number = ?1",
        )?
        .execute(params![number, hash, turns])?;
    if index == 0 {
        connection
            .prepare_cached(
                "INSERT INTO chain (one, sessions, newest, newest_first) VALUES (1, 1, ?1, ?2)
                 ON CONFLICT (one) DO UPDATE SET
                    sessions = sessions + 1, newest = excluded.newest, newest_first = excluded.newest_first",
            )?
            .execute(params![session, hash])?;
    }
    if matches!(kind, Kind::SandboxOpened | Kind::SandboxForked) {
        note_sandbox(connection, number, kind, payload)?;
    }
    Ok(Appended {
        number: row,
        entry: EntryRef {
            session,
            index,
            hash: Some(form::hexadecimal(&hash)),
        },
    })
}

/// The first hash of the newest session, which the next one links to.
fn first_hash_before(connection: &Connection) -> Result<Vec<u8>> {
    Ok(connection
        .prepare_cached("SELECT newest_first FROM chain")?
        .query_row([], |row| row.get(0))
        .optional()?
        .unwrap_or_else(|| form::GENESIS.to_vec()))
}

fn note_sandbox(connection: &Connection, number: i64, kind: &Kind, payload: &Value) -> Result<()> {
    let Some(sandbox) = payload["sandbox"].as_str() else {
        return Err(StorageError::Invalid(format!(
            "a `{kind}` entry names the new sandbox under `sandbox`"
        )));
    };
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO session_sandboxes (session, place, sandbox)
             SELECT ?1, count(*), ?2 FROM session_sandboxes WHERE session = ?1",
        )?
        .execute(params![number, sandbox])?;
    Ok(())
}
