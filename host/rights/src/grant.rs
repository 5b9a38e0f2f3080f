//! What an operator grants a plugin: `[grants.NAME]` in `host.toml`.

use std::collections::BTreeMap;

use keepsake_types::limits;
use serde::{Deserialize, Serialize};

use crate::keys::unknown;
use crate::manifest::{Capability, is_secret_name};
use crate::place::Server;

/// How a hash begins.
const HASH: &str = "blake3:";
/// Hexadecimal digits behind it.
const HASH_DIGITS: usize = 64;

/// What one plugin is granted beyond what every plugin has, and what of that it
/// is not to have.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Grant {
    /// The only component that it is for, as `blake3:` and the hash; without one
    /// it is for every plugin of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The interfaces that are left to the plugin; without them, all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interfaces: Option<Vec<Capability>>,
    /// The servers that its requests may go to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<Server>,
    /// Names that may stand for addresses of a private network, or of this
    /// machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub private_hosts: Vec<String>,
    /// Whether commands in its sandbox reach a network.
    #[serde(skip_serializing_if = "is_false")]
    pub sandbox_network: bool,
    /// Whether the plugin runs without what it wishes and was not granted.
    #[serde(skip_serializing_if = "is_false")]
    pub deny_rest: bool,
    /// Secrets, each with the server that it may be sent to.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, Server>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "what serde calls it with"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// What is wrong with a grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("[grants.{plugin}]: {reason}")]
pub struct GrantError {
    plugin: String,
    reason: String,
}

const KEYS: [&str; 6] = [
    "hash",
    "interfaces",
    "http",
    "private-hosts",
    "sandbox-network",
    "deny-rest",
];
/// Tables whose keys are names.
const NAMED: [&str; 1] = ["secrets"];

impl Grant {
    /// Reads the grant of a plugin.
    ///
    /// # Errors
    /// When a key is unknown, with the nearest one, or what it holds is wrong.
    pub fn read(plugin: &str, table: toml::Table) -> Result<Self, GrantError> {
        let wrong = |reason: String| GrantError {
            plugin: plugin.to_owned(),
            reason,
        };
        if let Some(problem) = unknown(&table, &KEYS, &[], &NAMED) {
            return Err(wrong(problem));
        }
        let grant: Self = table
            .try_into()
            .map_err(|error: toml::de::Error| wrong(error.to_string().trim_end().to_owned()))?;
        grant.check().map_err(wrong)?;
        Ok(grant)
    }

    fn check(&self) -> Result<(), String> {
        if let Some(hash) = &self.hash {
            let digits = hash.strip_prefix(HASH).unwrap_or_default();
            if digits.len() != HASH_DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit())
            {
                return Err(format!(
                    "`hash` must be `{HASH}` and {HASH_DIGITS} hexadecimal digits, which `host inspect` shows"
                ));
            }
        }
        for (name, server) in &self.secrets {
            if !is_secret_name(name) {
                return Err(format!(
                    "`{}` is no secret's name, which is from 1 to 64 of A-Z, 0-9 and _",
                    name.escape_debug()
                ));
            }
            if !server.is_one() {
                return Err(format!(
                    "the secret {name} is for one server, and {server} is many"
                ));
            }
        }
        for (key, count) in [
            ("http", self.http.len()),
            ("secrets", self.secrets.len()),
            ("private-hosts", self.private_hosts.len()),
        ] {
            let most = limits::MANIFEST_WISHES;
            if count > most {
                return Err(format!(
                    "`{key}` has {count} members; it may have {most} (manifest-wishes)"
                ));
            }
        }
        Ok(())
    }

    /// Whether it is for the component of this BLAKE3 in hexadecimal digits.
    #[must_use]
    pub fn is_for(&self, hash: &str) -> bool {
        self.hash.as_deref().is_none_or(|own| {
            own.strip_prefix(HASH)
                .is_some_and(|digits| digits.eq_ignore_ascii_case(hash))
        })
    }

    /// The same for the component of this hash only.
    #[must_use]
    pub fn pinned(mut self, hash: &str) -> Self {
        self.hash = Some(format!("{HASH}{hash}"));
        self
    }

    /// This with what the other grants besides.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for server in &other.http {
            if !self.http.contains(server) {
                self.http.push(server.clone());
            }
        }
        for host in &other.private_hosts {
            if !self.private_hosts.contains(host) {
                self.private_hosts.push(host.clone());
            }
        }
        self.secrets.extend(other.secrets.clone());
        self.sandbox_network |= other.sandbox_network;
        self
    }

    /// The lines of `host.toml` that say this of a plugin.
    #[must_use]
    pub fn lines(&self, plugin: &str) -> String {
        let mut inner = toml::Table::new();
        let mut outer = toml::Table::new();
        // A grant has texts, lists and tables only, which TOML can all hold.
        if let Ok(grant) = toml::Value::try_from(self) {
            inner.insert(plugin.to_owned(), grant);
        }
        outer.insert("grants".to_owned(), inner.into());
        toml::to_string(&outer).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(text: &str) -> Result<Grant, String> {
        Grant::read("crm", text.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_grant_reads_as_its_own_lines() {
        let hash = "0f".repeat(32);
        let grant = grant(&format!(
            "hash = \"blake3:{hash}\"\nhttp = [\"https://api.example.com\"]\nsandbox-network = true\nsecrets = {{ CRM_TOKEN = \"https://api.example.com\" }}"
        ))
        .unwrap();
        let lines = grant.lines("crm");
        assert!(lines.contains("[grants.crm]"), "{lines}");
        let table: toml::Table = lines.parse().unwrap();
        let again = table["grants"]["crm"].as_table().unwrap().clone();
        assert_eq!(Grant::read("crm", again), Ok(grant.clone()));
        assert!(grant.is_for(&hash.to_uppercase()));
        assert!(!grant.is_for(&"00".repeat(32)));
    }

    #[test]
    fn what_is_wrong_with_a_grant_is_told_with_its_plugin() {
        for (text, said) in [
            ("htpt = []", "did you mean `http`?"),
            ("hash = \"sha256:00\"", "blake3:"),
            ("http = [\"api.example.com\"]", "https://api.example.com"),
            ("secrets = { T = \"https://*.a.example\" }", "is many"),
            ("secrets = { t = \"https://a.example\" }", "A-Z"),
            ("secrets = [\"T\"]", "in braces"),
        ] {
            let told = grant(text).unwrap_err();
            assert!(told.starts_with("[grants.crm]"), "{told}");
            assert!(told.contains(said), "{told}");
        }
    }
}
