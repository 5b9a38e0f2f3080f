//! The configuration as it is written: its keys, the `HOST_*` variables that
//! override them, and what is told about a key that nobody knows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::limits::{LIMITS, Unit};
use super::opensandbox::OpenSandboxTable;
use super::{AgentConfig, PluginChoice, wrong};
use crate::cli::SandboxChoice;
use crate::failure::Failure;

/// The file as it is written. Every key is listed in [`KEYS`],
/// [`LIMITS`] or [`FURTHER`] too, which a test compares with this.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct File {
    pub(super) data: Option<PathBuf>,
    pub(super) embeddings: Option<String>,
    pub(super) model: Option<String>,
    pub(super) team: Option<String>,
    #[serde(default)]
    pub(super) sandbox: SandboxTable,
    #[serde(default)]
    pub(super) limits: BTreeMap<String, f64>,
    #[serde(default)]
    pub(super) memory: MemoryTable,
    /// Files that hold secrets, by the secrets' names.
    #[serde(default)]
    pub(super) secrets: BTreeMap<String, PathBuf>,
    /// Each is read with its own key check.
    #[serde(default)]
    pub(super) grants: BTreeMap<String, toml::Table>,
    #[serde(default)]
    pub(super) agents: BTreeMap<String, AgentTable>,
    #[serde(default)]
    pub(super) settings: BTreeMap<String, toml::Table>,
}

/// An agent that others may start.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct AgentTable {
    plugin: String,
    #[serde(default)]
    parents: Vec<String>,
}

impl AgentTable {
    /// With a path that starts in this folder.
    pub(super) fn beside(self, base: &Path) -> AgentConfig {
        AgentConfig {
            plugin: PluginChoice {
                name: self.plugin,
                base: base.to_path_buf(),
            },
            parents: self.parents,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct SandboxTable {
    pub(super) backend: Option<SandboxChoice>,
    pub(super) allow_unisolated: Option<bool>,
    pub(super) network: Option<bool>,
    pub(super) command_seconds: Option<u64>,
    #[serde(default)]
    pub(super) opensandbox: OpenSandboxTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct MemoryTable {
    pub(super) compact_after: Option<u64>,
    pub(super) max_facts: Option<u64>,
    pub(super) max_age: Option<String>,
}

/// What a variable's text stands for.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Flag,
    Seconds,
    Whole,
}

/// Every key but those of `[limits]`, with the variable that overrides it.
const KEYS: [(&str, &str, Form); 19] = [
    ("data", "HOST_DATA", Form::Text),
    ("embeddings", "HOST_EMBEDDINGS", Form::Text),
    ("model", "HOST_MODEL", Form::Text),
    ("team", "HOST_TEAM", Form::Text),
    ("sandbox.backend", "HOST_SANDBOX_BACKEND", Form::Text),
    (
        "sandbox.allow-unisolated",
        "HOST_SANDBOX_ALLOW_UNISOLATED",
        Form::Flag,
    ),
    ("sandbox.network", "HOST_SANDBOX_NETWORK", Form::Flag),
    (
        "sandbox.command-seconds",
        "HOST_SANDBOX_COMMAND_SECONDS",
        Form::Whole,
    ),
    (
        "sandbox.opensandbox.url",
        "HOST_OPENSANDBOX_URL",
        Form::Text,
    ),
    (
        "sandbox.opensandbox.key-variable",
        "HOST_OPENSANDBOX_KEY_VARIABLE",
        Form::Text,
    ),
    (
        "sandbox.opensandbox.key-file",
        "HOST_OPENSANDBOX_KEY_FILE",
        Form::Text,
    ),
    (
        "sandbox.opensandbox.image",
        "HOST_OPENSANDBOX_IMAGE",
        Form::Text,
    ),
    (
        "sandbox.opensandbox.timeout-seconds",
        "HOST_OPENSANDBOX_TIMEOUT_SECONDS",
        Form::Whole,
    ),
    (
        "sandbox.opensandbox.create-seconds",
        "HOST_OPENSANDBOX_CREATE_SECONDS",
        Form::Whole,
    ),
    (
        "sandbox.opensandbox.use-server-proxy",
        "HOST_OPENSANDBOX_USE_SERVER_PROXY",
        Form::Flag,
    ),
    (
        "sandbox.opensandbox.enforce-network",
        "HOST_OPENSANDBOX_ENFORCE_NETWORK",
        Form::Flag,
    ),
    (
        "memory.compact-after",
        "HOST_MEMORY_COMPACT_AFTER",
        Form::Whole,
    ),
    ("memory.max-facts", "HOST_MEMORY_MAX_FACTS", Form::Whole),
    ("memory.max-age", "HOST_MEMORY_MAX_AGE", Form::Text),
];

/// Every key that a variable overrides.
fn keys() -> impl Iterator<Item = (&'static str, &'static str, Form)> {
    let limits = LIMITS.iter().map(|limit| {
        let form = match limit.unit {
            Unit::Seconds => Form::Seconds,
            Unit::Whole => Form::Whole,
        };
        (limit.key, limit.variable, form)
    });
    KEYS.into_iter().chain(limits)
}

/// Further keys, which no variable overrides.
const FURTHER: [&str; 6] = [
    "sandbox.opensandbox.endpoint-tls",
    "sandbox.opensandbox.entrypoint",
    "sandbox.opensandbox.network-allow",
    "sandbox.opensandbox.resources",
    "sandbox.opensandbox.metadata",
    "sandbox.opensandbox.volumes",
];

/// Tables of keys.
const TABLES: [&str; 4] = ["sandbox", "sandbox.opensandbox", "limits", "memory"];

/// Tables whose keys are the names of plugins or secrets.
const OPEN_TABLES: [&str; 4] = ["agents", "grants", "secrets", "settings"];

/// Reads a file and names what is wrong with its keys.
pub(super) fn read(path: &Path) -> Result<toml::Table, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        wrong(format!(
            "the configuration {path:?} cannot be read: {error}"
        ))
    })?;
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| wrong(format!("{path:?} is not valid TOML:\n{error}")))?;
    check_keys(path, "", &table)?;
    Ok(table)
}

/// Names an unknown key with the nearest known one, which serde does not.
fn check_keys(path: &Path, outer: &str, table: &toml::Table) -> Result<(), Failure> {
    for (key, value) in table {
        let key = match outer {
            "" => key.clone(),
            outer => format!("{outer}.{key}"),
        };
        match value {
            _ if OPEN_TABLES.contains(&key.as_str()) => {}
            toml::Value::Table(inner) if TABLES.contains(&key.as_str()) => {
                check_keys(path, &key, inner)?;
            }
            _ if TABLES.contains(&key.as_str()) => {
                return Err(wrong(format!(
                    "{path:?}: `{key}` is a table: write `[{key}]` and its keys below it"
                )));
            }
            _ => check_key(path, &key)?,
        }
    }
    Ok(())
}

fn check_key(path: &Path, key: &str) -> Result<(), Failure> {
    let known = || keys().map(|(known, _, _)| known).chain(FURTHER);
    if known().any(|known| known == key) {
        return Ok(());
    }
    let nearest = known()
        .chain(TABLES)
        .chain(OPEN_TABLES)
        .max_by(|a, b| strsim::jaro_winkler(a, key).total_cmp(&strsim::jaro_winkler(b, key)));
    let suggestion = match nearest {
        Some(nearest) if strsim::jaro_winkler(nearest, key) > 0.8 => {
            format!("did you mean `{nearest}`?")
        }
        _ => {
            let known: Vec<_> = known().collect();
            format!(
                "known keys are {}, [agents.NAME], [grants.PLUGIN], [secrets] and [settings.PLUGIN]",
                known.join(", ")
            )
        }
    };
    Err(wrong(format!(
        "{path:?}: unknown key `{key}`; {suggestion}"
    )))
}

/// What to say of `HOST_*` variables that are nearly one of ours: others may
/// have their own, so that a strange one is no error.
pub(super) fn strange_variables(names: impl Iterator<Item = String>) -> Vec<String> {
    let known = || {
        let keys = keys().map(|(_, variable, _)| variable);
        keys.chain(["HOST_CONFIG", "HOST_CACHE"])
    };
    names
        .filter(|name| name.starts_with("HOST_") && known().all(|known| known != name))
        .filter_map(|name| {
            let nearest = nearest(&name["HOST_".len()..], known().map(|known| &known["HOST_".len()..]))?;
            Some(format!(
                "the variable {name} is none of this program's and does nothing; did you mean HOST_{nearest}?"
            ))
        })
        .collect()
}

/// The known name that a text was probably meant to be.
pub(super) fn nearest<'k>(text: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let distance = |known: &str| strsim::damerau_levenshtein(known, text);
    let nearest = known.min_by_key(|known| distance(known))?;
    // A letter wrong, missing, too many or exchanged; two in a long name.
    let allowed = if nearest.len() >= 8 { 2 } else { 1 };
    (distance(nearest) <= allowed).then_some(nearest)
}

/// Puts `HOST_*` variables into the table, as what they would be in the file.
pub(super) fn apply_variables(table: &mut toml::Table) -> Result<(), Failure> {
    for (key, variable, form) in keys() {
        if let Ok(text) = std::env::var(variable) {
            insert(table, key, parsed(variable, text, form)?);
        }
    }
    Ok(())
}

fn parsed(variable: &str, text: String, form: Form) -> Result<toml::Value, Failure> {
    let (value, wanted) = match form {
        Form::Text => return Ok(toml::Value::String(text)),
        Form::Flag => (text.parse().ok().map(toml::Value::Boolean), "true or false"),
        Form::Seconds => (
            text.parse().ok().map(toml::Value::Float),
            "a number of seconds",
        ),
        Form::Whole => (
            text.parse().ok().map(toml::Value::Integer),
            "a whole number",
        ),
    };
    value.ok_or_else(|| wrong(format!("{variable} is {text:?}; it must be {wanted}")))
}

fn insert(table: &mut toml::Table, key: &str, value: toml::Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
        }
        Some((outer, inner)) => {
            let entry = table
                .entry(outer)
                .or_insert_with(|| toml::Value::Table(toml::Table::new()));
            // Anything but a table was refused when the file was read.
            if let toml::Value::Table(entry) = entry {
                insert(entry, inner, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let table: toml::Table = text.parse().unwrap();
        check_keys(Path::new("host.toml"), "", &table)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_nearest() {
        assert!(problem("embedings = \"x\"").contains("did you mean `embeddings`?"));
        assert!(
            problem("[limits]\nturn-second = 1").contains("did you mean `limits.turn-seconds`?")
        );
        assert!(
            problem("[sandbox.opensandbox]\nimag = \"x\"")
                .contains("did you mean `sandbox.opensandbox.image`?")
        );
        assert!(problem("[sandbx]\nbackend = \"local\"").contains("did you mean `sandbox`?"));
        assert!(problem("colour = 1").contains("known keys are data"));
        assert!(problem("sandbox = \"local\"").contains("[sandbox]"));
    }

    #[test]
    fn every_listed_key_is_one_that_the_file_takes() {
        let single = keys().map(|(key, _, form)| {
            let value = match form {
                Form::Text if key == "sandbox.backend" => "\"local\"",
                Form::Text => "\"x\"",
                Form::Flag => "true",
                Form::Seconds | Form::Whole => "4",
            };
            (key, value)
        });
        let compound = FURTHER.iter().map(|key| {
            let value = match *key {
                "sandbox.opensandbox.endpoint-tls" => "true",
                "sandbox.opensandbox.resources" | "sandbox.opensandbox.metadata" => "{ a = \"b\" }",
                "sandbox.opensandbox.volumes" => {
                    "[{ name = \"a\", mount-path = \"/a\", host = \"/b\" }]"
                }
                _ => "[\"x\"]",
            };
            (*key, value)
        });
        for (key, value) in single.chain(compound) {
            let table: toml::Table = format!("{key} = {value}").parse().unwrap();
            check_keys(Path::new("host.toml"), "", &table).unwrap();
            let file: Result<File, _> = table.try_into();
            assert!(file.is_ok(), "{key}: {file:?}");
        }
    }

    #[test]
    fn a_variable_that_is_nearly_one_of_ours_is_told() {
        let told = |name: &str| strange_variables([name.to_owned()].into_iter());
        for (name, meant) in [
            ("HOST_EMBEDINGS", "HOST_EMBEDDINGS?"),
            ("HOST_MODLE", "HOST_MODEL?"),
            (
                "HOST_SANDBOX_COMAND_SECOND",
                "HOST_SANDBOX_COMMAND_SECONDS?",
            ),
            ("HOST_CACHES", "HOST_CACHE?"),
        ] {
            let told = told(name);
            assert!(told.len() == 1 && told[0].ends_with(meant), "{told:?}");
        }
        for name in [
            "HOST_NAME",
            "HOST_IP",
            "HOST_UID",
            "HOST_DATA",
            "HOST_CONFIG",
            "PATH",
        ] {
            assert!(told(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn a_variable_stands_for_a_key_however_deep() {
        let mut table = toml::Table::new();
        insert(&mut table, "sandbox.opensandbox.url", "http://a".into());
        let file: File = table.try_into().unwrap();
        assert_eq!(file.sandbox.opensandbox.url.as_deref(), Some("http://a"));
        let refused = parsed("HOST_X", "maybe".into(), Form::Flag).unwrap_err();
        assert!(refused.to_string().contains("true or false"));
    }
}
