//! A response's body as a guest reads it: no more bytes than are allowed, and
//! no longer silence between them.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use keepsake_client::{Fault, RedactedStream, Redaction};
use keepsake_types::limits;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime_wasi_http::{Error, WasiBody};

use super::fault::told;

/// What is left of a response while it is read.
struct Reading {
    response: reqwest::Response,
    between_bytes: Duration,
    received: usize,
    redacted: RedactedStream,
    over: bool,
    /// The request's place, given back when the body ends or is dropped.
    _place: OwnedSemaphorePermit,
}

/// The response with its body in bounds, and without the key that the request
/// carried: a server may repeat it.
pub(super) fn bounded(
    mut response: reqwest::Response,
    between_bytes: Duration,
    redaction: &Redaction,
    place: OwnedSemaphorePermit,
) -> http::Response<WasiBody> {
    let mut answer = http::Response::new(());
    *answer.status_mut() = response.status();
    *answer.headers_mut() = std::mem::take(response.headers_mut());
    redaction.headers(answer.headers_mut());
    let reading = Reading {
        response,
        between_bytes,
        received: 0,
        redacted: redaction.stream(),
        over: false,
        _place: place,
    };
    let pieces = stream::unfold(reading, |mut reading| async {
        let piece = reading.next().await?;
        Some((piece.map(Frame::data), reading))
    });
    answer.map(|()| StreamBody::new(pieces).boxed_unsync())
}

impl Reading {
    /// The next bytes that can be handed on.
    async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        loop {
            if self.over {
                return None;
            }
            let piece = match self.receive().await {
                Some(Ok(piece)) => self.redacted.push(&piece),
                Some(Err(error)) => {
                    self.over = true;
                    return Some(Err(error));
                }
                None => {
                    self.over = true;
                    self.redacted.finish()
                }
            };
            if !piece.is_empty() {
                return Some(Ok(piece.into()));
            }
        }
    }

    async fn receive(&mut self) -> Option<Result<Bytes, Error>> {
        let piece = tokio::time::timeout(self.between_bytes, self.response.chunk()).await;
        Some(match piece {
            Err(_) => Err(Error::ConnectionReadTimeout),
            Ok(Err(error)) => Err(told(&Fault::of(&error))),
            Ok(Ok(None)) => return None,
            Ok(Ok(Some(piece))) => {
                self.received = self.received.saturating_add(piece.len());
                if self.received > limits::HTTP_RESPONSE_BYTES {
                    Err(Error::HttpResponseBodySize(Some(
                        limits::HTTP_RESPONSE_BYTES as u64,
                    )))
                } else {
                    Ok(piece)
                }
            }
        })
    }
}
