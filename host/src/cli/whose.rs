//! Whose memory a command is about.

use clap::Args;
use keepsake_types::ResourceRef;

use crate::config::Config;
use crate::failure::{ExitCode, Failure};

/// A customer, or what a team has in common.
#[derive(Debug, Args)]
pub(crate) struct Whose {
    /// The customer; without one, what the members of the team have in common
    #[arg(long, value_name = "NAME", required_unless_present = "team")]
    resource: Option<String>,
    #[command(flatten)]
    team: Team,
    /// A fork of that memory; `a/b` is the fork b of the fork a
    #[arg(long, value_name = "NAME")]
    fork: Option<String>,
}

impl Whose {
    /// # Errors
    /// Where a name cannot be used.
    pub(crate) fn resource(&self, config: &Config) -> Result<ResourceRef, Failure> {
        let whole = self.whole(config)?;
        Ok(match &self.fork {
            Some(fork) => whole.with_fork(fork)?,
            None => whole,
        })
    }

    fn whole(&self, config: &Config) -> Result<ResourceRef, Failure> {
        if let Some(resource) = &self.resource {
            return self.team.member(config, resource);
        }
        match self.team.granted(config) {
            Some(team) => Ok(ResourceRef::of_team(team)?),
            None => Err(Failure::new(
                ExitCode::Usage,
                "neither a customer nor a team is named: give --resource, or --team with a name",
            )),
        }
    }
}

/// The team that is granted.
#[derive(Clone, Debug, Args)]
pub(crate) struct Team {
    /// The team whose customers and memory these are; an empty name for none
    /// [default: `team` in host.toml]
    #[arg(long, value_name = "NAME")]
    team: Option<String>,
}

impl Team {
    pub(crate) fn granted<'n>(&'n self, config: &'n Config) -> Option<&'n str> {
        let named = self.team.as_ref().or(config.team.as_ref());
        named.map(String::as_str).filter(|team| !team.is_empty())
    }

    /// A customer, of the team where one is granted.
    ///
    /// # Errors
    /// Where a name cannot be used.
    pub(crate) fn member(&self, config: &Config, resource: &str) -> Result<ResourceRef, Failure> {
        let resource = ResourceRef::new(resource)?;
        Ok(match self.granted(config) {
            Some(team) => resource.with_team(team)?,
            None => resource,
        })
    }
}
