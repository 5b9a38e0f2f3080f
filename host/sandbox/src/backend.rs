//! What a sandbox is to the host, whoever runs it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use keepsake_types::Timestamp;
use serde::Serialize;

use crate::{SandboxError, SandboxLimits};

/// Something that makes sandboxes.
#[async_trait]
pub trait SandboxBackend: Send + Sync {
    /// The backend's name in configuration and logs.
    fn name(&self) -> &'static str;

    /// A new sandbox with an empty work directory.
    ///
    /// # Errors
    /// When the backend cannot isolate ([`SandboxError::Missing`],
    /// [`SandboxError::NotPermitted`]), does not answer, or refuses the request.
    async fn create(&self, request: SandboxRequest) -> Result<Arc<dyn Sandbox>, SandboxError>;

    /// Makes a sandbox, runs a command in it, and tells what the backend is.
    ///
    /// # Errors
    /// When that does not work; the error says what to do about it.
    async fn check(&self) -> Result<BackendReport, SandboxError>;
}

/// What a new sandbox is to be.
#[derive(Clone, Debug, Default)]
pub struct SandboxRequest {
    /// Words for whoever lists the backend's sandboxes, such as the session.
    pub labels: BTreeMap<String, String>,
    /// What it may use.
    pub limits: SandboxLimits,
    /// Variables for all of its commands. They are visible to them; no secrets.
    pub environment: BTreeMap<String, String>,
    /// What it may reach.
    pub network: Network,
}

/// What a sandbox may reach over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Nothing, not even the machine it runs on.
    #[default]
    None,
    /// All that the machine it runs on reaches, and that machine itself.
    Full,
}

/// What a backend turned out to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct BackendReport {
    /// The backend's name.
    pub backend: &'static str,
    /// Whether its sandboxes are apart from the host.
    pub isolated: bool,
    /// What does the work, with its version.
    pub engine: String,
    /// What an operator should know, a sentence each.
    pub notes: Vec<String>,
}

/// One sandbox. Dropping the last handle ends it; [`Sandbox::close`] does so
/// without blocking and tells what went wrong.
#[async_trait]
pub trait Sandbox: Send + Sync {
    /// Its id, unlike that of any other.
    fn id(&self) -> &str;

    /// Whether its commands are apart from the host.
    fn isolated(&self) -> bool;

    /// Starts a command.
    ///
    /// # Errors
    /// When the command could not be started. One that starts and fails is
    /// told by its [`ExitStatus`].
    async fn start(&self, command: Command) -> Result<Box<dyn Execution>, SandboxError>;

    /// Runs a command to its end.
    ///
    /// # Errors
    /// As [`Sandbox::start`] and [`Execution::next`].
    async fn exec(&self, command: Command) -> Result<ExecResult, SandboxError> {
        let mut execution = self.start(command).await?;
        while let Some(event) = execution.next().await? {
            if let ExecEvent::Completed(result) = event {
                return Ok(result);
            }
        }
        Err(SandboxError::Unavailable {
            message: "the sandbox did not tell how the command ended".into(),
            retry_after: None,
        })
    }

    /// A whole regular file, up to `limits::FILE_BYTES`. Paths are absolute
    /// below `/work` or relative to it, and no symlink leads out.
    ///
    /// # Errors
    /// [`SandboxError::NotFound`], [`SandboxError::InvalidPath`], or
    /// [`SandboxError::Limit`] for a larger file.
    async fn read_file(&self, path: &str) -> Result<Vec<u8>, SandboxError>;

    /// Writes a whole file, up to `limits::FILE_BYTES`, over what was there.
    /// Missing directories are made. Commands may read and write the file.
    ///
    /// # Errors
    /// As [`Sandbox::read_file`], and [`SandboxError::Limit`] when the work
    /// directory would grow too large.
    async fn write_file(&self, path: &str, content: &[u8]) -> Result<(), SandboxError>;

    /// What a directory holds, in ascending byte order of the names, up to
    /// `limits::DIRECTORY_ENTRIES`. Names that are not UTF-8 are shown with
    /// replacement characters and cannot be asked for.
    ///
    /// # Errors
    /// As [`Sandbox::read_file`].
    async fn list_files(&self, path: &str) -> Result<Vec<FileInfo>, SandboxError>;

    /// Deletes a file, a symlink itself, or a directory with all that is in
    /// it. Answers whether it was there.
    ///
    /// # Errors
    /// When the path cannot be used or the system refuses.
    async fn remove_file(&self, path: &str) -> Result<bool, SandboxError>;

    /// Keeps a copy of the work directory under a name, until the sandbox is
    /// closed. Two checkpoints may bear one name; their ids differ.
    ///
    /// # Errors
    /// [`SandboxError::Limit`] when there are too many or the files are too large.
    async fn checkpoint(&self, name: &str) -> Result<CheckpointInfo, SandboxError>;

    /// A new sandbox with the files of one of this sandbox's checkpoints, or
    /// with its files as they are now. It is independent from then on.
    ///
    /// # Errors
    /// [`SandboxError::NotFound`] when there is no such checkpoint.
    async fn fork(&self, checkpoint: Option<&str>) -> Result<Arc<dyn Sandbox>, SandboxError>;

    /// What it uses now.
    ///
    /// # Errors
    /// When it is closed or the backend cannot tell.
    async fn metrics(&self) -> Result<Metrics, SandboxError>;

    /// Ends it, with all that runs in it and all its files. Closing a closed
    /// one does nothing; all else answers [`SandboxError::Closed`] from then on.
    ///
    /// # Errors
    /// When something of it could not be removed.
    async fn close(&self) -> Result<(), SandboxError>;
}

/// A command that runs. Dropping it kills the command with all that it started.
#[async_trait]
pub trait Execution: Send {
    /// The next thing it tells, waiting for it; none after
    /// [`ExecEvent::Completed`]. A call that is given up loses nothing.
    ///
    /// Output that nobody asks for makes the command wait once the pipe is
    /// full; its time runs on.
    ///
    /// # Errors
    /// When the output cannot be read.
    async fn next(&mut self) -> Result<Option<ExecEvent>, SandboxError>;

    /// Kills the command with all that it started. [`Execution::next`] still
    /// tells how it ended.
    ///
    /// # Errors
    /// When the backend does not answer.
    async fn kill(&mut self) -> Result<(), SandboxError>;
}

/// A command to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// What `sh -c` is given; from 1 byte to `limits::COMMAND_LINE_BYTES`.
    pub line: String,
    /// Where to run it; none means the work directory, `/work`.
    pub directory: Option<String>,
    /// Variables on top of the sandbox's own.
    pub environment: Vec<(String, String)>,
    /// Bytes for its standard input; none means an empty one.
    pub stdin: Option<Vec<u8>>,
    /// Killed after so long; none means the sandbox's own limit, which no
    /// command can exceed.
    pub timeout: Option<Duration>,
}

impl Command {
    /// A command in the work directory, with nothing else said.
    #[must_use]
    pub fn new(line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            ..Self::default()
        }
    }
}

/// What a running command tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecEvent {
    /// Bytes of its standard output.
    Stdout(Vec<u8>),
    /// Bytes of its standard error.
    Stderr(Vec<u8>),
    /// It ended. Nothing follows.
    Completed(ExecResult),
}

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecResult {
    /// How it ended.
    pub status: ExitStatus,
    /// The first `limits::EXEC_OUTPUT_BYTES` of its standard output; any bytes.
    pub stdout: Vec<u8>,
    /// The same of its standard error.
    pub stderr: Vec<u8>,
    /// There was more output than is given here.
    pub truncated: bool,
    /// From its start to its end.
    pub duration: Duration,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitStatus {
    /// It ended by itself, with this code.
    Code(i32),
    /// A signal ended it; the name, such as `SIGKILL`.
    Signal(String),
    /// It took too long and was killed.
    TimedOut,
    /// It hit a limit of the sandbox, which the text names, and was killed.
    Limit(String),
    /// Its end is not known, for this reason. This is not success.
    Unknown(String),
}

impl ExitStatus {
    /// Whether it ended by itself with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        *self == Self::Code(0)
    }
}

/// One file or directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FileInfo {
    /// The absolute path within the sandbox.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// In bytes.
    pub size: u64,
    /// When it was last written, where known.
    pub modified_at: Option<Timestamp>,
}

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symlink, wherever it leads.
    Symlink,
    /// A pipe, a socket or a device.
    Other,
}

/// A copy of a sandbox's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CheckpointInfo {
    /// What [`Sandbox::fork`] takes.
    pub id: String,
    /// The name it was given.
    pub name: String,
    /// When the copy was complete.
    pub created_at: Timestamp,
}

/// What a sandbox uses, where its backend can tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Metrics {
    /// Memory of what runs in it now, in bytes.
    pub memory_bytes: Option<u64>,
    /// Processor time of all its commands so far, in milliseconds.
    pub cpu_ms: Option<u64>,
    /// Its work directory, in bytes on the disk.
    pub disk_bytes: Option<u64>,
    /// Processes that run in it now.
    pub processes: Option<u32>,
    /// What the backend tells beyond; a JSON object.
    pub extras: Option<serde_json::Value>,
}
