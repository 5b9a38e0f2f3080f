//! Where messages come from: the command line, a terminal, or a pipe.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use keepsake_types::limits;
use rustyline::error::ReadlineError;
use tokio::sync::{mpsc, oneshot};

use crate::failure::{ExitCode, Failure};

/// Lines that a terminal's history remembers.
const HISTORY_LINES: usize = 1_000;

/// A source of messages.
pub(super) enum Messages {
    /// The one that was given with `--message`.
    One(Option<String>),
    /// Lines that a thread reads, one for each time it is asked.
    Lines {
        ask: mpsc::Sender<oneshot::Sender<Option<Result<String, Failure>>>>,
        terminal: bool,
    },
}

impl Messages {
    /// `--message` where it was given, otherwise the terminal or the pipe.
    pub(super) fn new(message: Option<String>, history: PathBuf) -> Result<Self, Failure> {
        if let Some(message) = message {
            return Ok(Self::One(Some(message)));
        }
        let (ask, asked) = mpsc::channel(1);
        let terminal = std::io::stdin().is_terminal();
        // Reading blocks, and a terminal's library wants one thread for itself.
        std::thread::Builder::new()
            .name("keepsake-input".into())
            .spawn(move || {
                if terminal {
                    read_terminal(asked, &history);
                } else {
                    read_pipe(asked);
                }
            })
            .map_err(|error| {
                Failure::new(
                    ExitCode::Other,
                    format!("the thread that reads messages cannot be started: {error}"),
                )
            })?;
        Ok(Self::Lines { ask, terminal })
    }

    /// Whether someone sits at a terminal.
    pub(super) fn interactive(&self) -> bool {
        matches!(self, Self::Lines { terminal: true, .. })
    }

    /// The next message; none at the end.
    pub(super) async fn next(&mut self) -> Option<Result<String, Failure>> {
        match self {
            Self::One(message) => message.take().map(Ok),
            Self::Lines { ask, .. } => {
                let (answer, answered) = oneshot::channel();
                ask.send(answer).await.ok()?;
                answered.await.ok()?
            }
        }
    }
}

type Asked = mpsc::Receiver<oneshot::Sender<Option<Result<String, Failure>>>>;

fn read_pipe(mut asked: Asked) {
    let mut input = std::io::stdin().lock();
    while let Some(answer) = asked.blocking_recv() {
        let message = loop {
            match pipe_line(&mut input) {
                // Blank lines separate; they say nothing.
                Some(Ok(line)) if line.trim().is_empty() => {}
                message => break message,
            }
        };
        let end = !matches!(message, Some(Ok(_)));
        let _ = answer.send(message);
        if end {
            return;
        }
    }
}

fn pipe_line(input: &mut impl BufRead) -> Option<Result<String, Failure>> {
    let mut bytes = Vec::new();
    // One byte more than is allowed tells a line that is too long.
    let bound = limits::MESSAGE_BYTES as u64 + 2;
    let mut bounded = std::io::Read::take(&mut *input, bound);
    match bounded.read_until(b'\n', &mut bytes) {
        Ok(0) => return None,
        Ok(_) => {}
        Err(error) => {
            return Some(Err(Failure::new(
                ExitCode::Other,
                format!("standard input cannot be read: {error}"),
            )));
        }
    }
    if bytes.ends_with(b"\n") {
        bytes.pop();
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
    }
    Some(String::from_utf8(bytes).map_err(|_| {
        Failure::new(
            ExitCode::Usage,
            "a line of standard input is not UTF-8; convert it, with `iconv` for example",
        )
    }))
}

fn read_terminal(mut asked: Asked, history: &std::path::Path) {
    let mut editor = match editor(history) {
        Ok(editor) => editor,
        Err(error) => {
            if let Some(answer) = asked.blocking_recv() {
                let _ = answer.send(Some(Err(Failure::new(
                    ExitCode::Other,
                    format!("the terminal cannot be used: {error}"),
                ))));
            }
            return;
        }
    };
    while let Some(answer) = asked.blocking_recv() {
        let message = loop {
            match editor.readline("> ") {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    let _ = editor.add_history_entry(&line);
                    // What cannot be kept is no reason to stop a conversation.
                    let _ = editor.append_history(history);
                    break Some(Ok(line));
                }
                Err(ReadlineError::Eof | ReadlineError::Interrupted) => break None,
                Err(error) => {
                    break Some(Err(Failure::new(
                        ExitCode::Other,
                        format!("the terminal cannot be read: {error}"),
                    )));
                }
            }
        };
        let end = !matches!(message, Some(Ok(_)));
        let _ = answer.send(message);
        if end {
            return;
        }
    }
}

fn editor(history: &std::path::Path) -> rustyline::Result<rustyline::DefaultEditor> {
    let config = rustyline::Config::builder()
        .max_history_size(HISTORY_LINES)?
        .auto_add_history(false)
        .build();
    let mut editor = rustyline::DefaultEditor::with_config(config)?;
    // There is none at the first time.
    let _ = editor.load_history(history);
    Ok(editor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<Result<String, String>> {
        let mut input = bytes;
        std::iter::from_fn(|| pipe_line(&mut input))
            .map(|line| line.map_err(|failure| failure.to_string()))
            .take(5)
            .collect()
    }

    #[test]
    fn a_pipe_gives_a_message_a_line_whatever_ends_it() {
        assert_eq!(
            lines(b"one\r\ntwo\nthree"),
            [Ok("one".into()), Ok("two".into()), Ok("three".into())]
        );
    }

    #[test]
    fn a_line_that_is_no_text_is_refused() {
        assert!(
            lines(b"\xff\xfe\n")[0]
                .as_ref()
                .unwrap_err()
                .contains("not UTF-8")
        );
    }
}
