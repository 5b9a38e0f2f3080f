//! What an operator may set for a provider that asks a server for a model.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::http::{Service, ServiceKind};

/// No model writes or reads more tokens.
const TOKENS: RangeInclusive<u32> = 1..=100_000_000;

/// What a form of API takes.
#[derive(Clone, Debug)]
pub struct ChatKind {
    /// How its servers are found and asked.
    pub service: ServiceKind,
    /// How freely a model may choose there.
    pub temperatures: RangeInclusive<f32>,
    /// What neither `extra` nor an agent's extras may set: the plugin depends on it.
    pub own_fields: &'static [&'static str],
}

/// The operator's settings: `base-url`, `model`, `timeout-seconds`,
/// `temperature`, `max-tokens`, `context-tokens`, `stream` and `extra`.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatSettings {
    /// The server and the model.
    pub service: Service,
    /// How freely it chooses, where the request does not say.
    pub temperature: Option<f32>,
    /// At most so many tokens of answer, whatever the request says.
    pub max_tokens: Option<u32>,
    /// How long a conversation may be, in tokens.
    pub context_tokens: Option<u32>,
    /// Whether the answer shall come piece by piece.
    pub stream: bool,
    /// Further fields of the request's body; null takes one out.
    pub extra: Map<String, Value>,
    /// As in [`ChatKind`].
    pub own_fields: &'static [&'static str],
}

impl ChatSettings {
    /// Reads and checks the settings.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the first setting without a usable value.
    pub fn read(context: &Context, kind: &ChatKind) -> Result<Self> {
        let service = Service::of_settings(context, &kind.service)?;
        let extra: Map<String, Value> = context.setting("extra")?.unwrap_or_default();
        let mut own = kind.own_fields.iter();
        if let Some(field) = own.find(|field| extra.contains_key(**field)) {
            let rule = format!("may not hold `{field}`, which the plugin sets");
            return Err(Error::bad_setting("extra", &rule));
        }
        Ok(Self {
            temperature: context.setting_within("temperature", &kind.temperatures)?,
            max_tokens: context.setting_within("max-tokens", &TOKENS)?,
            context_tokens: context.setting_within("context-tokens", &TOKENS)?,
            stream: context.setting("stream")?.unwrap_or(true),
            extra,
            own_fields: kind.own_fields,
            service,
        })
    }

    /// At most so many tokens of answer: what the request says, within what the
    /// operator does.
    pub fn bound_of_tokens(&self, request: Option<u32>) -> Option<u32> {
        request.into_iter().chain(self.max_tokens).min()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::testing::Host;

    fn read(more: &[(&str, Value)]) -> Result<ChatSettings> {
        let kind = ChatKind {
            service: ServiceKind {
                path: "/ask",
                example_url: "https://a.example/v1",
                example_model: "big",
                timeout: Duration::from_secs(60),
            },
            temperatures: 0.0..=2.0,
            own_fields: &["n", "stream"],
        };
        let host = Host::new()
            .settings(&[
                ("base-url", json!("https://a.example/v1")),
                ("model", json!("m")),
            ])
            .settings(more);
        ChatSettings::read(&host.context(), &kind)
    }

    #[test]
    fn only_the_server_and_the_model_must_be_said() {
        let settings = read(&[]).unwrap();
        assert!(settings.stream && settings.extra.is_empty());
        assert_eq!((settings.temperature, settings.max_tokens), (None, None));
        assert_eq!(settings.service.timeout, Duration::from_secs(60));
        assert_eq!(settings.bound_of_tokens(None), None);
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
        assert_eq!(settings.bound_of_tokens(Some(9)), Some(9));
        assert_eq!(settings.bound_of_tokens(Some(900)), Some(500));
    }

    #[test]
    fn a_bad_setting_is_named() {
        for (key, value) in [
            ("base-url", json!("https://a.example/v1/ask")),
            ("model", json!("")),
            ("temperature", json!(2.5)),
            ("temperature", json!("hot")),
            ("max-tokens", json!(0)),
            ("max-tokens", json!(-1)),
            ("context-tokens", json!(0)),
            ("stream", json!("yes")),
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
