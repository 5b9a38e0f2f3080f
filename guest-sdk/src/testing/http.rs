//! Servers of a test: they answer what the test says.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use ::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

use super::Host;
use crate::http::{Chunks, HttpError, HttpErrorKind, Received, Request, Transport};

/// 2026-01-01T00:00:00Z in seconds: where the clock of scripted servers stands.
const NOW: u64 = 1_767_225_600;

/// What a server answers in a test.
#[derive(Clone, Debug)]
pub struct HttpAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    chunks: Vec<Vec<u8>>,
    /// How the body ends, if not well.
    breaks: Option<HttpErrorKind>,
    /// Why there is no answer at all.
    fails: Option<HttpErrorKind>,
}

impl HttpAnswer {
    /// An answer without a body.
    pub fn new(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            chunks: Vec::new(),
            breaks: None,
            fails: None,
        }
    }

    /// An answer of JSON.
    pub fn json(status: u16, value: &Value) -> Self {
        Self::new(status)
            .header("content-type", "application/json")
            .chunk(value.to_string())
    }

    /// A stream of events with these data, each in a chunk of its own.
    pub fn events<T: AsRef<str>>(data: &[T]) -> Self {
        let stream = Self::new(200).header("content-type", "text/event-stream");
        data.iter().fold(stream, |stream, data| {
            stream.chunk(format!("data: {}\n\n", data.as_ref()))
        })
    }

    /// No answer at all.
    pub fn fails(kind: HttpErrorKind) -> Self {
        Self {
            fails: Some(kind),
            ..Self::new(200)
        }
    }

    /// The same with a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with more of a body, which comes apart from what is before it.
    #[must_use]
    pub fn chunk(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.chunks.push(bytes.as_ref().to_vec());
        self
    }

    /// The same, but the connection ends before the body does.
    #[must_use]
    pub fn breaks_off(self) -> Self {
        self.stops_with(HttpErrorKind::BrokenOff)
    }

    /// The same, but the body ends in this way.
    #[must_use]
    pub fn stops_with(mut self, kind: HttpErrorKind) -> Self {
        self.breaks = Some(kind);
        self
    }
}

type Server = dyn Fn(&Request) -> HttpAnswer;

/// What servers answer and what they were asked.
#[derive(Default)]
pub(super) struct Servers {
    answers: RefCell<VecDeque<HttpAnswer>>,
    server: RefCell<Option<Box<Server>>>,
    requests: RefCell<Vec<Request>>,
    waits: RefCell<Vec<Duration>>,
    chunks_read: Rc<Cell<usize>>,
}

impl Host {
    /// What the next request is answered with.
    #[must_use]
    pub fn http_answers(self, answer: HttpAnswer) -> Self {
        self.shared.servers.answers.borrow_mut().push_back(answer);
        self
    }

    /// What requests are answered with that nothing else is said of.
    #[must_use]
    pub fn http_server(self, server: impl Fn(&Request) -> HttpAnswer + 'static) -> Self {
        *self.shared.servers.server.borrow_mut() = Some(Box::new(server));
        self
    }

    /// The requests that were sent so far.
    pub fn http_requests(&self) -> Vec<Request> {
        self.shared.servers.requests.borrow().clone()
    }

    /// The waits between tries so far. A test does not wait; of the random part
    /// of a wait nothing is taken off.
    pub fn waits(&self) -> Vec<Duration> {
        self.shared.servers.waits.borrow().clone()
    }

    /// How many chunks of bodies were asked for so far and came.
    pub fn http_chunks_read(&self) -> usize {
        self.shared.servers.chunks_read.get()
    }
}

impl Transport for Host {
    fn send(&self, request: &Request) -> Result<Received, HttpError> {
        let servers = &self.shared.servers;
        servers.requests.borrow_mut().push(request.clone());
        let failed = |kind, detail: &str| HttpError::new(kind, request.origin(), detail);
        let next = servers.answers.borrow_mut().pop_front();
        let answer = match (next, &*servers.server.borrow()) {
            (Some(answer), _) => answer,
            (None, Some(server)) => server(request),
            (None, None) => {
                return Err(failed(
                    HttpErrorKind::Denied,
                    "the test says nothing of what servers answer now: use `Host::http_answers`",
                ));
            }
        };
        if let Some(kind) = answer.fails {
            return Err(failed(kind, ""));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in answer.headers {
            headers.append(
                HeaderName::try_from(name).expect("a header's name in a test"),
                HeaderValue::try_from(value).expect("a header's value in a test"),
            );
        }
        Ok(Received {
            status: StatusCode::from_u16(answer.status).expect("a status in a test"),
            headers,
            chunks: Box::new(Scripted {
                chunks: answer.chunks.into(),
                breaks: answer.breaks.map(|kind| failed(kind, "")),
                read: Rc::clone(&servers.chunks_read),
            }),
        })
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
    }

    fn sleep(&self, duration: Duration) {
        self.shared.servers.waits.borrow_mut().push(duration);
    }

    fn random(&self) -> f64 {
        0.0
    }
}

struct Scripted {
    chunks: VecDeque<Vec<u8>>,
    breaks: Option<HttpError>,
    read: Rc<Cell<usize>>,
}

impl Chunks for Scripted {
    fn next(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        let Some(chunk) = self.chunks.pop_front() else {
            return self.breaks.take().map_or(Ok(None), Err);
        };
        self.read.set(self.read.get() + 1);
        Ok(Some(chunk))
    }
}
