//! Restoring working memory and the profile. What was written later stays.

use keepsake_types::Timestamp;
use rusqlite::{OptionalExtension, params};
use serde_json::{Map, Value, json};

use super::super::facts::stored_time;
use super::super::working::{checked_key, checked_value, put};
use super::super::{Change, Memory};
use super::Restored;
use crate::Result;
use crate::ledger::Kind;

/// A value of working memory as an export holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoredValue {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// When it was written.
    pub updated_at: Timestamp,
}

/// A profile as an export holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct RestoredProfile {
    /// The document.
    pub value: Map<String, Value>,
    /// When it was written.
    pub updated_at: Timestamp,
}

impl RestoredValue {
    fn prepare(self) -> Result<(Self, String, i64)> {
        checked_key(&self.key)?;
        let text = checked_value(&self.value)?;
        let at = stored_time(self.updated_at, "the time at which a key was set")?;
        Ok((self, text, at))
    }

    /// Checks it by every rule that needs no file.
    ///
    /// # Errors
    /// As [`Memory::set`], without that about the number of keys.
    pub fn check(&self) -> Result<()> {
        self.clone().prepare().map(drop)
    }
}

impl RestoredProfile {
    fn prepare(self) -> Result<(Value, String, i64)> {
        let value = Value::Object(self.value);
        let text = checked_value(&value)?;
        let at = stored_time(self.updated_at, "the time at which a profile was written")?;
        Ok((value, text, at))
    }

    /// Checks it by every rule that needs no file.
    ///
    /// # Errors
    /// As [`Memory::update_profile`], without those about a patch.
    pub fn check(&self) -> Result<()> {
        self.clone().prepare().map(drop)
    }
}

impl Memory {
    /// Restores keys of working memory, all or none, in one transaction. A key
    /// that was written later than the export says keeps its value.
    ///
    /// # Errors
    /// As [`Memory::set`].
    pub async fn restore_working(&self, values: Vec<RestoredValue>) -> Result<Restored> {
        let values = values
            .into_iter()
            .map(RestoredValue::prepare)
            .collect::<Result<Vec<_>>>()?;
        self.write(move |change| {
            let mut restored = Restored::default();
            for (one, text, at) in values {
                if set(change, &one.key, &text, at)? {
                    let payload = json!({ "key": one.key, "value": one.value, "restored": true });
                    change.record(&Kind::WorkingSet, payload)?;
                    restored.stored += 1;
                } else {
                    restored.repeated += 1;
                }
            }
            Ok(restored)
        })
        .await
    }

    /// Restores the profile, unless the one that is here was written later. Its
    /// schema is not looked at, as no agent is there to say it.
    ///
    /// # Errors
    /// `Limit` `working-value-bytes` or `json-depth`.
    pub async fn restore_profile(&self, profile: RestoredProfile) -> Result<Restored> {
        let (value, text, at) = profile.prepare()?;
        self.write(move |change| {
            let changed = change
                .connection
                .prepare_cached(
                    "INSERT INTO profiles (scope, updated_at, value) VALUES (?1, ?2, ?3)
                     ON CONFLICT (scope) DO UPDATE SET
                        updated_at = excluded.updated_at, value = excluded.value
                     WHERE updated_at < excluded.updated_at AND value <> excluded.value",
                )?
                .execute(params![change.scope, at, text])?;
            if changed == 0 {
                return Ok(Restored {
                    stored: 0,
                    repeated: 1,
                });
            }
            let payload = json!({ "patch": value, "restored": true });
            change.record(&Kind::ProfileUpdated, payload)?;
            Ok(Restored {
                stored: 1,
                repeated: 0,
            })
        })
        .await
    }
}

/// Sets a key, unless its value is the same or was written later. Answers
/// whether it did.
fn set(change: &Change<'_>, key: &str, text: &str, at: i64) -> Result<bool> {
    let here: Option<(String, i64)> = change
        .connection
        .prepare_cached("SELECT value, updated_at FROM working WHERE scope = ?1 AND key = ?2")?
        .query_row(params![change.scope, key], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    if here
        .as_ref()
        .is_some_and(|(value, since)| *since >= at || value == text)
    {
        return Ok(false);
    }
    put(change, key, text, at)?;
    Ok(true)
}
