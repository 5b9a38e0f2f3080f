//! A response's body as a guest reads it: no more bytes than are allowed, and
//! no longer silence between them.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use keepsake_client::Fault;
use keepsake_types::limits;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime_wasi_http::{Error, WasiBody};

use super::fault::told;

/// What is left of a response while it is read.
struct Reading {
    response: reqwest::Response,
    between_bytes: Duration,
    received: usize,
    over: bool,
    /// The request's place, given back when the body ends or is dropped.
    _place: OwnedSemaphorePermit,
}

/// The response with its body in bounds.
pub(super) fn bounded(
    mut response: reqwest::Response,
    between_bytes: Duration,
    place: OwnedSemaphorePermit,
) -> http::Response<WasiBody> {
    let mut answer = http::Response::new(());
    *answer.status_mut() = response.status();
    *answer.headers_mut() = std::mem::take(response.headers_mut());
    let reading = Reading {
        response,
        between_bytes,
        received: 0,
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
    async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        if self.over {
            return None;
        }
        let piece = tokio::time::timeout(self.between_bytes, self.response.chunk()).await;
        let told = match piece {
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
        };
        self.over = told.is_err();
        Some(told)
    }
}
