//! Summaries: facts that stand for others, and the sources of all of them.

use keepsake_types::EntryRef;
use rusqlite::{Connection, OptionalExtension, params};

use super::facts::id_column;
use super::remember::Source;
use crate::Result;
use crate::scope::ScopeId;

/// How many facts a fact stands for; none where it is no summary.
pub(super) fn summary_of(connection: &Connection, fact: i64) -> Result<Option<u32>> {
    Ok(connection
        .prepare_cached("SELECT facts FROM summaries WHERE fact = ?1")?
        .query_row([fact], |row| row.get(0))
        .optional()?)
}

/// The sources of a summary besides the one in its row, in ascending order, so
/// that each session is read once.
pub(super) fn further_sources(
    connection: &Connection,
    fact: i64,
) -> Result<Vec<(EntryRef, ScopeId)>> {
    let mut statement = connection.prepare_cached(
        "SELECT session, place, hash, scope FROM fact_sources WHERE fact = ?1
         ORDER BY session, place",
    )?;
    let sources = statement.query_map([fact], |row| {
        let entry = EntryRef {
            session: row.get(0)?,
            index: row.get(1)?,
            hash: Some(crate::ledger::hexadecimal(&row.get::<_, Vec<u8>>(2)?)),
        };
        Ok((entry, row.get(3)?))
    })?;
    Ok(sources.collect::<rusqlite::Result<_>>()?)
}

/// The source in a fact's row.
pub(super) fn source(connection: &Connection, fact: i64) -> Result<Option<Source>> {
    Ok(connection
        .prepare_cached(
            "SELECT source_session, source_place, source_hash, coalesce(source_scope, number >> 32)
             FROM facts
             WHERE number = ?1 AND source_session IS NOT NULL",
        )?
        .query_row([fact], |row| {
            Ok(Source {
                session: row.get(0)?,
                index: row.get(1)?,
                hash: crate::ledger::hexadecimal(&row.get::<_, Vec<u8>>(2)?),
                scope: row.get(3)?,
            })
        })
        .optional()?)
}

/// Notes that `summary` stands for `originals`. Where it has a source, it takes
/// over the sources of all of them.
pub(super) fn note(connection: &Connection, summary: i64, originals: &[i64]) -> Result<()> {
    connection
        .prepare_cached("INSERT INTO summaries (fact, facts) VALUES (?1, ?2)")?
        .execute(params![summary, originals.len()])?;
    let mut take = connection.prepare_cached(
        "INSERT OR IGNORE INTO fact_sources (fact, session, place, hash, scope)
         SELECT s.number, o.source_session, o.source_place, o.source_hash,
            coalesce(o.source_scope, o.number >> 32)
         FROM facts o JOIN facts s ON s.number = ?1
         WHERE o.number = ?2 AND o.source_session IS NOT NULL AND s.source_session IS NOT NULL
            AND (o.source_session, o.source_place) IS NOT (s.source_session, s.source_place)",
    )?;
    for original in originals {
        take.execute([summary, *original])?;
    }
    Ok(())
}

/// The id of a fact and when it was last changed; none when it is gone.
pub(super) fn state(connection: &Connection, fact: i64) -> Result<Option<(String, i64)>> {
    Ok(connection
        .prepare_cached("SELECT id, updated_at FROM facts WHERE number = ?1")?
        .query_row([fact], |row| Ok((id_column(row, 0)?, row.get(1)?)))
        .optional()?)
}
