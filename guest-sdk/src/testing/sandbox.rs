//! A sandbox whose files are in this process and whose commands answer what
//! the test says.

use std::cell::Cell;

use serde_json::json;

use super::Host;
use crate::error::{Error, Result};
use crate::host::SandboxHost;
use crate::sandbox::{Command, ExecResult, ExitStatus, FileInfo, FileKind};

/// How a command of a test ends.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandAnswer {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained about.
    pub stderr: Vec<u8>,
}

impl CommandAnswer {
    /// It printed this and ended well.
    pub fn prints(stdout: impl Into<Vec<u8>>) -> Self {
        Self {
            status: ExitStatus::Code(0),
            stdout: stdout.into(),
            stderr: Vec::new(),
        }
    }

    /// It complained and ended with this code.
    pub fn fails(code: i32, stderr: impl Into<Vec<u8>>) -> Self {
        Self {
            status: ExitStatus::Code(code),
            stdout: Vec::new(),
            stderr: stderr.into(),
        }
    }

    /// It ended otherwise.
    pub fn ends(status: ExitStatus) -> Self {
        Self {
            status,
            stdout: Vec::new(),
            stderr: Vec::new(),
        }
    }
}

pub(super) struct TestSandbox {
    host: Host,
    closed: Cell<bool>,
}

impl TestSandbox {
    pub(super) fn new(host: Host) -> Self {
        Self {
            host,
            closed: Cell::new(false),
        }
    }

    fn open(&self) -> Result<()> {
        if self.closed.get() {
            return Err(Error::NotFound("the sandbox is closed".to_owned()));
        }
        Ok(())
    }
}

/// The path from the work directory.
fn within(path: &str) -> Result<String> {
    let inner = path.strip_prefix("/work/").unwrap_or(path);
    if inner.is_empty() || inner.starts_with('/') || inner.split('/').any(|part| part == "..") {
        return Err(Error::Invalid(format!(
            "the path `{path}` leads out of the sandbox"
        )));
    }
    Ok(inner.to_owned())
}

impl SandboxHost for TestSandbox {
    fn id(&self) -> String {
        format!("sandbox-of-{}", self.host.session_id())
    }

    fn exec(&self, command: &Command) -> Result<ExecResult> {
        self.open()?;
        self.host.shared.ran.borrow_mut().push(command.line.clone());
        let answer = match &*self.host.shared.commands.borrow() {
            Some(commands) => commands(command),
            None => return Err(Error::unavailable("this test has no sandbox")),
        };
        let entry = self.host.record(
            "exec-completed",
            json!({
                "line": command.line,
                "stdout": String::from_utf8_lossy(&answer.stdout),
                "stderr": String::from_utf8_lossy(&answer.stderr),
            }),
        );
        Ok(ExecResult {
            status: answer.status,
            stdout: answer.stdout,
            stderr: answer.stderr,
            truncated: false,
            duration_ms: 0,
            entry,
        })
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        self.open()?;
        let files = self.host.shared.files.borrow();
        let found = files.get(&within(path)?).cloned();
        found.ok_or_else(|| Error::NotFound(format!("there is no file `{path}`")))
    }

    fn write_file(&self, path: &str, content: &[u8]) -> Result<()> {
        self.open()?;
        let path = within(path)?;
        let mut files = self.host.shared.files.borrow_mut();
        files.insert(path, content.to_vec());
        Ok(())
    }

    fn list_files(&self, path: &str) -> Result<Vec<FileInfo>> {
        self.open()?;
        let prefix = match path {
            "." | "/work" => String::new(),
            other => format!("{}/", within(other)?),
        };
        let files = self.host.shared.files.borrow();
        let within = files.iter().filter(|(name, _)| {
            name.strip_prefix(&prefix)
                .is_some_and(|rest| !rest.contains('/'))
        });
        Ok(within
            .map(|(name, content)| FileInfo {
                path: name.clone(),
                kind: FileKind::File,
                size: content.len() as u64,
                modified_at: None,
            })
            .collect())
    }

    fn remove_file(&self, path: &str) -> Result<bool> {
        self.open()?;
        let path = within(path)?;
        Ok(self.host.shared.files.borrow_mut().remove(&path).is_some())
    }

    fn close(&self) -> Result<()> {
        self.closed.set(true);
        Ok(())
    }
}
