//! Requests and answers, bounded and with a second try where that is safe.
//!
//! Redirects are not followed: credentials are for the address they were given
//! for. The head of an answer is bounded by the HTTP library (about 400 KB).

use std::time::Duration;

use keepsake_client::{Origin, Redaction};
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::failure::Failure;
use crate::SandboxError;

/// How long to wait for an answer where nothing else is said.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a request that changes nothing when repeated is sent.
const TRIES: u32 = 3;
/// How long to wait before the second try; doubled for the third.
const PAUSE: Duration = Duration::from_millis(500);

/// What sends requests. It carries no credentials by itself.
#[derive(Clone, Debug)]
pub(super) struct Transport {
    client: reqwest::Client,
    /// For addresses of this machine, which no proxy reaches.
    near: reqwest::Client,
    /// Takes the keys out of answers, which some servers repeat in errors.
    redaction: Redaction,
}

/// One request, which can be sent more than once.
pub(super) struct Call<'c> {
    /// What it does, after "cannot".
    pub(super) what: &'static str,
    pub(super) method: Method,
    pub(super) url: &'c str,
    pub(super) headers: &'c HeaderMap,
    pub(super) query: &'c [(&'c str, &'c str)],
    pub(super) body: Option<&'c serde_json::Value>,
    pub(super) timeout: Duration,
    /// The most that the answer's body may have.
    pub(super) limit: usize,
}

/// An answer that says yes.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn json<T: DeserializeOwned>(&self, what: &'static str) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Failure::malformed(
                what,
                format!(
                    "the answer is not what OpenSandbox answers: {}",
                    super::failure::clean(&error.to_string())
                ),
            )
        })
    }
}

impl Transport {
    /// Transport for a server; `tls` where any address may need it.
    pub(super) fn new(tls: bool, redaction: Redaction) -> Result<Self, SandboxError> {
        let build = |near: bool| {
            keepsake_client::client_for(tls, near).map_err(|fault| SandboxError::Unavailable {
                message: format!(
                    "cannot set up HTTP for OpenSandbox: {fault}; are the system's root \
                     certificates installed?"
                ),
                retry_after: None,
            })
        };
        Ok(Self {
            client: build(false)?,
            near: build(true)?,
            redaction,
        })
    }

    pub(super) fn request(&self, method: Method, url: &str) -> RequestBuilder {
        let client = if is_near(url) {
            &self.near
        } else {
            &self.client
        };
        client
            .request(method, url)
            // For whoever looks for it in the server's log.
            .header("X-Request-ID", Uuid::now_v7().simple().to_string())
    }

    /// Sends a request. GET and DELETE are sent again where that may help.
    pub(super) async fn send(&self, call: Call<'_>) -> Result<Answer, Failure> {
        let repeatable = matches!(call.method, Method::GET | Method::DELETE);
        let mut tried = 1;
        loop {
            let failure = match self.send_once(&call).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let Some(asked) = failure
                .retry_after()
                .filter(|_| repeatable && tried < TRIES)
            else {
                return Err(failure);
            };
            tracing::debug!(%failure, tried, "a request is tried again");
            let told = matches!(
                &failure,
                Failure::Refused {
                    retry_after: Some(_),
                    ..
                }
            );
            tokio::time::sleep(if told { asked } else { pause(tried) }).await;
            tried += 1;
        }
    }

    async fn send_once(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let mut request = self
            .request(call.method.clone(), call.url)
            .headers(call.headers.clone())
            .query(call.query)
            .timeout(call.timeout);
        if let Some(body) = call.body {
            request = request.json(body);
        }
        let response = request.send().await;
        let response = response.map_err(|error| Failure::transport(call.what, &error))?;
        self.read(call.what, response, call.limit).await
    }

    /// The whole of an answer, which is an error where it says no.
    pub(super) async fn read(
        &self,
        what: &'static str,
        mut response: Response,
        limit: usize,
    ) -> Result<Answer, Failure> {
        let status = response.status();
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() <= limit => {
                    body.extend_from_slice(&chunk)
                }
                Ok(None) => break,
                // Some refusals announce more than they send: the status counts.
                _ if !status.is_success() => break,
                Ok(Some(_)) => {
                    return Err(Failure::malformed(
                        what,
                        format!("the answer has more than {limit} bytes"),
                    ));
                }
                Err(error) => return Err(Failure::transport(what, &error)),
            }
        }
        self.redaction.mask(&mut body);
        if status.is_success() {
            return Ok(Answer { status, body });
        }
        self.redaction.headers(response.headers_mut());
        Err(Failure::refused(what, status, response.headers(), &body))
    }
}

/// How long to wait after so many tries: doubled each time, and up to a half
/// more or less, so that many hosts do not come back at once.
fn pause(tried: u32) -> Duration {
    let full = PAUSE * 2_u32.pow(tried - 1);
    // The last bytes of such an id are random.
    let [.., high, low] = Uuid::now_v7().into_bytes();
    let random = f64::from(u16::from_be_bytes([high, low])) / f64::from(u16::MAX);
    full.mul_f64(0.5 + random)
}

/// Whether an address is this machine's own.
fn is_near(url: &str) -> bool {
    Origin::of(url).is_ok_and(|origin| origin.is_this_machine())
}
