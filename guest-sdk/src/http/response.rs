//! What is answered.

use std::time::{Duration, SystemTime};

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use super::error::{HttpError, HttpErrorKind};
use super::request::Request;
use super::retry::retry_after;
use super::{Chunks, Received};

/// An answer whose head is there and whose body may still be coming. Dropping
/// it ends the request.
pub struct Response {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
    received_at: SystemTime,
}

/// The body of an answer, read as it comes. Dropping it ends the request.
pub struct Body {
    chunks: Box<dyn Chunks>,
    to: String,
}

impl Response {
    pub(crate) fn new(request: &Request, received: Received, received_at: SystemTime) -> Self {
        Self {
            status: received.status,
            headers: received.headers,
            body: Body {
                chunks: received.chunks,
                to: request.origin(),
            },
            received_at,
        }
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// A header's first value, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// What the body is said to be, such as `application/json`, without
    /// parameters and in lower case; empty when nothing is said.
    pub fn content_type(&self) -> String {
        let value = self.header(CONTENT_TYPE.as_str()).unwrap_or_default();
        let kind = value.split(';').next().unwrap_or_default();
        kind.trim().to_ascii_lowercase()
    }

    /// How long the server wants to be left alone, where it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.headers, self.received_at)
    }

    /// The origin that answered.
    pub fn origin(&self) -> &str {
        &self.body.to
    }

    /// The body, to be read piece by piece.
    pub fn into_body(self) -> Body {
        self.body
    }

    /// The whole body, of `limit` bytes at the most.
    ///
    /// # Errors
    /// [`HttpErrorKind::TooLarge`] past the limit; when the body broke off.
    pub fn bytes(mut self, limit: usize) -> Result<Vec<u8>, HttpError> {
        self.body.read_to_end(limit)
    }

    /// The whole body as a value, of `limit` bytes at the most.
    ///
    /// # Errors
    /// Those of [`Response::bytes`]; [`HttpErrorKind::Protocol`] when the body
    /// is no JSON of that form.
    pub fn json<T: DeserializeOwned>(self, limit: usize) -> Result<T, HttpError> {
        let (to, kind) = (self.body.to.clone(), self.content_type());
        let bytes = self.bytes(limit)?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let said = if kind.is_empty() { "nothing" } else { &kind };
            let detail =
                format!("no JSON of the expected form: {error}; the server calls it {said}");
            HttpError::new(HttpErrorKind::Protocol, to, detail)
        })
    }
}

impl Body {
    /// The next bytes, waiting for them; none at the end. Never empty.
    ///
    /// # Errors
    /// When the body broke off or took too long.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        loop {
            match self.chunks.next()? {
                Some(chunk) if chunk.is_empty() => {}
                next => return Ok(next),
            }
        }
    }

    /// What is left of the body, of `limit` bytes at the most.
    ///
    /// # Errors
    /// Those of [`Response::bytes`].
    pub fn read_to_end(&mut self, limit: usize) -> Result<Vec<u8>, HttpError> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.next_chunk()? {
            if whole.len() + chunk.len() > limit {
                let detail = format!("more than {limit} bytes");
                return Err(HttpError::new(HttpErrorKind::TooLarge, &self.to, detail));
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole)
    }

    /// As much of the body as is there and fits. What cannot be read is left out.
    pub(crate) fn read_what_fits(&mut self, limit: usize) -> Vec<u8> {
        let mut whole = Vec::new();
        while whole.len() < limit
            && let Ok(Some(chunk)) = self.next_chunk()
        {
            whole.extend_from_slice(&chunk);
        }
        whole.truncate(limit);
        whole
    }

    /// The origin that answers.
    pub fn origin(&self) -> &str {
        &self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Host, HttpAnswer};

    fn response(answer: HttpAnswer) -> Response {
        let host = Host::new().http_answers(answer);
        let request = Request::get("https://a.example/x").unwrap();
        host.context().http().send(&request).unwrap()
    }

    #[test]
    fn a_body_is_read_whole_up_to_its_limit_and_not_past_it() {
        let two = || HttpAnswer::new(200).chunk("abc").chunk("").chunk("def");
        assert_eq!(response(two()).bytes(6).unwrap(), b"abcdef");
        let error = response(two()).bytes(5).unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::TooLarge);
        assert_eq!(error.to, "https://a.example");
    }

    #[test]
    fn a_body_comes_piece_by_piece_and_only_as_it_is_asked_for() {
        let host = Host::new().http_answers(HttpAnswer::new(200).chunk("a").chunk("b"));
        let request = Request::get("https://a.example/x").unwrap();
        let mut body = host.context().http().send(&request).unwrap().into_body();
        assert_eq!(host.http_chunks_read(), 0);
        assert_eq!(body.next_chunk().unwrap().unwrap(), b"a");
        assert_eq!(host.http_chunks_read(), 1);
        assert_eq!(body.next_chunk().unwrap().unwrap(), b"b");
        assert_eq!(body.next_chunk().unwrap(), None);
    }

    #[test]
    fn a_body_that_breaks_off_is_an_error_and_not_a_short_body() {
        let broken = HttpAnswer::new(200).chunk("ab").breaks_off();
        let error = response(broken).bytes(100).unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::BrokenOff);
    }

    #[test]
    fn what_is_no_json_is_said_to_be_none() {
        let page = HttpAnswer::new(200)
            .header("Content-Type", "Text/HTML; charset=utf-8")
            .chunk("<html>");
        let error = response(page).json::<serde_json::Value>(100).unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::Protocol);
        assert!(error.detail.contains("text/html"), "{error}");
    }
}
