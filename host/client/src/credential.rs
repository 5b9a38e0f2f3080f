//! A key, and the header that it travels in.

use std::fmt;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use crate::Redaction;

/// A key for one server. It is never printed, and overwritten when dropped.
#[derive(Clone)]
pub struct Credential {
    header: HeaderName,
    value: SecretString,
    redaction: Redaction,
}

/// Why something is no credential. The key's value is in none of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The variable is not set, or empty.
    #[error("the variable {variable} is not set; set it to the key: export {variable}=…")]
    NotSet {
        /// The variable's name.
        variable: String,
    },
    /// The value cannot stand in a header.
    #[error(
        "the value of {variable} holds a line break or another character that no key has; set it to the key alone"
    )]
    Unprintable {
        /// The variable's name.
        variable: String,
    },
    /// The name is no header's.
    #[error("`{0}` is no name of a header; write one such as `x-api-key`")]
    Header(String),
}

impl Credential {
    /// The key in an environment variable, sent as `Authorization: Bearer KEY`,
    /// or alone in a header of the given name.
    ///
    /// # Errors
    /// When the variable is not set or no key, or the header no header.
    pub fn from_variable(variable: &str, header: Option<&str>) -> Result<Self, CredentialError> {
        let key = std::env::var(variable).unwrap_or_default();
        Self::new(variable, &key, header)
    }

    /// This key, sent as [`Credential::from_variable`] says. `variable` is what
    /// errors call the place where it was found.
    ///
    /// # Errors
    /// When it is empty or no key, or the header no header.
    pub fn new(variable: &str, key: &str, header: Option<&str>) -> Result<Self, CredentialError> {
        let key = key.trim();
        if key.is_empty() {
            return Err(CredentialError::NotSet {
                variable: variable.to_owned(),
            });
        }
        if key.bytes().any(|byte| !(b' '..=b'~').contains(&byte)) {
            return Err(CredentialError::Unprintable {
                variable: variable.to_owned(),
            });
        }
        let (header, value) = match header {
            None => (AUTHORIZATION, format!("Bearer {key}")),
            Some(name) => (
                HeaderName::from_bytes(name.as_bytes())
                    .map_err(|_| CredentialError::Header(name.escape_debug().to_string()))?,
                key.to_owned(),
            ),
        };
        Ok(Self {
            header,
            value: value.into(),
            redaction: Redaction::of(key),
        })
    }

    /// The header that the key travels in.
    #[must_use]
    pub fn header(&self) -> &HeaderName {
        &self.header
    }

    /// What takes the key out of answers.
    #[must_use]
    pub fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// Puts the key into a request's headers, in place of what was there.
    pub fn apply(&self, headers: &mut HeaderMap) {
        // Checked when it was made: printable ASCII is always a value.
        if let Ok(mut value) = HeaderValue::from_str(self.value.expose_secret()) {
            value.set_sensitive(true);
            headers.insert(&self.header, value);
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Credential({}: …)", self.header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_as_a_bearer_or_in_a_header_of_its_own() {
        let mut headers = HeaderMap::new();
        Credential::new("KEY", " k-1 \n", None)
            .unwrap()
            .apply(&mut headers);
        Credential::new("KEY", "k-2", Some("x-api-key"))
            .unwrap()
            .apply(&mut headers);
        assert_eq!(headers["authorization"], "Bearer k-1");
        assert_eq!(headers["x-api-key"], "k-2");
        assert!(headers["authorization"].is_sensitive());
    }

    #[test]
    fn no_text_about_a_credential_holds_the_key() {
        let credential = Credential::new("KEY", "hunter2", None).unwrap();
        assert!(!format!("{credential:?}").contains("hunter2"));
        let broken = Credential::new("KEY", "hunter2\r\nx: y", None).unwrap_err();
        assert!(!broken.to_string().contains("hunter2"));
        assert!(broken.to_string().contains("KEY"));
        let header = Credential::new("KEY", "hunter2", Some("a b")).unwrap_err();
        assert!(!header.to_string().contains("hunter2"));
    }

    #[test]
    fn a_missing_key_names_its_variable_and_what_to_do() {
        let missing = Credential::new("SOME_KEY", "  ", None)
            .unwrap_err()
            .to_string();
        assert!(missing.contains("export SOME_KEY="), "{missing}");
    }
}
