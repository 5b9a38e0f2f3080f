//! Where a plugin's requests may go: one server, or all below a name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// The word in a manifest for the server that the operator names in the
/// plugin's own settings.
const BASE_URL: &str = "base-url";

/// Where a plugin wishes to send requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Place {
    /// The server of the plugin's own setting `base-url`.
    BaseUrl,
    /// Servers that it names itself.
    Server(Server),
}

/// Servers that requests may go to: a scheme, a name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Server {
    encrypted: bool,
    /// Every name below `host`, and not `host` itself.
    below: bool,
    host: Host<String>,
    port: u16,
}

/// Why a text names no place for requests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no server that requests may go to: {reason}")]
pub struct PlaceError {
    text: String,
    reason: String,
}

impl FromStr for Server {
    type Err = PlaceError;

    /// `https://api.example.com`, `https://*.example.com:8443`, or
    /// `http://127.0.0.1:8080` for this machine.
    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let wrong = |reason: &str| PlaceError {
            text: text.escape_debug().to_string(),
            reason: reason.to_owned(),
        };
        let (scheme, rest) = text
            .trim()
            .split_once("://")
            .ok_or_else(|| wrong("write its scheme too, as in `https://api.example.com`"))?;
        let encrypted = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(wrong("its scheme must be `https`")),
        };
        let (below, rest) = match rest.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let url = Url::parse(&format!("{scheme}://{rest}"))
            .map_err(|error| wrong(&format!("it cannot be read ({error})")))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("leave the user name and password out"));
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong(
                "it is for a whole server: leave out what stands behind the host and the port",
            ));
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(wrong("it names no host"));
        };
        let host = host.to_owned();
        if let Host::Domain(name) = &host {
            if name.contains('*') {
                return Err(wrong("`*.` may only stand at its beginning"));
            }
            if below && !name.trim_end_matches('.').contains('.') {
                return Err(wrong(
                    "a whole top-level domain is too much: name what lies below it",
                ));
            }
        } else if below {
            return Err(wrong("there are no names below an address"));
        }
        let server = Self {
            encrypted,
            below,
            host,
            port,
        };
        if !encrypted && !server.is_this_machine() {
            return Err(wrong(
                "what is sent there could be read on the way: use `https`, since `http` is for this machine only",
            ));
        }
        Ok(server)
    }
}

impl Server {
    /// Whether a request to this address goes to one of these servers.
    #[must_use]
    pub fn takes(&self, url: &Url) -> bool {
        let scheme = if self.encrypted { "https" } else { "http" };
        url.scheme() == scheme
            && url.username().is_empty()
            && url.password().is_none()
            && url.port_or_known_default() == Some(self.port)
            && url.host().is_some_and(|host| self.takes_host(&host))
    }

    fn takes_host<S: AsRef<str>>(&self, host: &Host<S>) -> bool {
        match (&self.host, host) {
            (Host::Domain(own), Host::Domain(asked)) if self.below => asked
                .as_ref()
                .strip_suffix(own.as_str())
                .is_some_and(|front| front.len() > 1 && front.ends_with('.')),
            (Host::Domain(own), Host::Domain(asked)) => own == asked.as_ref(),
            (Host::Ipv4(own), Host::Ipv4(asked)) => own == asked,
            (Host::Ipv6(own), Host::Ipv6(asked)) => own == asked,
            _ => false,
        }
    }

    /// Whether all that the other takes is taken by this one too.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        if (self.encrypted, self.port) != (other.encrypted, other.port) {
            return false;
        }
        match (self.below, other.below) {
            (_, false) => self.takes_host(&other.host),
            (true, true) => self.host == other.host || self.takes_host(&other.host),
            (false, true) => false,
        }
    }

    /// Whether it is one server and not all below a name.
    #[must_use]
    pub fn is_one(&self) -> bool {
        !self.below
    }

    /// Whether it is named as this machine: `localhost` or a loopback address.
    #[must_use]
    pub fn is_this_machine(&self) -> bool {
        match &self.host {
            Host::Domain(name) => {
                !self.below && (name == "localhost" || name.ends_with(".localhost"))
            }
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        }
    }

    /// The name or address, without the brackets of one.
    #[must_use]
    pub fn host(&self) -> String {
        match &self.host {
            Host::Domain(name) => name.clone(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        }
    }

    /// Whether what is sent there can be read on the way.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }
}

impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.encrypted { "https" } else { "http" };
        let below = if self.below { "*." } else { "" };
        write!(formatter, "{scheme}://{below}{}", self.host)?;
        match (self.encrypted, self.port) {
            (true, 443) | (false, 80) => Ok(()),
            (_, port) => write!(formatter, ":{port}"),
        }
    }
}

impl TryFrom<String> for Server {
    type Error = PlaceError;

    fn try_from(text: String) -> Result<Self, PlaceError> {
        text.parse()
    }
}

impl From<Server> for String {
    fn from(server: Server) -> Self {
        server.to_string()
    }
}

impl TryFrom<String> for Place {
    type Error = PlaceError;

    fn try_from(text: String) -> Result<Self, PlaceError> {
        match text.as_str() {
            BASE_URL => Ok(Self::BaseUrl),
            text => text.parse().map(Self::Server),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BaseUrl => formatter.write_str(BASE_URL),
            Self::Server(server) => server.fmt(formatter),
        }
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> Server {
        text.parse().unwrap()
    }

    fn takes(granted: &str, asked: &str) -> bool {
        server(granted).takes(&Url::parse(asked).unwrap())
    }

    #[test]
    fn one_server_takes_what_goes_to_it_and_nothing_else() {
        let granted = "https://api.example.com";
        for asked in [
            "https://api.example.com/v1?x=1",
            "https://API.example.com:443/",
        ] {
            assert!(takes(granted, asked), "{asked}");
        }
        for asked in [
            "http://api.example.com/",
            "https://api.example.com:8443/",
            "https://example.com/",
            "https://v1.api.example.com/",
            "https://api.example.com.evil.example/",
            "https://api.example.com./",
            "https://user@api.example.com/",
            "https://api.example.com@evil.example/",
            "https://93.184.216.34/",
        ] {
            assert!(!takes(granted, asked), "{asked}");
        }
    }

    #[test]
    fn all_below_a_name_is_neither_the_name_nor_what_ends_like_it() {
        let granted = "https://*.example.com:8443";
        assert!(takes(granted, "https://a.example.com:8443/"));
        assert!(takes(granted, "https://a.b.example.com:8443/"));
        for asked in [
            "https://example.com:8443/",
            "https://evilexample.com:8443/",
            "https://a.example.com/",
            "https://a.example.com:8443@evil.example/",
        ] {
            assert!(!takes(granted, asked), "{asked}");
        }
    }

    #[test]
    fn an_address_in_another_spelling_is_the_same_address() {
        assert!(takes("http://127.0.0.1:8080", "http://127.1:8080/"));
        assert!(takes("http://[::1]:8080", "http://[0:0::1]:8080/"));
        assert!(!takes("http://localhost:8080", "http://127.0.0.1:8080/"));
    }

    #[test]
    fn what_covers_another_takes_all_of_it() {
        for (wide, narrow, covers) in [
            ("https://*.example.com", "https://a.example.com", true),
            ("https://*.example.com", "https://*.b.example.com", true),
            ("https://*.example.com", "https://*.example.com", true),
            ("https://*.b.example.com", "https://*.example.com", false),
            ("https://a.example.com", "https://*.example.com", false),
            ("https://a.example.com", "https://a.example.com:1", false),
        ] {
            assert_eq!(server(wide).covers(&server(narrow)), covers, "{wide}");
        }
    }

    #[test]
    fn what_is_no_server_is_told_why() {
        for (text, said) in [
            ("api.example.com", "https://api.example.com"),
            ("ftp://a.example", "`https`"),
            ("http://a.example", "this machine only"),
            ("https://*.com", "top-level"),
            ("https://*.10.0.0.1", "below an address"),
            ("https://a.*.example", "beginning"),
            ("https://*.*.example.com", "beginning"),
            ("https://me:hidden@a.example", "password"),
            ("https://a.example/v1", "whole server"),
            ("https://", "cannot be read"),
        ] {
            let told = text.parse::<Server>().unwrap_err().to_string();
            assert!(told.contains(said), "{text}: {told}");
        }
    }

    #[test]
    fn a_server_reads_as_it_was_written() {
        for text in [
            "https://api.example.com",
            "https://*.example.com:8443",
            "http://[::1]:80",
        ] {
            let again = server(&server(text).to_string());
            assert_eq!(again, server(text));
        }
        assert_eq!(Place::try_from("base-url".to_owned()), Ok(Place::BaseUrl));
    }
}
