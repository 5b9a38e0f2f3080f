//! What the ledger says of commands and files.

use keepsake_sandbox as native;
use keepsake_storage::Kind as EntryKind;
use serde_json::{Value, json};

use super::convert;
use crate::bindings::agent::keepsake::host::sandbox::{ExecEvent, ExecResult};
use crate::bindings::agent::keepsake::host::types::{EntryRef, Error};
use crate::ledger::Ledger;

/// What of a command's output stands in its `exec-completed` entry, for each of
/// the two streams. Facts quote from it; the whole stands in `exec-output`.
const QUOTABLE_BYTES: usize = 16 * 1024;

/// Writes the entries of one sandbox.
#[derive(Clone)]
pub(super) struct Recorder {
    ledger: Ledger,
    sandbox: String,
}

impl Recorder {
    pub(super) fn new(ledger: Ledger, sandbox: &str) -> Self {
        Self {
            ledger,
            sandbox: sandbox.to_owned(),
        }
    }

    /// Before a command runs: an effect that nobody recorded must not happen.
    pub(super) async fn started(&self, command: &native::Command) -> Result<(), Error> {
        let names: Vec<_> = command.environment.iter().map(|(name, _)| name).collect();
        self.append(
            EntryKind::ExecStarted,
            json!({
                "line": command.line,
                "directory": command.directory,
                // The values may be secrets.
                "environment": names,
                "stdin_bytes": command.stdin.as_ref().map(Vec::len),
            }),
        )
        .await?;
        Ok(())
    }

    /// After a command ended. `whole` says that its output was not recorded as
    /// it came.
    pub(super) async fn completed(
        &self,
        result: native::ExecResult,
        whole: bool,
    ) -> Result<ExecResult, Error> {
        if whole && !(result.stdout.is_empty() && result.stderr.is_empty()) {
            self.append(
                EntryKind::ExecOutput,
                json!({
                    "stdout": text(&result.stdout),
                    "stderr": text(&result.stderr),
                    "truncated": result.truncated,
                }),
            )
            .await?;
        }
        let duration_ms = u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX);
        let entry = self
            .append(
                EntryKind::ExecCompleted,
                json!({
                    "status": result.status,
                    "stdout": text(beginning(&result.stdout)),
                    "stderr": text(beginning(&result.stderr)),
                    "stdout_bytes": result.stdout.len(),
                    "stderr_bytes": result.stderr.len(),
                    "output_blake3": digest(&result.stdout, &result.stderr),
                    "truncated": result.truncated,
                    "milliseconds": duration_ms,
                }),
            )
            .await?;
        Ok(ExecResult {
            status: result.status.into(),
            stdout: result.stdout,
            stderr: result.stderr,
            truncated: result.truncated,
            duration_ms,
            entry,
        })
    }

    /// A command whose end is not known.
    pub(super) async fn failed(&self, error: native::SandboxError) -> Result<Error, Error> {
        self.append(
            EntryKind::ExecCompleted,
            json!({ "status": { "unknown": error.to_string() } }),
        )
        .await?;
        Ok(convert::error(error))
    }

    /// One thing that a running command told.
    pub(super) async fn event(&self, event: native::ExecEvent) -> Result<ExecEvent, Error> {
        match event {
            native::ExecEvent::Stdout(bytes) => {
                self.append(EntryKind::ExecOutput, json!({ "stdout": text(&bytes) }))
                    .await?;
                Ok(ExecEvent::Stdout(bytes))
            }
            native::ExecEvent::Stderr(bytes) => {
                self.append(EntryKind::ExecOutput, json!({ "stderr": text(&bytes) }))
                    .await?;
                Ok(ExecEvent::Stderr(bytes))
            }
            native::ExecEvent::Completed(result) => {
                Ok(ExecEvent::Completed(self.completed(result, false).await?))
            }
        }
    }

    pub(super) async fn file_written(&self, path: &str, content: &[u8]) -> Result<(), Error> {
        self.append(
            EntryKind::FileWritten,
            json!({
                "path": path,
                "bytes": content.len(),
                "blake3": blake3::hash(content).to_hex().as_str(),
            }),
        )
        .await?;
        Ok(())
    }

    pub(super) async fn file_removed(&self, path: &str) -> Result<(), Error> {
        self.append(EntryKind::FileRemoved, json!({ "path": path }))
            .await?;
        Ok(())
    }

    pub(super) async fn checkpoint_created(&self, id: &str, name: &str) -> Result<EntryRef, Error> {
        self.append(
            EntryKind::CheckpointCreated,
            json!({ "checkpoint": id, "name": name }),
        )
        .await
    }

    async fn append(&self, kind: EntryKind, mut payload: Value) -> Result<EntryRef, Error> {
        if let Some(payload) = payload.as_object_mut() {
            payload.insert("sandbox".into(), json!(self.sandbox));
        }
        self.ledger.append(kind, payload).await
    }
}

/// Output as the ledger keeps it: text, with what is not UTF-8 replaced. The
/// digest of the bytes tells whether it was all text.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn beginning(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(QUOTABLE_BYTES)]
}

/// BLAKE3 over both streams, each led by its length.
fn digest(stdout: &[u8], stderr: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    for stream in [stdout, stderr] {
        hasher.update(&(stream.len() as u64).to_le_bytes());
        hasher.update(stream);
    }
    hasher.finalize().to_hex().to_string()
}
