//! The lines of a file, one at a time and each within a bound, so that a file
//! of any size is read in little memory.

use std::io::{self, BufRead};

use keepsake_types::limits;

/// Reads line by line and counts.
pub(super) struct Lines<R> {
    reader: R,
    number: u64,
    line: Vec<u8>,
}

/// A line that was read, without its end.
pub(super) struct Line<'a> {
    /// Its number, from 1.
    pub(super) number: u64,
    /// Its bytes; none where it has more than the bound.
    pub(super) bytes: Option<&'a [u8]>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            number: 0,
            line: Vec::new(),
        }
    }

    /// The next line that is not blank.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.line.clear();
            let fits = match self.read()? {
                None => return Ok(None),
                Some(fits) => fits,
            };
            self.number += 1;
            if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
                // Some editors begin a file with a mark for its encoding.
                self.line.drain(..3);
            }
            if fits && self.line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return Ok(Some(Line {
                number: self.number,
                bytes: fits.then_some(&self.line),
            }));
        }
    }

    /// Reads up to the next line's end. Answers whether the line fits, and
    /// nothing at the end of the file. What does not fit is passed over.
    fn read(&mut self) -> io::Result<Option<bool>> {
        let (mut any, mut fits) = (false, true);
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                return Ok(any.then_some(fits));
            }
            any = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            fits = fits && self.line.len() + part.len() <= limits::IMPORT_LINE_BYTES;
            if fits {
                self.line.extend_from_slice(part);
            }
            let used = end.map_or(available.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(fits));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Vec<(u64, Option<String>)> {
        // A small buffer, so that lines reach over its end.
        let mut lines = Lines::new(io::BufReader::with_capacity(7, text));
        let mut read = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let text = line.bytes.map(|bytes| String::from_utf8(bytes.to_vec()));
            read.push((line.number, text.map(Result::unwrap)));
        }
        read
    }

    #[test]
    fn blank_lines_are_counted_and_passed_over() {
        let read = read(b"\xef\xbb\xbf{\"a\":1}\n\n  \r\nthe last one has no end");
        let expected = [(1, "{\"a\":1}"), (4, "the last one has no end")];
        assert_eq!(
            read,
            expected.map(|(number, text)| (number, Some(text.to_owned())))
        );
        assert!(self::read(b"").is_empty() && self::read(b"\n\n").is_empty());
    }

    #[test]
    fn a_line_over_the_bound_is_told_and_the_next_one_is_read() {
        let mut text = vec![b'x'; limits::IMPORT_LINE_BYTES];
        text.extend_from_slice(b"\n");
        text.extend(vec![b'y'; limits::IMPORT_LINE_BYTES + 1]);
        text.extend_from_slice(b"\nz");
        let read = read(&text);
        assert!(read[0].1.is_some());
        assert_eq!(read[1..], [(2, None), (3, Some("z".to_owned()))]);
    }
}
