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

/// How one kind of service is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceKind {
    /// What the plugin puts behind the address.
    pub path: &'static str,
    /// An address that there is, for an operator who set none.
    pub example_url: &'static str,
    /// A model that there is.
    pub example_model: &'static str,
    /// What holds where the operator sets no time.
    pub timeout: Duration,
}

impl Service {
    /// Reads and checks the settings.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the first setting without a usable value.
    pub fn of_settings(context: &Context, kind: &ServiceKind) -> Result<Self> {
        let path = kind.path;
        let base: String = context.needed_setting("base-url", kind.example_url)?;
        let base = BaseUrl::parse(&base).map_err(|error| {
            Error::bad_setting("base-url", &format!("is no address of a service: {error}"))
        })?;
        if base.as_str().ends_with(path) {
            let rule = format!("ends before `{path}`, which is put behind it");
            return Err(Error::bad_setting("base-url", &rule));
        }
        let model: String = context.needed_setting("model", kind.example_model)?;
        let model = model.trim();
        if model.is_empty() || model.len() > MODEL_BYTES || model.contains(char::is_control) {
            let rule = format!("must be a name of 1 to {MODEL_BYTES} bytes on one line");
            return Err(Error::bad_setting("model", &rule));
        }
        let seconds = context.setting_within("timeout-seconds", &TIMEOUTS_SECONDS)?;
        Ok(Self {
            model: model.to_owned(),
            timeout: seconds.map_or(kind.timeout, Duration::from_secs),
            base,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Host;

    const KIND: ServiceKind = ServiceKind {
        path: "/ask",
        example_url: "https://b.example/v1",
        example_model: "big",
        timeout: Duration::from_secs(9),
    };

    fn read(more: &[(&str, Value)]) -> Result<Service> {
        let host = Host::new()
            .settings(&[
                ("base-url", json!("https://a.example/v1")),
                ("model", json!("m")),
            ])
            .settings(more);
        Service::of_settings(&host.context(), &KIND)
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
            ("`base-url` is missing", Host::new()),
            ("`https://b.example/v1`", Host::new()),
            (
                "`model` is missing",
                Host::new().setting("base-url", json!("http://a.example")),
            ),
        ] {
            let context = host.context();
            let error = Service::of_settings(&context, &KIND).unwrap_err();
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
