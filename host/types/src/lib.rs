//! Words that every part of the host shares. This crate does no input or
//! output and depends on no other part of the host.

pub mod calendar;
pub mod embedding;
pub mod limits;
pub mod text;

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
    /// From 1 to [`limits::RESOURCE_ID_BYTES`] bytes without control characters.
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
}
