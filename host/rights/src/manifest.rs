//! `plugin.toml`: what a plugin is called, how it is built, and what it wishes.

use std::collections::BTreeMap;

use keepsake_types::limits;
use serde::{Deserialize, Serialize};

use crate::keys::unknown;
use crate::place::{Place, Server};

/// The manifest's name in a plugin's folder.
pub const MANIFEST_FILE: &str = "plugin.toml";

/// The version of the manifest's form that this host reads.
pub const MANIFEST_VERSION: u32 = 1;

/// A manifest that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// From 1 to 64 of `a-z 0-9 -`.
    pub name: String,
    /// What the plugin is for.
    pub kind: Kind,
    /// What it is written in.
    pub language: Language,
    /// What it wishes beyond what every plugin has.
    pub wishes: Wishes,
}

/// What a plugin is for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It answers customers.
    Agent,
    /// It turns texts into vectors.
    EmbeddingProvider,
    /// It answers chats.
    ModelProvider,
}

/// What a plugin is written in.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Rust, built by cargo.
    Rust,
    /// JavaScript.
    Js,
    /// TypeScript.
    Ts,
    /// Python.
    Python,
}

/// An interface that gives a plugin reach. Settings, log and the facts of its
/// own session give none, and every plugin has them; importing `agents` gives
/// none either, since each agent that is started is granted by its name.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// The memory of the session's customer.
    Memory,
    /// A sandbox to run commands in.
    Sandbox,
    /// The embedding provider of the settings.
    Embeddings,
    /// The model provider of the settings.
    Model,
}

impl Kind {
    /// The kind's name in a manifest.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::EmbeddingProvider => "embedding-provider",
            Self::ModelProvider => "model-provider",
        }
    }

    /// The interface that a plugin of this kind exports.
    #[must_use]
    pub fn export(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::EmbeddingProvider => "embeddings",
            Self::ModelProvider => "model",
        }
    }
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Sandbox, Self::Embeddings, Self::Model];

    /// The interface's name in the WIT package.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sandbox => "sandbox",
            Self::Embeddings => "embeddings",
            Self::Model => "model",
        }
    }

    /// The capability of an interface; none for those that give no reach.
    #[must_use]
    pub fn of(interface: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|capability| capability.name() == interface)
    }
}

/// What a plugin wishes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Wishes {
    /// The interfaces that it imports; those that it does import where none are
    /// listed.
    pub interfaces: Option<Vec<Capability>>,
    /// Where its requests go.
    pub http: Vec<Place>,
    /// Secrets by their names.
    pub secrets: BTreeMap<String, SecretWish>,
    /// Whether commands in its sandbox reach a network.
    pub sandbox_network: bool,
}

/// A secret that the host is to put into requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SecretWish {
    /// The server that it is for.
    #[serde(rename = "for")]
    pub server: Server,
    /// The header that holds it alone; without one it is sent as
    /// `Authorization: Bearer …`.
    pub header: Option<String>,
}

/// Why a text is no manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is too long.
    #[error("it has {bytes} bytes; a manifest has at most {limit} (manifest-bytes)", limit = limits::MANIFEST_BYTES)]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Its form is a newer one.
    #[error(
        "it is written in form {version} of manifests, and this host reads form {MANIFEST_VERSION}: update the host"
    )]
    Newer {
        /// What it says of itself.
        version: i64,
    },
    /// Something in it is wrong.
    #[error("{0}")]
    Wrong(String),
}

/// A manifest as it is written. [`KEYS`] and [`TABLES`] list the same keys, which
/// a test compares.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[expect(dead_code, reason = "it was looked at before all else")]
    manifest: Option<u32>,
    name: String,
    kind: Kind,
    language: Language,
    #[serde(default)]
    wishes: Wishes,
}

const KEYS: [&str; 7] = [
    "manifest",
    "name",
    "kind",
    "language",
    "wishes.interfaces",
    "wishes.http",
    "wishes.sandbox-network",
];
const TABLES: [&str; 1] = ["wishes"];
/// Tables whose keys are names.
const NAMED: [&str; 1] = ["wishes.secrets"];

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// When it is too long, of a newer form, or wrong; what is wrong is told with
    /// what to write.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        if text.len() > limits::MANIFEST_BYTES {
            return Err(ManifestError::TooLong { bytes: text.len() });
        }
        let wrong = |reason: &str| ManifestError::Wrong(reason.trim_end().to_owned());
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| wrong(&error.to_string()))?;
        match table.get("manifest") {
            None => {}
            Some(toml::Value::Integer(version)) if *version == i64::from(MANIFEST_VERSION) => {}
            Some(toml::Value::Integer(version)) if *version > i64::from(MANIFEST_VERSION) => {
                return Err(ManifestError::Newer { version: *version });
            }
            Some(_) => return Err(wrong(&format!("`manifest` must be {MANIFEST_VERSION}"))),
        }
        if let Some(problem) = unknown(&table, &KEYS, &TABLES, &NAMED) {
            return Err(ManifestError::Wrong(problem));
        }
        // Of the text, so that an error shows the line.
        let written: Written = toml::from_str(text).map_err(|error| wrong(&error.to_string()))?;
        let manifest = Self {
            name: written.name,
            kind: written.kind,
            language: written.language,
            wishes: written.wishes,
        };
        manifest.check()?;
        Ok(manifest)
    }

    /// Reads the bytes that lie in a component.
    ///
    /// # Errors
    /// Those of [`Manifest::parse`].
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, ManifestError> {
        if bytes.len() > limits::MANIFEST_BYTES {
            return Err(ManifestError::TooLong { bytes: bytes.len() });
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|_| ManifestError::Wrong("it is not UTF-8".into()))?;
        Self::parse(text)
    }

    fn check(&self) -> Result<(), ManifestError> {
        let wrong = |reason: String| Err(ManifestError::Wrong(reason));
        if !is_name(&self.name) {
            return wrong("`name` must be from 1 to 64 of a-z, 0-9 and -".into());
        }
        let wishes = &self.wishes;
        let most = limits::MANIFEST_WISHES;
        let counts = [
            ("http", wishes.http.len()),
            ("secrets", wishes.secrets.len()),
        ];
        for (key, count) in counts {
            if count > most {
                return wrong(format!(
                    "`wishes.{key}` has {count} members; it may have {most} (manifest-wishes)"
                ));
            }
        }
        for (name, secret) in &wishes.secrets {
            if !is_secret_name(name) {
                return wrong(format!(
                    "`wishes.secrets`: `{}` is no secret's name, which is from 1 to 64 of A-Z, 0-9 and _, such as `CRM_TOKEN`",
                    name.escape_debug()
                ));
            }
            if !secret.server.is_one() {
                return wrong(format!(
                    "`wishes.secrets.{name}.for` must be one server, and {} is many",
                    secret.server
                ));
            }
            let reached = |place: &Place| match place {
                Place::Server(server) => server.covers(&secret.server),
                Place::BaseUrl => false,
            };
            if !wishes.http.iter().any(reached) {
                return wrong(format!(
                    "`wishes.secrets.{name}` is for {server}, to which it wishes no requests: add \"{server}\" to `wishes.http`",
                    server = secret.server
                ));
            }
        }
        Ok(())
    }
}

/// Whether a text can be a plugin's name.
fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// Whether a text can be a secret's name, which is also that of a variable.
pub(crate) fn is_secret_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "manifest = 1\nname = \"a\"\nkind = \"agent\"\nlanguage = \"rust\"\n";

    fn problem(more: &str) -> String {
        Manifest::parse(&format!("{HEAD}{more}"))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_manifest_says_what_a_plugin_wishes() {
        let manifest = Manifest::parse(&format!(
            "{HEAD}
[wishes]
interfaces = [\"memory\", \"model\"]
http = [\"https://api.example.com\", \"base-url\"]
sandbox-network = true
secrets = {{ CRM_TOKEN = {{ for = \"https://api.example.com\", header = \"x-api-key\" }} }}
"
        ))
        .unwrap();
        let wishes = manifest.wishes;
        assert_eq!(
            wishes.interfaces,
            Some(vec![Capability::Memory, Capability::Model])
        );
        assert_eq!(wishes.http[1], Place::BaseUrl);
        assert_eq!(
            wishes.secrets["CRM_TOKEN"].header.as_deref(),
            Some("x-api-key")
        );
        assert!(wishes.sandbox_network);
    }

    #[test]
    fn a_manifest_of_three_lines_wishes_nothing_of_its_own() {
        let old = HEAD.replace("manifest = 1\n", "");
        assert_eq!(Manifest::parse(&old).unwrap().wishes, Wishes::default());
    }

    #[test]
    fn an_unknown_key_is_told_with_the_nearest() {
        assert!(problem("[wishes]\nhttps = []").contains("did you mean `wishes.http`?"));
        assert!(problem("[wishs]\nhttp = []").contains("did you mean `wishes`?"));
        let told = problem("[wishes]\nsandbox-netwrok = true");
        assert!(
            told.contains("did you mean `wishes.sandbox-network`?"),
            "{told}"
        );
        assert!(problem("wishes = 1").contains("below `[wishes]`"));
        let told = problem("[wishes.secrets.A]\nfor = \"https://a.example\"\nheadr = \"x\"");
        assert!(told.contains("headr"), "{told}");
    }

    #[test]
    fn every_listed_key_is_one_that_a_manifest_takes() {
        for key in KEYS {
            let value = match key {
                "wishes.interfaces" | "wishes.http" => "[]",
                "wishes.sandbox-network" => "true",
                _ => continue,
            };
            Manifest::parse(&format!("{HEAD}{key} = {value}")).unwrap();
        }
    }

    #[test]
    fn what_cannot_be_wished_is_told() {
        for (more, said) in [
            (
                "[wishes]\nhttp = [\"http://a.example\"]",
                "this machine only",
            ),
            ("[wishes]\ninterfaces = [\"memry\"]", "memry"),
            (
                "[wishes.secrets.TOKEN]\nfor = \"https://a.example\"",
                "add \"https://a.example\" to `wishes.http`",
            ),
            (
                "[wishes]\nhttp = [\"https://*.a.example\"]\nsecrets = { T = { for = \"https://*.a.example\" } }",
                "is many",
            ),
            (
                "[wishes]\nsecrets = { token = { for = \"https://a.example\" } }",
                "CRM_TOKEN",
            ),
        ] {
            let told = problem(more);
            assert!(told.contains(said), "{told}");
        }
    }

    #[test]
    fn a_manifest_is_bounded_and_of_a_known_form() {
        let long = format!("{HEAD}#{}", "x".repeat(limits::MANIFEST_BYTES));
        assert!(
            Manifest::parse(&long)
                .unwrap_err()
                .to_string()
                .contains("manifest-bytes")
        );
        let newer = HEAD.replace("= 1", "= 2");
        let told = Manifest::parse(&newer).unwrap_err().to_string();
        assert!(told.contains("update the host"), "{told}");
        let many = vec!["\"https://a.example\""; limits::MANIFEST_WISHES + 1].join(",");
        let told = problem(&format!("[wishes]\nhttp = [{many}]"));
        assert!(told.contains("manifest-wishes"), "{told}");
        assert!(Manifest::of_bytes(b"\xff").is_err());
    }
}
