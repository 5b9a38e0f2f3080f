//! Forgetting a fact together with what else the ledger says in its words.

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use super::facts::{self, check_forgotten};
use super::{Change, Memory};
use crate::ledger::{self, Kind};
use crate::scope::ScopeId;
use crate::{Result, StorageError};

impl Memory {
    /// As [`Memory::forget`], and erases as well what other entries of this
    /// memory's sessions say that hold the text of a forgotten fact to the letter:
    /// the message it came from, a command's output, a model's prompt. They are
    /// erased whole. Entries by which other facts were remembered stay, as those
    /// facts do. Answers how many facts were deleted and how many other entries
    /// were erased.
    ///
    /// # Errors
    /// As [`Memory::forget`].
    pub async fn forget_with_mentions(&self, ids: Vec<String>) -> Result<(u64, u64)> {
        check_forgotten(&ids)?;
        self.write(move |change| forget(change, ids)).await
    }
}

fn forget(change: &Change<'_>, ids: Vec<String>) -> Result<(u64, u64)> {
    let mut forgotten = Vec::new();
    let mut entries = Vec::new();
    let mut texts = Vec::new();
    for id in ids {
        if let Some(number) = facts::number(change.connection, change.scope, &id)? {
            texts.push(change.connection.query_row(
                "SELECT content FROM facts WHERE number = ?1",
                [number],
                |row| row.get::<_, String>(0),
            )?);
            entries.extend(facts::delete(change.connection, change.scope, number)?);
            forgotten.push(id);
        }
    }
    if forgotten.is_empty() {
        return Ok((0, 0));
    }
    let mut mentions = Vec::new();
    for text in texts {
        mentions.extend(mentioning(change.connection, change.scope, &text)?);
    }
    mentions.sort_unstable();
    mentions.dedup();
    mentions.retain(|entry| !entries.contains(entry));
    change.record(&Kind::FactForgotten, json!({ "facts": forgotten }))?;
    entries.extend(&mentions);
    ledger::erase(change.connection, change.number, &entries)?;
    Ok((forgotten.len() as u64, mentions.len() as u64))
}

/// The entries of the scope's sessions that hold a text and by which no fact that
/// is there was remembered. A session's first entry names whose it is, and stays.
fn mentioning(connection: &Connection, scope: ScopeId, text: &str) -> Result<Vec<i64>> {
    // As it stands within the JSON text that is stored.
    let quoted = Value::String(text.to_owned()).to_string();
    let inner = quoted.get(1..quoted.len() - 1).ok_or_else(|| {
        StorageError::Internal("a JSON text is shorter than its quotes".to_owned())
    })?;
    let mut statement = connection.prepare_cached(
        "SELECT number FROM entries
         WHERE scope = ?1 AND place > 0 AND kind <> ?3 AND instr(payload, ?2) > 0
            AND NOT EXISTS (SELECT 1 FROM fact_entries WHERE entry = entries.number)
         ORDER BY number",
    )?;
    let numbers = statement
        .query_map(params![scope, inner, Kind::PayloadErased.name()], |row| {
            row.get(0)
        })?;
    Ok(numbers.collect::<rusqlite::Result<_>>()?)
}
