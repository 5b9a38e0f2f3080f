//! `wasi:http/outgoing-handler`: requests of a plugin to the servers that its
//! operator granted it.
//!
//! The host looks at where each request goes, puts the operator's keys into those
//! that go where the keys are for, and bounds their number, size and time. The
//! keys are in no memory of the guest, and the guest cannot set a header that
//! would carry another one. What an agent asks is recorded.

mod access;
mod body;
mod fault;
mod record;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use keepsake_client::Fault;
use keepsake_types::limits;
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, COOKIE, HeaderName, HeaderValue,
    PROXY_AUTHORIZATION,
};
use tokio::sync::Semaphore;
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error, ForbiddenHeaderFilter, RequestOptions, WasiBody,
    WasiHttpHooks,
};

pub use access::HttpAccess;

use crate::ledger::Ledger;
use access::Grant;
use record::Asked;

/// One store's requests.
pub(crate) struct HttpRequests {
    plugin: String,
    access: HttpAccess,
    ledger: Option<Ledger>,
    places: Arc<Semaphore>,
    most: u64,
    sent: u64,
}

impl HttpRequests {
    /// What an agent asks in a turn is recorded in the `ledger`. At most so many
    /// requests are sent in one call.
    pub(crate) fn new(plugin: &str, access: HttpAccess, ledger: Option<Ledger>, most: u64) -> Self {
        Self {
            plugin: plugin.to_owned(),
            access,
            ledger,
            places: Arc::new(Semaphore::new(limits::HTTP_REQUESTS_AT_ONCE)),
            most,
            sent: 0,
        }
    }

    /// A new call into the guest begins.
    pub(crate) fn begin_call(&mut self) {
        self.sent = 0;
    }
}

/// The answer to a request, and what goes on while its body is read.
type Answer = (
    http::Response<WasiBody>,
    Box<dyn Future<Output = Result<(), Error>> + Send>,
);

impl WasiHttpHooks for HttpRequests {
    /// What carries a key, besides what no guest may set anywhere.
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        let own = self.access.headers();
        Arc::new(move |name: &HeaderName| {
            DEFAULT_FORBIDDEN_HEADERS.contains(name)
                || [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(name)
                || own.contains(name)
        })
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _sent: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<Answer, Error>> + Send> {
        let asked = Asked::of(&request);
        let ledger = self.ledger.clone();
        let grant = match self.access.covering(request.uri()) {
            Some(grant) if grant.recorded && ledger.is_none() => {
                Err("an agent may send requests only while it handles a message")
            }
            Some(grant) => Ok(grant),
            None if ledger.is_some() => Err("its operator did not grant it this server"),
            None => Err("only the server of its `base-url` is open to it"),
        };
        let grant = match grant {
            Ok(grant) => grant,
            Err(reason) => {
                tracing::warn!(
                    target: "plugin",
                    "{}: a request to `{}` was denied: {reason}",
                    self.plugin,
                    asked.server
                );
                return Box::new(async move { Err(record::denied(ledger, &asked, reason).await) });
            }
        };
        self.sent = self.sent.saturating_add(1);
        if self.sent > self.most {
            if self.sent == self.most + 1 {
                tracing::warn!(
                    target: "plugin",
                    "{}: the limit `http-requests` was reached: it may send {} requests in one call; if it needs more, raise `limits.http-requests`",
                    self.plugin,
                    self.most
                );
            }
            let reached = format!("the limit `http-requests` of {} was reached", self.most);
            return Box::new(async { Err(Error::InternalError(Some(reached))) });
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return Box::new(async { Err(Error::ConnectionLimitReached) });
        };
        let times = Times::new(options);
        let plugin = self.plugin.clone();
        Box::new(async move {
            let ledger = ledger.filter(|_| grant.recorded);
            let recorded = record::begun(ledger, &asked, &grant.redaction).await?;
            let sent = send(&grant, request, &times).await;
            recorded.ended(&sent).await?;
            let response = sent.map_err(|fault| {
                // Guests are told that it was TLS, and have no word for what of it.
                if matches!(fault, Sending::Failed(Fault::Tls(_))) {
                    tracing::warn!(target: "plugin", "{plugin}: {}: {fault}", asked.server);
                } else {
                    tracing::debug!(target: "plugin", "{plugin}: {}: {fault}", asked.server);
                }
                Error::from(fault)
            })?;
            tracing::debug!(target: "plugin", "{plugin}: {} answered {}", asked.server, response.status());
            let redaction = &grant.redaction;
            if let Some(coding) = coding(&response).filter(|_| !redaction.is_empty()) {
                tracing::debug!(target: "plugin", "{plugin}: {} packed its answer unasked", asked.server);
                return Err(Error::HttpResponseContentCoding(Some(coding)));
            }
            let response = body::bounded(response, times.between_bytes, redaction, place);
            let nothing: Pin<Box<dyn Future<Output = Result<(), Error>> + Send>> =
                Box::pin(async { Ok(()) });
            Ok((response, Box::new(nothing) as Box<_>))
        })
    }
}

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
enum Sending {
    #[error("{0}")]
    Refused(Error),
    #[error("{0}")]
    Failed(Fault),
}

impl From<Error> for Sending {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Sending> for Error {
    fn from(sending: Sending) -> Self {
        match sending {
            Sending::Refused(error) => error,
            Sending::Failed(fault) => fault::told(&fault),
        }
    }
}

async fn send(
    grant: &Grant,
    request: http::Request<WasiBody>,
    times: &Times,
) -> Result<reqwest::Response, Sending> {
    let (mut head, body) = request.into_parts();
    for credential in &grant.credentials {
        credential.apply(&mut head.headers);
    }
    if !grant.redaction.is_empty() {
        // In a packed answer nobody would find the key.
        head.headers
            .insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    // Gathered first: what a provider asks is short, and a request with a
    // length is understood by more servers than one in pieces.
    let body = Limited::new(body, limits::HTTP_REQUEST_BYTES)
        .collect()
        .await
        .map_err(|_| Error::HttpRequestBodySize(Some(limits::HTTP_REQUEST_BYTES as u64)))?
        .to_bytes();
    let request = http::Request::from_parts(head, body);
    let request = reqwest::Request::try_from(request).map_err(|_| Error::HttpRequestUriInvalid)?;
    match tokio::time::timeout(times.first_byte, grant.client.execute(request)).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(Sending::Failed(Fault::of(&error))),
        Err(_) => Err(Error::HttpResponseTimeout.into()),
    }
}

/// How an answer is packed, where it is.
fn coding(response: &reqwest::Response) -> Option<String> {
    let coding = response.headers().get(CONTENT_ENCODING)?;
    let coding = String::from_utf8_lossy(coding.as_bytes()).trim().to_owned();
    (!coding.is_empty() && !coding.eq_ignore_ascii_case("identity")).then_some(coding)
}

/// How long a request may take: what the guest asked for, but no longer than
/// the host allows. The time to connect is the client's.
struct Times {
    first_byte: Duration,
    between_bytes: Duration,
}

impl Times {
    fn new(options: Option<RequestOptions>) -> Self {
        let options = options.unwrap_or_default();
        let within =
            |asked: Option<Duration>, most: Duration| asked.map_or(most, |asked| asked.min(most));
        Self {
            first_byte: within(options.first_byte_timeout, limits::HTTP_FIRST_BYTE),
            between_bytes: within(options.between_bytes_timeout, limits::HTTP_BETWEEN_BYTES),
        }
    }
}

#[cfg(test)]
mod tests {
    use keepsake_client::{Credential, Origin};

    use super::*;

    #[test]
    fn a_guest_sets_no_header_that_carries_a_key() {
        let key = Credential::new("KEY", "k-123456789", Some("x-api-key")).unwrap();
        let origin = Origin::of("http://127.0.0.1:1").unwrap();
        let access = HttpAccess::to(origin, Some(key)).unwrap();
        let mut requests = HttpRequests::new("provider", access, None, 1);
        let forbidden = requests.forbidden_header_filter();
        for name in [
            "authorization",
            "proxy-authorization",
            "cookie",
            "host",
            "x-api-key",
        ] {
            assert!(forbidden(&HeaderName::from_static(name)), "{name}");
        }
        assert!(!forbidden(&HeaderName::from_static("content-type")));
    }

    #[test]
    fn a_guest_may_ask_for_less_time_and_never_for_more() {
        let asked = |seconds| {
            Times::new(Some(RequestOptions {
                first_byte_timeout: Some(Duration::from_secs(seconds)),
                ..RequestOptions::default()
            }))
        };
        assert_eq!(asked(1).first_byte, Duration::from_secs(1));
        assert_eq!(asked(86_400).first_byte, limits::HTTP_FIRST_BYTE);
    }
}
