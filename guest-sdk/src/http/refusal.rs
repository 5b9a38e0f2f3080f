//! An answer that is a server's no.

use std::time::Duration;

use ::http::StatusCode;
use ::http::header::LOCATION;
use serde_json::Value;

use super::redacted::redacted;
use super::response::Response;
use super::retry::may_pass;
use crate::error::Error;

/// How much of a refusal's body is read, in bytes.
pub const REFUSAL_BYTES: usize = 64 * 1024;

/// How much of a server's text is told further, in bytes.
pub const REFUSAL_TEXT_BYTES: usize = 500;

/// An answer whose status is not the one hoped for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The origin that answered.
    pub origin: String,
    /// The status.
    pub status: StatusCode,
    /// What the server says, on one line of at most [`REFUSAL_TEXT_BYTES`],
    /// without what looks like a credential; may be empty.
    pub message: String,
    /// The server's own word for it, such as `context_length_exceeded`.
    pub code: Option<String>,
    /// How long the server wants to be left alone.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// Reads an answer that is no success: at most [`REFUSAL_BYTES`] of it.
    pub fn read(response: Response) -> Self {
        let (origin, status) = (response.origin().to_owned(), response.status());
        let retry_after = response.retry_after();
        let location = response.header(LOCATION.as_str()).map(str::to_owned);
        let body = response.into_body().read_what_fits(REFUSAL_BYTES);
        let mut refusal = Self {
            retry_after,
            ..Self::of(origin, status, &body)
        };
        if let Some(location) = location.filter(|_| status.is_redirection()) {
            refusal.message = told(&format!("it points to {location}"), false);
        }
        refusal
    }

    /// A refusal with this body. Also for servers that refuse within an answer
    /// that calls itself a success.
    pub fn of(origin: impl Into<String>, status: StatusCode, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let strictly = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let (message, code) = match serde_json::from_str::<Value>(&text) {
            Ok(value) => (message_in(&value), code_in(&value)),
            Err(_) => (Some(plain(&text)), None),
        };
        Self {
            origin: origin.into(),
            status,
            message: told(&message.unwrap_or_else(|| text.into_owned()), strictly),
            code,
            retry_after: None,
        }
    }
}

/// The text in an error of one of the usual forms.
fn message_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // Faults of single fields: `[{"loc": ["body", "input"], "msg": "…"}]`.
        Value::Array(faults) => {
            let faults: Vec<_> = faults.iter().filter_map(message_in).collect();
            (!faults.is_empty()).then(|| faults.join("; "))
        }
        Value::Object(object) => {
            let names = [
                "error", "message", "msg", "detail", "details", "title", "errors",
            ];
            let message = names
                .iter()
                .find_map(|name| object.get(*name).and_then(message_in))?;
            match object.get("loc").and_then(Value::as_array) {
                Some(path) => {
                    let path: Vec<_> = path.iter().map(Value::to_string).collect();
                    Some(format!("{}: {message}", path.join(".").replace('"', "")))
                }
                None => Some(message),
            }
        }
        _ => None,
    }
}

/// The machine-readable word in an error; the code before the type.
fn code_in(value: &Value) -> Option<String> {
    let error = value.get("error").filter(|error| error.is_object());
    let error = error.unwrap_or(value);
    ["code", "type"].iter().find_map(|name| {
        let code = error.get(*name)?.as_str()?;
        let plain = code.len() <= 64 && !code.contains(|c: char| c.is_control() || c == ' ');
        (plain && !code.is_empty()).then(|| code.to_owned())
    })
}

/// The text of a page without its tags, or the text itself.
fn plain(text: &str) -> String {
    if !text.trim_start().starts_with('<') {
        return text.to_owned();
    }
    // A page's title says what its body says at length.
    let lower = text.to_ascii_lowercase();
    if let Some(begin) = lower.find("<title>")
        && let Some(length) = lower[begin..].find("</title>")
    {
        return text[begin + "<title>".len()..begin + length].to_owned();
    }
    let mut shown = String::new();
    for part in text.split('<') {
        shown.push(' ');
        shown.push_str(part.split_once('>').map_or("", |(_, behind)| behind));
    }
    shown
}

/// A text as it may be told further.
fn told(text: &str, strictly: bool) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    // Redacted before it is cut: half a key is a secret too.
    let text = redacted(&text, strictly);
    if text.len() <= REFUSAL_TEXT_BYTES {
        return text;
    }
    let end = text.floor_char_boundary(REFUSAL_TEXT_BYTES - '…'.len_utf8());
    format!("{}…", &text[..end])
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} answered {}", self.origin, self.status.as_u16())?;
        if let Some(reason) = self.status.canonical_reason() {
            write!(f, " {reason}")?;
        }
        if self.message.is_empty() {
            Ok(())
        } else {
            write!(f, ": {}", self.message)
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let advice = match refusal.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "check the credential that the host's configuration gives for this origin"
            }
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
                "check the address and the name of the model in the plugin's settings"
            }
            StatusCode::PAYLOAD_TOO_LARGE => "send less at a time",
            StatusCode::TOO_MANY_REQUESTS => "ask less often, or later",
            status if status.is_redirection() => {
                "redirects are not followed, since a grant is for one origin: put the new address into the plugin's settings"
            }
            status if status.is_client_error() => "the server does not take the request as it is",
            _ => "try again later",
        };
        let message = format!("{refusal} ({advice})");
        match refusal.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Self::denied(message),
            StatusCode::NOT_FOUND => Self::not_found(message),
            StatusCode::PAYLOAD_TOO_LARGE => Self::limit("http-request-bytes", message),
            status if may_pass(status) || status == StatusCode::REQUEST_TIMEOUT => {
                Self::Unavailable {
                    message,
                    retry_after_ms: refusal
                        .retry_after
                        .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
                }
            }
            status if status.is_client_error() || status.is_redirection() => Self::invalid(message),
            _ => Self::unavailable(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Request;
    use super::*;
    use crate::testing::{Host, HttpAnswer};

    fn read(answer: HttpAnswer) -> Refusal {
        let host = Host::new().http_answers(answer);
        let request = Request::get("https://a.example").unwrap();
        Refusal::read(host.context().http().send(&request).unwrap())
    }

    fn message(body: &str) -> String {
        read(HttpAnswer::new(400).chunk(body)).message
    }

    #[test]
    fn the_message_is_found_in_each_usual_form() {
        for (body, expected) in [
            (
                r#"{"error":{"message":"no such model","type":"x"}}"#,
                "no such model",
            ),
            (r#"{"error":"no such model"}"#, "no such model"),
            (r#"{"message":"no such model","code":404}"#, "no such model"),
            (r#"{"detail":"no such model"}"#, "no such model"),
            (
                r#"{"title":"Bad","detail":"no such model"}"#,
                "no such model",
            ),
            (
                r#"{"detail":[{"loc":["body","input",0],"msg":"too long"},{"msg":"bad"}]}"#,
                "body.input.0: too long; bad",
            ),
            ("no such\r\n\u{1b}[31m model", "no such [31m model"),
            (
                "<html><head><TITLE>502 Bad Gateway</TITLE></head>…",
                "502 Bad Gateway",
            ),
            ("<p>not <b>here</b></p>", "not here"),
            (r#"{"odd":1}"#, r#"{"odd":1}"#),
            ("", ""),
        ] {
            assert_eq!(message(body), expected, "{body}");
        }
    }

    #[test]
    fn long_and_broken_bodies_give_a_short_message() {
        let long = message(&"ä".repeat(100_000));
        assert!(
            long.len() <= REFUSAL_TEXT_BYTES && long.ends_with('…'),
            "{long}"
        );
        let broken = read(HttpAnswer::new(500).chunk("it went ").breaks_off());
        assert_eq!(broken.message, "it went");
    }

    #[test]
    fn a_credential_that_the_server_repeats_goes_no_further() {
        let body = r#"{"error":{"message":"Incorrect API key provided: abcdefgh0123456789","code":"invalid_api_key"}}"#;
        let refusal = read(HttpAnswer::new(401).chunk(body));
        assert_eq!(refusal.code.as_deref(), Some("invalid_api_key"));
        let error = Error::from(refusal);
        assert_eq!(error.code(), "denied");
        assert!(error.message().contains("check the credential"), "{error}");
        assert!(!error.message().contains("0123"), "{error}");
    }

    #[test]
    fn each_status_becomes_an_error_that_can_be_acted_on() {
        for (status, code) in [
            (301, "invalid"),
            (400, "invalid"),
            (401, "denied"),
            (403, "denied"),
            (404, "not-found"),
            (408, "unavailable"),
            (413, "limit"),
            (422, "invalid"),
            (429, "unavailable"),
            (500, "unavailable"),
            (501, "unavailable"),
        ] {
            let error = Error::from(read(HttpAnswer::new(status)));
            assert_eq!(error.code(), code, "{error}");
            assert!(error.message().contains(&status.to_string()), "{error}");
        }
        let busy = Error::from(read(HttpAnswer::new(429).header("Retry-After", "90")));
        let wait = match &busy {
            Error::Unavailable { retry_after_ms, .. } => *retry_after_ms,
            other => panic!("{other}"),
        };
        assert_eq!(wait, Some(90_000));
        let moved = HttpAnswer::new(308).header("Location", "https://b.example/");
        let moved = Error::from(read(moved));
        assert!(moved.message().contains("https://b.example/"), "{moved}");
    }
}
