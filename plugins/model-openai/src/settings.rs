//! What an operator may set.

use std::ops::RangeInclusive;
use std::time::Duration;

use keepsake_sdk::http::Service;
use keepsake_sdk::{Context, Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

/// How freely the model may choose, by the range that servers take.
const TEMPERATURES: RangeInclusive<f32> = 0.0..=2.0;
/// No model writes or reads more.
const TOKENS: RangeInclusive<u32> = 1..=100_000_000;
/// How long each step of a request may take. Some models think for a while
/// before their first word, and the customer waits with them.
const TIMEOUT: Duration = Duration::from_secs(60);
/// What neither `extra` nor an agent's extras may set: the plugin depends on it.
const OWN_FIELDS: [&str; 5] = ["messages", "model", "n", "stream", "tools"];

/// The operator's settings for this provider.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// The server and the model.
    pub(crate) service: Service,
    /// How freely it chooses, where the request does not say.
    pub(crate) temperature: Option<f32>,
    /// At most so many tokens of answer, whatever the request says.
    pub(crate) max_tokens: Option<u32>,
    /// What the server calls that bound.
    pub(crate) max_tokens_field: MaxTokensField,
    /// How long a conversation may be.
    pub(crate) context_tokens: Option<u32>,
    /// Whether the answer shall come piece by piece.
    pub(crate) stream: bool,
    /// Further fields of the request's body; null takes one out.
    pub(crate) extra: Map<String, Value>,
}

/// The two names that servers know the bound of an answer by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MaxTokensField {
    /// What most servers take.
    #[default]
    MaxTokens,
    /// What OpenAI's newer models want; it counts their thoughts too.
    MaxCompletionTokens,
}

impl MaxTokensField {
    /// The field's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

impl Settings {
    /// Reads and checks all settings.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the first setting without a usable value.
    pub(crate) fn read(context: &Context) -> Result<Self> {
        let service = Service::of_settings(context, "/chat/completions", "gpt-4o-mini", TIMEOUT)?;
        let extra: Map<String, Value> = context.setting("extra")?.unwrap_or_default();
        if let Some(field) = own_field(&extra) {
            let rule = format!("may not hold `{field}`, which the plugin sets");
            return Err(Error::bad_setting("extra", &rule));
        }
        Ok(Self {
            temperature: context.setting_within("temperature", &TEMPERATURES)?,
            max_tokens: context.setting_within("max-tokens", &TOKENS)?,
            max_tokens_field: context.setting("max-tokens-field")?.unwrap_or_default(),
            context_tokens: context.setting_within("context-tokens", &TOKENS)?,
            stream: context.setting("stream")?.unwrap_or(true),
            extra,
            service,
        })
    }
}

/// A field that only the plugin sets, where the fields hold one.
pub(crate) fn own_field(fields: &Map<String, Value>) -> Option<&'static str> {
    OWN_FIELDS
        .into_iter()
        .find(|field| fields.contains_key(*field))
}

#[cfg(test)]
mod tests {
    use keepsake_sdk::testing::Host;
    use serde_json::json;

    use super::*;

    fn read(more: &[(&str, Value)]) -> Result<Settings> {
        let host = Host::new()
            .settings(&[
                ("base-url", json!("https://a.example/v1")),
                ("model", json!("m")),
            ])
            .settings(more);
        Settings::read(&host.context())
    }

    #[test]
    fn only_the_server_and_the_model_must_be_said() {
        let settings = read(&[]).unwrap();
        assert!(settings.stream && settings.extra.is_empty());
        assert_eq!((settings.temperature, settings.max_tokens), (None, None));
        assert_eq!(settings.service.timeout, Duration::from_secs(60));
    }

    #[test]
    fn what_the_operator_set_counts() {
        let settings = read(&[
            ("temperature", json!(0)),
            ("max-tokens", json!(500)),
            ("context-tokens", json!(8_192)),
            ("timeout-seconds", json!(9)),
            ("stream", json!(false)),
            ("extra", json!({ "top_p": 0.9 })),
        ])
        .unwrap();
        assert_eq!(
            (settings.temperature, settings.max_tokens),
            (Some(0.0), Some(500))
        );
        assert_eq!(settings.context_tokens, Some(8_192));
        assert_eq!(settings.service.timeout, Duration::from_secs(9));
        assert!(!settings.stream && settings.extra["top_p"] == 0.9);
    }

    #[test]
    fn a_bad_setting_is_named() {
        for (key, value) in [
            ("base-url", json!("https://a.example/v1/chat/completions")),
            ("model", json!("")),
            ("temperature", json!(2.5)),
            ("temperature", json!("hot")),
            ("max-tokens", json!(0)),
            ("max-tokens", json!(-1)),
            ("context-tokens", json!(0)),
            ("stream", json!("yes")),
            ("max-tokens-field", json!("tokens")),
            ("extra", json!([])),
            ("extra", json!({ "stream": false })),
            ("extra", json!({ "n": 2 })),
        ] {
            let error = read(&[(key, value)]).unwrap_err();
            assert_eq!(error.code(), "invalid");
            assert!(error.message().contains(&format!("`{key}`")), "{error}");
        }
    }
}
