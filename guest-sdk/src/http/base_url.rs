//! The address that a service's paths are below.

use ::http::Uri;

use super::error::{HttpError, HttpErrorKind};

/// The address that a service's paths are below, such as
/// `https://models.example/v1`.
///
/// ```
/// use keepsake_sdk::http::BaseUrl;
///
/// let base = BaseUrl::parse("https://models.example:8443/v1/").unwrap();
/// assert_eq!(base.join("models"), "https://models.example:8443/v1/models");
/// assert_eq!(base.origin(), "https://models.example:8443");
/// assert_eq!(base.host(), "models.example");
/// assert!(BaseUrl::parse("models.example").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    text: String,
    uri: Uri,
}

impl BaseUrl {
    /// Reads an address. Slashes at its end are left out.
    ///
    /// # Errors
    /// [`HttpErrorKind::Invalid`] when it is no http or https address, or holds
    /// a name and password, a query or a fragment. The text of the error leaves
    /// out what may be a password.
    pub fn parse(text: &str) -> Result<Self, HttpError> {
        let invalid = |rule: &str| {
            let shown = text.rsplit('@').next().unwrap_or_default();
            HttpError::new(HttpErrorKind::Invalid, shown, rule)
        };
        if text.contains('@') {
            return Err(invalid(
                "an address holds no credentials: the host adds them to each request",
            ));
        }
        if text.contains(['?', '#']) {
            return Err(invalid(
                "the address that paths are put behind ends with a path",
            ));
        }
        let text = text.trim_end_matches('/');
        let uri: Uri = text
            .parse()
            .map_err(|error: ::http::uri::InvalidUri| invalid(&error.to_string()))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(invalid("an address begins with http:// or https://"));
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err(invalid("the address names no server"));
        }
        Ok(Self {
            text: text.to_owned(),
            uri,
        })
    }

    /// The address of a path below it.
    #[must_use]
    pub fn join(&self, path: &str) -> String {
        format!("{}/{}", self.text, path.trim_start_matches('/'))
    }

    /// Scheme, host and port: what an operator grants.
    #[must_use]
    pub fn origin(&self) -> String {
        origin(&self.uri)
    }

    /// The name or address of the server, without a port.
    #[must_use]
    pub fn host(&self) -> &str {
        self.uri.host().unwrap_or_default()
    }

    /// The address as text, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Scheme, host and port of an address.
pub(crate) fn origin(uri: &Uri) -> String {
    format!(
        "{}://{}",
        uri.scheme_str().unwrap_or_default(),
        uri.authority().map_or("", |authority| authority.as_str())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_cannot_be_a_base_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "empty"),
            ("ftp://a.example", "http://"),
            ("a.example/v1", "invalid"),
            ("/v1", "http://"),
            ("https://", ""),
            ("https://a b.example", "invalid"),
            ("https://key:secret@a.example/v1", "credentials"),
            ("https://a.example/v1?api-version=1", "ends with a path"),
            ("https://a.example/#v1", "ends with a path"),
        ] {
            let error = BaseUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn addresses_of_numbers_and_ports_are_taken() {
        for (text, origin, host) in [
            (
                "http://127.0.0.1:8000",
                "http://127.0.0.1:8000",
                "127.0.0.1",
            ),
            ("http://[::1]:1/v1//", "http://[::1]:1", "[::1]"),
        ] {
            let base = BaseUrl::parse(text).unwrap();
            assert_eq!((base.origin().as_str(), base.host()), (origin, host));
            assert!(base.join("/x").ends_with("/x") && !base.join("x").contains("//x"));
        }
    }
}
