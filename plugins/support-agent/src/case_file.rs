//! The customer's message as a file in the sandbox, so that a command can show
//! what was said and its entry can be a fact's source.

use keepsake_sdk::log::Level;
use keepsake_sdk::memory::EntryRef;
use keepsake_sdk::sandbox::{Command, Sandbox, shell_word};
use keepsake_sdk::{Result, Session};

/// How long looking into a file may take.
const LOOK_MS: u64 = 10_000;
/// Words that are looked for by themselves; for longer ones the whole message
/// is printed, as a command's line is bounded.
const SEARCHED_BYTES: usize = 4_096;

/// One turn's message.
pub(crate) struct CaseFile {
    sandbox: Sandbox,
    path: String,
    message: String,
}

impl CaseFile {
    /// Writes the message into the session's sandbox.
    pub(crate) fn write(session: &Session, message: &str) -> Result<Self> {
        let sandbox = session.sandbox()?;
        let path = format!("case/turn-{}.txt", session.info().turn);
        sandbox.write_file(&path, message)?;
        Ok(Self {
            sandbox,
            path,
            message: message.to_owned(),
        })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The entry of a command that shows these words in the message; none when
    /// they do not stand there, or when the sandbox fails, which is logged: a
    /// fact is worth keeping without a proof.
    pub(crate) fn find(&self, session: &Session, words: &str) -> Option<EntryRef> {
        // A command of this turn may have changed the file, but not this.
        if words.trim().is_empty() || !self.message.contains(words) {
            return None;
        }
        let reason = match self.sandbox.exec(self.look(words)) {
            Ok(found) if found.success() && found.stdout_text().contains(words) => {
                return Some(found.entry);
            }
            Ok(found) => format!("the command ended with {:?}", found.status),
            Err(error) => error.to_string(),
        };
        session.log(
            Level::Warn,
            &format!("the customer's words could not be shown in the sandbox: {reason}"),
        );
        None
    }

    fn look(&self, words: &str) -> Command {
        let path = shell_word(&self.path);
        // In a search each line is a pattern of its own, and a file with a zero
        // byte is no text.
        let searchable =
            words.len() <= SEARCHED_BYTES && !words.contains('\n') && !self.message.contains('\0');
        let line = if searchable {
            format!("grep -n -F -e {} -- {path}", shell_word(words))
        } else {
            format!("cat -- {path}")
        };
        Command::new(line).timeout_ms(LOOK_MS)
    }
}
