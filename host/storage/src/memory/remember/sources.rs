//! Whether the entries that facts name as their sources are what they claim.

use keepsake_types::EntryRef;
use rusqlite::Connection;

use super::super::Change;
use crate::ledger::{self, Chains, SourceState};
use crate::scope::{self, Reach, ScopeId};
use crate::{Result, StorageError};

/// A source that was found to be what it claims, with its hash.
pub(in super::super) struct Source {
    pub(in super::super) session: String,
    pub(in super::super) index: u64,
    pub(in super::super) hash: String,
    pub(in super::super) scope: ScopeId,
}

/// Checks the source and the quote of each fact, entry by entry, so that each is read once
/// however many facts it has and in whatever order they come.
pub(super) fn check_sources<'f>(
    change: &Change<'_>,
    claims: impl Iterator<Item = (Option<&'f EntryRef>, Option<&'f str>)>,
) -> Result<Vec<Option<Source>>> {
    let claims: Vec<_> = claims.collect();
    let mut sources: Vec<Option<Source>> = claims.iter().map(|_| None).collect();
    let mut order: Vec<(&EntryRef, usize)> = claims
        .iter()
        .enumerate()
        .filter_map(|(place, (source, _))| source.map(|source| (source, place)))
        .collect();
    order.sort_by(|(left, _), (right, _)| {
        (&left.session, left.index).cmp(&(&right.session, right.index))
    });
    let lineage = scope::lineage(change.connection, change.scope)?;
    let mut chains = Chains::default();
    let mut read: Option<ledger::Entry> = None;
    for (source, place) in order {
        let refused = |why: &str| {
            StorageError::Invalid(format!(
                "entry {} of session `{}` cannot be the source of fact {}: {why}; nothing was remembered",
                source.index,
                source.session.escape_default(),
                place + 1
            ))
        };
        let own = source.session == change.session.id;
        // A session may learn for its team's memory, or for a fork of its own, from
        // what it did itself.
        let of_session = [Reach::whole(change.session.session_scope)];
        let reach = if own { &of_session[..] } else { &lineage[..] };
        match chains.state(change.connection, source, reach)? {
            SourceState::Verified => {}
            // The same words, so that nothing is said about other memories.
            SourceState::Dangling | SourceState::ForeignScope => {
                return Err(refused("this memory has no such entry"));
            }
            SourceState::Tampered => {
                return Err(refused(
                    "it, or an entry before it, is not what was written",
                ));
            }
        }
        if !read
            .as_ref()
            .is_some_and(|entry| entry.session == source.session && entry.index == source.index)
        {
            read = ledger::one(change.connection, source)?;
        }
        let entry = read
            .as_ref()
            .ok_or_else(|| refused("this memory has no such entry"))?;
        if let Some(quote) = claims[place].1 {
            let Some(payload) = &entry.payload else {
                return Err(refused(
                    "its content was erased, so the quote cannot be checked",
                ));
            };
            if !ledger::output_holds(payload, quote) {
                return Err(refused("the quote does not occur in its output"));
            }
        }
        sources[place] = Some(Source {
            session: entry.session.clone(),
            index: entry.index,
            hash: entry.hash.clone(),
            scope: owner(change.connection, &entry.session)?,
        });
    }
    Ok(sources)
}

/// The scope of a session that is there.
fn owner(connection: &Connection, session: &str) -> Result<ScopeId> {
    Ok(connection
        .prepare_cached("SELECT scope FROM sessions WHERE id = ?1")?
        .query_row([session], |row| row.get(0))?)
}
