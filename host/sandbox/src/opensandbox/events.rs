//! The stream of events that a command in a sandbox tells.
//!
//! Each event is one JSON object. Today they stand bare with an empty line
//! after each; servers may change to `data:` lines, so both are read.

use keepsake_types::limits::SANDBOX_EVENT_BYTES;
use serde::Deserialize;

use super::failure::clean;
use crate::ExitStatus;
use crate::signals;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The command was started, and is asked for by this id.
    Started(String),
    /// A line of its output, without what ended it.
    Stdout(String),
    Stderr(String),
    /// It ended; nothing of interest follows.
    Ended(ExitStatus),
    /// It could not be run, or watched further.
    Failed(String),
}

/// Bytes as they come, which become events.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    buffer: Vec<u8>,
    /// No empty line begins before this.
    looked: usize,
}

/// What cannot be read as events.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) String);

#[derive(Deserialize)]
struct Raw {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    error: Option<RawError>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawError {
    ename: String,
    evalue: String,
    traceback: Option<Vec<String>>,
}

impl Decoder {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event; none until more bytes come.
    pub(super) fn next(&mut self) -> Result<Option<Event>, Unreadable> {
        while let Some((frame, rest)) = self.boundary() {
            let event = event(&self.buffer[..frame]);
            self.buffer.drain(..rest);
            self.looked = 0;
            if let Some(event) = event? {
                return Ok(Some(event));
            }
        }
        if self.buffer.len() > SANDBOX_EVENT_BYTES {
            return Err(Unreadable(format!(
                "an event has more than {SANDBOX_EVENT_BYTES} bytes"
            )));
        }
        Ok(None)
    }

    /// What is left when no more bytes come: an event without its empty line.
    pub(super) fn finish(&mut self) -> Result<Option<Event>, Unreadable> {
        let rest = std::mem::take(&mut self.buffer);
        event(&rest)
    }

    /// Where the first frame ends and where the next begins.
    fn boundary(&mut self) -> Option<(usize, usize)> {
        let mut from = self.looked;
        while let Some(found) = self.buffer[from..].iter().position(|byte| *byte == b'\n') {
            let end = from + found;
            match self.buffer[end + 1..] {
                [b'\n', ..] => return Some((end, end + 2)),
                [b'\r', b'\n', ..] => return Some((end, end + 3)),
                // The rest of it may still come.
                [] | [b'\r'] => {
                    self.looked = end;
                    return None;
                }
                _ => from = end + 1,
            }
        }
        self.looked = self.buffer.len();
        None
    }
}

/// The event of one frame; none where it is nothing that matters.
fn event(frame: &[u8]) -> Result<Option<Event>, Unreadable> {
    let frame = frame.trim_ascii();
    let json = match frame.first() {
        None => return Ok(None),
        Some(b'{' | b'[') => frame.to_vec(),
        Some(_) => data(frame),
    };
    if json.is_empty() {
        return Ok(None);
    }
    let raw: Raw = serde_json::from_slice(&json).map_err(|error| {
        Unreadable(format!(
            "an event is no JSON: {}",
            clean(&error.to_string())
        ))
    })?;
    Ok(match raw.kind.as_str() {
        "init" => Some(Event::Started(raw.text)),
        "stdout" => Some(Event::Stdout(line(raw.text))),
        "stderr" => Some(Event::Stderr(line(raw.text))),
        "execution_complete" => Some(Event::Ended(ExitStatus::Code(0))),
        "error" => Some(Event::Ended(ended(&raw.error.unwrap_or_default()))),
        "" if raw.code.is_some() || raw.message.is_some() => {
            let code = clean(&raw.code.unwrap_or_default());
            let message = clean(&raw.message.unwrap_or_default());
            Some(Event::Failed(format!("{code}: {message}")))
        }
        "ping" | "status" | "result" | "execution_count" => None,
        other => {
            tracing::debug!(kind = %clean(other), "an event of an unknown kind is passed over");
            None
        }
    })
}

/// The data of an event in the form of server-sent events.
fn data(frame: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    for line in frame.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(part) = line.strip_prefix(b"data:") {
            if !data.is_empty() {
                data.push(b'\n');
            }
            data.extend_from_slice(part.strip_prefix(b" ").unwrap_or(part));
        }
    }
    data
}

/// An empty line is told as a line break, all others without theirs.
fn line(text: String) -> String {
    if text == "\n" { String::new() } else { text }
}

fn ended(error: &RawError) -> ExitStatus {
    let traceback = error.traceback.as_deref().unwrap_or_default();
    match error.evalue.parse() {
        Ok(-1) => signalled(traceback.first().map_or("", String::as_str)),
        Ok(code) => ExitStatus::Code(code),
        Err(_) => ExitStatus::Unknown(format!(
            "the sandbox says `{}: {}`",
            clean(&error.ename),
            clean(&error.evalue)
        )),
    }
}

/// How a command ended that has no code, from words such as `signal: killed`.
pub(super) fn signalled(words: &str) -> ExitStatus {
    let Some(name) = words.strip_prefix("signal: ") else {
        return ExitStatus::Unknown(format!("the sandbox says `{}`", clean(words)));
    };
    let name = name.trim_end_matches(" (core dumped)");
    let number = match name {
        "hangup" => libc::SIGHUP,
        "interrupt" => libc::SIGINT,
        "quit" => libc::SIGQUIT,
        "illegal instruction" => libc::SIGILL,
        "trace/breakpoint trap" => libc::SIGTRAP,
        "aborted" => libc::SIGABRT,
        "bus error" => libc::SIGBUS,
        "floating point exception" => libc::SIGFPE,
        "killed" => libc::SIGKILL,
        "user defined signal 1" => libc::SIGUSR1,
        "segmentation fault" => libc::SIGSEGV,
        "user defined signal 2" => libc::SIGUSR2,
        "broken pipe" => libc::SIGPIPE,
        "alarm clock" => libc::SIGALRM,
        "terminated" => libc::SIGTERM,
        "stack fault" => libc::SIGSTKFLT,
        "CPU time limit exceeded" => libc::SIGXCPU,
        "file size limit exceeded" => libc::SIGXFSZ,
        "virtual timer expired" => libc::SIGVTALRM,
        "profiling timer expired" => libc::SIGPROF,
        "I/O possible" => libc::SIGIO,
        "power failure" => libc::SIGPWR,
        "bad system call" => libc::SIGSYS,
        other => match other.strip_prefix("signal ").unwrap_or(other).parse() {
            Ok(number) => number,
            Err(_) => return ExitStatus::Signal(clean(other)),
        },
    };
    ExitStatus::Signal(signals::name(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(chunks: &[&[u8]]) -> Result<Vec<Event>, Unreadable> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.push(chunk);
            while let Some(event) = decoder.next()? {
                events.push(event);
            }
        }
        events.extend(decoder.finish()?);
        Ok(events)
    }

    fn expected() -> Vec<Event> {
        vec![
            Event::Started("abc".into()),
            Event::Stdout("grün €".into()),
            Event::Stdout(String::new()),
            Event::Ended(ExitStatus::Code(0)),
        ]
    }

    const BARE: &str = "{\"type\":\"init\",\"text\":\"abc\"}\n\n\
        {\"type\":\"ping\",\"text\":\"pong\"}\n\n\
        {\"type\":\"stdout\",\"text\":\"grün €\"}\n\n\
        {\"type\":\"stdout\",\"text\":\"\\n\"}\n\n\
        {\"type\":\"of-tomorrow\",\"text\":\"?\",\"more\":[1]}\n\n\
        {\"type\":\"execution_complete\"}\n\n";

    #[test]
    fn events_are_the_same_wherever_a_chunk_ends() {
        for size in 1..BARE.len() {
            let chunks: Vec<&[u8]> = BARE.as_bytes().chunks(size).collect();
            assert_eq!(decoded(&chunks).unwrap(), expected(), "{size}");
        }
    }

    #[test]
    fn data_lines_are_read_like_bare_objects() {
        for end in ["\n", "\r\n"] {
            let framed: String = BARE
                .split("\n\n")
                .filter(|object| !object.is_empty())
                .map(|object| format!("event: x{end}data: {object}{end}{end}: comment{end}{end}"))
                .collect();
            for size in 1..90 {
                let chunks: Vec<&[u8]> = framed.as_bytes().chunks(size).collect();
                assert_eq!(decoded(&chunks).unwrap(), expected(), "{size}");
            }
        }
    }

    #[test]
    fn half_an_object_is_unreadable_and_a_last_whole_one_is_not() {
        assert!(decoded(&[b"{\"type\":\"stdout\",\"te"]).is_err());
        assert!(decoded(&[b"{\"type\":\"stdout\"\n\n"]).is_err());
        assert!(decoded(&[b"<html>Bad Gateway</html>"]).unwrap().is_empty());
        let last = decoded(&[b"{\"type\":\"execution_complete\"}"]).unwrap();
        assert_eq!(last, [Event::Ended(ExitStatus::Code(0))]);
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut decoder = Decoder::default();
        decoder.push(&vec![b'x'; SANDBOX_EVENT_BYTES + 1]);
        assert!(decoder.next().is_err());
    }

    #[test]
    fn ends_are_told_apart() {
        let of = |evalue: &str, words: &str| {
            ended(&RawError {
                ename: "CommandExecError".into(),
                evalue: evalue.into(),
                traceback: Some(vec![words.into()]),
            })
        };
        assert_eq!(of("3", "exit status 3"), ExitStatus::Code(3));
        assert_eq!(of("137", "exit status 137"), ExitStatus::Code(137));
        let signal = |name: &str| ExitStatus::Signal(name.into());
        assert_eq!(of("-1", "signal: killed"), signal("SIGKILL"));
        assert_eq!(
            of("-1", "signal: segmentation fault (core dumped)"),
            signal("SIGSEGV")
        );
        assert_eq!(of("-1", "signal: signal 35"), signal("SIG35"));
        assert!(matches!(of("-1", "?"), ExitStatus::Unknown(_)));
        assert!(matches!(of("fork failed", ""), ExitStatus::Unknown(_)));
        assert!(matches!(
            ended(&RawError::default()),
            ExitStatus::Unknown(_)
        ));
    }
}
