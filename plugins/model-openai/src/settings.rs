//! What an operator may set.

use std::time::Duration;

use keepsake_sdk::http::ServiceKind;
use keepsake_sdk::http::chat::{ChatKind, ChatSettings};
use keepsake_sdk::{Context, Result};
use serde::Deserialize;

/// How servers of this form are asked. Some models think for a while before
/// their first word, and the customer waits with them.
const KIND: ChatKind = ChatKind {
    service: ServiceKind {
        path: "/chat/completions",
        example_url: "https://api.openai.com/v1",
        example_model: "gpt-4o-mini",
        timeout: Duration::from_secs(60),
    },
    temperatures: 0.0..=2.0,
    own_fields: &["messages", "model", "n", "stream", "tools"],
};

/// The operator's settings for this provider.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// What can be set for every model.
    pub(crate) chat: ChatSettings,
    /// What the server calls the bound of an answer's tokens.
    pub(crate) max_tokens_field: MaxTokensField,
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
    /// [`Error::Invalid`](keepsake_sdk::Error::Invalid) that names the first setting
    /// without a usable value.
    pub(crate) fn read(context: &Context) -> Result<Self> {
        Ok(Self {
            chat: ChatSettings::read(context, &KIND)?,
            max_tokens_field: context.setting("max-tokens-field")?.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use keepsake_sdk::testing::Host;
    use serde_json::{Value, json};

    use super::*;

    fn read(key: &str, value: Value) -> Result<Settings> {
        let host = Host::new()
            .settings(&[
                ("base-url", json!("https://a.example/v1")),
                ("model", json!("m")),
            ])
            .setting(key, value);
        Settings::read(&host.context())
    }

    #[test]
    fn the_field_of_the_bound_is_the_usual_one_unless_it_is_set() {
        let settings = read("temperature", json!(2.0)).unwrap();
        assert_eq!(settings.max_tokens_field.name(), "max_tokens");
        let settings = read("max-tokens-field", json!("max_completion_tokens")).unwrap();
        assert_eq!(settings.max_tokens_field.name(), "max_completion_tokens");
    }

    #[test]
    fn a_bad_setting_is_named() {
        for (key, value) in [
            ("base-url", json!("https://a.example/v1/chat/completions")),
            ("temperature", json!(2.5)),
            ("max-tokens-field", json!("tokens")),
            ("extra", json!({ "messages": [] })),
            ("extra", json!({ "n": 2 })),
        ] {
            let error = read(key, value).unwrap_err();
            assert_eq!(error.code(), "invalid");
            assert!(error.message().contains(&format!("`{key}`")), "{error}");
        }
    }
}
