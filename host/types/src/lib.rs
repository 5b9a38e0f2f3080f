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
    /// Which fork of the memory, where it is one: the names of the forks that
    /// lead to it, joined by `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<String>,
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
    /// It is no name for a fork of a memory.
    #[error(
        "`{}` is no name of a fork: it has from 1 to {} of A-Z a-z 0-9 . _ - and does not begin with `-`",
        .0.escape_default(),
        limits::FORK_NAME_BYTES
    )]
    Fork(String),
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
            fork: None,
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
            fork: None,
        };
        nobody.with_team(team)
    }

    /// The same, where it keeps the rules for names.
    ///
    /// # Errors
    /// When a name is empty, too long or holds what it must not: fields are
    /// open to all, and one may have been put together by hand.
    pub fn checked(&self) -> Result<(), InvalidName> {
        if let Some(fork) = &self.fork {
            fork.split('/').try_for_each(check_fork)?;
        }
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

    /// A fork of the same memory, by the names that lead to it: `draft`, or
    /// `draft/shorter` for the fork `shorter` of the fork `draft`.
    ///
    /// # Errors
    /// When one of the names is not well formed.
    pub fn with_fork(mut self, path: &str) -> Result<Self, InvalidName> {
        path.split('/').try_for_each(check_fork)?;
        self.fork = Some(path.to_owned());
        Ok(self)
    }

    /// The fork of this memory with the name `child`.
    ///
    /// # Errors
    /// When the name is not well formed.
    pub fn forked(&self, child: &str) -> Result<Self, InvalidName> {
        check_fork(child)?;
        let fork = match &self.fork {
            Some(path) => format!("{path}/{child}"),
            None => child.to_owned(),
        };
        Ok(Self {
            fork: Some(fork),
            ..self.clone()
        })
    }

    /// The memory that this one is a fork of, and this one's name there; none
    /// where it is no fork.
    #[must_use]
    pub fn parent(&self) -> Option<(Self, &str)> {
        let path = self.fork.as_deref()?;
        let (before, name) = match path.rsplit_once('/') {
            Some((before, name)) => (Some(before.to_owned()), name),
            None => (None, path),
        };
        let parent = Self {
            fork: before,
            ..self.clone()
        };
        Some((parent, name))
    }
}

/// A fork's name stands on command lines and between slashes.
fn check_fork(name: &str) -> Result<(), InvalidName> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty()
        || name.len() > limits::FORK_NAME_BYTES
        || name.starts_with('-')
        || !name.chars().all(allowed)
    {
        return Err(InvalidName::Fork(name.to_owned()));
    }
    Ok(())
}

/// For people: `jordan`, `jordan of team acme`, `team acme`, `fork draft of jordan`.
impl fmt::Display for ResourceRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(fork) = &self.fork {
            write!(formatter, "fork {fork} of ")?;
        }
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
            fork: None,
        };
        assert_eq!(nobody.checked(), Err(InvalidName::Empty("resource")));
    }

    #[test]
    fn a_fork_is_reached_by_short_names_and_leads_back_to_its_parent() {
        let jordan = ResourceRef::new("jordan").unwrap();
        let draft = jordan.forked("draft").unwrap();
        let shorter = draft.forked("shorter.2").unwrap();
        assert_eq!(shorter.fork.as_deref(), Some("draft/shorter.2"));
        assert_eq!(
            jordan.clone().with_fork("draft/shorter.2"),
            Ok(shorter.clone())
        );
        assert_eq!(draft.to_string(), "fork draft of jordan");
        assert_eq!(shorter.parent(), Some((draft.clone(), "shorter.2")));
        assert_eq!(draft.parent(), Some((jordan.clone(), "draft")));
        assert_eq!(jordan.parent(), None);
    }

    #[test]
    fn a_forks_name_holds_nothing_that_could_lead_elsewhere() {
        let jordan = ResourceRef::new("jordan").unwrap();
        let long = "x".repeat(limits::FORK_NAME_BYTES + 1);
        for wrong in [
            "", "a/b", "..\\a", "a b", "-a", "a\n", "é", "a:b", "%", &long,
        ] {
            let refused = Err(InvalidName::Fork(wrong.to_owned()));
            assert_eq!(jordan.forked(wrong), refused);
        }
        for wrong in ["", "/a", "a/", "a//b"] {
            assert!(jordan.clone().with_fork(wrong).is_err(), "{wrong}");
        }
        assert!(jordan.forked(&long[1..]).is_ok());
    }
}
