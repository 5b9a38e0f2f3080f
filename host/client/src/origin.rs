//! Where requests go.

use std::fmt;

use url::{Host, Url};

/// A scheme, a host and a port: what a grant or a credential is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    encrypted: bool,
    host: Host<String>,
    port: u16,
}

/// Why a text is no URL that requests can go to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// It cannot be read as a URL.
    #[error("it is no URL ({0}); write one such as `https://api.example.com/v1`")]
    NoUrl(url::ParseError),
    /// It is neither `http` nor `https`.
    #[error("its scheme is `{0}`; it must be `https`, or `http`")]
    Scheme(String),
    /// It holds a user name or a password.
    #[error(
        "it holds a user name or password; name the variable that holds the key instead, and leave it out of the URL"
    )]
    Credentials,
}

impl Origin {
    /// The origin of a URL.
    ///
    /// # Errors
    /// When the text is no URL for HTTP, or carries a credential.
    pub fn of(url: &str) -> Result<Self, OriginError> {
        let url = Url::parse(url.trim()).map_err(OriginError::NoUrl)?;
        let encrypted = match url.scheme() {
            "https" => true,
            "http" => false,
            other => return Err(OriginError::Scheme(other.to_owned())),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OriginError::Credentials);
        }
        let host = url
            .host()
            .ok_or(OriginError::NoUrl(url::ParseError::EmptyHost))?
            .to_owned();
        let port = url
            .port_or_known_default()
            .ok_or(OriginError::NoUrl(url::ParseError::InvalidPort))?;
        Ok(Self {
            encrypted,
            host,
            port,
        })
    }

    /// Whether what is sent there can be read on the way.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// Whether it is named as this machine: `localhost` or a loopback address.
    #[must_use]
    pub fn is_this_machine(&self) -> bool {
        match &self.host {
            Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.encrypted { "https" } else { "http" };
        write!(formatter, "{scheme}://{}", self.host)?;
        match (self.encrypted, self.port) {
            (true, 443) | (false, 80) => Ok(()),
            (_, port) => write!(formatter, ":{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_one_place_are_one_origin() {
        let origin = |url| Origin::of(url).unwrap();
        assert_eq!(
            origin("https://A.example/v1"),
            origin("https://a.example:443")
        );
        assert_ne!(origin("https://a.example"), origin("http://a.example"));
        assert_ne!(
            origin("https://a.example"),
            origin("https://a.example:8443")
        );
        assert_ne!(
            origin("https://a.example"),
            origin("https://a.example.evil")
        );
        assert_eq!(
            origin("http://a.example:80/x").to_string(),
            "http://a.example"
        );
        assert_eq!(origin("http://[::1]:8080").to_string(), "http://[::1]:8080");
    }

    #[test]
    fn a_url_that_requests_cannot_go_to_is_told_why() {
        let told = |url: &str| Origin::of(url).unwrap_err().to_string();
        assert!(told("api.example.com/v1").contains("https://api.example.com"));
        assert!(told("ftp://a.example").contains("`ftp`"));
        assert!(told("https://user:pass@a.example").contains("leave it out"));
        assert!(!told("https://user:pass@a.example").contains("pass@"));
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        for url in ["http://localhost:1", "http://127.0.0.2", "http://[::1]"] {
            assert!(Origin::of(url).unwrap().is_this_machine(), "{url}");
        }
        for url in [
            "http://localhost.example",
            "http://10.0.0.1",
            "http://128.0.0.1",
        ] {
            assert!(!Origin::of(url).unwrap().is_this_machine(), "{url}");
        }
    }
}
