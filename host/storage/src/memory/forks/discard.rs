//! Discarding a fork: it is erased as a resource is, but in the session that does
//! it, and its parent stays.

use keepsake_types::ResourceRef;
use serde_json::json;

use super::super::Change;
use super::super::erase::{Family, Holdings, nobody};
use crate::Result;
use crate::ledger::{self, Kind};

pub(super) fn discard(change: &Change<'_>, fork: &ResourceRef) -> Result<Holdings> {
    let connection = change.connection;
    super::existing(connection, fork)?;
    let family = Family::of(connection, fork)?;
    family.end_sessions(connection, "discarded")?;
    let entries = family.entries(connection)?;
    let discarded = family.holdings(connection, entries.len() as u64)?;
    let known_as = nobody();
    family.delete(connection, &known_as)?;
    change.record(
        &Kind::ForkDiscarded,
        json!({
            "fork": fork.fork,
            "facts": discarded.facts,
            "working-keys": discarded.working_keys,
            "sessions": discarded.sessions,
            "entries": discarded.entries,
        }),
    )?;
    ledger::erase_owner(connection, change.number, &entries, &known_as)?;
    Ok(discarded)
}
