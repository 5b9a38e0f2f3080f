//! What a plugin gets here: its manifest's wishes, what the operator granted,
//! and what follows of both.

mod ask;
mod remembered;
mod secrets;

use keepsake_client::Credential;
use keepsake_plugin::{HttpAccess, PluginReport, PluginSource};
use keepsake_rights::{Grant, Missing, Rights, Server, Wishes, weigh};

use crate::config::Config;
use crate::failure::{ExitCode, Failure};
pub(crate) use ask::ask;
pub(crate) use remembered::{Remembered, read as remembered};

/// What becomes of a plugin's wishes.
pub(crate) struct Permission {
    pub(crate) rights: Rights,
    pub(crate) missing: Missing,
    /// What `host.toml` grants the plugin of this name, for this hash or not.
    written: Option<Grant>,
    name: String,
    hash: String,
}

impl Permission {
    /// Weighs a plugin's wishes. A manifest that cannot be read wishes nothing;
    /// loading the plugin says what is wrong with it.
    pub(crate) fn of(source: &PluginSource, config: &Config, remembered: &[Remembered]) -> Self {
        let wishes = match source.manifest() {
            Ok(Some(manifest)) => manifest.wishes,
            _ => Wishes::default(),
        };
        let hash = source.hash();
        let written = config.grants.get(&source.name);
        let remembered = remembered
            .iter()
            .filter(|one| one.name == source.name)
            .map(|one| &one.grant);
        let grants: Vec<&Grant> = written
            .into_iter()
            .chain(remembered)
            .filter(|grant| grant.is_for(&hash))
            .collect();
        let (rights, missing) = weigh(&wishes, &grants);
        Self {
            rights,
            missing,
            written: written.cloned(),
            name: source.name.clone(),
            hash,
        }
    }

    /// The plugin's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The lines of `host.toml` that would grant what is missing; none where
    /// nothing is.
    pub(crate) fn lines(&self) -> Option<String> {
        if self.missing.is_empty() {
            return None;
        }
        let grant = match &self.written {
            Some(written) if written.is_for(&self.hash) => written.clone(),
            // It was for another component, which the new one takes the place of.
            Some(_) => Grant::default().pinned(&self.hash),
            None => Grant::default(),
        };
        Some(grant.and(self.missing.grant()).lines(&self.name))
    }

    /// What to do with those lines.
    pub(crate) fn advice(&self) -> &'static str {
        match &self.written {
            Some(written) if !written.is_for(&self.hash) => {
                "its grant in host.toml is for another build of it (`hash`); to grant it, write in its place"
            }
            Some(_) => "to grant it, write in place of its grant in host.toml",
            None => "to grant it, add to host.toml",
        }
    }

    /// # Errors
    /// When the plugin wishes what it was not granted.
    pub(crate) fn expect_granted(&self) -> Result<(), Failure> {
        let Some(lines) = self.lines() else {
            return Ok(());
        };
        let wishes: String = self
            .missing
            .words()
            .iter()
            .map(|words| format!("\n  - {words}"))
            .collect();
        Err(Failure::new(
            ExitCode::Denied,
            format!(
                "{} wishes more than it was granted:{wishes}\n{}:\n\n{lines}\nor deny-rest = true under [grants.{}], to run it without",
                self.name,
                self.advice(),
                self.name,
            ),
        ))
    }

    /// # Errors
    /// When the plugin uses an interface that was taken from it.
    pub(crate) fn expect_left(&self, report: &PluginReport) -> Result<(), Failure> {
        let mut withheld = self.rights.withheld.iter();
        let Some(used) = withheld.find(|capability| report.uses(**capability)) else {
            return Ok(());
        };
        let name = used.name();
        Err(Failure::new(
            ExitCode::Denied,
            format!(
                "{} imports `keepsake:host/{name}`, which host.toml leaves out for it: add \"{name}\" to `interfaces` in [grants.{}], or run another plugin",
                self.name, self.name
            ),
        ))
    }

    /// What it may reach over HTTP, with its secrets read; what an agent asks is
    /// `recorded`.
    ///
    /// # Errors
    /// When a secret cannot be read.
    pub(crate) fn http_access(
        &self,
        config: &Config,
        recorded: bool,
    ) -> Result<HttpAccess, Failure> {
        let mut credentials: Vec<(Server, Credential)> = Vec::new();
        for secret in &self.rights.secrets {
            let credential = secrets::read(secret, config)?;
            credentials.push((secret.server.clone(), credential));
        }
        let rights = &self.rights;
        HttpAccess::granted(&rights.http, &rights.private_hosts, credentials, recorded)
            .map_err(|fault| Failure::new(ExitCode::Other, fault.to_string()))
    }
}
