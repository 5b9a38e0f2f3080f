//! Ending the validity of the facts that a new one replaces.
//!
//! The facts that give one property of one subject are ordered by the time
//! since which they hold; of two with the same time, the one that came later
//! replaces the other. Each holds until the next one does. In whatever order
//! they arrive, at most one of them holds at any time, and one that arrives
//! late does not become current by that.

use rusqlite::{OptionalExtension, params};
use uuid::Uuid;

use super::super::{Change, facts};
use super::checked::Checked;
use super::property::Property;
use crate::{Result, StorageError};

/// Since when a new fact holds. Where the caller said nothing, that is now; but
/// a clock that was set back, or another host's that is ahead, must not let an
/// older value win over what was learned last.
pub(super) fn holds_since(change: &Change<'_>, checked: &Checked) -> Result<i64> {
    let property = match checked.property() {
        Some(property) if checked.fact.valid_from.is_none() && !checked.imported => property,
        _ => return Ok(checked.valid_from),
    };
    let latest = property.learned_after(change, checked.valid_from)?;
    Ok(latest
        .filter(|latest| checked.valid_until.is_none_or(|until| *latest < until))
        .unwrap_or(checked.valid_from))
}

/// Ends the values of the same property that hold since `since`, when the fact
/// begins to, and the fact itself where a later value is known. Answers which
/// others ended.
pub(super) fn end_other_values(
    change: &Change<'_>,
    checked: &Checked,
    property: Option<&Property>,
    number: i64,
    id: Uuid,
    since: i64,
) -> Result<Vec<Uuid>> {
    let Some(property) = property else {
        return Ok(Vec::new());
    };
    let ended = property.end_before(change, number, id, since, checked.now)?;
    property.end_by_next(change, number, since)?;
    Ok(ended)
}

/// Ends the facts that a fact names from `since` on. Answers which ended now.
pub(super) fn end_named(
    change: &Change<'_>,
    checked: &Checked,
    number: i64,
    id: Uuid,
    since: i64,
) -> Result<Vec<Uuid>> {
    let mut end = change.connection.prepare_cached(
        // Never before it began to hold.
        "UPDATE facts SET superseded_by = ?2, updated_at = ?3,
                valid_until = max(valid_from, min(coalesce(valid_until, ?4), ?4))
         WHERE number = ?1 AND superseded_by IS NULL RETURNING id",
    )?;
    let mut ended = Vec::new();
    for superseded in &checked.supersedes {
        let text = superseded.to_string();
        let target = facts::number(change.connection, change.scope, &text)?
            .ok_or_else(|| unknown_superseded(&text))?;
        if target == number {
            continue;
        }
        let outcome = end
            .query_row(params![target, id.as_bytes(), checked.now, since], |row| {
                row.get(0)
            })
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
