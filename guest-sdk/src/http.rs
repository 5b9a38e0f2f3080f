//! HTTP for plugins, in the crate's feature `http`: one request at a time, each
//! waited for.
//!
//! A plugin reaches the origins that the operator granted it and no others. It
//! never sees a credential: the host adds the one of the granted origin to each
//! request on its way out.
//!
//! ```
//! # use keepsake_sdk::http::{BaseUrl, Refusal, Request, Retry};
//! # use keepsake_sdk::{Context, Result};
//! /// The largest list of models that is read.
//! const LIST_BYTES: usize = 1024 * 1024;
//!
//! fn models(context: &Context) -> Result<serde_json::Value> {
//!     let base = BaseUrl::parse("https://models.example/v1")?;
//!     let request = Request::get(&base.join("models"))?;
//!     let response = context.http().send_retrying(&request, &Retry::default())?;
//!     if !response.status().is_success() {
//!         return Err(Refusal::read(response).into());
//!     }
//!     Ok(response.json(LIST_BYTES)?)
//! }
//!
//! // A test scripts what servers answer.
//! use keepsake_sdk::testing::{Host, HttpAnswer};
//! let host = Host::new()
//!     .http_answers(HttpAnswer::new(503))
//!     .http_answers(HttpAnswer::json(200, &serde_json::json!({ "data": [] })));
//! assert!(models(&host.context()).unwrap()["data"].is_array());
//! assert_eq!(host.http_requests().len(), 2);
//! ```

mod base_url;
pub mod chat;
mod error;
pub mod events;
#[cfg(target_arch = "wasm32")]
mod outgoing;
mod redacted;
mod refusal;
mod request;
mod response;
mod retry;
mod service;

use std::rc::Rc;
use std::time::{Duration, SystemTime};

pub use ::http::{HeaderMap, Method, StatusCode, Uri};

pub use base_url::BaseUrl;
pub use error::{HttpError, HttpErrorKind};
pub use refusal::{REFUSAL_BYTES, REFUSAL_TEXT_BYTES, Refusal};
pub use request::{Request, Timeouts};
pub use response::{Body, Response};
pub use retry::Retry;
pub use service::{Service, ServiceKind};

#[cfg(target_arch = "wasm32")]
pub(crate) use outgoing::Outgoing;

/// What carries requests: the host within a component, a script in tests.
pub(crate) trait Transport {
    /// Sends one request and waits for the head of the answer.
    fn send(&self, request: &Request) -> Result<Received, HttpError>;

    fn now(&self) -> SystemTime;

    fn sleep(&self, duration: Duration);

    /// Any number from 0 to 1.
    fn random(&self) -> f64;
}

/// An answer whose body has not been read.
pub(crate) struct Received {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) chunks: Box<dyn Chunks>,
}

/// A body on its way.
pub(crate) trait Chunks {
    /// The next bytes, waiting for them; none at the end.
    fn next(&mut self) -> Result<Option<Vec<u8>>, HttpError>;
}

/// Sends requests. Made by [`Context::http`](crate::Context::http).
#[derive(Clone)]
pub struct Client {
    transport: Rc<dyn Transport>,
}

impl Client {
    pub(crate) fn new(transport: Rc<dyn Transport>) -> Self {
        Self { transport }
    }

    /// Sends a request once and waits for the head of the answer. Answers of
    /// every status are given; redirects are not followed, since a grant is for
    /// one origin.
    ///
    /// # Errors
    /// When there was no answer.
    pub fn send(&self, request: &Request) -> Result<Response, HttpError> {
        let received = self.transport.send(request)?;
        Ok(Response::new(request, received, self.transport.now()))
    }

    /// Sends a request until it is answered with anything but 429 and those
    /// answers of 500 and above that may pass, or until the tries are used up.
    /// The last answer is given then. Only use it for what may be done twice.
    ///
    /// # Errors
    /// When there was no answer to the last try, or none that trying again
    /// could change.
    pub fn send_retrying(&self, request: &Request, retry: &Retry) -> Result<Response, HttpError> {
        let mut tried = 0;
        loop {
            tried += 1;
            let answer = self.send(request);
            let wait = match &answer {
                Ok(response) => retry.after_answer(tried, response, self.transport.random()),
                Err(error) => retry.after_error(tried, error, self.transport.random()),
            };
            let Some(wait) = wait else { return answer };
            // Gives the connection back before the wait.
            drop(answer);
            self.transport.sleep(wait);
        }
    }
}
