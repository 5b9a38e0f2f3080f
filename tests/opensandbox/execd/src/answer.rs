//! What every route answers with: nothing, JSON, or a failure with a code.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;

/// The content type of every JSON answer.
const JSON: &str = "application/json; charset=utf-8";

/// What a handler hands back.
pub(crate) type Answer = Result<Response, Failure>;

/// A refusal or a failure, told as `{"code", "message"}`.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Failure {
    /// 400: the body, or a value in it or in the query, is not to be had.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST_BODY", message)
    }

    /// 400: a query parameter has to be there.
    pub(crate) fn missing_query(name: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "MISSING_QUERY",
            format!("missing query parameter '{name}'"),
        )
    }

    /// 500: the request was fine and could not be carried out.
    pub(crate) fn runtime(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "RUNTIME_ERROR", message)
    }

    /// 404: a file is not there.
    pub(crate) fn no_file(message: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "FILE_NOT_FOUND",
            format!("file not found. {message}"),
        )
    }

    /// A failure told by any status and code.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
        }
    }

    /// A failed call on a file: 404 if the file is not there, else 500.
    /// `doing` is the call and its path, as in `stat /nope`.
    pub(crate) fn of_file(doing: &str, error: &io::Error) -> Self {
        let message = format!("{doing}: {}", reason(error));
        if error.kind() == io::ErrorKind::NotFound {
            Self::no_file(message)
        } else {
            Self::runtime(format!("error accessing file: {message}"))
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "code": self.code, "message": self.message });
        let mut response = json(&body);
        *response.status_mut() = self.status;
        response
    }
}

/// Success with nothing to say: 200, no body, no content type.
pub(crate) fn done() -> Response {
    StatusCode::OK.into_response()
}

/// 200 with a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => ([(header::CONTENT_TYPE, JSON)], bytes).into_response(),
        Err(error) => {
            let text = format!("cannot write the answer as JSON: {error}");
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}

/// 200 with text.
pub(crate) fn text(bytes: Vec<u8>) -> Response {
    (
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
        Body::from(bytes),
    )
        .into_response()
}

/// Reads a request body as JSON. The words of two common failures are execd's.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|error| {
        let reason = if body.is_empty() {
            "EOF".to_owned()
        } else if error.is_eof() {
            "unexpected EOF".to_owned()
        } else {
            error.to_string()
        };
        Failure::invalid(format!(
            "error parsing request, MAYBE invalid body format. {reason}"
        ))
    })
}

/// The system's word for an error, begun with a small letter and without its
/// number, as execd tells it.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}
