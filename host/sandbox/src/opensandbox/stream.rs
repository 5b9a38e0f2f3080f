//! The events of one command as they come.

use std::time::Duration;

use reqwest::Response;

use super::events::{Decoder, Event, Unreadable};
use super::failure::Failure;

/// A stream that is silent for so long is broken: the daemon sends a sign of
/// life every 3 seconds.
const SILENCE: Duration = Duration::from_secs(30);
/// The daemon holds a stream open for a second after its last event; closing it
/// at once upsets relays between here and there.
const DRAIN: Duration = Duration::from_secs(5);

/// The events of one command.
pub(super) struct Stream {
    pub(super) what: &'static str,
    response: Option<Response>,
    decoder: Decoder,
}

impl Stream {
    pub(super) fn new(response: Response) -> Self {
        Self {
            what: "follow a command in the sandbox",
            response: Some(response),
            decoder: Decoder::default(),
        }
    }

    /// The next event; none when the connection ended. A call that is given up
    /// loses nothing.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        let unreadable = |what, reason: Unreadable| Failure::malformed(what, reason.0);
        loop {
            let event = self.decoder.next();
            if let Some(event) = event.map_err(|reason| unreadable(self.what, reason))? {
                return Ok(Some(event));
            }
            let Some(response) = &mut self.response else {
                return Ok(None);
            };
            match tokio::time::timeout(SILENCE, response.chunk()).await {
                Ok(Ok(Some(chunk))) => self.decoder.push(&chunk),
                Ok(Ok(None)) => {
                    self.response = None;
                    let last = self.decoder.finish();
                    return last.map_err(|reason| unreadable(self.what, reason));
                }
                Ok(Err(error)) => {
                    self.response = None;
                    return Err(Failure::transport(self.what, &error));
                }
                Err(_) => {
                    self.response = None;
                    return Err(Failure::Transport {
                        what: self.what,
                        reason: format!("nothing came for {} seconds", SILENCE.as_secs()),
                        unsent: false,
                    });
                }
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let Some(mut response) = self.response.take() else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(tokio::time::timeout(DRAIN, async move {
                while let Ok(Some(_)) = response.chunk().await {}
            }));
        }
    }
}
