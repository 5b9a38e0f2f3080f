//! What went wrong between here and a server or a sandbox.

use std::time::Duration;

use keepsake_client::{Fault, Origin};
use keepsake_types::limits::SANDBOX_ERROR_BYTES;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::Value;

use crate::SandboxError;

/// How long to wait where trying again may help and the server says nothing.
const SOON: Duration = Duration::from_secs(1);
/// No server is waited for longer than this, whatever it says.
const LATEST: Duration = Duration::from_secs(60);

/// What went wrong with one request. It holds no header and nothing of the
/// request's body.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// No answer came, or only a part of one.
    #[error("cannot {what}: {reason}")]
    Transport {
        what: &'static str,
        reason: String,
        /// Nothing was sent, so that it cannot have happened.
        unsent: bool,
    },
    /// The answer says no.
    #[error(
        "cannot {what}: the server answered {status}{}{}",
        told(code),
        said(message)
    )]
    Refused {
        what: &'static str,
        status: StatusCode,
        code: String,
        message: String,
        retry_after: Option<Duration>,
    },
    /// The answer makes no sense.
    #[error("cannot {what}: {reason}")]
    Malformed { what: &'static str, reason: String },
}

fn told(code: &str) -> String {
    if code.is_empty() {
        String::new()
    } else {
        format!(" ({code})")
    }
}

fn said(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

impl Failure {
    /// A request that got no answer.
    pub(super) fn transport(what: &'static str, error: &reqwest::Error) -> Self {
        let fault = Fault::of(error);
        let origin = error.url().and_then(|url| Origin::of(url.as_str()).ok());
        let at = origin
            .map(|origin| format!("{origin}: "))
            .unwrap_or_default();
        Self::Transport {
            what,
            reason: format!("{at}{}", clean(&fault.to_string())),
            unsent: error.is_connect() || fault.is_before_request(),
        }
    }

    pub(super) fn malformed(what: &'static str, reason: impl Into<String>) -> Self {
        Self::Malformed {
            what,
            reason: reason.into(),
        }
    }

    /// An answer that says no, in whichever of the six shapes.
    pub(super) fn refused(
        what: &'static str,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Self {
        let (code, message) = if status.is_redirection() {
            let to = headers.get(LOCATION).and_then(|to| to.to_str().ok());
            (
                String::new(),
                format!(
                    "it redirects to `{}`, and redirects are never followed, as credentials would \
                     go along; set that address if it is the right one",
                    clean(to.unwrap_or("nowhere"))
                ),
            )
        } else {
            parse(body)
        };
        Self::Refused {
            what,
            status,
            code,
            message,
            retry_after: retry_after(headers),
        }
    }

    /// The status of an answer that says no.
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(status.as_u16()),
            _ => None,
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        self.status() == Some(404)
    }

    /// The server took back what it had begun, for a reason that passes: it was
    /// busy, or its engine failed at putting the daemon into the container.
    pub(super) fn is_undone(&self) -> bool {
        match self {
            Self::Refused { status, code, .. } => {
                matches!(status.as_u16(), 429 | 503) || code.contains("_EXECD_")
            }
            _ => false,
        }
    }

    /// The request may have been carried out although no answer came.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Transport { unsent, .. } => !unsent,
            // A proxy between here and the server gave up.
            Self::Refused { status, .. } => matches!(status.as_u16(), 502 | 504),
            Self::Malformed { .. } => true,
        }
    }

    /// How long to wait before trying again, where that may help.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transport { .. } => Some(SOON),
            Self::Refused {
                status,
                retry_after,
                code,
                ..
            } if matches!(status.as_u16(), 429 | 502 | 503)
                // A container vanished while the server looked at all of them.
                || code.ends_with("_QUERY_FAILED") =>
            {
                Some(retry_after.unwrap_or(SOON))
            }
            _ => None,
        }
    }
}

impl From<Failure> for SandboxError {
    fn from(failure: Failure) -> Self {
        let mut message = failure.to_string();
        match failure.status() {
            Some(401) => message.push_str("; set the right key for this server"),
            Some(400 | 422) => return Self::Invalid { reason: message },
            Some(501) => return Self::Unsupported { what: message },
            _ => {}
        }
        Self::Unavailable {
            retry_after: failure.retry_after(),
            message,
        }
    }
}

/// A code and a message, from JSON of any known shape, or text.
fn parse(body: &[u8]) -> (String, String) {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        if text.starts_with('<') {
            return (
                String::new(),
                "a page for people, so this is no OpenSandbox server, or one behind a proxy that \
                 failed"
                    .into(),
            );
        }
        return (String::new(), clean(text));
    };
    let text = |name: &str| clean(value[name].as_str().unwrap_or_default());
    match &value["detail"] {
        Value::String(detail) => return (String::new(), clean(detail)),
        // Its `input` repeats the request, with whatever was secret in it.
        Value::Array(faults) => return (String::new(), faults_of(faults)),
        _ => {}
    }
    if value["error"].is_string() {
        return (String::new(), text("error"));
    }
    (text("code"), text("message"))
}

fn faults_of(faults: &[Value]) -> String {
    let told: Vec<String> = faults
        .iter()
        .take(8)
        .map(|fault| {
            let place: Vec<String> = fault["loc"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|part| part.as_str().map_or_else(|| part.to_string(), String::from))
                .collect();
            format!(
                "{}: {}",
                place.join("."),
                fault["msg"].as_str().unwrap_or("invalid")
            )
        })
        .collect();
    clean(&told.join("; "))
}

/// Text of others, without control characters and not too long.
pub(super) fn clean(text: &str) -> String {
    let mut kept = String::new();
    for character in text.trim().chars() {
        if kept.len() + character.len_utf8() > SANDBOX_ERROR_BYTES {
            kept.push('…');
            break;
        }
        kept.push(if character.is_control() {
            ' '
        } else {
            character
        });
    }
    kept
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(LATEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(status: u16, body: &str) -> String {
        let status = StatusCode::from_u16(status).unwrap();
        Failure::refused("try", status, &HeaderMap::new(), body.as_bytes()).to_string()
    }

    #[test]
    fn all_six_shapes_of_an_error_are_read() {
        for (status, body, part) in [
            (
                404,
                r#"{"code":"DOCKER::X","message":"not found"}"#,
                "(DOCKER::X): not found",
            ),
            (
                422,
                r#"{"detail":[{"type":"x","loc":["body","timeout"],"msg":"too small","input":{"env":"hidden"}}]}"#,
                "body.timeout: too small",
            ),
            (404, r#"{"detail":"Not Found"}"#, ": Not Found"),
            (500, r#"{"code":"RUNTIME_ERROR"}"#, "(RUNTIME_ERROR)"),
            (
                401,
                r#"{"error":"Unauthorized: no token"}"#,
                ": Unauthorized: no token",
            ),
            (404, "404 page not found", ": 404 page not found"),
        ] {
            let told = shown(status, body);
            assert!(told.ends_with(part), "{told}");
            assert!(!told.contains("hidden"), "{told}");
        }
    }

    #[test]
    fn a_page_or_half_an_object_is_told_and_cannot_command_a_terminal() {
        assert!(shown(502, "<html><body>Bad Gateway").contains("a page for people"));
        assert!(shown(500, "{\"code\": \"A").contains("{\"code\": \"A"));
        assert!(!shown(500, "a\u{1b}[2J").contains('\u{1b}'));
        assert!(shown(500, &"x".repeat(100_000)).len() < 1_000);
    }

    #[test]
    fn an_error_says_whether_trying_again_may_help() {
        let of = |status: u16, headers: &HeaderMap| {
            let status = StatusCode::from_u16(status).unwrap();
            Failure::refused("try", status, headers, b"").retry_after()
        };
        let mut headers = HeaderMap::new();
        assert_eq!(of(503, &headers), Some(SOON));
        assert_eq!(of(401, &headers), None);
        assert_eq!(of(500, &headers), None);
        headers.insert(RETRY_AFTER, "7".parse().unwrap());
        assert_eq!(of(429, &headers), Some(Duration::from_secs(7)));
        headers.insert(RETRY_AFTER, "999999".parse().unwrap());
        assert_eq!(of(429, &headers), Some(LATEST));
    }
}
