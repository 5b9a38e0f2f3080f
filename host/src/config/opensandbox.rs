//! `[sandbox.opensandbox]`: which server makes the sandboxes, and of what.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use keepsake_client::Credential;
use keepsake_sandbox::{KEY_HEADER, NetworkPolicy, OpenSandboxOptions, Volume, VolumeSource};
use serde::Deserialize;

use super::wrong;
use crate::failure::Failure;

/// Where a server on this machine listens unless it is told otherwise.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// The image of sandboxes unless another one is named: small, with a POSIX
/// shell and the usual tools.
pub(crate) const DEFAULT_IMAGE: &str = "debian:stable-slim";

/// The longest key that a file may hold, in bytes.
const KEY_BYTES: u64 = 8 * 1024;

/// The table as it is written.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct OpenSandboxTable {
    pub(crate) url: Option<String>,
    pub(crate) key_variable: Option<String>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) image: Option<String>,
    pub(crate) entrypoint: Option<Vec<String>>,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) create_seconds: Option<u64>,
    pub(crate) use_server_proxy: Option<bool>,
    pub(crate) endpoint_tls: Option<bool>,
    pub(crate) enforce_network: Option<bool>,
    #[serde(default)]
    pub(crate) network_allow: Vec<String>,
    #[serde(default)]
    pub(crate) resources: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) metadata: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) volumes: Vec<VolumeTable>,
}

/// A volume as it is written: `host` or `claim` says where it comes from.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct VolumeTable {
    name: String,
    mount_path: String,
    #[serde(default)]
    read_only: bool,
    sub_path: Option<String>,
    host: Option<String>,
    claim: Option<String>,
}

impl OpenSandboxTable {
    /// The backend's options. Reads the key, from its variable or its file,
    /// which a relative path is looked for from `base`.
    ///
    /// # Errors
    /// When the key is not where it should be, or a value is out of its bounds.
    pub(crate) fn options(&self, base: &Path) -> Result<OpenSandboxOptions, Failure> {
        let mut options = OpenSandboxOptions::new(
            self.url.as_deref().unwrap_or(DEFAULT_URL),
            self.image.as_deref().unwrap_or(DEFAULT_IMAGE),
        );
        options.key = self.key(base)?;
        if let Some(entrypoint) = &self.entrypoint {
            options.entrypoint.clone_from(entrypoint);
        }
        if let Some(seconds) = self.timeout_seconds {
            options.timeout = seconds_of("timeout-seconds", seconds, 60)?;
        }
        if let Some(seconds) = self.create_seconds {
            options.create_timeout = seconds_of("create-seconds", seconds, 1)?;
        }
        options.use_server_proxy = self.use_server_proxy.unwrap_or(false);
        options.endpoint_tls = self.endpoint_tls.unwrap_or(false);
        options.network = match self.enforce_network.unwrap_or(true) {
            true => NetworkPolicy::Enforced(self.network_allow.clone()),
            false if self.network_allow.is_empty() => NetworkPolicy::Server,
            false => {
                return Err(unusable(
                    "network-allow",
                    "it needs `enforce-network = true`: a server that is not asked to enforce a list does not keep to it",
                ));
            }
        };
        options.resources.extend(self.resources.clone());
        options.metadata.clone_from(&self.metadata);
        options.volumes = self.volumes.iter().map(volume).collect::<Result<_, _>>()?;
        Ok(options)
    }

    fn key(&self, base: &Path) -> Result<Option<Credential>, Failure> {
        match (&self.key_variable, &self.key_file) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(unusable(
                "key-file",
                "`key-variable` names a key too; leave one of them out",
            )),
            (Some(variable), None) => Credential::from_variable(variable, Some(KEY_HEADER))
                .map(Some)
                .map_err(|error| unusable("key-variable", &error.to_string())),
            (None, Some(file)) => key_in(&base.join(file)).map(Some),
        }
    }
}

fn key_in(path: &Path) -> Result<Credential, Failure> {
    let told = |reason: String| unusable("key-file", &format!("{}: {reason}", path.display()));
    let metadata = std::fs::metadata(path)
        .map_err(|error| told(format!("{error}; `host sandbox init` makes it")))?;
    if metadata.len() > KEY_BYTES {
        return Err(told("it is too long to be a key".into()));
    }
    let readable_by_others = {
        use std::os::unix::fs::PermissionsExt;
        metadata.permissions().mode() & 0o077 != 0
    };
    if readable_by_others {
        return Err(told(format!(
            "other users can read it; run `chmod 600 {}`",
            path.display()
        )));
    }
    let key = std::fs::read_to_string(path).map_err(|error| told(error.to_string()))?;
    match key.trim() {
        "" => Err(told("it is empty".into())),
        key => Credential::new(&path.display().to_string(), key, Some(KEY_HEADER))
            .map_err(|error| told(error.to_string())),
    }
}

fn volume(table: &VolumeTable) -> Result<Volume, Failure> {
    let source = match (&table.host, &table.claim) {
        (Some(path), None) => VolumeSource::Host(path.clone()),
        (None, Some(claim)) => VolumeSource::Claim(claim.clone()),
        _ => {
            return Err(unusable(
                "volumes",
                &format!(
                    "volume `{}` needs `host`, a directory of the server's machine, or `claim`, a volume by its name, and not both",
                    table.name
                ),
            ));
        }
    };
    Ok(Volume {
        name: table.name.clone(),
        mount_path: table.mount_path.clone(),
        read_only: table.read_only,
        sub_path: table.sub_path.clone(),
        source,
    })
}

fn seconds_of(key: &str, seconds: u64, least: u64) -> Result<Duration, Failure> {
    // A day: what is forgotten for longer than that is left behind.
    let most = 86_400;
    if (least..=most).contains(&seconds) {
        return Ok(Duration::from_secs(seconds));
    }
    Err(unusable(
        key,
        &format!("it is {seconds}; it must be from {least} to {most}"),
    ))
}

fn unusable(key: &str, reason: &str) -> Failure {
    wrong(format!("`{key}` in [sandbox.opensandbox]: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> OpenSandboxTable {
        toml::from_str(text).unwrap()
    }

    fn problem(text: &str) -> String {
        match table(text).options(Path::new("/nowhere")) {
            Ok(_) => panic!("{text} was taken"),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn a_server_on_this_machine_needs_no_settings() {
        let options = table("").options(Path::new("/nowhere")).unwrap();
        assert_eq!(options.url, DEFAULT_URL);
        assert!(options.key.is_none());
        assert_eq!(options.network, NetworkPolicy::Enforced(Vec::new()));
    }

    #[test]
    fn a_key_that_is_not_where_it_should_be_says_what_to_do() {
        let text = problem("key-variable = \"NO_SUCH_VARIABLE_ANYWHERE\"");
        assert!(text.contains("export NO_SUCH_VARIABLE_ANYWHERE="), "{text}");
        let text = problem("key-file = \"key\"");
        assert!(
            text.contains("/nowhere/key") && text.contains("host sandbox init"),
            "{text}"
        );
        let text = problem("key-file = \"key\"\nkey-variable = \"PATH\"");
        assert!(text.contains("leave one of them out"), "{text}");
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "hunter2\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let settings = table("key-file = \"key\"");
        let text = settings.options(folder.path()).unwrap_err().to_string();
        assert!(
            text.contains("chmod 600") && !text.contains("hunter2"),
            "{text}"
        );
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(settings.options(folder.path()).unwrap().key.is_some());
    }

    #[test]
    fn values_out_of_bounds_name_their_key() {
        assert!(problem("timeout-seconds = 59").contains("`timeout-seconds`"));
        let text = problem("enforce-network = false\nnetwork-allow = [\"a.example\"]");
        assert!(text.contains("enforce-network = true"), "{text}");
        let text = problem("volumes = [{ name = \"a\", mount-path = \"/a\" }]");
        assert!(
            text.contains("`host`") && text.contains("`claim`"),
            "{text}"
        );
    }
}
