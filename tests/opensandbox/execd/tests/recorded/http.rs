//! A connection for each request, and bodies that may break off.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: Vec<u8>,
    /// The connection ended before the announced length had come.
    pub(crate) cut: bool,
}

impl Answer {
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }
}

/// An answer whose body is still coming.
pub(crate) struct Open(Response<Incoming>);

/// Sends a request to `address` and gives the answer when its head has come.
pub(crate) async fn open(address: &str, request: Request<Full<Bytes>>) -> Open {
    let stream = TcpStream::connect(address)
        .await
        .unwrap_or_else(|error| panic!("cannot connect to {address}: {error}"));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .expect("a connection that speaks HTTP");
    // Ends with the answer's body; what breaks it is seen there.
    tokio::spawn(connection);
    let what = format!("{} {}", request.method(), request.uri());
    let answer = tokio::time::timeout(PATIENCE, sender.send_request(request)).await;
    Open(
        answer
            .unwrap_or_else(|_| panic!("{what} was not answered within {PATIENCE:?}"))
            .unwrap_or_else(|error| panic!("{what} was not answered: {error}")),
    )
}

impl Open {
    pub(crate) fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// The body up to a text, which has to come.
    pub(crate) async fn until(&mut self, text: &str) -> Vec<u8> {
        let mut seen = Vec::new();
        let end = Instant::now() + PATIENCE;
        while !String::from_utf8_lossy(&seen).contains(text) {
            let frame = timeout_at(end, self.0.body_mut().frame()).await;
            let frame = frame.unwrap_or_else(|_| panic!("{text:?} did not come"));
            let frame = frame.unwrap_or_else(|| panic!("the body ended without {text:?}"));
            seen.extend(frame.expect("a sound body").into_data().unwrap_or_default());
        }
        seen
    }

    /// What is left of the body.
    pub(crate) async fn rest(self) -> Vec<u8> {
        self.whole(PATIENCE).await.body
    }

    /// The answer with its body, as far as it comes within a time.
    pub(crate) async fn whole(self, patience: Duration) -> Answer {
        let (head, mut coming) = self.0.into_parts();
        let mut body = Vec::new();
        let mut cut = false;
        let end = Instant::now() + patience;
        while let Ok(Some(frame)) = timeout_at(end, coming.frame()).await {
            match frame {
                Ok(frame) => body.extend(frame.into_data().unwrap_or_default()),
                Err(_) => {
                    cut = true;
                    break;
                }
            }
        }
        Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            cut,
        }
    }
}

/// Sends a request and gives the whole answer.
pub(crate) async fn send(address: &str, request: Request<Full<Bytes>>) -> Answer {
    open(address, request).await.whole(PATIENCE).await
}
