//! The customer's message as a file in the sandbox, so that a command can show
//! what was said and its entry can be a fact's source.

use keepsake_sdk::memory::EntryRef;
use keepsake_sdk::sandbox::{Command, Sandbox, shell_word};
use keepsake_sdk::{Result, Session};

/// How long looking into a file may take.
const LOOK_MS: u64 = 10_000;

/// One turn's message.
pub(crate) struct CaseFile {
    sandbox: Sandbox,
    path: String,
}

impl CaseFile {
    /// Writes the message into the session's sandbox.
    pub(crate) fn write(session: &Session, message: &str) -> Result<Self> {
        let sandbox = session.sandbox()?;
        let path = format!("case/turn-{}.txt", session.info().turn);
        sandbox.write_file(&path, message)?;
        Ok(Self { sandbox, path })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The entry of a command that shows these words in the message; none
    /// when they do not stand there.
    pub(crate) fn find(&self, words: &str) -> Result<Option<EntryRef>> {
        // A line feed would make two patterns, of which each alone is enough.
        if words.trim().is_empty() || words.contains(['\n', '\r', '\0']) {
            return Ok(None);
        }
        let line = format!(
            "grep -n -F -e {} -- {}",
            shell_word(words),
            shell_word(&self.path)
        );
        let found = self.sandbox.exec(Command::new(line).timeout_ms(LOOK_MS))?;
        Ok(found.success().then_some(found.entry))
    }
}
