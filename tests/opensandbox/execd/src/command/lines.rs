//! Bytes to lines, as execd cuts them.

/// The longest line held back while its end has not come, in bytes. A longer
/// one is cut.
const LONGEST_LINE: usize = 64 << 20;

/// Cuts at `\n`, `\r` and `\r\n`. The ends are lost; an empty line is told as
/// `"\n"`.
#[derive(Default)]
pub(crate) struct Lines {
    begun: Vec<u8>,
    /// The last byte was `\r`: a `\n` now belongs to it.
    returned: bool,
}

impl Lines {
    /// The lines that these bytes end.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for &byte in bytes {
            let second_half = byte == b'\n' && self.returned;
            self.returned = byte == b'\r';
            if second_half {
                continue;
            }
            if byte == b'\n' || byte == b'\r' {
                lines.push(self.take());
            } else {
                self.begun.push(byte);
                if self.begun.len() == LONGEST_LINE {
                    lines.push(self.take());
                }
            }
        }
        lines
    }

    /// What came after the last end of a line.
    pub(crate) fn rest(mut self) -> Option<String> {
        (!self.begun.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> String {
        let line = std::mem::take(&mut self.begun);
        if line.is_empty() {
            "\n".to_owned()
        } else {
            String::from_utf8_lossy(&line).into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_end_at_each_kind_of_end_wherever_the_bytes_were_cut() {
        let text = b"a\n\nb\r\nc\rd\n\nrest";
        for cut in 0..=text.len() {
            let mut lines = Lines::default();
            let mut found = lines.push(&text[..cut]);
            found.extend(lines.push(&text[cut..]));
            assert_eq!(found, ["a", "\n", "b", "c", "d", "\n"], "cut at {cut}");
            assert_eq!(lines.rest().as_deref(), Some("rest"));
        }
    }

    #[test]
    fn a_character_cut_in_two_is_put_together() {
        let mut lines = Lines::default();
        assert!(lines.push(b"\xe2\x82").is_empty());
        assert_eq!(lines.push(b"\xac\n"), ["€"]);
        assert_eq!(lines.push(b"\xff\0\n"), ["\u{fffd}\0"]);
        assert_eq!(lines.rest(), None);
    }
}
