//! The stream of events that answers `POST /command`.
//!
//! Each event is a JSON object and a blank line. It is called an event stream
//! and is none; so it is with execd.

use super::clock;
use super::lines::Lines;
use super::process::Output;
use super::registry::Outcome;
use axum::body::{Body, Bytes};
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::sync::{mpsc, watch};

/// How often the files of output are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often a caller is told that the stream lives.
const PING_EVERY: Duration = Duration::from_secs(3);

/// How long the stream stays open after its last event.
const LINGER: Duration = Duration::from_secs(1);

/// Events that wait for a slow reader.
const WAITING_EVENTS: usize = 64;

/// Bytes read from a file at once.
const READ_SIZE: usize = 64 << 10;

/// Tells of the end of a command.
pub(crate) type Ended = watch::Receiver<Option<Outcome>>;

/// Answers with the events of a command, from its start to its end.
pub(crate) fn stream(
    id: String,
    background: bool,
    output: Output,
    ended: io::Result<Ended>,
) -> Response {
    let (sender, mut receiver) = mpsc::channel(WAITING_EVENTS);
    let follower = Follower {
        sender,
        started: Instant::now(),
    };
    // A reader that leaves ends the telling, not the command.
    tokio::spawn(async move {
        let told = follower.tell(id, background, output, ended).await;
        if told.is_ok() {
            tokio::time::sleep(LINGER).await;
        }
    });
    let events = stream::poll_fn(move |context| receiver.poll_recv(context));
    (
        [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache"),
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ],
        Body::from_stream(events),
    )
        .into_response()
}

/// The reader has left.
struct ReaderLeft;

struct Follower {
    sender: mpsc::Sender<Result<Bytes, Infallible>>,
    started: Instant,
}

impl Follower {
    async fn tell(
        &self,
        id: String,
        background: bool,
        output: Output,
        ended: io::Result<Ended>,
    ) -> Result<(), ReaderLeft> {
        self.event("init", json!({ "text": id })).await?;
        self.ping().await?;
        let outcome = match (ended, output) {
            (Err(error), _) => return self.failed(&error.to_string(), Value::Null).await,
            (Ok(_), _) if background => return self.complete().await,
            (Ok(ended), Output::Apart(out, err)) => self.follow(&out, &err, ended).await?,
            (Ok(_), Output::Together(_)) => return self.complete().await,
        };
        match outcome.error {
            None => self.complete().await,
            Some(error) => {
                self.failed(&outcome.exit_code.to_string(), json!([error]))
                    .await
            }
        }
    }

    /// Tells each line as it is written, until the command has ended.
    async fn follow(
        &self,
        out: &Path,
        err: &Path,
        mut ended: Ended,
    ) -> Result<Outcome, ReaderLeft> {
        let mut out = Tail::open("stdout", out).await;
        let mut err = Tail::open("stderr", err).await;
        let mut look = tokio::time::interval(LOOK_EVERY);
        let mut ping =
            tokio::time::interval_at(tokio::time::Instant::now() + PING_EVERY, PING_EVERY);
        let outcome = loop {
            tokio::select! {
                outcome = finished(&mut ended) => break outcome,
                _ = look.tick() => {
                    self.lines(&mut err).await?;
                    self.lines(&mut out).await?;
                }
                _ = ping.tick() => self.ping().await?,
            }
        };
        for mut tail in [err, out] {
            self.lines(&mut tail).await?;
            if let Some(rest) = tail.lines.rest() {
                self.event(tail.kind, json!({ "text": rest })).await?;
            }
        }
        Ok(outcome)
    }

    async fn lines(&self, tail: &mut Tail) -> Result<(), ReaderLeft> {
        loop {
            let bytes = tail.read().await;
            if bytes.is_empty() {
                return Ok(());
            }
            for line in tail.lines.push(&bytes) {
                self.event(tail.kind, json!({ "text": line })).await?;
            }
        }
    }

    async fn ping(&self) -> Result<(), ReaderLeft> {
        self.event("ping", json!({ "text": "pong" })).await
    }

    async fn complete(&self) -> Result<(), ReaderLeft> {
        let took = self.started.elapsed().as_millis() as u64;
        let fields = match took {
            0 => json!({}),
            took => json!({ "execution_time": took }),
        };
        self.event("execution_complete", fields).await
    }

    async fn failed(&self, value: &str, traceback: Value) -> Result<(), ReaderLeft> {
        let error = json!({ "ename": "CommandExecError", "evalue": value, "traceback": traceback });
        self.event("error", json!({ "error": error })).await
    }

    async fn event(&self, kind: &str, mut fields: Value) -> Result<(), ReaderLeft> {
        fields["type"] = json!(kind);
        fields["timestamp"] = json!(clock::milliseconds());
        let event = Bytes::from(format!("{fields}\n\n"));
        self.sender.send(Ok(event)).await.map_err(|_| ReaderLeft)
    }
}

/// Waits for the outcome.
async fn finished(ended: &mut Ended) -> Outcome {
    let outcome = match ended.wait_for(Option::is_some).await {
        Ok(outcome) => outcome.clone(),
        // The registry forgets only commands that have ended.
        Err(_) => None,
    };
    outcome.unwrap_or(Outcome {
        exit_code: -1,
        error: Some("the command was forgotten".to_owned()),
    })
}

/// A file that grows, and what of it has been read.
struct Tail {
    kind: &'static str,
    file: Option<File>,
    lines: Lines,
}

impl Tail {
    async fn open(kind: &'static str, path: &Path) -> Self {
        Self {
            kind,
            file: File::open(path).await.ok(),
            lines: Lines::default(),
        }
    }

    /// What was written since the last look; nothing where it cannot be read.
    async fn read(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; READ_SIZE];
        let read = match &mut self.file {
            Some(file) => file.read(&mut bytes).await.unwrap_or(0),
            None => 0,
        };
        bytes.truncate(read);
        bytes
    }
}
