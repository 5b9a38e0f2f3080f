//! An answer as it comes from the server, read only as far as it is asked for.

use std::collections::VecDeque;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::http::Body;
use crate::http::events::{Decoder, Event};
use crate::model::{AnswerStream, Delta, Response};

/// The largest event that is taken, in bytes. Some servers send a long call in
/// one piece.
pub const EVENT_BYTES: usize = 1024 * 1024;

/// The largest answer that is taken, in bytes of text, thoughts and arguments:
/// as much as a host takes as a whole conversation.
pub const ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// What there is to tell of an answer and was not told yet.
pub type Deltas = VecDeque<Delta>;

/// How one kind of server writes its answers, and what has come of one.
pub trait AnswerForm {
    /// Takes the next event of a stream and puts what there is to tell of it
    /// behind `deltas`. Answers whether it is the last.
    ///
    /// # Errors
    /// What ends the answer: an error of the server's in its place among others.
    fn take_event(&mut self, event: &Event, deltas: &mut Deltas) -> Result<bool>;

    /// Takes an answer that came in one piece.
    ///
    /// # Errors
    /// When it is none, or an error of the server's.
    fn take_whole(&mut self, body: &[u8], deltas: &mut Deltas) -> Result<()>;

    /// Whether the server said why the answer ended. What may come after that
    /// adds nothing but a count of tokens.
    fn is_finished(&self) -> bool;

    /// Whether an event is whole that the stream's end followed at once: it may
    /// have been cut off within.
    fn is_whole(&self, event: &Event) -> bool {
        serde_json::from_str::<Value>(&event.data).is_ok()
    }

    /// The whole answer, once nothing more comes.
    ///
    /// # Errors
    /// When what came makes none.
    fn response(&self) -> Result<Response>;
}

/// How much more of an answer is taken.
#[derive(Debug, Default)]
pub struct AnswerRoom {
    bytes: usize,
}

impl AnswerRoom {
    /// Takes so many bytes.
    ///
    /// # Errors
    /// [`Error::Limit`] when the answer has more than [`ANSWER_BYTES`].
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > ANSWER_BYTES {
            return Err(Error::limit(
                "model-answer-bytes",
                format!(
                    "the model's answer has more than {ANSWER_BYTES} bytes: set `max-tokens` in the provider's settings"
                ),
            ));
        }
        Ok(())
    }
}

/// The error of an answer that ended too early.
pub fn cut_off(origin: &str) -> Error {
    Error::unavailable(format!(
        "{origin} ended its answer before it was complete, so what has come is not the whole of it: try again"
    ))
}

/// An answer on its way.
pub(super) struct Streamed<F> {
    origin: String,
    source: Source,
    form: F,
    deltas: Deltas,
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

impl<F: AnswerForm> Streamed<F> {
    pub(super) fn new(body: Body, form: F) -> Self {
        Self {
            origin: body.origin().to_owned(),
            source: Source::Unread(body),
            form,
            deltas: Deltas::new(),
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
                Some(_) | None => return Err(cut_off(&self.origin)),
            }
        };
        if first != b'{' && first != b'<' {
            return self.feed(body, Decoder::new(EVENT_BYTES), &begun);
        }
        begun.extend(body.read_to_end(ANSWER_BYTES)?);
        self.form.take_whole(&begun, &mut self.deltas)
    }

    fn go_on(&mut self, mut body: Body, decoder: Decoder) -> Result<()> {
        match body.next_chunk() {
            Ok(Some(bytes)) => self.feed(body, decoder, &bytes),
            Ok(None) => self.end(decoder),
            // The answer is whole; only the count of its tokens may be missing.
            Err(_) if self.form.is_finished() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn feed(&mut self, body: Body, mut decoder: Decoder, bytes: &[u8]) -> Result<()> {
        let events = decoder.feed(bytes).map_err(|error| {
            Error::limit("model-event-bytes", format!("{}: {error}", self.origin))
        })?;
        for event in events {
            if self.form.take_event(&event, &mut self.deltas)? {
                return Ok(());
            }
        }
        self.source = Source::Events(body, decoder);
        Ok(())
    }

    /// What the end of the body means: all is well only if the server said that
    /// the answer is complete.
    fn end(&mut self, decoder: Decoder) -> Result<()> {
        if let Some(event) = decoder.finish().filter(|event| self.form.is_whole(event))
            && self.form.take_event(&event, &mut self.deltas)?
        {
            return Ok(());
        }
        if self.form.is_finished() {
            Ok(())
        } else {
            Err(cut_off(&self.origin))
        }
    }
}

impl<F: AnswerForm> AnswerStream for Streamed<F> {
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
        self.form.response()
    }
}
