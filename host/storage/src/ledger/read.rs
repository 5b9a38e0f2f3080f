//! Reading entries.

use keepsake_types::EntryRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Entry, EntryPage, Kind, form};
use crate::{Result, StorageError, json};

/// What [`entry_from_row`] reads, of `entries e` joined with `sessions s`.
pub(crate) const ENTRY_COLUMNS: &str = "s.id, e.place, e.at, e.kind, e.payload, e.hash, e.prev";

/// An entry whose payload is still text.
pub(crate) fn entry_from_row(row: &Row<'_>) -> Result<Entry> {
    let session: String = row.get(0)?;
    let index: u64 = row.get(1)?;
    let payload: Option<String> = row.get(4)?;
    let payload = payload
        .map(|text| {
            json::stored(
                &text,
                &format!("the payload of entry {index} of session `{session}`"),
            )
        })
        .transpose()?;
    Ok(Entry {
        session,
        index,
        at: row.get(2)?,
        kind: Kind::from_name(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?),
        payload,
        hash: form::hexadecimal(row.get_ref(5)?.as_blob().map_err(rusqlite::Error::from)?),
        prev: form::hexadecimal(row.get_ref(6)?.as_blob().map_err(rusqlite::Error::from)?),
    })
}

pub(super) fn page(
    connection: &Connection,
    session: &str,
    after: Option<u64>,
    limit: usize,
) -> Result<EntryPage> {
    let number: Option<i64> = connection
        .prepare_cached("SELECT number FROM sessions WHERE id = ?1")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    let Some(number) = number else {
        return Err(StorageError::NotFound(format!(
            "there is no session `{session}`: `host sessions` lists them"
        )));
    };
    let from = after.map_or(0, |index| index.saturating_add(1));
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {ENTRY_COLUMNS} FROM entries e JOIN sessions s ON s.number = e.session
         WHERE e.session = ?1 AND e.place >= ?2 ORDER BY e.place LIMIT ?3"
    ))?;
    // An index past what SQLite counts to is past the end as well.
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![number, from, limit + 1])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        if entries.len() == limit {
            let next = entries.last().map(|entry: &Entry| entry.index);
            return Ok(EntryPage { entries, next });
        }
        entries.push(entry_from_row(row)?);
    }
    Ok(EntryPage {
        entries,
        next: None,
    })
}

pub(crate) fn one(connection: &Connection, entry: &EntryRef) -> Result<Option<Entry>> {
    let Ok(index) = i64::try_from(entry.index) else {
        return Ok(None);
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {ENTRY_COLUMNS} FROM entries e JOIN sessions s ON s.number = e.session
         WHERE s.id = ?1 AND e.place = ?2"
    ))?;
    let mut rows = statement.query(params![entry.session, index])?;
    let found = rows.next()?.map(entry_from_row).transpose()?;
    Ok(found.filter(|found| entry.hash.as_ref().is_none_or(|hash| *hash == found.hash)))
}
