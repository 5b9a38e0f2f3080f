//! Where messages come from: the command line, a terminal, or a pipe.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use keepsake_types::limits;
use rustyline::error::ReadlineError;
use tokio::sync::{mpsc, oneshot};

use crate::failure::{ExitCode, Failure};

/// Lines that a terminal's history remembers.
const HISTORY_LINES: usize = 1_000;

/// What a source gives.
pub(super) enum Message {
    /// Something to handle.
    Text(String),
    /// A line that no agent can be given; the next one may be another matter.
    Unfit(Failure),
}

type Given = Option<Result<Message, Failure>>;

/// A source of messages.
pub(super) enum Messages {
    /// The one that was given with `--message`.
    One(Option<String>),
    /// Lines that a thread reads, one for each time it is asked.
    Lines {
        ask: mpsc::Sender<oneshot::Sender<Given>>,
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

    /// The next message; none at the end. An error ends the conversation.
    pub(super) async fn next(&mut self) -> Given {
        match self {
            Self::One(message) => message.take().map(|text| Ok(Message::Text(text))),
            Self::Lines { ask, .. } => {
                let (answer, answered) = oneshot::channel();
                ask.send(answer).await.ok()?;
                answered.await.ok()?
            }
        }
    }
}

type Asked = mpsc::Receiver<oneshot::Sender<Given>>;

fn read_pipe(mut asked: Asked) {
    let mut input = std::io::stdin().lock();
    let mut number = 0;
    while let Some(answer) = asked.blocking_recv() {
        let message = loop {
            number += 1;
            match pipe_line(&mut input, number) {
                // Blank lines separate; they say nothing.
                Some(Ok(Message::Text(line))) if line.trim().is_empty() => {}
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

fn pipe_line(input: &mut impl BufRead, number: u64) -> Given {
    let mut bytes = Vec::new();
    // A line ending more than is allowed tells a line that is too long.
    let bound = limits::MESSAGE_BYTES + 2;
    let mut bounded = std::io::Read::take(&mut *input, bound as u64);
    let read = bounded.read_until(b'\n', &mut bytes);
    let broken = |error: std::io::Error| {
        Failure::new(
            ExitCode::Other,
            format!("standard input cannot be read: {error}"),
        )
    };
    match read {
        Ok(0) => return None,
        Ok(_) => {}
        Err(error) => return Some(Err(broken(error))),
    }
    let whole = bytes.ends_with(b"\n");
    if whole {
        bytes.pop();
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
    }
    if bytes.len() > limits::MESSAGE_BYTES {
        // What is left of it is no message of its own.
        if !whole && let Err(error) = input.skip_until(b'\n') {
            return Some(Err(broken(error)));
        }
        return Some(Ok(unfit(
            number,
            format!(
                "has more than {} bytes, which is all that a message may have (message-bytes)",
                limits::MESSAGE_BYTES
            ),
        )));
    }
    Some(Ok(match String::from_utf8(bytes) {
        Ok(text) => Message::Text(text),
        Err(_) => unfit(
            number,
            "is not UTF-8; convert it, with `iconv` for example".into(),
        ),
    }))
}

fn unfit(number: u64, what: String) -> Message {
    Message::Unfit(Failure::new(
        ExitCode::Usage,
        format!("line {number} of standard input {what}"),
    ))
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
                    break Some(Ok(Message::Text(line)));
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
        let mut number = 0;
        std::iter::from_fn(|| {
            number += 1;
            pipe_line(&mut input, number)
        })
        .map(|line| match line {
            Ok(Message::Text(text)) => Ok(text),
            Ok(Message::Unfit(failure)) | Err(failure) => Err(failure.to_string()),
        })
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
    fn a_line_that_is_no_message_is_told_by_its_number_and_the_next_one_read() {
        let refused = |line: &[u8], words: &str| {
            let mut bytes = b"one\n".to_vec();
            bytes.extend(line);
            bytes.extend(b"\nthree\n");
            let read = lines(&bytes);
            assert_eq!(read.len(), 3, "{read:?}");
            assert_eq!(read[2], Ok("three".into()));
            let told = read[1].as_ref().unwrap_err();
            assert!(told.contains("line 2") && told.contains(words), "{told}");
        };
        refused(b"\xff\xfe", "not UTF-8");
        for more in [1, 2, 3, 1_000_000] {
            refused(&vec![b'a'; limits::MESSAGE_BYTES + more], "message-bytes");
        }
        let longest = vec![b'a'; limits::MESSAGE_BYTES];
        assert!(lines(&longest)[0].is_ok());
    }
}
