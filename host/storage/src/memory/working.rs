//! Working memory: values under keys, and the profile.

use std::sync::Arc;

use keepsake_types::{limits, now};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value, json};

use super::facts::stored_time;
use super::{Change, Memory, View, check_page};
use crate::ledger::Kind;
use crate::scope::ScopeId;
use crate::{Result, StorageError, json};

/// Says what is wrong with a profile that is about to be stored; the text
/// names the path.
pub type ProfileCheck = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// One page of working memory.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct WorkingPage {
    /// Keys and values in ascending byte order of the keys.
    pub items: Vec<(String, Value)>,
    /// What to give as `after` for the next page; none at the end.
    pub next: Option<String>,
}

impl View {
    /// The value under a key; none when there is none.
    ///
    /// # Errors
    /// `Invalid` or `Limit` for what cannot be a key.
    pub async fn get(&self, key: &str) -> Result<Option<Value>> {
        let key = checked_key(key)?;
        self.read(None, move |connection, scope| {
            get(connection, scope, &key)?
                .map(|text| stored(&text, &key))
                .transpose()
        })
        .await
    }

    /// Keys and values by pages. The profile is not among them.
    ///
    /// # Errors
    /// `Invalid` for a limit of 0, `Limit` for one that is too large.
    pub async fn list(&self, after: Option<&str>, limit: usize) -> Result<WorkingPage> {
        check_page(limit)?;
        let after = after.map(str::to_owned);
        self.read(WorkingPage::default(), move |connection, scope| {
            list(connection, scope, after.as_deref(), limit)
        })
        .await
    }

    /// The profile; an empty object when none was written.
    ///
    /// # Errors
    /// Only when the file cannot be read.
    pub async fn profile(&self) -> Result<Map<String, Value>> {
        self.read(Map::new(), |snapshot, scope| profile(snapshot, scope))
            .await
    }
}

impl Memory {
    /// As [`View::get`].
    ///
    /// # Errors
    /// As [`View::get`].
    pub async fn get(&self, key: &str) -> Result<Option<Value>> {
        self.view.get(key).await
    }

    /// As [`View::list`].
    ///
    /// # Errors
    /// As [`View::list`].
    pub async fn list(&self, after: Option<&str>, limit: usize) -> Result<WorkingPage> {
        self.view.list(after, limit).await
    }

    /// As [`View::profile`].
    ///
    /// # Errors
    /// As [`View::profile`].
    pub async fn profile(&self) -> Result<Map<String, Value>> {
        self.view.profile().await
    }

    /// Sets the value under a key; the last write wins.
    ///
    /// # Errors
    /// `Invalid` for what cannot be a key; `Limit` `working-key-bytes`,
    /// `working-value-bytes`, `working-keys` or `json-depth`.
    pub async fn set(&self, key: &str, value: Value) -> Result<()> {
        let key = checked_key(key)?;
        let text = checked_value(&value)?;
        self.write(move |change| set(change, &key, &value, &text))
            .await
    }

    /// Sets the value, or deletes it where `value` is none, if it equals
    /// `expected` (none: if there is none). Answers whether it did. Values are
    /// equal when their JSON is, whatever the order of members.
    ///
    /// # Errors
    /// As [`Memory::set`].
    pub async fn compare_and_set(
        &self,
        key: &str,
        expected: Option<Value>,
        value: Option<Value>,
    ) -> Result<bool> {
        let key = checked_key(key)?;
        if let Some(expected) = &expected {
            json::check_depth(expected, "the expected value")?;
        }
        let expected = expected.map(|expected| json::canonical(&expected));
        let new = match value {
            Some(value) => Some((checked_value(&value)?, value)),
            None => None,
        };
        self.write(move |change| {
            if get(change.connection, change.scope, &key)? != expected {
                return Ok(false);
            }
            match new {
                Some((text, value)) => set(change, &key, &value, &text)?,
                None => {
                    delete(change, &key)?;
                }
            }
            Ok(true)
        })
        .await
    }

    /// Deletes a key. Answers whether it was there.
    ///
    /// # Errors
    /// `Invalid` or `Limit` for what cannot be a key.
    pub async fn delete(&self, key: &str) -> Result<bool> {
        let key = checked_key(key)?;
        self.write(move |change| delete(change, &key)).await
    }

    /// Applies a JSON merge patch (RFC 7386) to the profile and answers with
    /// the new one. `check` sees the result before it is stored, in the same
    /// transaction, so that two updates at once cannot undo each other.
    ///
    /// # Errors
    /// `Invalid` for a patch that is no object and for what `check` refuses;
    /// `Limit` `working-value-bytes` or `json-depth`.
    pub async fn update_profile(
        &self,
        patch: Value,
        check: Option<ProfileCheck>,
    ) -> Result<Map<String, Value>> {
        json::check_depth(&patch, "the patch")?;
        let Value::Object(patch) = patch else {
            return Err(StorageError::Invalid(
                "a patch of the profile must be a JSON object".to_owned(),
            ));
        };
        self.write(move |change| {
            let mut profile = profile(change.connection, change.scope)?;
            json::merge_patch(&mut profile, &patch);
            put_profile(change, &profile, check.as_ref())?;
            change.record(&Kind::ProfileUpdated, json!({ "patch": patch }))?;
            Ok(profile)
        })
        .await
    }

    /// Deletes the profile.
    ///
    /// # Errors
    /// Only when the file cannot be written.
    pub async fn clear_profile(&self) -> Result<()> {
        self.write(|change| {
            let deleted = change
                .connection
                .prepare_cached("DELETE FROM profiles WHERE scope = ?1")?
                .execute([change.scope])?;
            if deleted > 0 {
                change.record(&Kind::ProfileUpdated, json!({ "cleared": true }))?;
            }
            Ok(())
        })
        .await
    }
}

pub(super) fn checked_key(key: &str) -> Result<String> {
    if key.is_empty() {
        return Err(StorageError::Invalid(
            "a key of working memory must not be empty".to_owned(),
        ));
    }
    if key.len() > limits::WORKING_KEY_BYTES {
        return Err(StorageError::limit(
            "working-key-bytes",
            "bytes of a key of working memory",
            key.len(),
            limits::WORKING_KEY_BYTES,
        ));
    }
    if key.chars().any(char::is_control) {
        return Err(StorageError::Invalid(
            "a key of working memory must not hold control characters".to_owned(),
        ));
    }
    Ok(key.to_owned())
}

pub(super) fn checked_value(value: &Value) -> Result<String> {
    json::bounded(
        value,
        "a value of working memory",
        "working-value-bytes",
        limits::WORKING_VALUE_BYTES,
    )
}

fn stored(text: &str, key: &str) -> Result<Value> {
    json::stored(text, &format!("the value under `{key}`"))
}

/// The text of the value under a key.
pub(super) fn get(connection: &Connection, scope: ScopeId, key: &str) -> Result<Option<String>> {
    Ok(connection
        .prepare_cached("SELECT value FROM working WHERE scope = ?1 AND key = ?2")?
        .query_row(params![scope, key], |row| row.get(0))
        .optional()?)
}

fn set(change: &Change<'_>, key: &str, value: &Value, text: &str) -> Result<()> {
    put(
        change,
        key,
        text,
        stored_time(now(), "the time of this write")?,
    )?;
    change.record(&Kind::WorkingSet, json!({ "key": key, "value": value }))?;
    Ok(())
}

/// Puts a value under a key, as it stood at a time.
pub(super) fn put(change: &Change<'_>, key: &str, text: &str, at: i64) -> Result<()> {
    let changed = change
        .connection
        .prepare_cached(
            "UPDATE working SET value = ?3, updated_at = ?4 WHERE scope = ?1 AND key = ?2",
        )?
        .execute(params![change.scope, key, text, at])?;
    if changed > 0 {
        return Ok(());
    }
    let keys: usize = change
        .connection
        .prepare_cached("SELECT count(*) FROM working WHERE scope = ?1")?
        .query_row([change.scope], |row| row.get(0))?;
    if keys >= limits::WORKING_KEYS {
        return Err(StorageError::limit(
            "working-keys",
            "keys of working memory",
            keys + 1,
            limits::WORKING_KEYS,
        ));
    }
    change
        .connection
        .prepare_cached(
            "INSERT INTO working (scope, key, value, updated_at) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![change.scope, key, text, at])?;
    Ok(())
}

fn delete(change: &Change<'_>, key: &str) -> Result<bool> {
    let deleted = change
        .connection
        .prepare_cached("DELETE FROM working WHERE scope = ?1 AND key = ?2")?
        .execute(params![change.scope, key])?;
    if deleted > 0 {
        change.record(&Kind::WorkingDeleted, json!({ "key": key }))?;
    }
    Ok(deleted > 0)
}

fn list(
    connection: &Connection,
    scope: ScopeId,
    after: Option<&str>,
    limit: usize,
) -> Result<WorkingPage> {
    // Every key comes after the empty text, which is none.
    let mut statement = connection.prepare_cached(
        "SELECT key, value FROM working WHERE scope = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
    )?;
    let mut rows = statement.query(params![scope, after.unwrap_or_default(), limit + 1])?;
    let mut items: Vec<(String, Value)> = Vec::new();
    while let Some(row) = rows.next()? {
        if items.len() == limit {
            let next = items.last().map(|(key, _)| key.clone());
            return Ok(WorkingPage { items, next });
        }
        let key: String = row.get(0)?;
        let value = stored(
            row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?,
            &key,
        )?;
        items.push((key, value));
    }
    Ok(WorkingPage { items, next: None })
}

/// Stores a profile that `check` accepts.
pub(super) fn put_profile(
    change: &Change<'_>,
    profile: &Map<String, Value>,
    check: Option<&ProfileCheck>,
) -> Result<()> {
    let value = Value::Object(profile.clone());
    if let Some(check) = check {
        check(&value).map_err(|reason| {
            StorageError::Invalid(format!("the profile was not changed: {reason}"))
        })?;
    }
    let text = checked_value(&value)?;
    change
        .connection
        .prepare_cached(
            "INSERT INTO profiles (scope, updated_at, value) VALUES (?1, ?2, ?3)
             ON CONFLICT (scope) DO UPDATE SET
                updated_at = excluded.updated_at, value = excluded.value",
        )?
        .execute(params![change.scope, now(), text])?;
    Ok(())
}

/// The profile within a transaction.
pub(super) fn profile(connection: &Connection, scope: ScopeId) -> Result<Map<String, Value>> {
    let text: Option<String> = connection
        .prepare_cached("SELECT value FROM profiles WHERE scope = ?1")?
        .query_row([scope], |row| row.get(0))
        .optional()?;
    match text
        .map(|text| json::stored(&text, "the profile"))
        .transpose()?
    {
        Some(Value::Object(profile)) => Ok(profile),
        _ => Ok(Map::new()),
    }
}
