//! A server that answers for one model, as operators set it up.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::BaseUrl;
use crate::context::Context;
use crate::error::{Error, Result};

/// Bytes of a model's name. It may become part of the name of a vector space,
/// which hosts keep to 256.
const MODEL_BYTES: usize = 200;
/// How long each step of a request may take.
const TIMEOUTS_SECONDS: RangeInclusive<u64> = 1..=600;

/// A server, the model that it is asked for, and how long it may take: the
/// settings `base-url`, `model` and `timeout-seconds`.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// What the paths of requests are below.
    pub base: BaseUrl,
    /// The model, as the server calls it.
    pub model: String,
    /// How long each step of a request may take.
    pub timeout: Duration,
}

impl Service {
    /// Reads and checks the settings. `path` is what the plugin puts behind the
    /// address, `example` a model that there is, and `timeout` holds where the
    /// operator sets none.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the first setting without a usable value.
    pub fn of_settings(
        context: &Context,
        path: &str,
        example: &str,
        timeout: Duration,
    ) -> Result<Self> {
        let base: String = context.needed_setting("base-url", "https://api.openai.com/v1")?;
        let base = BaseUrl::parse(&base).map_err(|error| {
            Error::bad_setting("base-url", &format!("is no address of a service: {error}"))
        })?;
        if base.as_str().ends_with(path) {
            let rule = format!("ends before `{path}`, which is put behind it");
            return Err(Error::bad_setting("base-url", &rule));
        }
        let model: String = context.needed_setting("model", example)?;
        let model = model.trim();
        if model.is_empty() || model.len() > MODEL_BYTES || model.contains(char::is_control) {
            let rule = format!("must be a name of 1 to {MODEL_BYTES} bytes on one line");
            return Err(Error::bad_setting("model", &rule));
        }
        let seconds = context.setting_within("timeout-seconds", &TIMEOUTS_SECONDS)?;
        Ok(Self {
            model: model.to_owned(),
            timeout: seconds.map_or(timeout, Duration::from_secs),
            base,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Host;

    fn read(more: &[(&str, Value)]) -> Result<Service> {
        let host = Host::new()
            .settings(&[
                ("base-url", json!("https://a.example/v1")),
                ("model", json!("m")),
            ])
            .settings(more);
        Service::of_settings(&host.context(), "/ask", "big", Duration::from_secs(9))
    }

    #[test]
    fn only_the_server_and_the_model_must_be_said() {
        let service = read(&[]).unwrap();
        assert_eq!(service.base.as_str(), "https://a.example/v1");
        assert_eq!(service.model, "m");
        assert_eq!(service.timeout, Duration::from_secs(9));
        let timeout = read(&[("timeout-seconds", json!(5))]).unwrap().timeout;
        assert_eq!(timeout, Duration::from_secs(5));
        for (key, host) in [
            ("`base-url`", Host::new()),
            (
                "`model`",
                Host::new().setting("base-url", json!("http://a.example")),
            ),
        ] {
            let context = host.context();
            let error = Service::of_settings(&context, "/ask", "big", Duration::ZERO).unwrap_err();
            assert!(error.message().contains(key), "{error}");
        }
    }

    #[test]
    fn a_bad_setting_is_named() {
        for (key, value) in [
            ("base-url", json!(7)),
            ("base-url", json!("a.example")),
            ("base-url", json!("ftp://a.example")),
            ("base-url", json!("https://me:hidden@a.example")),
            ("base-url", json!("https://a.example/v1/ask/")),
            ("model", json!(" ")),
            ("model", json!(["m"])),
            ("model", json!("a\nb")),
            ("model", json!("x".repeat(201))),
            ("timeout-seconds", json!(0)),
            ("timeout-seconds", json!(601)),
        ] {
            let error = read(&[(key, value.clone())]).unwrap_err();
            assert_eq!(error.code(), "invalid");
            assert!(error.message().contains(&format!("`{key}`")), "{error}");
            assert!(!error.message().contains("hidden"), "{error}");
        }
    }
}
