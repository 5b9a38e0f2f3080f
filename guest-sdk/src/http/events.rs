//! Event streams (`text/event-stream`), as models give their answers: bytes in,
//! events out.

use std::mem::take;

/// Takes the bytes of an event stream in any pieces.
///
/// ```
/// use keepsake_sdk::http::events::Decoder;
///
/// let mut decoder = Decoder::new(1024);
/// assert!(decoder.feed(b": still there\n\ndata: on").unwrap().is_empty());
/// let events = decoder.feed(b"e\r\n\r\n").unwrap();
/// assert_eq!(events[0].data, "one");
/// ```
#[derive(Debug)]
pub struct Decoder {
    /// The line that has not ended.
    line: Vec<u8>,
    /// The event that has not ended; `data` is none before its first line.
    name: String,
    data: Option<String>,
    id: Option<String>,
    /// A line feed that comes now belongs to the carriage return before it.
    after_carriage_return: bool,
    begun: bool,
    limit: usize,
}

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// What kind of event it is; empty when the server gives it no name.
    pub name: String,
    /// Its content; lines are joined by line feeds. Bytes that are no UTF-8
    /// are replaced by U+FFFD.
    pub data: String,
    /// The newest id that the stream has given.
    pub id: Option<String>,
}

/// An event is larger than the decoder allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream has more than {limit} bytes")]
pub struct EventTooLarge {
    /// What is allowed, in bytes.
    pub limit: usize,
}

impl Decoder {
    /// A decoder of events of up to `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            name: String::new(),
            data: None,
            id: None,
            after_carriage_return: false,
            begun: false,
            limit,
        }
    }

    /// The events that end within these bytes.
    ///
    /// # Errors
    /// When an event becomes too large. The stream cannot be followed further.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, EventTooLarge> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            if take(&mut self.after_carriage_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let part = &rest[..end.unwrap_or(rest.len())];
            let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
            if held + part.len() > self.limit {
                return Err(EventTooLarge { limit: self.limit });
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_carriage_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            events.extend(self.end_line());
        }
        Ok(events)
    }

    /// What the stream's end leaves: an event without the empty line that should
    /// follow it. Some servers leave that line out; a stream that was cut off
    /// looks the same, so the reader must be able to tell a whole event.
    pub fn finish(mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event()
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let line = if self.begun {
            &*line
        } else {
            line.strip_prefix('\u{feff}').unwrap_or(&line)
        };
        self.begun = true;
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.name),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            // `retry` is for readers that connect again, and a line that begins
            // with a colon is a comment that keeps the connection alive.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let name = take(&mut self.name);
        // Without data there is no event, whatever it is called.
        let data = self.data.take()?;
        Some(Event {
            name,
            data,
            id: self.id.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream with all that the form allows, its lines ended in this way.
    fn stream(end: &str) -> Vec<u8> {
        let lines = [
            ": welcome",
            "",
            "data: {\"text\":\"Grüße, 世界 🎈\"}",
            "",
            "event: note",
            "id: 7",
            "data: one",
            "data:two",
            "data",
            "data:  three: four",
            "retry: 100",
            "",
            ":",
            "event: nothing to say",
            "",
            "unknown: x",
            "data:",
            "",
            "data: [DONE]",
            "",
            "",
        ];
        let mut bytes = b"\xef\xbb\xbf".to_vec();
        bytes.extend_from_slice(lines.join(end).as_bytes());
        bytes
    }

    fn expected() -> Vec<Event> {
        let event = |name: &str, data: &str, id: Option<&str>| Event {
            name: name.to_owned(),
            data: data.to_owned(),
            id: id.map(str::to_owned),
        };
        vec![
            event("", "{\"text\":\"Grüße, 世界 🎈\"}", None),
            event("note", "one\ntwo\n\n three: four", Some("7")),
            event("", "", Some("7")),
            event("", "[DONE]", Some("7")),
        ]
    }

    fn decoded(pieces: &[&[u8]]) -> Vec<Event> {
        let mut decoder = Decoder::new(1_000);
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(decoder.feed(piece).unwrap());
        }
        assert_eq!(decoder.finish(), None);
        events
    }

    #[test]
    fn all_line_ends_mean_the_same_wherever_the_stream_is_cut() {
        for end in ["\n", "\r\n", "\r"] {
            let bytes = stream(end);
            assert_eq!(decoded(&[&bytes]), expected(), "{end:?}");
            for cut in 0..=bytes.len() {
                let (one, two) = bytes.split_at(cut);
                assert_eq!(decoded(&[one, two]), expected(), "{end:?} cut at {cut}");
                for again in (0..two.len()).step_by(7) {
                    let (two, three) = two.split_at(again);
                    assert_eq!(decoded(&[one, two, &[], three]), expected());
                }
            }
        }
    }

    #[test]
    fn a_stream_may_come_in_pieces_of_any_size() {
        for end in ["\n", "\r\n", "\r"] {
            let bytes = stream(end);
            for size in 1..=bytes.len() {
                let pieces: Vec<_> = bytes.chunks(size).collect();
                assert_eq!(decoded(&pieces), expected(), "{end:?} by {size}");
            }
        }
    }

    #[test]
    fn an_event_is_given_as_soon_as_its_empty_line_begins() {
        let mut decoder = Decoder::new(100);
        let events = decoder.feed(b"data: now\r\n\r").unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(decoder.feed(b"\ndata: then\n\n").unwrap()[0].data, "then");
    }

    #[test]
    fn what_the_end_cut_off_is_given_apart() {
        for rest in ["data: [DONE]", "data: [DONE]\n", "data: [DONE]\r"] {
            let mut decoder = Decoder::new(100);
            assert!(decoder.feed(rest.as_bytes()).unwrap().is_empty());
            assert_eq!(decoder.finish().unwrap().data, "[DONE]");
        }
        let mut decoder = Decoder::new(100);
        decoder.feed(b": bye").unwrap();
        assert_eq!(decoder.finish(), None);
    }

    #[test]
    fn an_event_that_never_ends_is_refused() {
        let mut decoder = Decoder::new(100);
        assert!(decoder.feed(&[b'x'; 100]).unwrap().is_empty());
        assert_eq!(decoder.feed(b"x"), Err(EventTooLarge { limit: 100 }));
        // The same in many lines of one event.
        let mut decoder = Decoder::new(100);
        let refused = (0..100).find_map(|_| decoder.feed(b"data: 0123456789\n").err());
        assert_eq!(refused, Some(EventTooLarge { limit: 100 }));
        // Many events are not one.
        let mut decoder = Decoder::new(100);
        for _ in 0..100 {
            assert_eq!(decoder.feed(b"data: 0123456789\n\n").unwrap().len(), 1);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let mut decoder = Decoder::new(100);
        let events = decoder.feed(b"data: a\xffb\n\n").unwrap();
        assert_eq!(events[0].data, "a\u{fffd}b");
    }
}
