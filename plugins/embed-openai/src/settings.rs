//! What an operator may set.

use std::ops::RangeInclusive;
use std::time::Duration;

use keepsake_sdk::http::{Service, ServiceKind};
use keepsake_sdk::{Context, Result};
use serde::{Deserialize, Serialize};

/// The widest vectors that hosts take.
const DIMENSIONS: RangeInclusive<u32> = 1..=8_192;
/// Texts in one request where nothing else is said, and how many OpenAI takes.
const BATCH: u32 = 64;
const BATCHES: RangeInclusive<u32> = 1..=2_048;
/// How servers are asked. An agent's turn waits for each step of a request.
const SERVICE: ServiceKind = ServiceKind {
    path: "/embeddings",
    example_url: "https://api.openai.com/v1",
    example_model: "text-embedding-3-small",
    timeout: Duration::from_secs(30),
};

/// The operator's settings for this provider.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// The server and the model.
    pub(crate) service: Service,
    /// How wide the vectors shall be; none leaves it to the model.
    pub(crate) dimensions: Option<u32>,
    /// Whether the server is told queries from passages.
    pub(crate) input_type: bool,
    /// Which part of a text the server drops when it is too long.
    pub(crate) truncate: Option<Truncate>,
    /// Texts in one request.
    pub(crate) batch: u32,
    /// How the server shall write vectors.
    pub(crate) encoding: Encoding,
    /// The cosine below which a passage answers nothing.
    pub(crate) relevance_threshold: Option<f32>,
}

/// Which part of a text that is too long is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Truncate {
    None,
    Start,
    End,
}

/// How vectors are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    #[default]
    Float,
    Base64,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "true, false or \"auto\" was expected")]
enum InputType {
    Said(bool),
    Word(Auto),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Auto {
    Auto,
}

impl Settings {
    /// Reads and checks all settings.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the first setting without a usable value.
    pub(crate) fn read(context: &Context) -> Result<Self> {
        let service = Service::of_settings(context, &SERVICE)?;
        let input_type = match context.setting("input-type")? {
            Some(InputType::Said(said)) => said,
            Some(InputType::Word(Auto::Auto)) | None => is_nvidia(service.base.host()),
        };
        let threshold = "relevance-threshold";
        Ok(Self {
            dimensions: context.setting_within("dimensions", &DIMENSIONS)?,
            input_type,
            truncate: context.setting("truncate")?,
            batch: context.setting_within("batch", &BATCHES)?.unwrap_or(BATCH),
            encoding: context.setting("encoding")?.unwrap_or_default(),
            relevance_threshold: context.setting_within(threshold, &(-1.0..=1.0))?,
            service,
        })
    }
}

/// Whether a server belongs to those whose models want to be told queries from
/// passages and refuse requests that do not say it.
fn is_nvidia(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    host == "nvidia.com" || host.ends_with(".nvidia.com")
}

#[cfg(test)]
mod tests {
    use keepsake_sdk::testing::Host;
    use serde_json::{Value, json};

    use super::*;

    /// Settings with what is needed and these besides.
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
        assert_eq!(settings.service.model, "m");
        assert_eq!((settings.batch, settings.dimensions), (64, None));
        assert_eq!(
            (settings.encoding, settings.input_type),
            (Encoding::Float, false)
        );
        assert_eq!(settings.service.timeout, Duration::from_secs(30));
    }

    #[test]
    fn what_the_operator_set_counts() {
        let settings = read(&[
            ("dimensions", json!(256)),
            ("input-type", json!(true)),
            ("truncate", json!("END")),
            ("batch", json!(1)),
            ("encoding", json!("base64")),
            ("timeout-seconds", json!(5)),
            ("relevance-threshold", json!(0.3)),
        ])
        .unwrap();
        assert_eq!((settings.dimensions, settings.batch), (Some(256), 1));
        assert_eq!(settings.truncate, Some(Truncate::End));
        assert_eq!(
            (settings.encoding, settings.input_type),
            (Encoding::Base64, true)
        );
        assert_eq!(settings.service.timeout, Duration::from_secs(5));
        assert_eq!(settings.relevance_threshold, Some(0.3));
    }

    #[test]
    fn nvidias_own_servers_are_told_queries_from_passages() {
        for (address, told) in [
            ("https://integrate.api.nvidia.com/v1", true),
            ("https://INTEGRATE.API.NVIDIA.COM/v1", true),
            ("https://nvidia.com.a.example/v1", false),
            ("https://notnvidia.com/v1", false),
            ("http://127.0.0.1:8000/v1", false),
        ] {
            for word in [None, Some(json!("auto"))] {
                let mut more = vec![("base-url", json!(address))];
                more.extend(word.map(|word| ("input-type", word)));
                assert_eq!(read(&more).unwrap().input_type, told, "{address}");
            }
            let said = [("base-url", json!(address)), ("input-type", json!(false))];
            assert!(!read(&said).unwrap().input_type);
        }
    }

    #[test]
    fn a_bad_setting_is_named() {
        for (key, value) in [
            ("base-url", json!("https://a.example/v1/embeddings/")),
            ("model", json!(" ")),
            ("dimensions", json!(0)),
            ("dimensions", json!(8_193)),
            ("dimensions", json!("many")),
            ("input-type", json!("query")),
            ("truncate", json!("end")),
            ("batch", json!(0)),
            ("batch", json!(2_049)),
            ("batch", json!(1.5)),
            ("encoding", json!("int8")),
            ("relevance-threshold", json!(1.5)),
            ("relevance-threshold", json!("high")),
        ] {
            let error = read(&[(key, value.clone())]).unwrap_err();
            assert_eq!(error.code(), "invalid");
            assert!(error.message().contains(&format!("`{key}`")), "{error}");
        }
    }
}
