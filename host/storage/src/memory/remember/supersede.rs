//! Ending the validity of the facts that a new one replaces.

use keepsake_types::Timestamp;
use rusqlite::{OptionalExtension, params};
use uuid::Uuid;

use super::super::{Change, facts};
use super::checked::Checked;
use crate::{Result, StorageError, scope};

/// Ends the validity of what a fact replaces: the facts it names, and those
/// that give the same property of the same subject. Answers which ended now.
pub(super) fn end_superseded(
    change: &Change<'_>,
    checked: &Checked,
    number: i64,
    id: Uuid,
    now: Timestamp,
) -> Result<Vec<Uuid>> {
    let (from, to) = scope::fact_range(change.scope);
    let mut targets: Vec<i64> = Vec::new();
    for superseded in &checked.supersedes {
        let text = superseded.to_string();
        targets.push(
            facts::number(change.connection, change.scope, &text)?
                .ok_or_else(|| unknown_superseded(&text))?,
        );
    }
    if let (Some(subject), Some(attribute)) = (&checked.fact.subject, &checked.fact.attribute) {
        let mut statement = change.connection.prepare_cached(
            "SELECT number FROM facts
             WHERE subject = ?1 AND attribute = ?2 AND number BETWEEN ?3 AND ?4
                AND superseded_by IS NULL AND (valid_until IS NULL OR valid_until > ?5)
             ORDER BY number",
        )?;
        let same = statement.query_map(
            params![subject, attribute, from, to, checked.valid_from],
            |row| row.get(0),
        )?;
        for target in same {
            targets.push(target?);
        }
    }
    let mut end = change.connection.prepare_cached(
        // Never before it began to hold.
        "UPDATE facts SET superseded_by = ?2, updated_at = ?3,
                valid_until = max(valid_from, min(coalesce(valid_until, ?4), ?4))
         WHERE number = ?1 AND superseded_by IS NULL RETURNING id",
    )?;
    let mut ended = Vec::new();
    for target in targets.into_iter().filter(|target| *target != number) {
        let outcome = end
            .query_row(
                params![target, id.as_bytes(), now, checked.valid_from],
                |row| row.get(0),
            )
            .optional()?;
        ended.extend(outcome.map(Uuid::from_bytes));
    }
    Ok(ended)
}

pub(super) fn unknown_superseded(id: &str) -> StorageError {
    StorageError::Invalid(format!(
        "`supersedes` names `{}`, which is no fact of this memory: nothing was remembered",
        id.escape_default()
    ))
}
