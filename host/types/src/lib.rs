//! Words that every part of the host shares. This crate does no input or
//! output and depends on no other part of the host.

pub mod calendar;
pub mod embedding;
pub mod limits;
pub mod text;

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type Timestamp = u64;

/// The current time by the host's wall clock.
pub fn now() -> Timestamp {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| {
            u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
        })
}

/// The lasting identity that memory belongs to: a customer or an account,
/// never a sandbox or a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ResourceRef {
    /// From 1 to [`limits::RESOURCE_ID_BYTES`] bytes without control characters;
    /// empty only for what the members of `team` have in common.
    pub resource: String,
    /// The wider owner, where the memory is a team's; never an empty string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
}

/// Why a resource or team name cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidName {
    /// It is empty.
    #[error("a {0} name must not be empty")]
    Empty(&'static str),
    /// It is too long.
    #[error("a {what} name has at most {limit} bytes, this one has {actual}")]
    TooLong {
        /// Which name.
        what: &'static str,
        /// The bound in bytes.
        limit: usize,
        /// The name's length in bytes.
        actual: usize,
    },
    /// It holds a character that a terminal or a log could mistake for a command.
    #[error("a {0} name must not hold control characters")]
    ControlCharacter(&'static str),
}

impl ResourceRef {
    /// A resource without a team.
    ///
    /// # Errors
    /// When the name is empty, too long or holds control characters.
    pub fn new(resource: impl Into<String>) -> Result<Self, InvalidName> {
        let resource = resource.into();
        check_name("resource", &resource)?;
        Ok(Self {
            resource,
            team: None,
        })
    }

    /// What the members of a team have in common, which is nobody's in
    /// particular. No customer of the team can have its name, which is empty.
    ///
    /// # Errors
    /// When the name is empty, too long or holds control characters.
    pub fn of_team(team: impl Into<String>) -> Result<Self, InvalidName> {
        let nobody = Self {
            resource: String::new(),
            team: None,
        };
        nobody.with_team(team)
    }

    /// The same, where it keeps the rules for names.
    ///
    /// # Errors
    /// When a name is empty, too long or holds control characters: fields are
    /// open to all, and one may have been put together by hand.
    pub fn checked(&self) -> Result<(), InvalidName> {
        match &self.team {
            Some(team) if self.resource.is_empty() => check_name("team", team),
            Some(team) => {
                check_name("resource", &self.resource)?;
                check_name("team", team)
            }
            None => check_name("resource", &self.resource),
        }
    }

    /// The same resource within a team.
    ///
    /// # Errors
    /// When the team's name is empty, too long or holds control characters.
    pub fn with_team(mut self, team: impl Into<String>) -> Result<Self, InvalidName> {
        let team = team.into();
        check_name("team", &team)?;
        self.team = Some(team);
        Ok(self)
    }
}

/// For people: `jordan`, `jordan of team acme`, `team acme`.
impl fmt::Display for ResourceRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.team {
            Some(team) if self.resource.is_empty() => write!(formatter, "team {team}"),
            Some(team) => write!(formatter, "{} of team {team}", self.resource),
            None => formatter.write_str(&self.resource),
        }
    }
}

fn check_name(what: &'static str, name: &str) -> Result<(), InvalidName> {
    if name.is_empty() {
        return Err(InvalidName::Empty(what));
    }
    if name.len() > limits::RESOURCE_ID_BYTES {
        return Err(InvalidName::TooLong {
            what,
            limit: limits::RESOURCE_ID_BYTES,
            actual: name.len(),
        });
    }
    if name.chars().any(char::is_control) {
        return Err(InvalidName::ControlCharacter(what));
    }
    Ok(())
}

/// Points at one ledger entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryRef {
    /// The session that the entry belongs to.
    pub session: String,
    /// The entry's place in its session, from 0.
    pub index: u64,
    /// The entry's hash, lower-case hexadecimal; where given it must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_name_is_neither_empty_nor_long_nor_full_of_escapes() {
        assert!(ResourceRef::new("jordan").is_ok());
        assert!(ResourceRef::new("acme:corp").is_ok());
        assert_eq!(ResourceRef::new(""), Err(InvalidName::Empty("resource")));
        assert!(ResourceRef::new("a\u{1b}[2J").is_err());
        assert!(ResourceRef::new("a\0b").is_err());
        assert!(ResourceRef::new("x".repeat(257)).is_err());
        assert!(ResourceRef::new("a").unwrap().with_team("").is_err());
    }

    #[test]
    fn what_a_team_has_in_common_bears_no_name_but_the_teams() {
        let common = ResourceRef::of_team("acme").unwrap();
        assert_eq!(common.checked(), Ok(()));
        assert_eq!(common.to_string(), "team acme");
        let jordan = ResourceRef::new("jordan").unwrap();
        assert_eq!(jordan.to_string(), "jordan");
        let jordan = jordan.with_team("acme").unwrap();
        assert_eq!(jordan.to_string(), "jordan of team acme");
        assert!(ResourceRef::of_team("").is_err());
        let nobody = ResourceRef {
            resource: String::new(),
            team: None,
        };
        assert_eq!(nobody.checked(), Err(InvalidName::Empty("resource")));
    }
}
