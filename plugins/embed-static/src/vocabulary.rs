//! The wordpieces and the table that finds them. All of it is constant data:
//! an instance sets nothing up.

use crate::hash;

include!(concat!(env!("OUT_DIR"), "/table.rs"));

static TEXT: &[u8] = include_bytes!("../model/vocab.txt");
static LINE_STARTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/line-starts.bin"));
static SLOTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slots.bin"));

/// A wordpiece's number: its line in `vocab.txt` and its row in the weights.
pub(crate) type Row = u16;

/// How a wordpiece stands in its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It begins the word, or is a token by itself.
    Start,
    /// It goes on with a word: `##` stands before it in the vocabulary.
    Continuation,
}

impl Place {
    const fn prefix(self) -> &'static [u8] {
        match self {
            Self::Start => b"",
            Self::Continuation => b"##",
        }
    }
}

/// The longest wordpiece that `text` begins with at this place: its row and
/// how many bytes of `text` it covers.
pub(crate) fn longest(text: &[u8], place: Place) -> Option<(Row, usize)> {
    let reach = text.len().min(LONGEST_PIECE - place.prefix().len());
    let mut states = [0_u32; LONGEST_PIECE];
    let mut state = place
        .prefix()
        .iter()
        .fold(hash::START, |state, byte| hash::step(state, *byte));
    for (kept, byte) in states.iter_mut().zip(&text[..reach]) {
        state = hash::step(state, *byte);
        *kept = state;
    }
    // A match cannot end within a character: the vocabulary is whole UTF-8.
    (1..=reach).rev().find_map(|length| {
        find(states[length - 1], place, &text[..length]).map(|row| (row, length))
    })
}

/// The row of the piece that is just `text` at this place, whose hash is `state`.
fn find(state: u32, place: Place, text: &[u8]) -> Option<Row> {
    let mut slot = hash::slot(state, TABLE_BITS);
    loop {
        let row = u16_at(SLOTS, slot).checked_sub(1)?;
        let stored = piece(row);
        let prefix = place.prefix();
        if stored.len() == prefix.len() + text.len()
            && stored.starts_with(prefix)
            && stored.ends_with(text)
        {
            return Some(row);
        }
        slot = (slot + 1) % (1 << TABLE_BITS);
    }
}

fn piece(row: Row) -> &'static [u8] {
    let start = u32_at(LINE_STARTS, usize::from(row)) as usize;
    let end = u32_at(LINE_STARTS, usize::from(row) + 1) as usize;
    &TEXT[start..end - 1]
}

fn u16_at(bytes: &[u8], index: usize) -> u16 {
    u16::from_le_bytes([bytes[2 * index], bytes[2 * index + 1]])
}

fn u32_at(bytes: &[u8], index: usize) -> u32 {
    let at = 4 * index;
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wordpiece_is_found_under_its_own_row() {
        let pieces: Vec<&[u8]> = TEXT
            .strip_suffix(b"\n")
            .unwrap()
            .split(|b| *b == b'\n')
            .collect();
        assert_eq!(pieces.len(), 27_999);
        for (row, stored) in pieces.into_iter().enumerate() {
            let (place, text) = match stored.strip_prefix(b"##") {
                Some(rest) if !rest.is_empty() => (Place::Continuation, rest),
                _ => (Place::Start, stored),
            };
            let found = longest(text, place);
            assert_eq!(
                found,
                Some((row as Row, text.len())),
                "{}",
                String::from_utf8_lossy(stored)
            );
        }
    }

    #[test]
    fn what_is_no_wordpiece_is_not_found() {
        assert_eq!(longest(b"", Place::Start), None);
        assert_eq!(longest("漢".as_bytes(), Place::Start), None);
        assert_eq!(longest("\u{1F600}".as_bytes(), Place::Continuation), None);
    }

    #[test]
    fn the_longest_piece_wins() {
        for (text, length) in [("customers", 9), ("customerx", 8), ("customx", 6)] {
            assert_eq!(
                longest(text.as_bytes(), Place::Start).map(|(_, length)| length),
                Some(length)
            );
        }
    }
}
