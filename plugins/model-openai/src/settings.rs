//! What an operator may set.

use std::ops::RangeInclusive;
use std::time::Duration;

use keepsake_sdk::http::BaseUrl;
use keepsake_sdk::{Context, Error, Result};
use serde_json::{Map, Value};

/// Bytes of a model's name.
const MODEL_BYTES: usize = 200;
/// How freely the model may choose, by the range that servers take.
const TEMPERATURES: RangeInclusive<f32> = 0.0..=2.0;
/// No model writes or reads more.
const TOKENS: RangeInclusive<u32> = 1..=100_000_000;
/// How long each step of a request may take. Some models think for a while
/// before their first word, and the customer waits with them.
const TIMEOUT_SECONDS: u64 = 60;
const TIMEOUTS_SECONDS: RangeInclusive<u64> = 1..=600;
/// What neither `extra` nor an agent's extras may set: the plugin depends on it.
const OWN_FIELDS: [&str; 5] = ["messages", "model", "n", "stream", "tools"];

/// The operator's settings for this provider.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// What `/chat/completions` is below.
    pub(crate) base: BaseUrl,
    /// The model, as the server calls it.
    pub(crate) model: String,
    /// How freely it chooses, where the request does not say.
    pub(crate) temperature: Option<f32>,
    /// At most so many tokens of answer, whatever the request says.
    pub(crate) max_tokens: Option<u32>,
    /// How long a conversation may be.
    pub(crate) context_tokens: Option<u32>,
    /// How long each step of a request may take.
    pub(crate) timeout: Duration,
    /// Whether the answer shall come piece by piece.
    pub(crate) stream: bool,
    /// Further fields of the request's body; null takes one out.
    pub(crate) extra: Map<String, Value>,
}

impl Settings {
    /// Reads and checks all settings.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the first setting without a usable value.
    pub(crate) fn read(context: &Context) -> Result<Self> {
        let base: String = context.needed_setting("base-url", "https://api.openai.com/v1")?;
        let base = BaseUrl::parse(&base)
            .map_err(|error| bad("base-url", &format!("is no address of a service: {error}")))?;
        if base.as_str().ends_with("/chat/completions") {
            let rule = "ends before `/chat/completions`, which is put behind it";
            return Err(bad("base-url", rule));
        }
        let model: String = context.needed_setting("model", "gpt-4o-mini")?;
        let model = model.trim();
        if model.is_empty() || model.len() > MODEL_BYTES || model.contains(char::is_control) {
            let rule = format!("must be a name of 1 to {MODEL_BYTES} bytes on one line");
            return Err(bad("model", &rule));
        }
        let extra: Map<String, Value> = context.setting("extra")?.unwrap_or_default();
        if let Some(field) = own_field(&extra) {
            return Err(bad(
                "extra",
                &format!("may not hold `{field}`, which the plugin sets"),
            ));
        }
        Ok(Self {
            model: model.to_owned(),
            temperature: context.setting_within("temperature", &TEMPERATURES)?,
            max_tokens: context.setting_within("max-tokens", &TOKENS)?,
            context_tokens: context.setting_within("context-tokens", &TOKENS)?,
            timeout: Duration::from_secs(
                context
                    .setting_within("timeout-seconds", &TIMEOUTS_SECONDS)?
                    .unwrap_or(TIMEOUT_SECONDS),
            ),
            stream: context.setting("stream")?.unwrap_or(true),
            extra,
            base,
        })
    }
}

/// A field that only the plugin sets, where the fields hold one.
pub(crate) fn own_field(fields: &Map<String, Value>) -> Option<&'static str> {
    OWN_FIELDS
        .into_iter()
        .find(|field| fields.contains_key(*field))
}

fn bad(key: &str, rule: &str) -> Error {
    Error::invalid(format!(
        "the setting `{key}` of model-openai {rule}; change it in the host's configuration"
    ))
}

#[cfg(test)]
mod tests {
    use keepsake_sdk::testing::Host;
    use serde_json::json;

    use super::*;

    fn read(more: &[(&str, Value)]) -> Result<Settings> {
        let host = Host::new()
            .setting("base-url", json!("https://a.example/v1"))
            .setting("model", json!("m"));
        let host = more
            .iter()
            .fold(host, |host, (key, value)| host.setting(key, value.clone()));
        Settings::read(&host.context())
    }

    #[test]
    fn only_the_server_and_the_model_must_be_said() {
        let settings = read(&[]).unwrap();
        assert_eq!(settings.base.as_str(), "https://a.example/v1");
        assert!(settings.stream && settings.extra.is_empty());
        assert_eq!((settings.temperature, settings.max_tokens), (None, None));
        assert_eq!(settings.timeout, Duration::from_secs(60));
        for (key, host) in [
            ("`base-url`", Host::new()),
            (
                "`model`",
                Host::new().setting("base-url", json!("http://a.example")),
            ),
        ] {
            let error = Settings::read(&host.context()).unwrap_err();
            assert!(error.message().contains(key), "{error}");
        }
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
        assert_eq!(settings.timeout, Duration::from_secs(9));
        assert!(!settings.stream && settings.extra["top_p"] == 0.9);
    }

    #[test]
    fn a_bad_setting_is_named() {
        for (key, value) in [
            ("base-url", json!("ftp://a.example")),
            ("base-url", json!("https://me:hidden@a.example")),
            ("base-url", json!("https://a.example/v1/chat/completions")),
            ("model", json!("")),
            ("model", json!(["m"])),
            ("temperature", json!(2.5)),
            ("temperature", json!("hot")),
            ("max-tokens", json!(0)),
            ("max-tokens", json!(-1)),
            ("context-tokens", json!(0)),
            ("timeout-seconds", json!(0)),
            ("stream", json!("yes")),
            ("extra", json!([])),
            ("extra", json!({ "stream": false })),
            ("extra", json!({ "n": 2 })),
        ] {
            let error = read(&[(key, value)]).unwrap_err();
            assert_eq!(error.code(), "invalid");
            assert!(error.message().contains(&format!("`{key}`")), "{error}");
            assert!(!error.message().contains("hidden"), "{error}");
        }
    }
}
