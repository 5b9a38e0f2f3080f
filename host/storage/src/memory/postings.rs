//! The word index: which facts of a scope hold which word.
//!
//! A row is a segment: a scope, a word, and the facts that hold it, in ascending
//! order. A word's segments follow each other without overlapping. The key
//! begins with the scope, so that a recall reads nothing of other scopes; a
//! full-text table would keep one list for each word over all scopes, and its
//! statistics would let what other customers said move the scores.
//!
//! A segment's facts are triples of variable-length numbers, seven bits a byte,
//! the least significant first: the distance from the fact before (for the
//! first, from the segment's own number), how often the fact holds the word, and
//! how many words the fact has in all. With the length at hand, ranking reads no
//! row of a fact that does not reach the top.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, params};

use super::words::{self, Words};
use crate::scope::{self, ScopeId};
use crate::{Result, StorageError};

/// Bytes of a segment that is still added to. A larger one would make each
/// remembered fact rewrite more, a smaller one would make more rows.
const OPEN_SEGMENT_BYTES: usize = 512;

/// That a fact holds a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posting {
    /// The fact's number.
    pub(super) fact: i64,
    /// How often it holds the word.
    pub(super) times: u32,
    /// How many words it has in all.
    pub(super) length: u32,
}

/// Enters a fact's words. Facts are entered in ascending order of their
/// numbers. Answers how many words the fact has.
pub(super) fn enter(
    connection: &Connection,
    scope: ScopeId,
    fact: i64,
    content: &str,
) -> Result<u64> {
    let mut batch = Batch::default();
    let length = batch.add(fact, content);
    batch.enter(connection, scope)?;
    Ok(length)
}

/// Words of several facts, entered together: a word that many of them hold
/// costs one row.
#[derive(Default)]
pub(super) struct Batch {
    words: BTreeMap<String, Vec<Posting>>,
}

impl Batch {
    /// Adds a fact, whose number is larger than those added before. Answers how
    /// many words it has.
    pub(super) fn add(&mut self, fact: i64, content: &str) -> u64 {
        let words = words::words(content);
        let length = length(&words);
        for (word, times) in words {
            self.words.entry(word).or_default().push(Posting {
                fact,
                times,
                length,
            });
        }
        length.into()
    }

    /// Enters all that was added.
    pub(super) fn enter(self, connection: &Connection, scope: ScopeId) -> Result<()> {
        let mut last = connection.prepare_cached(
            "SELECT first, facts FROM postings WHERE scope = ?1 AND word = ?2
             ORDER BY first DESC LIMIT 1",
        )?;
        let mut put = connection.prepare_cached(
            "INSERT INTO postings (scope, word, first, facts) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET facts = excluded.facts",
        )?;
        for (word, mut postings) in self.words {
            let open: Option<(i64, Vec<u8>)> = last
                .query_row(params![scope, word], |row| {
                    let bytes = row.get_ref(1)?.as_blob()?;
                    let open = (bytes.len() < OPEN_SEGMENT_BYTES).then(|| bytes.to_vec());
                    Ok((row.get(0)?, open))
                })
                .optional()?
                .and_then(|(first, open)| open.map(|open| (first, open)));
            if let Some((first, bytes)) = open {
                let mut known = decode(scope, first, &bytes)?;
                known.append(&mut postings);
                postings = known;
            }
            for segment in segments(&postings) {
                let (first, bytes) = encode(scope, segment);
                put.execute(params![scope, word, first, bytes])?;
            }
        }
        Ok(())
    }
}

/// Takes a fact's words out again.
pub(super) fn remove(
    connection: &Connection,
    scope: ScopeId,
    fact: i64,
    content: &str,
) -> Result<()> {
    let mut find = connection.prepare_cached(
        "SELECT first, facts FROM postings WHERE scope = ?1 AND word = ?2 AND first <= ?3
         ORDER BY first DESC LIMIT 1",
    )?;
    let mut take = connection
        .prepare_cached("DELETE FROM postings WHERE scope = ?1 AND word = ?2 AND first = ?3")?;
    let mut put = connection.prepare_cached(
        "INSERT INTO postings (scope, word, first, facts) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for word in words::words(content).keys() {
        let segment: Option<(i64, Vec<u8>)> = find
            .query_row(params![scope, word, local(scope, fact)], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        let Some((first, bytes)) = segment else {
            continue;
        };
        let mut postings = decode(scope, first, &bytes)?;
        postings.retain(|posting| posting.fact != fact);
        take.execute(params![scope, word, first])?;
        if !postings.is_empty() {
            let (first, bytes) = encode(scope, &postings);
            put.execute(params![scope, word, first, bytes])?;
        }
    }
    Ok(())
}

/// The facts that hold a word, in ascending order.
pub(crate) fn read(connection: &Connection, scope: ScopeId, word: &str) -> Result<Vec<Posting>> {
    let mut statement = connection.prepare_cached(
        "SELECT first, facts FROM postings WHERE scope = ?1 AND word = ?2 ORDER BY first",
    )?;
    let mut rows = statement.query(params![scope, word])?;
    let mut postings = Vec::new();
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        decode_into(&mut postings, scope, row.get(0)?, bytes)?;
    }
    Ok(postings)
}

/// The newest facts that hold a word, some hundreds at the most.
pub(super) fn newest(connection: &Connection, scope: ScopeId, word: &str) -> Result<Vec<Posting>> {
    let mut statement = connection.prepare_cached(
        "SELECT first, facts FROM postings WHERE scope = ?1 AND word = ?2
         ORDER BY first DESC LIMIT 2",
    )?;
    let mut rows = statement.query(params![scope, word])?;
    let mut postings = Vec::new();
    if let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        decode_into(&mut postings, scope, row.get(0)?, bytes)?;
    }
    Ok(postings)
}

/// The facts that hold a word with this beginning, in ascending order, each
/// with the times of all such words together.
pub(super) fn read_prefix(
    connection: &Connection,
    scope: ScopeId,
    prefix: &str,
) -> Result<Vec<Posting>> {
    let mut statement = connection.prepare_cached(
        "SELECT first, facts FROM postings WHERE scope = ?1 AND word >= ?2 AND word < ?3",
    )?;
    let mut rows = statement.query(params![scope, prefix, format!("{prefix}\u{10ffff}")])?;
    let mut postings = Vec::new();
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        decode_into(&mut postings, scope, row.get(0)?, bytes)?;
    }
    postings.sort_by_key(|posting| posting.fact);
    postings.dedup_by(|later, earlier| {
        let same = later.fact == earlier.fact;
        if same {
            earlier.times = earlier.times.saturating_add(later.times);
        }
        same
    });
    Ok(postings)
}

/// Makes the index anew from the facts' texts.
pub(crate) fn rebuild(connection: &Connection) -> Result<()> {
    connection.execute("DELETE FROM postings", [])?;
    let mut facts = connection.prepare("SELECT number, content FROM facts ORDER BY number")?;
    let mut set_length = connection.prepare("UPDATE facts SET words = ?2 WHERE number = ?1")?;
    let mut rows = facts.query([])?;
    let mut batch = Batch::default();
    let (mut current, mut held) = (None, 0);
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let scope = scope::of_fact(number);
        if current.is_some_and(|current| current != scope) || held == REBUILT_AT_ONCE {
            if let Some(current) = current {
                std::mem::take(&mut batch).enter(connection, current)?;
            }
            held = 0;
        }
        current = Some(scope);
        held += 1;
        let length = batch.add(
            number,
            row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?,
        );
        set_length.execute(params![number, length])?;
    }
    if let Some(current) = current {
        batch.enter(connection, current)?;
    }
    connection.execute(
        "UPDATE scopes SET words = coalesce((SELECT sum(f.words) FROM facts f
            WHERE f.number BETWEEN (scopes.id << 32) AND ((scopes.id << 32) | 4294967295)), 0)",
        [],
    )?;
    Ok(())
}

/// Where the index, the facts and the counts of a scope say different things;
/// at most 100 lines.
pub(crate) fn disagreements(connection: &Connection) -> Result<Vec<String>> {
    let mut held: HashMap<i64, u64> = HashMap::new();
    let mut segments = connection.prepare("SELECT scope, first, facts FROM postings")?;
    let mut rows = segments.query([])?;
    let mut postings = Vec::new();
    while let Some(row) = rows.next()? {
        postings.clear();
        let bytes = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        if decode_into(&mut postings, row.get(0)?, row.get(1)?, bytes).is_err() {
            return Ok(vec!["a part of the word index cannot be read".to_owned()]);
        }
        for posting in &postings {
            *held.entry(posting.fact).or_default() += u64::from(posting.times);
        }
    }
    let mut lines = Vec::new();
    let mut counted: HashMap<ScopeId, (u64, u64)> = HashMap::new();
    let mut facts = connection.prepare("SELECT number, words FROM facts")?;
    let mut rows = facts.query([])?;
    while let Some(row) = rows.next()? {
        let (number, words): (i64, u64) = (row.get(0)?, row.get(1)?);
        let found = held.remove(&number).unwrap_or(0);
        if found != words {
            lines.push(format!(
                "the word index holds {found} words of fact {number}, which has {words}"
            ));
        }
        let counts = counted.entry(scope::of_fact(number)).or_default();
        *counts = (counts.0 + 1, counts.1 + words);
    }
    if !held.is_empty() {
        let count = held.len();
        lines.push(format!(
            "the word index holds words of {count} facts that are not there"
        ));
    }
    let mut scopes = connection.prepare("SELECT id, facts, words FROM scopes")?;
    let mut rows = scopes.query([])?;
    while let Some(row) = rows.next()? {
        let (scope, known): (ScopeId, (u64, u64)) = (row.get(0)?, (row.get(1)?, row.get(2)?));
        let found = counted.remove(&scope).unwrap_or_default();
        if found != known {
            lines.push(format!(
                "scope {scope} counts {} facts with {} words and has {} with {}",
                known.0, known.1, found.0, found.1
            ));
        }
    }
    lines.truncate(100);
    Ok(lines)
}

/// Facts whose words are held in memory at once while the index is made anew.
const REBUILT_AT_ONCE: usize = 10_000;

fn length(words: &Words) -> u32 {
    words
        .values()
        .fold(0, |length: u32, times| length.saturating_add(*times))
}

/// A fact's number within its scope.
fn local(scope: ScopeId, fact: i64) -> i64 {
    fact - scope::fact_range(scope).0
}

/// Cuts postings into segments, the last of which may be added to later.
fn segments(postings: &[Posting]) -> impl Iterator<Item = &[Posting]> {
    // A triple has about four bytes; a bound on triples is one on bytes.
    postings.chunks(OPEN_SEGMENT_BYTES / 2)
}

fn encode(scope: ScopeId, postings: &[Posting]) -> (i64, Vec<u8>) {
    let first = postings.first().map_or(0, |first| local(scope, first.fact));
    let mut bytes = Vec::with_capacity(postings.len() * 4);
    let mut before = first;
    for posting in postings {
        let place = local(scope, posting.fact);
        push(&mut bytes, place.abs_diff(before));
        push(&mut bytes, posting.times.into());
        push(&mut bytes, posting.length.into());
        before = place;
    }
    (first, bytes)
}

fn decode(scope: ScopeId, first: i64, bytes: &[u8]) -> Result<Vec<Posting>> {
    let mut postings = Vec::new();
    decode_into(&mut postings, scope, first, bytes)?;
    Ok(postings)
}

fn decode_into(
    postings: &mut Vec<Posting>,
    scope: ScopeId,
    first: i64,
    mut bytes: &[u8],
) -> Result<()> {
    let (from, to) = scope::fact_range(scope);
    let mut fact = from.saturating_add(first);
    while !bytes.is_empty() {
        let posting = (|| {
            let distance = i64::try_from(take(&mut bytes)?).ok()?;
            fact = fact.checked_add(distance).filter(|fact| *fact <= to)?;
            Some(Posting {
                fact,
                times: u32::try_from(take(&mut bytes)?).ok()?,
                length: u32::try_from(take(&mut bytes)?).ok()?,
            })
        })();
        postings.push(posting.ok_or_else(|| {
            StorageError::Invalid(
                "the word index of the database was changed by another program: restore a backup"
                    .to_owned(),
            )
        })?);
    }
    Ok(())
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: ScopeId = 7;

    fn index() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE postings (scope INTEGER, word TEXT, first INTEGER, facts BLOB,
                    PRIMARY KEY (scope, word, first)) STRICT, WITHOUT ROWID",
            )
            .unwrap();
        connection
    }

    fn fact(place: i64) -> i64 {
        scope::fact_range(SCOPE).0 + place
    }

    fn held(connection: &Connection, word: &str) -> Vec<i64> {
        let postings = read(connection, SCOPE, word).unwrap();
        postings
            .iter()
            .map(|posting| local(SCOPE, posting.fact))
            .collect()
    }

    fn rows(connection: &Connection) -> usize {
        connection
            .query_row("SELECT count(*) FROM postings", [], |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn what_was_entered_is_read_one_by_one_or_together() {
        let places = [1, 2, 130, 20_000, 4_000_000_000];
        let (single, together) = (index(), index());
        let mut batch = Batch::default();
        for place in places {
            enter(&single, SCOPE, fact(place), "plan plan pro").unwrap();
            batch.add(fact(place), "plan plan pro");
        }
        batch.enter(&together, SCOPE).unwrap();
        for connection in [&single, &together] {
            let postings = read(connection, SCOPE, "plan").unwrap();
            assert!(postings.iter().all(|one| (one.times, one.length) == (2, 3)));
            assert_eq!(held(connection, "plan"), places);
            assert!(read(connection, SCOPE + 1, "plan").unwrap().is_empty());
        }
    }

    #[test]
    fn a_common_word_takes_few_rows_and_loses_no_fact() {
        let connection = index();
        for place in 1..=2_000 {
            enter(&connection, SCOPE, fact(place), "plan").unwrap();
        }
        assert_eq!(held(&connection, "plan"), (1..=2_000).collect::<Vec<_>>());
        assert!(rows(&connection) < 20, "{} rows", rows(&connection));
    }

    #[test]
    fn a_fact_that_is_removed_is_removed_from_whichever_segment_holds_it() {
        let connection = index();
        for place in 1..=2_000 {
            enter(&connection, SCOPE, fact(place), "plan").unwrap();
        }
        for place in (1..=2_000).filter(|place| place % 3 != 0) {
            remove(&connection, SCOPE, fact(place), "plan").unwrap();
        }
        assert_eq!(
            held(&connection, "plan"),
            (1..=2_000)
                .filter(|place| place % 3 == 0)
                .collect::<Vec<_>>()
        );
        for place in (3..=2_000).step_by(3) {
            remove(&connection, SCOPE, fact(place), "plan").unwrap();
        }
        assert_eq!(rows(&connection), 0);
    }

    #[test]
    fn a_beginning_finds_each_fact_once() {
        let connection = index();
        enter(&connection, SCOPE, fact(1), "invoice invoicing invitation").unwrap();
        enter(&connection, SCOPE, fact(2), "inventory").unwrap();
        let found = read_prefix(&connection, SCOPE, "inv").unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].times, 3);
        assert!(read_prefix(&connection, SCOPE, "x").unwrap().is_empty());
    }

    #[test]
    fn a_segment_that_was_tampered_with_is_an_error_and_not_a_panic() {
        for bytes in [
            &[0x80][..],
            &[0x01],
            &[0x01, 0x01],
            &[0xff; 12],
            &[0xff, 0xff, 0xff, 0xff, 0x7f, 1, 1],
        ] {
            assert!(decode(SCOPE, 1, bytes).is_err(), "{bytes:?}");
        }
    }
}
