//! What is asked.

use std::time::Duration;

use ::http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, PROXY_AUTHORIZATION};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde::Serialize;

use super::base_url::{BaseUrl, origin};
use super::error::{HttpError, HttpErrorKind};

/// A request to a server.
#[derive(Clone, Debug)]
pub struct Request {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Vec<u8>,
    timeouts: Timeouts,
}

/// How long a request may wait at each of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the first byte of the answer.
    pub first_byte: Duration,
    /// From bytes of the answer's body to the next ones.
    pub between_bytes: Duration,
}

impl Default for Timeouts {
    /// Ten seconds to connect, a minute for each of the others.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(60),
            between_bytes: Duration::from_secs(60),
        }
    }
}

impl Timeouts {
    /// So long for each step, and ten seconds at most to connect.
    #[must_use]
    pub fn of(each: Duration) -> Self {
        Self {
            connect: each.min(Self::default().connect),
            first_byte: each,
            between_bytes: each,
        }
    }
}

impl Request {
    /// A request of any method.
    ///
    /// # Errors
    /// [`HttpErrorKind::Invalid`] when the address is none that requests go to.
    pub fn new(method: Method, url: &str) -> Result<Self, HttpError> {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let base = BaseUrl::parse(path)?;
        let invalid =
            |detail: String| HttpError::new(HttpErrorKind::Invalid, base.origin(), detail);
        if query.contains('#') {
            return Err(invalid("a fragment is never sent: leave it out".to_owned()));
        }
        let uri: Uri = url
            .parse()
            .map_err(|error: ::http::uri::InvalidUri| invalid(error.to_string()))?;
        Ok(Self {
            method,
            uri,
            headers: HeaderMap::new(),
            body: Vec::new(),
            timeouts: Timeouts::default(),
        })
    }

    /// A GET request.
    ///
    /// # Errors
    /// Those of [`Request::new`].
    pub fn get(url: &str) -> Result<Self, HttpError> {
        Self::new(Method::GET, url)
    }

    /// A POST request.
    ///
    /// # Errors
    /// Those of [`Request::new`].
    pub fn post(url: &str) -> Result<Self, HttpError> {
        Self::new(Method::POST, url)
    }

    /// The same with a header, in place of one of that name.
    ///
    /// # Errors
    /// [`HttpErrorKind::Invalid`] when a header cannot be so, or would carry a
    /// credential, which only the host adds.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, HttpError> {
        let invalid =
            |detail: String| HttpError::new(HttpErrorKind::Invalid, self.origin(), detail);
        let header = HeaderName::try_from(name).map_err(|_| {
            invalid(format!(
                "a header cannot be called `{}`",
                name.escape_debug()
            ))
        })?;
        if [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(&header) {
            return Err(invalid(format!(
                "a plugin may not send `{header}`: the host adds the credential of a granted origin"
            )));
        }
        let value = HeaderValue::from_str(value)
            .map_err(|_| invalid(format!("the header `{header}` holds control characters")))?;
        self.headers.insert(header, value);
        Ok(self)
    }

    /// The same with these bytes as its body.
    #[must_use]
    pub fn body(mut self, bytes: Vec<u8>) -> Self {
        self.body = bytes;
        self
    }

    /// The same with a value as its body, and the header that says so.
    ///
    /// # Errors
    /// [`HttpErrorKind::Invalid`] when the value cannot be written as JSON.
    pub fn json(mut self, value: &impl Serialize) -> Result<Self, HttpError> {
        self.body = serde_json::to_vec(value).map_err(|error| {
            HttpError::new(HttpErrorKind::Invalid, self.origin(), error.to_string())
        })?;
        let json = HeaderValue::from_static("application/json");
        self.headers.insert(CONTENT_TYPE, json);
        Ok(self)
    }

    /// The same with other bounds of time.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The address.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Scheme, host and port of the address.
    pub fn origin(&self) -> String {
        origin(&self.uri)
    }

    /// The headers that the plugin set.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body; empty when there is none.
    pub fn body_bytes(&self) -> &[u8] {
        &self.body
    }

    /// The bounds of time.
    pub fn time(&self) -> Timeouts {
        self.timeouts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_sent_as_json_and_says_so() {
        let request = Request::post("https://a.example/v1/x?y=1")
            .unwrap()
            .header("X-Kind", "test")
            .and_then(|request| request.json(&serde_json::json!({ "a": 1 })))
            .unwrap();
        assert_eq!(request.body_bytes(), br#"{"a":1}"#);
        assert_eq!(request.headers()["content-type"], "application/json");
        assert_eq!(request.headers()["x-kind"], "test");
        assert_eq!(request.uri().query(), Some("y=1"));
        assert_eq!(request.origin(), "https://a.example");
    }

    #[test]
    fn a_plugin_cannot_send_a_credential() {
        for name in ["Authorization", "proxy-authorization", "COOKIE"] {
            let request = Request::get("https://a.example").unwrap();
            let error = request.header(name, "Bearer hidden").unwrap_err();
            assert_eq!(error.kind, HttpErrorKind::Invalid);
            assert!(error.detail.contains("the host adds"), "{error}");
            assert!(!error.to_string().contains("hidden"), "{error}");
        }
        assert!(Request::get("https://me:hidden@a.example").is_err());
    }

    #[test]
    fn headers_and_addresses_cannot_smuggle_lines() {
        let request = Request::get("https://a.example").unwrap();
        assert!(request.clone().header("x", "a\r\nb: c").is_err());
        assert!(request.header("x y", "a").is_err());
        assert!(Request::get("https://a.example/a b").is_err());
        assert!(Request::get("https://a.example/?a#b").is_err());
    }
}
