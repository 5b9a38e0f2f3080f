//! Verifying the whole ledger, and naming what is wrong with it.

mod report;

use rusqlite::{Connection, OptionalExtension};

use super::erase::Erasures;
use super::form;
use super::source::{Stored, beginning, owner_holds};
use crate::{Result, StorageError};

pub use report::{Fault, SessionHead, VerifyReport};

/// How many entries of a session are tried when one stands in a place that it
/// was not written for. Past this it is only said that it does not belong there.
const PLACES_TRIED: u64 = 4_096;

pub(super) fn verify(connection: &Connection, session: Option<&str>) -> Result<VerifyReport> {
    let mut report = VerifyReport {
        entries: 0,
        sessions: 0,
        intact: true,
        faults: Vec::new(),
        more_faults: false,
        heads: Vec::new(),
    };
    let sessions = sessions(connection)?;
    if let Some(id) = session {
        if let Some(place) = sessions.iter().position(|session| session.id == id) {
            let before = place.checked_sub(1).map(|place| &sessions[place]);
            let erasures = &mut Erasures::default();
            check_session(connection, &sessions[place], before, erasures, &mut report)?;
            if place + 1 == sessions.len() {
                check_newest(connection, &sessions, &mut report)?;
            }
        } else if newest(connection)?.is_some_and(|newest| newest.id == id) {
            report.fault(id, None, "this session, the newest, was removed".to_owned());
        } else {
            return Err(StorageError::NotFound(format!(
                "there is no session `{id}`: `host sessions` lists them"
            )));
        }
    } else {
        let mut before = None;
        let mut erasures = Erasures::default();
        for session in &sessions {
            check_session(connection, session, before, &mut erasures, &mut report)?;
            before = Some(session);
        }
        check_newest(connection, &sessions, &mut report)?;
        check_orphans(connection, &mut report)?;
    }
    report.intact = report.faults.is_empty();
    Ok(report)
}

/// A session's row.
struct SessionRow {
    number: i64,
    id: String,
    scope: i64,
    agent: String,
    entries: u64,
    first: Option<Vec<u8>>,
    head: Option<Vec<u8>>,
}

fn sessions(connection: &Connection) -> Result<Vec<SessionRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT number, id, scope, agent, entries, first_hash, head_hash FROM sessions ORDER BY number",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(SessionRow {
            number: row.get(0)?,
            id: row.get(1)?,
            scope: row.get(2)?,
            agent: row.get(3)?,
            entries: count(row.get(4)?),
            first: row.get(5)?,
            head: row.get(6)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn check_session(
    connection: &Connection,
    session: &SessionRow,
    before: Option<&SessionRow>,
    erasures: &mut Erasures,
    report: &mut VerifyReport,
) -> Result<()> {
    report.sessions += 1;
    let faults_before = report.faults.len();
    let id = session.id.as_str();
    if session.number != before.map_or(1, |before| before.number + 1) {
        report.fault(
            id,
            None,
            "a session that was created before this one was removed".to_owned(),
        );
    }
    let walk = walk(connection, session, erasures, report)?;
    if let Some(first) = &walk.first {
        let expected = before.map_or(Some(form::GENESIS.to_vec()), |before| before.first.clone());
        if expected.as_ref() != Some(&first.prev) {
            report.fault(
                id,
                Some(0),
                "it does not follow the session that was created before it: one of them was \
                 removed, inserted, exchanged or written anew"
                    .to_owned(),
            );
        }
        if session.first.as_ref() != Some(&first.hash) {
            report.fault(
                id,
                Some(0),
                "it is not the entry that this session began with".to_owned(),
            );
        }
    }
    if walk.next < session.entries {
        report.fault(
            id,
            Some(walk.next),
            missing(walk.next, session.entries - 1) + " at the end",
        );
    } else if walk.count > session.entries {
        report.fault(
            id,
            None,
            format!(
                "it was written with {} entries and now has {}: entries were inserted",
                session.entries, walk.count
            ),
        );
    }
    if !owner_holds(connection, session.number, session.scope)? {
        report.fault(
            id,
            None,
            "its resource or team is not the one that its first entry names".to_owned(),
        );
    }
    let first_payload = beginning(connection, session.number)?;
    if first_payload.is_some_and(|payload| payload["agent"].as_str() != Some(&session.agent)) {
        report.fault(
            id,
            None,
            "its agent is not the one that its first entry names".to_owned(),
        );
    }
    let head = walk.head.unwrap_or_default();
    if report.faults.len() == faults_before && session.head.as_ref() != Some(&head) {
        report.fault(
            id,
            session.entries.checked_sub(1),
            "it is not the entry that was written last".to_owned(),
        );
    }
    report.heads.push(SessionHead {
        session: session.id.clone(),
        entries: walk.count,
        hash: form::hexadecimal(&head),
    });
    Ok(())
}

/// What reading a session's entries found.
#[derive(Default)]
struct Walk {
    count: u64,
    /// The index after the last one.
    next: u64,
    first: Option<FirstEntry>,
    head: Option<Vec<u8>>,
}

struct FirstEntry {
    prev: Vec<u8>,
    hash: Vec<u8>,
}

fn walk(
    connection: &Connection,
    session: &SessionRow,
    erasures: &mut Erasures,
    report: &mut VerifyReport,
) -> Result<Walk> {
    let id = session.id.as_str();
    let mut walk = Walk::default();
    let mut statement = connection.prepare_cached(
        "SELECT place, at, kind, payload_hash, prev, hash, salt, payload, erased_by, scope
         FROM entries
         WHERE session = ?1 ORDER BY place",
    )?;
    let mut rows = statement.query([session.number])?;
    while let Some(row) = rows.next()? {
        report.entries += 1;
        walk.count += 1;
        let Some(stored) = Stored::from_row(row) else {
            report.fault(
                id,
                Some(walk.next),
                "it does not have the form of an entry".to_owned(),
            );
            walk.next += 1;
            walk.head = None;
            continue;
        };
        if stored.index > walk.next {
            report.fault(id, Some(walk.next), missing(walk.next, stored.index - 1));
            // Unknown, so that one gap is one fault.
            walk.head = None;
        }
        let fault = match entry_fault(&stored, session, walk.head.as_deref()) {
            None => stored
                .payload_fault(connection, id, erasures)?
                .map(str::to_owned),
            fault => fault,
        };
        if let Some(what) = fault {
            report.fault(id, Some(stored.index), what);
        } else if row.get::<_, i64>(9)? != session.scope {
            report.fault(
                id,
                Some(stored.index),
                "it was filed under another resource".to_owned(),
            );
        }
        if stored.index == 0 {
            walk.first = Some(FirstEntry {
                prev: stored.prev.to_vec(),
                hash: stored.hash.to_vec(),
            });
        }
        walk.next = stored.index + 1;
        walk.head = Some(stored.hash.to_vec());
    }
    Ok(walk)
}

/// What is wrong with one entry, its payload aside; the first thing that is.
fn entry_fault(stored: &Stored<'_>, session: &SessionRow, prev: Option<&[u8]>) -> Option<String> {
    if stored.computed_hash(&session.id, stored.index).as_slice() != stored.hash {
        let tried = session.entries.min(PLACES_TRIED);
        let written_as = (0..tried)
            .find(|index| stored.computed_hash(&session.id, *index).as_slice() == stored.hash);
        return Some(match written_as {
            Some(index) => format!("it was written as entry {index}: the order was changed"),
            None => {
                "its time, kind, payload hash or link was changed, or it was not written by this \
                     ledger"
                    .to_owned()
            }
        });
    }
    if prev.is_some_and(|prev| prev != stored.prev) {
        return Some(format!(
            "it does not follow entry {}: one of them was exchanged, inserted or written anew",
            stored.index.saturating_sub(1)
        ));
    }
    None
}

fn missing(from: u64, to: u64) -> String {
    if from == to {
        "it was removed".to_owned()
    } else {
        format!("entries {from} to {to} were removed")
    }
}

/// A count as the file has it. One below 0 was never written, and is as wrong as 0.
fn count(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

/// What the file says about its newest session.
struct Newest {
    sessions: u64,
    id: String,
    first: Vec<u8>,
}

fn newest(connection: &Connection) -> Result<Option<Newest>> {
    Ok(connection
        .prepare_cached("SELECT sessions, newest, newest_first FROM chain")?
        .query_row([], |row| {
            Ok(Newest {
                sessions: count(row.get(0)?),
                id: row.get(1)?,
                first: row.get(2)?,
            })
        })
        .optional()?)
}

fn check_newest(
    connection: &Connection,
    sessions: &[SessionRow],
    report: &mut VerifyReport,
) -> Result<()> {
    let last = sessions.last();
    let Some(newest) = newest(connection)? else {
        if let Some(last) = last {
            report.fault(
                &last.id,
                None,
                "the record of the newest session was removed".to_owned(),
            );
        }
        return Ok(());
    };
    if last.is_none_or(|last| last.id != newest.id) {
        report.fault(
            &newest.id,
            None,
            "this session, the newest, was removed".to_owned(),
        );
    } else if last.is_some_and(|last| last.first.as_ref() != Some(&newest.first)) {
        report.fault(
            &newest.id,
            Some(0),
            "it is not the entry that the newest session began with".to_owned(),
        );
    }
    if newest.sessions != sessions.len() as u64 {
        report.fault(
            &newest.id,
            None,
            format!(
                "{} sessions were created up to this one and {} are there",
                newest.sessions,
                sessions.len()
            ),
        );
    }
    Ok(())
}

/// Entries that are left of a session whose row was removed.
fn check_orphans(connection: &Connection, report: &mut VerifyReport) -> Result<()> {
    let mut statement = connection.prepare_cached(
        // The first entry names the session, unless it was tampered with too.
        "SELECT e.session, count(*), max(CASE WHEN e.place = 0 AND json_valid(e.payload)
                THEN CAST(json_extract(e.payload, '$.session') AS TEXT) END)
         FROM entries e LEFT JOIN sessions s ON s.number = e.session
         WHERE s.number IS NULL GROUP BY e.session ORDER BY e.session",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (number, entries): (i64, u64) = (row.get(0)?, row.get(1)?);
        let id: Option<String> = row.get(2)?;
        let id = id.unwrap_or_else(|| format!("number {number}"));
        report.fault(
            &id,
            None,
            format!("the session's record was removed, {entries} of its entries are left"),
        );
    }
    Ok(())
}
