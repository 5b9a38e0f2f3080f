//! What the ledger keeps of an agent's requests: where they went and how they
//! ended, and nothing of what they carried.

use std::time::Instant;

use keepsake_client::{Fault, Redaction};
use keepsake_storage::Kind;
use keepsake_types::EntryRef;
use keepsake_types::text::printable;
use serde_json::json;
use wasmtime_wasi_http::{Error, WasiBody};

use super::Sending;
use crate::ledger::Ledger;

/// Bytes of an address's path that are kept.
const PATH_BYTES: usize = 512;

/// What was asked, without what may be secret in it: a query, a user name.
pub(super) struct Asked {
    method: String,
    pub(super) server: String,
    path: String,
    length: Option<u64>,
}

impl Asked {
    pub(super) fn of(request: &http::Request<WasiBody>) -> Self {
        let uri = request.uri();
        let scheme = uri.scheme_str().unwrap_or("https");
        let host = uri.host().unwrap_or_default();
        let port = uri.port().map_or(String::new(), |port| format!(":{port}"));
        let path = uri.path();
        Self {
            method: printable(request.method().as_str()),
            server: printable(&format!("{scheme}://{host}{port}")),
            path: printable(&path[..path.floor_char_boundary(PATH_BYTES)]),
            length: request
                .headers()
                .get(http::header::CONTENT_LENGTH)
                .and_then(|length| length.to_str().ok()?.parse().ok()),
        }
    }
}

/// Records that a request was denied, and gives the guest's answer.
pub(super) async fn denied(ledger: Option<Ledger>, asked: &Asked, reason: &str) -> Error {
    if let Some(ledger) = ledger {
        let denied = json!({
            "what": "http",
            "server": asked.server,
            "reason": format!("a request to {}: {reason}", asked.server),
        });
        if let Err(error) = ledger.write(Kind::Denied, denied).await {
            return unrecorded(&error);
        }
    }
    Error::HttpRequestDenied
}

/// A request that was recorded, and how it ends.
pub(super) struct Recorded(Option<(Ledger, EntryRef, String, Instant)>);

/// Records a request before it is sent, so that none goes out unseen.
pub(super) async fn begun(
    ledger: Option<Ledger>,
    asked: &Asked,
    redaction: &Redaction,
) -> Result<Recorded, Error> {
    let Some(ledger) = ledger else {
        return Ok(Recorded(None));
    };
    let mut path = asked.path.clone().into_bytes();
    redaction.mask(&mut path);
    let request = json!({
        "method": asked.method,
        "server": asked.server,
        "path": String::from_utf8_lossy(&path),
        "bytes": asked.length,
    });
    match ledger.write(Kind::HttpRequest, request).await {
        Ok(entry) => Ok(Recorded(Some((
            ledger,
            entry,
            asked.server.clone(),
            Instant::now(),
        )))),
        Err(error) => Err(unrecorded(&error)),
    }
}

impl Recorded {
    /// Records the answer's status, or why there was none.
    pub(super) async fn ended(
        self,
        sent: &Result<reqwest::Response, Sending>,
    ) -> Result<(), Error> {
        let Some((ledger, entry, server, began)) = self.0 else {
            return Ok(());
        };
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut response = json!({
            "server": server,
            "request": entry.index,
            "milliseconds": milliseconds,
        });
        if let Err(Sending::Failed(private @ Fault::NotPublic(_))) = sent {
            let denied = json!({ "what": "http", "server": server, "reason": private.to_string() });
            let written = ledger.write(Kind::Denied, denied).await;
            written.map_err(|error| unrecorded(&error))?;
        }
        match sent {
            Ok(answer) => response["status"] = answer.status().as_u16().into(),
            Err(error) => response["error"] = printable(&error.to_string()).into(),
        }
        let written = ledger
            .write_without_waiting(Kind::HttpResponse, response)
            .await;
        written.map(drop).map_err(|error| unrecorded(&error))
    }
}

fn unrecorded(error: &keepsake_storage::StorageError) -> Error {
    tracing::error!("a request cannot be recorded: {error}");
    Error::InternalError(Some("the request cannot be recorded".into()))
}
