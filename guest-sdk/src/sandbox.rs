//! A place to run commands, apart from the host and from other sessions.

use std::borrow::Cow;
use std::fmt;

pub use crate::bindings::agent_plugin::keepsake::host::sandbox::{
    Checkpoint, Command, ExecEvent, ExecResult, ExitStatus, FileInfo, FileKind, Metrics,
};
use crate::error::{Error, Result};
use crate::host::{ExecutionHost, SandboxHost};

/// Bytes of a failed command's standard error that [`ExecResult::check`] tells.
const TOLD_BYTES: usize = 512;

/// One sandbox. Dropping the handle leaves it running for the session.
pub struct Sandbox {
    host: Box<dyn SandboxHost>,
}

impl Sandbox {
    pub(crate) fn new(host: Box<dyn SandboxHost>) -> Self {
        Self { host }
    }

    /// The sandbox's id, unlike that of any other.
    pub fn id(&self) -> String {
        self.host.id()
    }

    /// Runs a command to its end. A command that fails is no error: see
    /// [`ExecResult::success`].
    ///
    /// ```
    /// # use keepsake_sdk::{Session, sandbox::Command};
    /// # fn example(session: &Session) -> keepsake_sdk::Result<()> {
    /// let result = session.sandbox()?.exec(Command::new("wc -l notes.txt").timeout_ms(2_000))?;
    /// if result.success() {
    ///     println!("{}", result.stdout_text());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the command could not be started.
    pub fn exec(&self, command: impl Into<Command>) -> Result<ExecResult> {
        self.host.exec(&command.into())
    }

    /// Starts a command and gives its output as it comes.
    ///
    /// # Errors
    /// When the command could not be started.
    pub fn start(&self, command: impl Into<Command>) -> Result<Execution> {
        let host = self.host.start(&command.into())?;
        Ok(Execution { host })
    }

    /// A whole file, up to 8 MiB.
    ///
    /// # Errors
    /// [`NotFound`](crate::Error::NotFound), or `Limit` `file-bytes`.
    pub fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        self.host.read_file(path)
    }

    /// A whole file as text.
    ///
    /// # Errors
    /// As [`Sandbox::read_file`], and [`Invalid`](crate::Error::Invalid) for
    /// what is not UTF-8.
    pub fn read_text(&self, path: &str) -> Result<String> {
        String::from_utf8(self.read_file(path)?)
            .map_err(|error| Error::Invalid(format!("the file `{path}` is no text: {error}")))
    }

    /// Writes a whole file, up to 8 MiB. Missing directories are made.
    ///
    /// # Errors
    /// [`Invalid`](crate::Error::Invalid) for a path that leads out of the sandbox.
    pub fn write_file(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        self.host.write_file(path, content.as_ref())
    }

    /// What a directory holds.
    ///
    /// # Errors
    /// [`NotFound`](crate::Error::NotFound), or `Limit` `directory-entries`.
    pub fn list_files(&self, path: &str) -> Result<Vec<FileInfo>> {
        self.host.list_files(path)
    }

    /// Deletes a file or a directory. Answers whether it was there.
    ///
    /// # Errors
    /// [`Invalid`](crate::Error::Invalid) for a path that leads out of the sandbox.
    pub fn remove_file(&self, path: &str) -> Result<bool> {
        self.host.remove_file(path)
    }

    /// Keeps a copy of the sandbox's files under a name.
    ///
    /// # Errors
    /// `Limit` when there are too many.
    pub fn checkpoint(&self, name: &str) -> Result<Checkpoint> {
        self.host.checkpoint(name)
    }

    /// A new sandbox with the files of a checkpoint, or as they are now.
    ///
    /// # Errors
    /// [`NotFound`](crate::Error::NotFound) for an unknown checkpoint.
    pub fn fork(&self, checkpoint: Option<&str>) -> Result<Self> {
        self.host.fork(checkpoint).map(Self::new)
    }

    /// What it uses now.
    ///
    /// # Errors
    /// When the sandbox is closed.
    pub fn metrics(&self) -> Result<Metrics> {
        self.host.metrics()
    }

    /// Ends it, with all that runs in it.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn close(&self) -> Result<()> {
        self.host.close()
    }
}

/// A command that runs.
pub struct Execution {
    host: Box<dyn ExecutionHost>,
}

impl Execution {
    /// The next thing it tells, waiting for it; none after it completed.
    ///
    /// # Errors
    /// When the connection to the sandbox broke.
    pub fn next(&self) -> Result<Option<ExecEvent>> {
        self.host.next()
    }

    /// Waits for its end and gives what it prints to `output` as it comes.
    ///
    /// ```
    /// # use keepsake_sdk::{Session, sandbox::ExecEvent};
    /// # fn example(session: &Session) -> keepsake_sdk::Result<()> {
    /// let result = session.sandbox()?.start("make check")?.finish(|event| match event {
    ///     ExecEvent::Stdout(bytes) => session.emit(&String::from_utf8_lossy(bytes)),
    ///     _ => Ok(()),
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the connection to the sandbox broke, and those of `output`.
    pub fn finish(&self, mut output: impl FnMut(&ExecEvent) -> Result<()>) -> Result<ExecResult> {
        while let Some(event) = self.next()? {
            match event {
                ExecEvent::Completed(result) => return Ok(result),
                event => output(&event)?,
            }
        }
        Err(Error::unavailable(
            "the sandbox did not tell how the command ended: run it again",
        ))
    }

    /// Kills it. [`Execution::next`] still tells how it ended.
    ///
    /// # Errors
    /// When the connection to the sandbox broke.
    pub fn kill(&self) -> Result<()> {
        self.host.kill()
    }
}

impl Command {
    /// A command line for `sh -c`.
    pub fn new(line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            directory: None,
            environment: Vec::new(),
            stdin: None,
            timeout_ms: None,
        }
    }

    /// Where to run it.
    #[must_use]
    pub fn directory(mut self, path: impl Into<String>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// One more variable.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// What it reads from its standard input. The safe way to hand over what
    /// a customer wrote.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Killed after so many milliseconds.
    #[must_use]
    pub fn timeout_ms(mut self, milliseconds: u64) -> Self {
        self.timeout_ms = Some(milliseconds);
        self
    }
}

impl<T: Into<String>> From<T> for Command {
    fn from(line: T) -> Self {
        Self::new(line)
    }
}

impl ExecResult {
    /// Whether it ended by itself with code 0.
    pub fn success(&self) -> bool {
        self.status == ExitStatus::Code(0)
    }

    /// The same where the command succeeded.
    ///
    /// # Errors
    /// An [`Other`](crate::Error::Other) with the code `command-failed` that
    /// tells how it ended and the end of what it complained about.
    pub fn check(self) -> Result<Self> {
        if self.success() {
            return Ok(self);
        }
        let complaint = self.stderr_text();
        let complaint = complaint.trim();
        let begin = complaint.len().saturating_sub(TOLD_BYTES);
        let end = &complaint[complaint.ceil_char_boundary(begin)..];
        let gap = if end.is_empty() { "" } else { ": " };
        Err(Error::other(
            "command-failed",
            format!("the command {}{gap}{end}", self.status),
        ))
    }

    /// Standard output as text; what is not UTF-8 is replaced.
    pub fn stdout_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// Standard error as text; what is not UTF-8 is replaced.
    pub fn stderr_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }
}

/// As the end of a sentence about a command.
impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "ended with code {code}"),
            Self::Signal(signal) => write!(f, "was ended by {signal}"),
            Self::TimedOut => f.write_str("took too long and was ended"),
            Self::Limit(limit) => write!(f, "reached the limit {limit} and was ended"),
            Self::Unknown(reason) => write!(f, "ended in a way that is not known: {reason}"),
        }
    }
}

/// A text as one word of a shell command, whatever is in it.
///
/// ```
/// # use keepsake_sdk::sandbox::shell_word;
/// assert_eq!(shell_word("it's"), r"'it'\''s'");
/// ```
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
