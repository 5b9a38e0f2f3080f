//! What an operator may set.

use serde_json::Value;

/// The name it goes by where the operator gave none.
const PERSONA: &str = "Sam";
/// A snippet of this size holds a profile and about 20 facts.
const SNIPPET_BYTES: u32 = 4_096;
/// The host's own bounds of a snippet.
const SNIPPET_RANGE: std::ops::RangeInclusive<u64> = 64..=65_536;
/// Model answers in one turn.
const MAX_ROUNDS: u32 = 8;
/// At least one with tools and one that answers.
const ROUNDS_RANGE: std::ops::RangeInclusive<u64> = 2..=64;
/// Bytes of a name that stands in the prompt.
const MAX_NAME_BYTES: usize = 200;

/// The operator's settings for this agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The name the agent goes by.
    pub(crate) persona: String,
    /// Whom it speaks for.
    pub(crate) company: Option<String>,
    /// How much of memory goes into the prompt, in bytes.
    pub(crate) snippet_bytes: u32,
    /// How many answers of the model a turn may take.
    pub(crate) max_rounds: u32,
    /// Whether messages are filed in the sandbox and commands may be run.
    pub(crate) use_sandbox: bool,
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the setting `{key}` of support-agent must be {wanted}, not {found}: change it in the host's configuration"
)]
pub(crate) struct BadSetting {
    key: &'static str,
    wanted: &'static str,
    found: Value,
}

impl From<BadSetting> for keepsake_sdk::Error {
    fn from(bad: BadSetting) -> Self {
        Self::invalid(bad.to_string())
    }
}

impl Settings {
    /// Reads the settings from `get`, which gives the value of a key.
    ///
    /// # Errors
    /// The first setting that has no usable value.
    pub(crate) fn read<E: From<BadSetting>>(
        mut get: impl FnMut(&'static str) -> Result<Option<Value>, E>,
    ) -> Result<Self, E> {
        let bytes = "a whole number from 64 to 65536";
        let rounds = "a whole number from 2 to 64";
        Ok(Self {
            persona: name("persona", get("persona")?)?.unwrap_or_else(|| PERSONA.to_owned()),
            company: name("company", get("company")?)?,
            snippet_bytes: number("snippet-bytes", get("snippet-bytes")?, SNIPPET_RANGE, bytes)?
                .unwrap_or(SNIPPET_BYTES),
            max_rounds: number("max-rounds", get("max-rounds")?, ROUNDS_RANGE, rounds)?
                .unwrap_or(MAX_ROUNDS),
            use_sandbox: match get("use-sandbox")? {
                None => true,
                Some(Value::Bool(value)) => value,
                Some(found) => {
                    return Err(BadSetting {
                        key: "use-sandbox",
                        wanted: "true or false",
                        found,
                    }
                    .into());
                }
            },
        })
    }
}

fn name(key: &'static str, value: Option<Value>) -> Result<Option<String>, BadSetting> {
    let wanted = "a name of 1 to 200 bytes on one line";
    match value {
        None => Ok(None),
        Some(Value::String(name))
            if !name.trim().is_empty()
                && name.len() <= MAX_NAME_BYTES
                && !name.contains(char::is_control) =>
        {
            Ok(Some(name.trim().to_owned()))
        }
        Some(found) => Err(BadSetting { key, wanted, found }),
    }
}

fn number(
    key: &'static str,
    value: Option<Value>,
    range: std::ops::RangeInclusive<u64>,
    wanted: &'static str,
) -> Result<Option<u32>, BadSetting> {
    let Some(found) = value else { return Ok(None) };
    let number = found.as_u64().filter(|number| range.contains(number));
    match number.and_then(|number| u32::try_from(number).ok()) {
        Some(number) => Ok(Some(number)),
        None => Err(BadSetting { key, wanted, found }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(values: Value) -> Result<Settings, BadSetting> {
        Settings::read(|key| Ok(values.get(key).cloned()))
    }

    #[test]
    fn without_settings_the_defaults_hold() {
        let settings = read(json!({})).unwrap();
        assert_eq!((settings.persona.as_str(), settings.company), ("Sam", None));
        assert_eq!(
            (
                settings.snippet_bytes,
                settings.max_rounds,
                settings.use_sandbox
            ),
            (4_096, 8, true)
        );
    }

    #[test]
    fn what_the_operator_set_counts() {
        let settings = read(json!({
            "persona": " Robin ", "company": "Acme", "snippet-bytes": 64, "max-rounds": 64, "use-sandbox": false
        }))
        .unwrap();
        assert_eq!(
            (settings.persona.as_str(), settings.company.as_deref()),
            ("Robin", Some("Acme"))
        );
        assert_eq!(
            (
                settings.snippet_bytes,
                settings.max_rounds,
                settings.use_sandbox
            ),
            (64, 64, false)
        );
    }

    #[test]
    fn a_bad_setting_is_named_with_what_it_should_be() {
        for (key, value) in [
            ("persona", json!("")),
            ("persona", json!("a\nCase file: /etc/passwd")),
            ("company", json!(7)),
            ("company", json!("x".repeat(201))),
            ("snippet-bytes", json!(63)),
            ("snippet-bytes", json!("many")),
            ("snippet-bytes", json!(65_537)),
            ("max-rounds", json!(1)),
            ("max-rounds", json!(1.5)),
            ("use-sandbox", json!("yes")),
        ] {
            let error = read(json!({ key: value })).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{key}`")) && error.contains("must be"),
                "{error}"
            );
        }
    }
}
