//! Whether an entry can be trusted as the source of a fact.

use std::collections::HashMap;

use keepsake_types::EntryRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::erase::{self, Erasures};
use super::form::{self, Hash, Header};
use crate::Result;
use crate::scope::{self, Reach, ScopeId};

/// How far an entry can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceState {
    /// It exists, belongs to the scope, and the chain up to it is intact.
    Verified,
    /// It is not there.
    Dangling,
    /// It, or one before it, is not what was written.
    Tampered,
    /// It belongs to the memory of someone else.
    ForeignScope,
}

/// Checks entries, reading each session once however many of its entries are
/// asked about in ascending order. Use one for one transaction: it does not
/// see later changes.
#[derive(Default)]
pub(crate) struct Chains {
    sessions: HashMap<String, Chain>,
    erasures: Erasures,
}

/// How far a session was read.
enum Chain {
    Missing,
    Known(Known),
}

/// A session that is there.
struct Known {
    number: i64,
    id: String,
    scope: ScopeId,
    owner_holds: bool,
    /// The hashes of the entries that were read and are what was written.
    intact: Vec<Hash>,
    /// The entry after those is not.
    broken: bool,
}

impl Chains {
    /// The state of `entry` as a source within what one of `scopes` reaches.
    pub(crate) fn state(
        &mut self,
        connection: &Connection,
        entry: &EntryRef,
        scopes: &[Reach],
    ) -> Result<SourceState> {
        if !self.sessions.contains_key(&entry.session) {
            let chain = Chain::begin(connection, &entry.session)?;
            self.sessions.insert(entry.session.clone(), chain);
        }
        let Some(chain) = self.sessions.get_mut(&entry.session) else {
            return Ok(SourceState::Dangling);
        };
        chain.state(connection, entry, scopes, &mut self.erasures)
    }
}

impl Chain {
    fn begin(connection: &Connection, session: &str) -> Result<Self> {
        let found: Option<(i64, String, ScopeId)> = connection
            .prepare_cached("SELECT number, id, scope FROM sessions WHERE id = ?1")?
            .query_row([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((number, id, scope)) = found else {
            return Ok(Self::Missing);
        };
        Ok(Self::Known(Known {
            owner_holds: owner_holds(connection, number, scope)?,
            number,
            id,
            scope,
            intact: Vec::new(),
            broken: false,
        }))
    }

    fn state(
        &mut self,
        connection: &Connection,
        entry: &EntryRef,
        scopes: &[Reach],
        erasures: &mut Erasures,
    ) -> Result<SourceState> {
        let (Self::Known(session), Ok(place)) = (self, i64::try_from(entry.index)) else {
            return Ok(SourceState::Dangling);
        };
        let number: Option<i64> = connection
            .prepare_cached("SELECT number FROM entries WHERE session = ?1 AND place = ?2")?
            .query_row(params![session.number, place], |row| row.get(0))
            .optional()?;
        let Some(number) = number else {
            return Ok(SourceState::Dangling);
        };
        let reached = |reach: &Reach| reach.scope == session.scope && number <= reach.last_entry;
        if !scopes.iter().any(reached) {
            return Ok(SourceState::ForeignScope);
        }
        if !session.owner_holds {
            return Ok(SourceState::Tampered);
        }
        session.read_on(connection, place, erasures)?;
        let position = usize::try_from(entry.index).unwrap_or(usize::MAX);
        Ok(match session.intact.get(position) {
            Some(hash)
                if entry
                    .hash
                    .as_ref()
                    .is_none_or(|given| *given == form::hexadecimal(hash)) =>
            {
                SourceState::Verified
            }
            _ => SourceState::Tampered,
        })
    }
}

impl Known {
    /// Reads on from where the chain was left, up to `place` or the first entry
    /// that is not what was written.
    fn read_on(
        &mut self,
        connection: &Connection,
        place: i64,
        erasures: &mut Erasures,
    ) -> Result<()> {
        if self.broken || self.intact.len() as i64 > place {
            return Ok(());
        }
        let mut statement = connection.prepare_cached(
            "SELECT place, at, kind, payload_hash, prev, hash, salt, payload, erased_by FROM entries
             WHERE session = ?1 AND place BETWEEN ?2 AND ?3 ORDER BY place",
        )?;
        let mut rows = statement.query(params![self.number, self.intact.len() as i64, place])?;
        while let Some(row) = rows.next()? {
            let Some(hash) = self.next_hash(connection, row, erasures)? else {
                self.broken = true;
                return Ok(());
            };
            self.intact.push(hash);
        }
        Ok(())
    }

    /// The hash of the next entry, if it is what was written.
    fn next_hash(
        &self,
        connection: &Connection,
        row: &Row<'_>,
        erasures: &mut Erasures,
    ) -> Result<Option<Hash>> {
        let Some(stored) = Stored::from_row(row) else {
            return Ok(None);
        };
        let hash = stored.computed_hash(&self.id, stored.index);
        let follows = stored.index == self.intact.len() as u64
            && self.intact.last().is_none_or(|prev| stored.prev == prev)
            && hash.as_slice() == stored.hash;
        let holds = follows
            && stored
                .payload_fault(connection, &self.id, erasures)?
                .is_none();
        Ok(holds.then_some(hash))
    }
}

/// An entry as it lies in the file. Anything may have been done to it.
pub(super) struct Stored<'a> {
    pub(super) index: u64,
    pub(super) at: u64,
    pub(super) kind: &'a str,
    pub(super) payload_hash: &'a [u8],
    pub(super) prev: &'a [u8],
    pub(super) hash: &'a [u8],
    pub(super) salt: Option<&'a [u8]>,
    pub(super) payload: Option<&'a str>,
    pub(super) erased_by: Option<i64>,
}

impl<'a> Stored<'a> {
    /// Reads `place, at, kind, payload_hash, prev, hash, salt, payload,
    /// erased_by`; none when a column holds what was never written there.
    pub(super) fn from_row(row: &'a Row<'_>) -> Option<Self> {
        let column = |index: usize| row.get_ref(index).ok();
        Some(Self {
            index: u64::try_from(column(0)?.as_i64().ok()?).ok()?,
            at: u64::try_from(column(1)?.as_i64().ok()?).ok()?,
            kind: column(2)?.as_str().ok()?,
            payload_hash: column(3)?.as_blob().ok()?,
            prev: column(4)?.as_blob().ok()?,
            hash: column(5)?.as_blob().ok()?,
            salt: column(6)?.as_blob_or_null().ok()?,
            payload: column(7)?.as_str_or_null().ok()?,
            erased_by: column(8)?.as_i64_or_null().ok()?,
        })
    }

    /// What is wrong with the payload, of an entry of `session`. One that was
    /// erased with its salt is right, where an entry says so.
    pub(super) fn payload_fault(
        &self,
        connection: &Connection,
        session: &str,
        erasures: &mut Erasures,
    ) -> Result<Option<&'static str>> {
        Ok(match (self.salt, self.payload) {
            (Some(_), Some(_)) => (!self.payload_holds()).then_some("its payload was changed"),
            (None, None) => {
                (!erasures.on_record(connection, self.erased_by, session, self.index)?)
                    .then_some("its payload was removed, and no entry says that it was erased")
            }
            (Some(_), None) => Some("its payload was removed, and not by an erasure"),
            (None, Some(_)) => Some("its salt was removed"),
        })
    }

    /// Whether the payload is there and is the one that was hashed.
    pub(super) fn payload_holds(&self) -> bool {
        self.salt.zip(self.payload).is_some_and(|(salt, payload)| {
            form::payload_hash(salt, payload).as_slice() == self.payload_hash
        })
    }

    /// The hash it would have as entry `index` of `session`.
    pub(super) fn computed_hash(&self, session: &str, index: u64) -> Hash {
        Header {
            session,
            index,
            at: self.at,
            kind: self.kind,
            payload_hash: self.payload_hash,
            prev: self.prev,
        }
        .hash()
    }
}

/// Whether the session's row names the owner that its first entry names. The
/// entry is in the chain, the row is not. Of a resource that was erased, the entry
/// says that erased it; that it did is for the walk over the chain to check.
pub(super) fn owner_holds(connection: &Connection, number: i64, owner: ScopeId) -> Result<bool> {
    let Some(resource) = scope::resource(connection, owner)? else {
        return Ok(false);
    };
    let erased_by: Option<i64> = connection
        .prepare_cached(
            "SELECT erased_by FROM entries WHERE session = ?1 AND place = 0 AND payload IS NULL",
        )?
        .query_row([number], |row| row.get(0))
        .optional()?
        .flatten();
    if let Some(by) = erased_by {
        return Ok(erase::owner(connection, by)?.as_deref() == Some(&resource.resource));
    }
    Ok(beginning(connection, number)?.is_some_and(|payload| {
        payload["resource"].as_str() == Some(resource.resource.as_str())
            && payload["team"].as_str() == resource.team.as_deref()
            && payload["fork"].as_str() == resource.fork.as_deref()
    }))
}

/// What a session's first entry records; none where all of its resource's was
/// erased.
pub(crate) fn beginning(connection: &Connection, number: i64) -> Result<Option<Value>> {
    // As bytes, because what was tampered with need not even be UTF-8.
    let payload: Option<Option<Vec<u8>>> = connection
        .prepare_cached(
            "SELECT CAST(payload AS BLOB) FROM entries WHERE session = ?1 AND place = 0",
        )?
        .query_row([number], |row| row.get(0))
        .optional()?;
    Ok(payload
        .flatten()
        .and_then(|payload| serde_json::from_slice(&payload).ok()))
}

/// Members of a payload that hold what came out of something, as opposed to
/// what was put in.
const OUTPUTS: [&str; 6] = ["stdout", "stderr", "output", "text", "message", "reply"];

/// Whether `quote` occurs to the letter in what an entry's payload says came
/// out: in one of the texts under `stdout`, `stderr`, `output`, `text`,
/// `message` (a customer's) and `reply`.
pub(crate) fn output_holds(payload: &Value, quote: &str) -> bool {
    OUTPUTS.iter().any(|name| {
        payload[*name]
            .as_str()
            .is_some_and(|text| text.contains(quote))
    })
}
