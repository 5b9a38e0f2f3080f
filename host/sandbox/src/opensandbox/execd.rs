//! The daemon within a sandbox: commands and files.
//!
//! It shares its container with untrusted commands, so that what it answers is
//! as little to be trusted as they are, and the API key is never sent to it.

use std::collections::BTreeMap;
use std::time::Duration;

use keepsake_types::limits::{FILE_BYTES, SANDBOX_ANSWER_BYTES, SANDBOX_PROBE_BYTES};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RANGE};
use reqwest::multipart::{Form, Part};
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::events::{Event, signalled};
use super::failure::Failure;
use super::stream::Stream;
use super::transport::{ANSWER_TIMEOUT, Answer, Call, Transport};
use crate::ExitStatus;

/// The daemon's port within the sandbox.
pub(super) const PORT: u16 = 44_772;
/// How long a whole file may take.
const FILE_TIMEOUT: Duration = Duration::from_secs(120);
/// The daemon within one sandbox.
#[derive(Debug)]
pub(super) struct Execd {
    pub(super) transport: Transport,
    /// Without a slash at the end; its path is kept.
    pub(super) base: String,
    pub(super) headers: HeaderMap,
}

/// A file or directory as the daemon tells of it.
#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    pub(super) path: String,
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) size: u64,
    #[serde(default)]
    pub(super) modified_at: Option<String>,
}

/// How a command stands.
#[derive(Debug, Deserialize)]
pub(super) struct CommandState {
    #[serde(default)]
    running: bool,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(default)]
    error: Option<String>,
}

impl CommandState {
    /// How it ended; none while it runs.
    pub(super) fn ended(&self) -> Option<ExitStatus> {
        match self.exit_code {
            _ if self.running => None,
            Some(-1) => Some(signalled(self.error.as_deref().unwrap_or_default())),
            Some(code) => Some(ExitStatus::Code(code)),
            None => Some(ExitStatus::Unknown(
                "the sandbox does not say how it ended".into(),
            )),
        }
    }
}

/// A file to put into the sandbox.
pub(super) struct Upload<'u> {
    pub(super) path: &'u str,
    pub(super) content: Vec<u8>,
    /// Decimal digits that are read as octal, such as 644; none leaves it.
    pub(super) mode: Option<u32>,
}

impl Execd {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    async fn call(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        limit: usize,
    ) -> Result<Answer, Failure> {
        self.transport
            .send(Call {
                what,
                method,
                url: &self.url(path),
                headers: &self.headers,
                query,
                body: None,
                timeout: ANSWER_TIMEOUT,
                limit,
            })
            .await
    }

    /// Whether the daemon answers. Sent once: the caller asks again and again.
    pub(super) async fn ping(&self) -> Result<(), Failure> {
        let what = "reach the sandbox";
        let response = self
            .transport
            .request(Method::GET, &self.url("/ping"))
            .headers(self.headers.clone())
            .timeout(ANSWER_TIMEOUT)
            .send()
            .await
            .map_err(|error| Failure::transport(what, &error))?;
        self.transport
            .read(what, response, SANDBOX_PROBE_BYTES)
            .await
            .map(|_| ())
    }

    /// Starts a command, which is not sent again when no answer comes.
    pub(super) async fn command(
        &self,
        command: &str,
        environment: &BTreeMap<String, String>,
        timeout: Duration,
    ) -> Result<Stream, Failure> {
        let what = "start a command in the sandbox";
        let milliseconds = u64::try_from(timeout.as_millis())
            .unwrap_or(u64::MAX)
            .max(1);
        let body = json!({ "command": command, "timeout": milliseconds, "envs": environment });
        let sent = self
            .transport
            .request(Method::POST, &self.url("/command"))
            .headers(self.headers.clone())
            .json(&body)
            .send();
        // The head comes with the first event, which is sent at once.
        let response = match tokio::time::timeout(ANSWER_TIMEOUT, sent).await {
            Ok(response) => response.map_err(|error| Failure::transport(what, &error))?,
            Err(_) => {
                return Err(Failure::Transport {
                    what,
                    reason: "no answer came in time".into(),
                    unsent: false,
                });
            }
        };
        let streams = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        if response.status().is_success() && streams {
            return Ok(Stream::new(response));
        }
        let kind = response.status();
        self.transport
            .read(what, response, SANDBOX_ANSWER_BYTES)
            .await?;
        Err(Failure::malformed(
            what,
            format!("the answer ({kind}) is no stream of events; is this address a sandbox's?"),
        ))
    }

    /// How a command stands; none where the daemon does not know it.
    pub(super) async fn state(&self, id: &str) -> Result<Option<CommandState>, Failure> {
        let what = "ask how a command ended";
        let path = format!("/command/status/{}", segment(id));
        let answer = self
            .call(what, Method::GET, &path, &[], SANDBOX_ANSWER_BYTES)
            .await;
        match answer {
            Ok(answer) => answer.json(what).map(Some),
            Err(failure) if failure.is_missing() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Files and directories by the paths as given; none where one is missing.
    pub(super) async fn info(
        &self,
        paths: &[&str],
    ) -> Result<Option<BTreeMap<String, Entry>>, Failure> {
        let what = "look at files in the sandbox";
        let query: Vec<_> = paths.iter().map(|path| ("path", *path)).collect();
        let answer = self
            .call(
                what,
                Method::GET,
                "/files/info",
                &query,
                SANDBOX_ANSWER_BYTES,
            )
            .await;
        match answer {
            Ok(answer) => answer.json(what).map(Some),
            Err(failure) if failure.is_missing() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// A file from a byte on, up to a bound and one byte more, which shows that
    /// there is more. None where it is missing.
    pub(super) async fn download(
        &self,
        path: &str,
        from: u64,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let what = "read a file in the sandbox";
        let mut request = self
            .transport
            .request(Method::GET, &self.url("/files/download"))
            .headers(self.headers.clone())
            .query(&[("path", path)])
            .timeout(FILE_TIMEOUT);
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let response = request.send().await;
        let mut response = response.map_err(|error| Failure::transport(what, &error))?;
        // What was asked for may come with more before it.
        let mut skip = match response.status() {
            StatusCode::NOT_FOUND => return Ok(None),
            StatusCode::RANGE_NOT_SATISFIABLE if from > 0 => return Ok(Some(Vec::new())),
            StatusCode::OK => usize::try_from(from).unwrap_or(usize::MAX),
            StatusCode::PARTIAL_CONTENT => 0,
            _ => {
                let answer = self
                    .transport
                    .read(what, response, SANDBOX_ANSWER_BYTES)
                    .await?;
                let reason = format!("the answer has the status {}", answer.status);
                return Err(Failure::malformed(what, reason));
            }
        };
        let mut content = Vec::new();
        while content.len() <= limit {
            let chunk = response.chunk().await;
            let Some(chunk) = chunk.map_err(|error| Failure::transport(what, &error))? else {
                break;
            };
            let skipped = skip.min(chunk.len());
            skip -= skipped;
            content.extend_from_slice(&chunk[skipped..]);
        }
        content.truncate(limit.saturating_add(1));
        Ok(Some(content))
    }

    /// Puts files into the sandbox, and makes the directories above them.
    pub(super) async fn upload(&self, files: Vec<Upload<'_>>) -> Result<(), Failure> {
        let what = "write a file in the sandbox";
        let mut form = Form::new();
        for file in files {
            let mut about = json!({ "path": file.path });
            if let Some(mode) = file.mode {
                about["mode"] = mode.into();
            }
            // Without a file name the daemon does not take it as a part.
            let about = Part::text(about.to_string())
                .file_name("metadata")
                .mime_str("application/json");
            let about = about.map_err(|error| Failure::transport(what, &error))?;
            let content = Part::bytes(file.content).file_name("file");
            form = form.part("metadata", about).part("file", content);
        }
        let response = self
            .transport
            .request(Method::POST, &self.url("/files/upload"))
            .headers(self.headers.clone())
            .multipart(form)
            .timeout(FILE_TIMEOUT)
            .send()
            .await
            .map_err(|error| Failure::transport(what, &error))?;
        self.transport
            .read(what, response, SANDBOX_ANSWER_BYTES)
            .await
            .map(|_| ())
    }

    /// What is in a directory that is no symlink.
    pub(super) async fn list(&self, path: &str) -> Result<Vec<Entry>, Failure> {
        let what = "list a directory in the sandbox";
        let query = [("path", path), ("depth", "1")];
        let answer = self
            .call(what, Method::GET, "/directories/list", &query, FILE_BYTES)
            .await?;
        // An empty one may be told as nothing at all.
        answer
            .json::<Option<_>>(what)
            .map(Option::unwrap_or_default)
    }

    /// What the daemon measures; of the machine, not of the sandbox.
    pub(super) async fn metrics(&self) -> Result<Value, Failure> {
        let what = "measure the sandbox";
        self.call(what, Method::GET, "/metrics", &[], SANDBOX_PROBE_BYTES)
            .await?
            .json(what)
    }

    /// Runs a short script of ours to its end, and answers what it printed.
    pub(super) async fn run(
        &self,
        script: &str,
        timeout: Duration,
    ) -> Result<(ExitStatus, String), Failure> {
        let mut stream = self.command(script, &BTreeMap::new(), timeout).await?;
        let mut printed = String::new();
        let mut add = |line: &str| {
            if printed.len() + line.len() < SANDBOX_PROBE_BYTES {
                printed.push_str(line);
                printed.push('\n');
            }
        };
        let mut id = None;
        let broken = loop {
            match stream.next().await {
                Ok(Some(Event::Started(told))) => id = Some(told),
                Ok(Some(Event::Stdout(line) | Event::Stderr(line))) => add(&line),
                Ok(Some(Event::Ended(status))) => return Ok((status, printed)),
                Ok(Some(Event::Failed(reason))) => {
                    return Err(Failure::malformed(stream.what, reason));
                }
                Ok(None) => break Failure::malformed(stream.what, "its end was not told"),
                Err(failure) => break failure,
            }
        };
        // What it did is known only where the daemon still knows it; what it
        // printed is not, so that this cannot count as an answer.
        tracing::debug!(?id, %broken, "a script's stream broke");
        Err(broken)
    }
}

/// An id as a part of a path. The daemon makes them; an odd one finds nothing.
fn segment(id: &str) -> String {
    id.chars()
        .filter(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_'))
        .take(128)
        .collect()
}
