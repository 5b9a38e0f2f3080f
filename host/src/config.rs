//! Settings: file, then `HOST_*` variables, then options, into one [`Config`].

mod file;
pub(crate) mod opensandbox;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use keepsake_plugin::GuestLimits;

use crate::cli::{Common, Parts, SandboxChoice};
use crate::failure::{ExitCode, Failure};
use file::{File, LimitsTable};
use opensandbox::OpenSandboxTable;

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
    pub(crate) sandbox: SandboxConfig,
    pub(crate) limits: GuestLimits,
    /// Settings of each plugin by its name.
    pub(crate) settings: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
}

/// A plugin as it was named, and the folder that a relative path starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PluginChoice {
    pub(crate) name: String,
    pub(crate) base: PathBuf,
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
        // The default data folder lies beside the configuration, so that the
        // same memory is found from any folder below it.
        let default_data = file_base.join(".keepsake");

        file::apply_variables(&mut table)?;
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
        Ok(Self {
            data,
            embeddings: PluginChoice {
                name: first(&parts.embeddings, file.embeddings, "embed-static"),
                base: embeddings_base,
            },
            model: PluginChoice {
                name: first(&parts.model, file.model, "model-offline"),
                base: model_base,
            },
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
            limits: guest_limits(&file.limits)?,
            settings: settings(file.settings)?,
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

fn guest_limits(table: &LimitsTable) -> Result<GuestLimits, Failure> {
    let mut limits = GuestLimits::default();
    let seconds = |key: &str, value: f64| {
        // Anything shorter could not even start a plugin.
        if (0.01..=86_400.0).contains(&value) {
            Ok(Duration::from_secs_f64(value))
        } else {
            Err(wrong(format!(
                "`{key}` is {value}; it must be from 0.01 to 86400 seconds"
            )))
        }
    };
    if let Some(value) = table.turn_seconds {
        limits.wall = seconds("limits.turn-seconds", value)?;
    }
    if let Some(value) = table.turn_cpu_seconds {
        limits.cpu = seconds("limits.turn-cpu-seconds", value)?;
    }
    if let Some(value) = table.memory_mib {
        let largest = (keepsake_plugin::LARGEST_MEMORY >> 20) as u64;
        limits.memory = (bounded("limits.memory-mib", value, 2, largest)? as usize) << 20;
    }
    Ok(limits)
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

fn wrong(message: String) -> Failure {
    Failure::new(ExitCode::Usage, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_bounds() {
        let table = |memory_mib, turn_seconds| LimitsTable {
            memory_mib,
            turn_seconds,
            turn_cpu_seconds: None,
        };
        assert_eq!(
            guest_limits(&table(Some(64), Some(1.5))).unwrap().memory,
            64 << 20
        );
        assert!(guest_limits(&table(Some(1), None)).is_err());
        assert!(guest_limits(&table(Some(10_000), None)).is_err());
        assert!(guest_limits(&table(None, Some(0.0))).is_err());
        assert!(guest_limits(&table(None, Some(f64::NAN))).is_err());
    }
}
