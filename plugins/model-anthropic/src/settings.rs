//! What an operator may set.

use std::time::Duration;

use keepsake_sdk::http::ServiceKind;
use keepsake_sdk::http::chat::{ChatKind, ChatSettings};
use keepsake_sdk::{Context, Result};

/// How servers of this form are asked.
const KIND: ChatKind = ChatKind {
    service: ServiceKind {
        path: "/messages",
        example_url: "https://api.anthropic.com/v1",
        example_model: "claude-haiku-4-5",
        // As long as for other models: some think before their first word.
        timeout: Duration::from_secs(60),
    },
    temperatures: 0.0..=1.0,
    own_fields: &["messages", "model", "stream", "system", "tools"],
};

/// Reads and checks all settings.
///
/// # Errors
/// [`Error::Invalid`](keepsake_sdk::Error::Invalid) that names the first setting
/// without a usable value.
pub(crate) fn settings(context: &Context) -> Result<ChatSettings> {
    ChatSettings::read(context, &KIND)
}

#[cfg(test)]
mod tests {
    use keepsake_sdk::testing::Host;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bad_setting_is_named() {
        for (key, value) in [
            ("base-url", json!("https://a.example/v1/messages")),
            ("temperature", json!(1.5)),
            ("max-tokens", json!(0)),
            ("extra", json!({ "system": "Rules." })),
        ] {
            let host = Host::new()
                .settings(&[
                    ("base-url", json!("https://a.example/v1")),
                    ("model", json!("m")),
                ])
                .setting(key, value);
            let error = settings(&host.context()).unwrap_err();
            assert_eq!(error.code(), "invalid");
            assert!(error.message().contains(&format!("`{key}`")), "{error}");
        }
    }
}
