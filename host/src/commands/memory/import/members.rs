//! The members of a line, each in the one form that it may have.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp as Instant;
use keepsake_storage::FactVectors;
use keepsake_types::{EntryRef, ResourceRef, Timestamp};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::output::one_line;

/// Whose those lines are that do not say it.
#[derive(Clone, Debug, Default)]
pub(super) struct Unsaid {
    pub(super) resource: Option<String>,
    pub(super) team: Option<String>,
}

/// The members of a line that were not looked at yet.
pub(super) struct Members(pub(super) Map<String, Value>);

impl Members {
    /// Whose the line is. An empty name stands for what the team has in common: to
    /// leave it out is too easy a mistake to share what one customer said.
    pub(super) fn resource(&mut self, unsaid: &Unsaid) -> Result<ResourceRef, String> {
        let team = self.text("team")?.or_else(|| unsaid.team.clone());
        let Some(name) = (self.text("resource")?).or_else(|| unsaid.resource.clone()) else {
            return Err(
                "it names no `resource`: add one (an empty one for what a team has in common), or give --resource for such lines"
                    .to_owned(),
            );
        };
        let owner = match team {
            Some(team) if name.is_empty() => ResourceRef::of_team(team),
            Some(team) => ResourceRef::new(name).and_then(|named| named.with_team(team)),
            None => ResourceRef::new(name),
        };
        owner.map_err(|error| error.to_string())
    }

    /// A member that is there and not null.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, String> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            // Threads and resources are often numbers elsewhere.
            Some(Value::Number(number))
                if !number.is_f64() && matches!(name, "thread" | "resource") =>
            {
                Ok(Some(number.to_string()))
            }
            Some(other) => Err(wrong(name, "a text", &other)),
        }
    }

    pub(super) fn object(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Map<String, Value>>, String> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => Err(wrong(name, "an object", &other)),
        }
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Result<bool, String> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(wrong(name, "true or false", &other)),
        }
    }

    pub(super) fn number(&mut self, name: &'static str) -> Result<Option<u32>, String> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let position = value
            .as_u64()
            .and_then(|position| u32::try_from(position).ok());
        position
            .map(Some)
            .ok_or_else(|| wrong(name, "a whole number from 0 to 4294967295", &value))
    }

    pub(super) fn source(&mut self) -> Result<Option<EntryRef>, String> {
        let Some(value) = self.take("source") else {
            return Ok(None);
        };
        let form = "an object with `session`, `index` and `hash`";
        EntryRef::deserialize(&value)
            .map(Some)
            .map_err(|_| wrong("source", form, &value))
    }

    pub(super) fn sources(&mut self, name: &'static str) -> Result<Vec<EntryRef>, String> {
        let Some(value) = self.take(name) else {
            return Ok(Vec::new());
        };
        let form = "a list of objects with `session`, `index` and `hash`";
        Vec::deserialize(&value).map_err(|_| wrong(name, form, &value))
    }

    pub(super) fn time(&mut self, name: &'static str) -> Result<Option<Timestamp>, String> {
        let form = "a time: milliseconds since 1970, or a text such as \"2026-12-01T17:31:28Z\"";
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let milliseconds = match &value {
            Value::Number(number) => whole(number),
            Value::String(text) => text
                .parse::<Instant>()
                .ok()
                .and_then(|time| u64::try_from(time.as_millisecond()).ok()),
            _ => None,
        };
        // SQLite's numbers have a sign.
        milliseconds
            .filter(|time| i64::try_from(*time).is_ok())
            .map(Some)
            .ok_or_else(|| wrong(name, form, &value))
    }
}

impl Members {
    /// A vector with its model, as an export writes it.
    pub(super) fn vector(&mut self) -> Result<Option<FactVectors>, String> {
        let Some(value) = self.take("vector") else {
            return Ok(None);
        };
        let form =
            "an object with `model`, `dimensions` and, as `base64`, as many numbers of 4 bytes";
        let read = || {
            let bytes = BASE64_STANDARD.decode(value["base64"].as_str()?).ok()?;
            let dimensions = u32::try_from(value["dimensions"].as_u64()?).ok()?;
            let numbers = bytes.as_chunks::<4>();
            let whole = numbers.1.is_empty() && numbers.0.len() == dimensions as usize;
            whole.then(|| FactVectors {
                model: value["model"].as_str().unwrap_or_default().to_owned(),
                dimensions,
                vectors: vec![
                    numbers
                        .0
                        .iter()
                        .map(|bytes| f32::from_le_bytes(*bytes))
                        .collect(),
                ],
            })
        };
        read()
            .map(Some)
            .ok_or_else(|| wrong("vector", form, &value))
    }
}

/// A number of milliseconds without what is less than one.
fn whole(number: &serde_json::Number) -> Option<u64> {
    // 2^53: past it, a number with a fraction counts no single milliseconds.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.as_u64().or_else(|| {
        let number = number.as_f64()?;
        (0.0..EXACT).contains(&number).then_some(number as u64)
    })
}

pub(super) fn wrong(name: &str, form: &str, value: &Value) -> String {
    format!(
        "`{name}` must be {form}, and is {}",
        one_line(&value.to_string(), 60)
    )
}

/// The one of these members that is meant by a name in another spelling, such as
/// `createdAt`.
pub(super) fn spelled_otherwise(name: &str, members: &[&'static str]) -> Option<&'static str> {
    let plain = |name: &str| -> String {
        name.chars()
            .filter(|c| !matches!(c, '_' | '-' | ' '))
            .flat_map(char::to_lowercase)
            .collect()
    };
    let plain_name = plain(name);
    members
        .iter()
        .find(|member| plain(member) == plain_name)
        .copied()
}
