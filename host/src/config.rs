//! Settings: file, then `HOST_*` variables, then options, into one [`Config`].

mod file;
pub(crate) mod limits;
pub(crate) mod opensandbox;
mod presets;
pub(crate) mod time;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use keepsake_rights::Grant;
use keepsake_storage::CompactOptions;

use crate::cli::{Common, Parts, SandboxChoice};
use crate::failure::{ExitCode, Failure};
use crate::output;
use file::{File, MemoryTable};
use limits::Limits;
use opensandbox::OpenSandboxTable;
use time::milliseconds;

/// The providers unless others are named: they ship with the host, and need no
/// settings.
pub(crate) const DEFAULT_EMBEDDINGS: &str = "embed-static";
pub(crate) const DEFAULT_MODEL: &str = "model-offline";

/// The configuration's name, looked for from the working directory upwards.
pub(crate) const FILE_NAME: &str = "host.toml";

/// Everything that was decided before anything ran.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The file that was read, if any.
    pub(crate) file: Option<PathBuf>,
    /// The folder that holds memory and ledger.
    pub(crate) data: PathBuf,
    pub(crate) embeddings: PluginChoice,
    pub(crate) model: PluginChoice,
    /// The team that sessions are granted, unless a command names another.
    pub(crate) team: Option<String>,
    pub(crate) sandbox: SandboxConfig,
    pub(crate) limits: Limits,
    /// Agents that agents may start, by the name that they do it under.
    pub(crate) agents: BTreeMap<String, AgentConfig>,
    pub(crate) memory: MemoryConfig,
    /// What plugins are granted, by their names.
    pub(crate) grants: BTreeMap<String, Grant>,
    /// Where secrets are that are no variable of their name.
    pub(crate) secrets: BTreeMap<String, PathBuf>,
    /// Settings of each plugin by its name.
    pub(crate) settings: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
}

/// A plugin as it was named, and the folder that a relative path starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PluginChoice {
    pub(crate) name: String,
    pub(crate) base: PathBuf,
}

impl PluginChoice {
    /// As it was named on the command line: a path starts in the folder that the
    /// program was called from.
    pub(crate) fn here(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            base: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SandboxConfig {
    pub(crate) backend: SandboxChoice,
    pub(crate) allow_unisolated: bool,
    pub(crate) network: bool,
    pub(crate) command_timeout: Duration,
    /// The settings of the backend `opensandbox`, as they were written.
    pub(crate) opensandbox: OpenSandboxTable,
    /// Where relative paths in them start.
    pub(crate) base: PathBuf,
}

/// An agent that others may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentConfig {
    pub(crate) plugin: PluginChoice,
    /// The plugins' names of those that may.
    pub(crate) parents: Vec<String>,
}

/// How many agents one message may start; unless set, none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentLimits {
    /// How many may stand below one another.
    pub(crate) depth: u64,
    /// How many there may be in all.
    pub(crate) children: u64,
}

/// How memories are kept small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryConfig {
    /// After how many new facts a memory is compacted; none means never.
    pub(crate) compact_after: Option<u64>,
    /// What goes then.
    pub(crate) options: CompactOptions,
}

impl Config {
    /// Reads what there is to read and decides.
    pub(crate) fn load(common: &Common, parts: &Parts) -> Result<Self, Failure> {
        let here = std::env::current_dir()
            .map_err(|error| wrong(format!("the working directory cannot be read: {error}")))?;
        let path = match &common.config {
            Some(path) => Some(here.join(path)),
            None => here
                .ancestors()
                .map(|folder| folder.join(FILE_NAME))
                .find(|path| path.is_file()),
        };
        let mut table = match &path {
            Some(path) => file::read(path)?,
            None => toml::Table::new(),
        };
        let from_file = |key: &str| table.contains_key(key);
        let file_base = path
            .as_deref()
            .and_then(Path::parent)
            .unwrap_or(&here)
            .to_path_buf();
        // A relative path starts where it was written.
        let base = |key: &str, variable: &str, option: bool| {
            if option || std::env::var_os(variable).is_some() || !from_file(key) {
                here.clone()
            } else {
                file_base.clone()
            }
        };
        let data_base = base("data", "HOST_DATA", common.data.is_some());
        let embeddings_base = base("embeddings", "HOST_EMBEDDINGS", parts.embeddings.is_some());
        let model_base = base("model", "HOST_MODEL", parts.model.is_some());
        let agents_base = file_base.clone();
        // The default data folder lies beside the configuration, so that the
        // same memory is found from any folder below it.
        let default_data = file_base.join(".keepsake");

        file::apply_variables(&mut table)?;
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        for note in file::strange_variables(names) {
            output::note!("note: {note}");
        }
        let origin = path
            .as_deref()
            .map_or("the configuration".into(), |path| format!("{path:?}"));
        let file: File = table.try_into().map_err(|error: toml::de::Error| {
            wrong(format!("{origin}: {}", error.to_string().trim()))
        })?;
        let data = match common.data.clone().or(file.data) {
            Some(data) => data_base.join(data),
            None => default_data,
        };
        let grants = grants(file.grants)?;
        let secrets = file
            .secrets
            .into_iter()
            .map(|(name, path)| (name, file_base.join(path)))
            .collect();
        let mut settings = settings(file.settings)?;
        for note in presets::apply(&mut settings)? {
            output::note!("note: {note}");
        }
        Ok(Self {
            data,
            embeddings: PluginChoice {
                name: first(&parts.embeddings, file.embeddings, DEFAULT_EMBEDDINGS),
                base: embeddings_base,
            },
            model: PluginChoice {
                name: first(&parts.model, file.model, DEFAULT_MODEL),
                base: model_base,
            },
            team: file.team.filter(|team| !team.is_empty()),
            sandbox: SandboxConfig {
                backend: parts
                    .sandbox
                    .or(file.sandbox.backend)
                    .unwrap_or(SandboxChoice::Local),
                allow_unisolated: parts.allow_unisolated_sandbox
                    || file.sandbox.allow_unisolated.unwrap_or(false),
                network: file.sandbox.network.unwrap_or(false),
                command_timeout: Duration::from_secs(bounded(
                    "sandbox.command-seconds",
                    file.sandbox.command_seconds.unwrap_or(60),
                    1,
                    600,
                )?),
                opensandbox: file.sandbox.opensandbox,
                base: file_base,
            },
            limits: limits::resolve(&file.limits)?,
            agents: file
                .agents
                .into_iter()
                .map(|(name, agent)| (name, agent.beside(&agents_base)))
                .collect(),
            memory: memory(&file.memory)?,
            grants,
            secrets,
            settings,
            file: path,
        })
    }
}

fn first(option: &Option<String>, file: Option<String>, default: &str) -> String {
    option
        .clone()
        .or(file)
        .unwrap_or_else(|| default.to_owned())
}

/// New facts after which a memory is compacted where only its bounds are given:
/// often enough to keep to them, and seldom enough to cost nothing.
const COMPACT_AFTER: u64 = 100;

fn memory(table: &MemoryTable) -> Result<MemoryConfig, Failure> {
    let max_age_ms = match &table.max_age {
        Some(age) => {
            Some(milliseconds(age).map_err(|why| wrong(format!("`memory.max-age`: {why}")))?)
        }
        None => None,
    };
    let max_facts = match table.max_facts {
        Some(facts) => Some(bounded("memory.max-facts", facts, 1, u32::MAX.into())? as usize),
        None => None,
    };
    let bounds = max_age_ms.is_some() || max_facts.is_some();
    if let Some(after) = table.compact_after {
        bounded("memory.compact-after", after, 1, u32::MAX.into())?;
        if !bounds {
            return Err(wrong(
                "`memory.compact-after` says when to compact, but not what may stay: give `max-facts`, `max-age` or both in [memory]"
                    .to_owned(),
            ));
        }
    }
    Ok(MemoryConfig {
        compact_after: bounds.then(|| table.compact_after.unwrap_or(COMPACT_AFTER)),
        options: CompactOptions {
            max_age_ms,
            max_facts,
            now: None,
        },
    })
}

fn bounded(key: &str, value: u64, low: u64, high: u64) -> Result<u64, Failure> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(wrong(format!(
            "`{key}` is {value}; it must be from {low} to {high}"
        )))
    }
}

fn grants(tables: BTreeMap<String, toml::Table>) -> Result<BTreeMap<String, Grant>, Failure> {
    tables
        .into_iter()
        .map(|(plugin, table)| {
            let grant = Grant::read(&plugin, table).map_err(|error| wrong(error.to_string()))?;
            Ok((plugin, grant))
        })
        .collect()
}

fn settings(
    tables: BTreeMap<String, toml::Table>,
) -> Result<BTreeMap<String, serde_json::Map<String, serde_json::Value>>, Failure> {
    tables
        .into_iter()
        .map(|(plugin, table)| match serde_json::to_value(&table) {
            Ok(serde_json::Value::Object(map)) => Ok((plugin, map)),
            _ => Err(wrong(format!(
                "the settings of `{plugin}` cannot be written as JSON"
            ))),
        })
        .collect()
}

impl Config {
    /// What to say of settings that are for no plugin: neither for one of those
    /// in use nor for one that ships with the host.
    pub(crate) fn strange_settings(&self, used: &[&str]) -> Vec<String> {
        let shipped: Vec<_> = keepsake_builtin::all().collect();
        let mut strange = strange_tables("settings", self.settings.keys(), used, &shipped);
        strange.extend(strange_tables("grants", self.grants.keys(), used, &shipped));
        strange
    }
}

/// What to say of `[settings.PLUGIN]` or `[grants.PLUGIN]` tables of which no plugin is in use, and
/// whose name is nearly that of one. Others may be for plugins that are used at
/// other times.
fn strange_tables<'n>(
    table: &str,
    named: impl Iterator<Item = &'n String>,
    used: &[&str],
    others: &[&str],
) -> Vec<String> {
    let known = || used.iter().chain(others).copied();
    named
        .filter(|name| known().all(|known| known != name.as_str()))
        .filter_map(|name| {
            let nearest = file::nearest(name, known())?;
            Some(format!(
                "[{table}.{name}] is for no plugin that is in use, and does nothing; did you mean [{table}.{nearest}]?"
            ))
        })
        .collect()
}

fn wrong(message: String) -> Failure {
    Failure::new(ExitCode::Usage, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_compacted_only_where_it_is_said_what_may_stay() {
        assert_eq!(
            memory(&MemoryTable::default()).unwrap(),
            MemoryConfig::default()
        );
        let table = |compact_after, max_facts, max_age: Option<&str>| MemoryTable {
            compact_after,
            max_facts,
            max_age: max_age.map(str::to_owned),
        };
        let config = memory(&table(None, Some(50), None)).unwrap();
        assert_eq!(config.compact_after, Some(COMPACT_AFTER));
        assert_eq!(config.options.max_facts, Some(50));
        let config = memory(&table(Some(5), None, Some("2d"))).unwrap();
        assert_eq!(config.compact_after, Some(5));
        assert_eq!(config.options.max_age_ms, Some(2 * 86_400_000));
        for (wrong, said) in [
            (table(Some(5), None, None), "max-facts"),
            (table(Some(0), Some(5), None), "compact-after"),
            (table(None, Some(0), None), "max-facts"),
            (table(None, None, Some("soon")), "memory.max-age"),
        ] {
            let error = memory(&wrong).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn settings_whose_plugin_is_misspelt_are_told() {
        let told = |name: &str| {
            let named = [name.to_owned()];
            strange_tables(
                "settings",
                named.iter(),
                &["my-agent"],
                &["embed-openai", "model-openai"],
            )
        };
        let misspelt = told("embed-opnai");
        assert!(
            misspelt[0].contains("did you mean [settings.embed-openai]?"),
            "{misspelt:?}"
        );
        assert!(told("my_agent")[0].contains("[settings.my-agent]?"));
        for name in ["my-agent", "model-openai", "another-agent"] {
            assert!(told(name).is_empty(), "{name}");
        }
    }
}
