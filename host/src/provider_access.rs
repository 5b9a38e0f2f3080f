//! What a provider may reach over HTTP, read from the settings that its
//! operator wrote for it: `base-url` names the one server, `key-variable` the
//! environment variable that holds the key for it, and `key-header` the header
//! for keys that are no bearer token. What a `preset` stands for has been filled
//! in by then (`config/presets.rs`).

use keepsake_client::{Credential, Origin};
use keepsake_plugin::HttpAccess;
use serde_json::{Map, Value};

use crate::failure::{ExitCode, Failure};

/// The access that these settings of a plugin give it; none without `base-url`.
pub(crate) fn http_access(
    plugin: &str,
    settings: &Map<String, Value>,
) -> Result<HttpAccess, Failure> {
    let wrong = |key: &str, reason: String| {
        Failure::new(
            ExitCode::Usage,
            format!("`{key}` in [settings.{plugin}]: {reason}"),
        )
    };
    let text = |key: &str| match settings.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(wrong(key, "it must be a text in quotes".into())),
    };
    let (url, variable, header) = (
        text("base-url")?,
        // An empty name says that no key is sent, whatever a preset would say.
        text("key-variable")?.filter(|name| !name.is_empty()),
        text("key-header")?,
    );
    let Some(url) = url else {
        return match variable {
            None => Ok(HttpAccess::default()),
            Some(_) => Err(wrong(
                "key-variable",
                "it needs `base-url` beside it, the server that the key is for".into(),
            )),
        };
    };
    let origin = Origin::of(url).map_err(|error| wrong("base-url", error.to_string()))?;
    let credential = match variable {
        None => None,
        Some(_) if !origin.is_encrypted() && !origin.is_this_machine() => {
            return Err(wrong(
                "base-url",
                format!(
                    "a key sent to {origin} could be read on the way; use https, or leave `key-variable` out if the server needs no key"
                ),
            ));
        }
        Some(variable) => Some(
            Credential::from_variable(variable, header)
                .map_err(|error| wrong("key-variable", error.to_string()))?,
        ),
    };
    HttpAccess::to(origin, credential).map_err(|fault| wrong("base-url", fault.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem(settings: Value) -> String {
        http_access("model-openai", settings.as_object().unwrap())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn settings_that_give_no_access_say_which_and_what_to_write() {
        let text = problem(json!({ "base-url": "api.example.com" }));
        assert!(
            text.contains("`base-url` in [settings.model-openai]"),
            "{text}"
        );
        let text = problem(json!({ "base-url": 3 }));
        assert!(text.contains("in quotes"), "{text}");
        let text = problem(json!({ "key-variable": "PATH" }));
        assert!(text.contains("needs `base-url`"), "{text}");
        let text = problem(json!({
            "base-url": "https://api.example.com",
            "key-variable": "NO_SUCH_VARIABLE_ANYWHERE",
        }));
        assert!(text.contains("export NO_SUCH_VARIABLE_ANYWHERE="), "{text}");
    }

    #[test]
    fn a_key_never_goes_to_another_machine_in_the_clear() {
        let settings = |url: &str| json!({ "base-url": url, "key-variable": "PATH" });
        let text = problem(settings("http://api.example.com/v1"));
        assert!(text.contains("use https"), "{text}");
        let local = settings("http://127.0.0.1:1/v1");
        assert!(http_access("model-openai", local.as_object().unwrap()).is_ok());
    }

    #[test]
    fn a_key_whose_variable_has_no_name_is_none() {
        let settings = json!({ "base-url": "http://api.example.com", "key-variable": "" });
        assert!(http_access("model-openai", settings.as_object().unwrap()).is_ok());
    }

    #[test]
    fn a_plugin_without_such_settings_reaches_nothing() {
        assert!(http_access("embed-static", &Map::new()).is_ok());
    }
}
