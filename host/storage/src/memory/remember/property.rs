//! Properties: what some facts give values of, a subject and an attribute.
//! Blanks were made even when they were stored; case does not count.

use keepsake_types::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::super::Change;
use crate::Result;
use crate::scope::{self, ScopeId};

/// Spellings of a name that differ in the case of its letters. SQLite's `NOCASE`
/// folds those of ASCII, so that four stand for all that are written: as given,
/// small, in capitals, and with a capital first.
type Spellings = [String; 4];

/// A subject and an attribute.
#[derive(Clone, Debug)]
pub(in crate::memory) struct Property {
    subject: Spellings,
    attribute: Spellings,
}

/// What picks a property's facts of one scope, with parameters 1 to 10.
macro_rules! of_property {
    () => {
        "subject IS NOT NULL
            AND subject COLLATE NOCASE IN (?1, ?2, ?3, ?4)
            AND attribute COLLATE NOCASE IN (?5, ?6, ?7, ?8) AND number BETWEEN ?9 AND ?10"
    };
}

/// A value of a property, as it stands.
pub(super) struct Value {
    pub(super) number: i64,
    pub(super) id: Uuid,
    pub(super) valid_from: i64,
    pub(super) content: String,
}

impl Property {
    pub(super) fn new(subject: &str, attribute: &str) -> Self {
        Self {
            subject: spellings(subject),
            attribute: spellings(attribute),
        }
    }

    pub(in crate::memory) fn of(
        subject: Option<&String>,
        attribute: Option<&String>,
    ) -> Option<Self> {
        Some(Self::new(subject?, attribute?))
    }

    /// Whether both name the same.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.subject[1] == other.subject[1] && self.attribute[1] == other.attribute[1]
    }

    /// What its names are, for leaving them out of a value.
    pub(super) fn names(&self) -> [&str; 2] {
        [&self.subject[0], &self.attribute[0]]
    }

    /// The values that hold at `now` or later and touch the time from `since`
    /// to `until`, in one place of a thread.
    pub(super) fn values(
        &self,
        change: &Change<'_>,
        place: (Option<&String>, Option<u32>),
        time: (i64, Option<i64>),
        now: Timestamp,
    ) -> Result<Vec<Value>> {
        let (from, to) = scope::fact_range(change.scope);
        let mut statement = change.connection.prepare_cached(concat!(
            "SELECT number, id, valid_from, content FROM facts WHERE ",
            of_property!(),
            " AND thread IS ?11 AND position IS ?12
              AND (valid_until IS NULL OR valid_until > ?13 AND valid_until >= ?14)
              AND (?15 IS NULL OR valid_from <= ?15)
              ORDER BY number"
        ))?;
        let [s1, s2, s3, s4] = &self.subject;
        let [a1, a2, a3, a4] = &self.attribute;
        let values = statement.query_map(
            params![
                s1, s2, s3, s4, a1, a2, a3, a4, from, to, place.0, place.1, now, time.0, time.1
            ],
            |row| {
                Ok(Value {
                    number: row.get(0)?,
                    id: Uuid::from_bytes(row.get(1)?),
                    valid_from: row.get(2)?,
                    content: row.get(3)?,
                })
            },
        )?;
        Ok(values.collect::<rusqlite::Result<_>>()?)
    }

    /// Whether a scope has a value that holds at `at`.
    pub(in crate::memory) fn has_value(
        &self,
        connection: &Connection,
        scope: ScopeId,
        at: i64,
    ) -> Result<bool> {
        let (from, to) = scope::fact_range(scope);
        let [s1, s2, s3, s4] = &self.subject;
        let [a1, a2, a3, a4] = &self.attribute;
        Ok(connection
            .prepare_cached(concat!(
                "SELECT 1 FROM facts WHERE ",
                of_property!(),
                " AND valid_from <= ?11 AND (valid_until IS NULL OR valid_until > ?11)"
            ))?
            .exists(params![s1, s2, s3, s4, a1, a2, a3, a4, from, to, at])?)
    }

    /// The values that hold at some time from `since` until before `until`.
    pub(in crate::memory) fn holding(
        &self,
        connection: &Connection,
        scope: ScopeId,
        since: i64,
        until: Option<i64>,
    ) -> Result<Vec<i64>> {
        let (from, to) = scope::fact_range(scope);
        let mut statement = connection.prepare_cached(concat!(
            "SELECT number FROM facts WHERE ",
            of_property!(),
            " AND (valid_until IS NULL OR valid_until > ?11 AND valid_until > valid_from)
              AND (?12 IS NULL OR valid_from < ?12)
              ORDER BY number"
        ))?;
        let [s1, s2, s3, s4] = &self.subject;
        let [a1, a2, a3, a4] = &self.attribute;
        let numbers = statement.query_map(
            params![s1, s2, s3, s4, a1, a2, a3, a4, from, to, since, until],
            |row| row.get(0),
        )?;
        Ok(numbers.collect::<rusqlite::Result<_>>()?)
    }

    /// Whether another value begins to hold after `since` and before `until`.
    pub(super) fn begins_between(
        &self,
        change: &Change<'_>,
        number: i64,
        since: i64,
        until: i64,
    ) -> Result<bool> {
        let (from, to) = scope::fact_range(change.scope);
        let [s1, s2, s3, s4] = &self.subject;
        let [a1, a2, a3, a4] = &self.attribute;
        Ok(change
            .connection
            .prepare_cached(concat!(
                "SELECT 1 FROM facts WHERE ",
                of_property!(),
                " AND number <> ?11 AND valid_from > ?12 AND valid_from < ?13
                  AND (valid_until IS NULL OR valid_until > valid_from)"
            ))?
            .exists(params![
                s1, s2, s3, s4, a1, a2, a3, a4, from, to, number, since, until
            ])?)
    }

    /// The latest time since which a value holds that was learned, by its
    /// clock, after `now`; a value that was planned for later is none.
    pub(super) fn learned_after(&self, change: &Change<'_>, now: i64) -> Result<Option<i64>> {
        let (from, to) = scope::fact_range(change.scope);
        let [s1, s2, s3, s4] = &self.subject;
        let [a1, a2, a3, a4] = &self.attribute;
        Ok(change
            .connection
            .prepare_cached(concat!(
                "SELECT max(valid_from) FROM facts WHERE ",
                of_property!(),
                " AND valid_from > ?11 AND valid_from <= created_at"
            ))?
            .query_row(
                params![s1, s2, s3, s4, a1, a2, a3, a4, from, to, now],
                |row| row.get(0),
            )?)
    }

    /// Ends the values that hold at `since`, those too that a later value was
    /// to end. Answers which.
    pub(super) fn end_before(
        &self,
        change: &Change<'_>,
        number: i64,
        id: Uuid,
        since: i64,
        now: Timestamp,
    ) -> Result<Vec<Uuid>> {
        let (from, to) = scope::fact_range(change.scope);
        let [s1, s2, s3, s4] = &self.subject;
        let [a1, a2, a3, a4] = &self.attribute;
        let mut statement = change.connection.prepare_cached(concat!(
            "UPDATE facts SET superseded_by = ?12, updated_at = ?13, valid_until = ?11 WHERE ",
            of_property!(),
            " AND valid_from <= ?11 AND (valid_until IS NULL OR valid_until > ?11)
              AND number <> ?14
              RETURNING id"
        ))?;
        let ended = statement.query_map(
            params![
                s1,
                s2,
                s3,
                s4,
                a1,
                a2,
                a3,
                a4,
                from,
                to,
                since,
                id.as_bytes(),
                now,
                number
            ],
            |row| row.get(0).map(Uuid::from_bytes),
        )?;
        Ok(ended.collect::<rusqlite::Result<_>>()?)
    }

    /// Ends fact `number` where the next value begins to hold.
    pub(super) fn end_by_next(&self, change: &Change<'_>, number: i64, since: i64) -> Result<()> {
        let (from, to) = scope::fact_range(change.scope);
        let [s1, s2, s3, s4] = &self.subject;
        let [a1, a2, a3, a4] = &self.attribute;
        let next: Option<(i64, [u8; 16])> = change
            .connection
            .prepare_cached(concat!(
                "SELECT valid_from, id FROM facts WHERE ",
                of_property!(),
                " AND valid_from > ?11 AND (valid_until IS NULL OR valid_until > valid_from)
                  AND number <> ?12
                  ORDER BY valid_from, number DESC LIMIT 1"
            ))?
            .query_row(
                params![s1, s2, s3, s4, a1, a2, a3, a4, from, to, since, number],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        if let Some((at, id)) = next {
            change
                .connection
                .prepare_cached(
                    "UPDATE facts SET valid_until = ?2, superseded_by = ?3
                     WHERE number = ?1 AND (valid_until IS NULL OR valid_until > ?2)",
                )?
                .execute(params![number, at, id])?;
        }
        Ok(())
    }
}

fn spellings(name: &str) -> Spellings {
    let mut letters = name.chars();
    let capital_first = letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default();
    [
        name.to_owned(),
        name.to_lowercase(),
        name.to_uppercase(),
        capital_first,
    ]
}
