//! Erasing payloads, so that a later entry says so: a payload that is gone
//! without one was not erased but removed.

use std::collections::{HashMap, HashSet};

use keepsake_types::limits;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::source::Stored;
use super::{Kind, append};
use crate::Result;

/// Erasing entries whose lists are kept at once. They are asked for in an
/// order in which the same one comes many times in a row.
const LISTS: usize = 16;

/// An entry as an erasing entry names it.
#[derive(Serialize, Deserialize, PartialEq, Eq, Hash)]
struct Erased {
    session: String,
    index: u64,
}

/// Erases the payloads of entries, given by their numbers in the file, and
/// records it in a session. What was erased before is passed over.
pub(crate) fn erase(connection: &Connection, session: i64, entries: &[i64]) -> Result<()> {
    erase_all(connection, session, entries, None)
}

/// As [`erase`], for the entries of a resource that is named `owner` from now on.
/// Their sessions' first entries cannot say any more whose they are; these do.
pub(crate) fn erase_owner(
    connection: &Connection,
    session: i64,
    entries: &[i64],
    owner: &str,
) -> Result<()> {
    erase_all(connection, session, entries, Some(owner))
}

fn erase_all(
    connection: &Connection,
    session: i64,
    entries: &[i64],
    owner: Option<&str>,
) -> Result<()> {
    let mut find = connection.prepare_cached(
        "SELECT s.id, e.place FROM entries e JOIN sessions s ON s.number = e.session
         WHERE e.number = ?1 AND e.payload IS NOT NULL",
    )?;
    let mut erase = connection.prepare_cached(
        "UPDATE entries SET salt = NULL, payload = NULL, erased_by = ?2
         WHERE number = ?1 AND payload IS NOT NULL",
    )?;
    // One entry may speak of several facts.
    let mut entries = entries.to_vec();
    entries.sort_unstable();
    entries.dedup();
    for entries in entries.chunks(limits::ERASED_ENTRIES) {
        let mut erased: Vec<Erased> = Vec::with_capacity(entries.len());
        for entry in entries {
            let found = find.query_row([entry], |row| {
                Ok(Erased {
                    session: row.get(0)?,
                    index: row.get(1)?,
                })
            });
            erased.extend(found.optional()?);
        }
        if erased.is_empty() {
            continue;
        }
        let mut payload = json!({ "entries": erased });
        if let Some(owner) = owner {
            payload["owner"] = json!(owner);
        }
        let by = append(connection, session, &Kind::PayloadErased, &payload)?.number;
        for entry in entries {
            erase.execute(params![entry, by])?;
        }
    }
    Ok(())
}

/// Knows which erasures are on record. Use one for one transaction.
#[derive(Default)]
pub(super) struct Erasures {
    lists: HashMap<i64, List>,
}

impl Erasures {
    /// Whether the entry with number `by` is what was written and says that
    /// entry `index` of `session` was erased.
    pub(super) fn on_record(
        &mut self,
        connection: &Connection,
        by: Option<i64>,
        session: &str,
        index: u64,
    ) -> Result<bool> {
        let Some(by) = by else { return Ok(false) };
        if !self.lists.contains_key(&by) {
            if self.lists.len() >= LISTS {
                self.lists.clear();
            }
            self.lists.insert(by, list(connection, by)?);
        }
        let wanted = Erased {
            session: session.to_owned(),
            index,
        };
        Ok(self
            .lists
            .get(&by)
            .is_some_and(|list| list.entries.contains(&wanted)))
    }
}

/// Whose entries an erasing entry erased, where it is what was written and erased
/// all of a resource's.
pub(super) fn owner(connection: &Connection, by: i64) -> Result<Option<String>> {
    Ok(list(connection, by)?.owner)
}

/// What an entry says was erased; nothing when it is not what was written.
/// Its place in its chain is for the verification of its own session to check.
fn list(connection: &Connection, number: i64) -> Result<List> {
    let mut statement = connection.prepare_cached(
        "SELECT e.place, e.at, e.kind, e.payload_hash, e.prev, e.hash, e.salt, e.payload,
                e.erased_by, s.id
         FROM entries e JOIN sessions s ON s.number = e.session WHERE e.number = ?1",
    )?;
    let mut rows = statement.query([number])?;
    let Some(row) = rows.next()? else {
        return Ok(List::default());
    };
    let session: String = row.get(9)?;
    Ok(Stored::from_row(row)
        .filter(|stored| stored.kind == Kind::PayloadErased.name())
        .filter(|stored| stored.computed_hash(&session, stored.index).as_slice() == stored.hash)
        .filter(Stored::payload_holds)
        .and_then(|stored| stored.payload)
        .and_then(|payload| serde_json::from_str(payload).ok())
        .unwrap_or_default())
}

#[derive(Default, Deserialize)]
struct List {
    entries: HashSet<Erased>,
    #[serde(default)]
    owner: Option<String>,
}
