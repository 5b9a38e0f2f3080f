//! The answer as it comes from the server, read only as far as it is asked for.

use std::collections::VecDeque;

use keepsake_sdk::http::events::{Decoder, Event};
use keepsake_sdk::http::{Body, Refusal, StatusCode};
use keepsake_sdk::model::{AnswerStream, Delta, Response};
use keepsake_sdk::{Error, Result};
use serde::Deserialize as _;
use serde_json::Value;

use crate::assembly::{ANSWER_BYTES, Assembly};
use crate::refused::refused;
use crate::wire::{Piece, is_error};

/// The largest event that is taken, in bytes. Some servers send a long call in
/// one piece.
pub const EVENT_BYTES: usize = 1024 * 1024;

/// How the end of a stream is said.
const DONE: &str = "[DONE]";

/// An answer on its way.
pub(crate) struct Stream {
    model: String,
    origin: String,
    source: Source,
    assembly: Assembly,
    deltas: VecDeque<Delta>,
    /// What ended the answer before its end. It is told each time.
    broken: Option<Error>,
}

/// Where the next piece comes from.
enum Source {
    /// Nothing has been read: it may be a stream, or a whole answer in one.
    Unread(Body),
    Events(Body, Decoder),
    Ended,
}

impl Stream {
    pub(crate) fn new(model: &str, body: Body) -> Self {
        Self {
            model: model.to_owned(),
            origin: body.origin().to_owned(),
            source: Source::Unread(body),
            assembly: Assembly::default(),
            deltas: VecDeque::new(),
            broken: None,
        }
    }

    /// Reads the next bytes. When it has ended, the connection is given back.
    fn read(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.source, Source::Ended) {
            Source::Unread(body) => self.begin(body),
            Source::Events(body, decoder) => self.go_on(body, decoder),
            Source::Ended => Ok(()),
        }
    }

    /// Tells a stream from a whole answer by its first character. What the
    /// server calls it says less: there are streams called JSON, and errors
    /// called streams.
    fn begin(&mut self, mut body: Body) -> Result<()> {
        let mut begun = Vec::new();
        let first = loop {
            if let Some(first) = begun.iter().find(|byte: &&u8| !byte.is_ascii_whitespace()) {
                break *first;
            }
            match body.next_chunk()? {
                Some(chunk) if begun.len() + chunk.len() <= EVENT_BYTES => begun.extend(chunk),
                Some(_) | None => return Err(self.cut_off()),
            }
        };
        if first != b'{' && first != b'<' {
            return self.feed(body, Decoder::new(EVENT_BYTES), &begun);
        }
        begun.extend(body.read_to_end(ANSWER_BYTES)?);
        let answer = serde_json::from_slice::<Value>(&begun).ok();
        match answer {
            Some(value) if value.get("choices").is_some() && !is_error(&value) => {
                self.take(&value)?;
                if self.assembly.is_blank() {
                    return Err(self.cut_off());
                }
                Ok(())
            }
            _ => Err(self.refused(&begun)),
        }
    }

    fn go_on(&mut self, mut body: Body, decoder: Decoder) -> Result<()> {
        match body.next_chunk() {
            Ok(Some(bytes)) => self.feed(body, decoder, &bytes),
            Ok(None) => self.end(decoder),
            // The answer is whole; only the count of its tokens may be missing.
            Err(_) if self.assembly.is_finished() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn feed(&mut self, body: Body, mut decoder: Decoder, bytes: &[u8]) -> Result<()> {
        let events = decoder.feed(bytes).map_err(|error| {
            Error::limit("model-event-bytes", format!("{}: {error}", self.origin))
        })?;
        for event in events {
            if self.take_event(&event)? {
                return Ok(());
            }
        }
        self.source = Source::Events(body, decoder);
        Ok(())
    }

    /// What the end of the body means: all is well only if the server said that
    /// the answer is complete.
    fn end(&mut self, decoder: Decoder) -> Result<()> {
        let whole = |event: &Event| {
            event.data.trim() == DONE || serde_json::from_str::<Value>(&event.data).is_ok()
        };
        if let Some(event) = decoder.finish().filter(whole)
            && self.take_event(&event)?
        {
            return Ok(());
        }
        if self.assembly.is_finished() {
            Ok(())
        } else {
            Err(self.cut_off())
        }
    }

    /// Takes an event; true where it is the last.
    fn take_event(&mut self, event: &Event) -> Result<bool> {
        let data = event.data.trim();
        if data == DONE {
            return if self.assembly.is_blank() {
                Err(self.cut_off())
            } else {
                Ok(true)
            };
        }
        if data.is_empty() {
            return Ok(false);
        }
        let value = serde_json::from_str::<Value>(data).ok();
        match value {
            Some(value) if event.name != "error" && !is_error(&value) => {
                self.take(&value)?;
                Ok(false)
            }
            _ => Err(self.refused(data.as_bytes())),
        }
    }

    fn take(&mut self, value: &Value) -> Result<()> {
        let piece = Piece::deserialize(value).map_err(|error| {
            Error::unavailable(format!(
                "{} answers in a form that is not OpenAI's: {error}; check `base-url`",
                self.origin
            ))
        })?;
        self.assembly.take(piece, &mut self.deltas)
    }

    /// An error that stands where the answer should be.
    fn refused(&self, body: &[u8]) -> Error {
        let said = serde_json::from_slice::<Value>(body).unwrap_or(Value::Null);
        let code = |value: &Value| value.as_u64().and_then(|code| u16::try_from(code).ok());
        // Some servers say there which status it would have been.
        let status = [
            &said["error"]["code"],
            &said["error"]["status"],
            &said["code"],
        ]
        .into_iter()
        .find_map(code)
        .filter(|code| (400..600).contains(code))
        .and_then(|code| StatusCode::from_u16(code).ok());
        let status = status.unwrap_or(StatusCode::OK);
        refused(Refusal::of(&self.origin, status, body))
    }

    fn cut_off(&self) -> Error {
        Error::unavailable(format!(
            "{} ended its answer before it was complete, so what has come is not the whole of it: try again",
            self.origin
        ))
    }
}

impl AnswerStream for Stream {
    fn next(&mut self) -> Result<Option<Delta>> {
        loop {
            if let Some(delta) = self.deltas.pop_front() {
                return Ok(Some(delta));
            }
            if let Some(error) = &self.broken {
                return Err(error.clone());
            }
            if matches!(self.source, Source::Ended) {
                return Ok(None);
            }
            if let Err(error) = self.read() {
                self.source = Source::Ended;
                self.broken = Some(error);
            }
        }
    }

    fn finish(&mut self) -> Result<Response> {
        while self.next()?.is_some() {}
        self.assembly.response(&self.model)
    }
}
