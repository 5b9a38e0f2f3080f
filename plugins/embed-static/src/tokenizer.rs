//! Text to wordpieces, as the model's README describes.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::vocabulary::{self, Place, Row};

/// A text's embedding is made of so many wordpieces at the most; the rest of a
/// longer text does not count.
pub const MAX_TOKENS: usize = 512;
/// Bytes of a text that are read. 512 wordpieces fill about 2 KiB of prose, so
/// this only bounds the work on text which the vocabulary hardly knows.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Characters in the longest word that is split; longer ones are noise.
const MAX_WORD_CHARACTERS: usize = 100;

/// The rows of a text's wordpieces, in order.
#[must_use]
pub fn tokenize(text: &str) -> Vec<u16> {
    let mut splitter = Splitter::default();
    splitter.read(text);
    splitter.tokens
}

/// Splits texts one after another with the same buffers.
#[derive(Default)]
pub(crate) struct Splitter {
    tokens: Vec<Row>,
    /// The word that is being read, in lower case.
    word: Vec<u8>,
    characters: usize,
}

impl Splitter {
    /// The rows of the wordpieces of `text`, at most [`MAX_TOKENS`].
    pub(crate) fn read(&mut self, text: &str) -> &[Row] {
        self.tokens.clear();
        self.word.clear();
        self.characters = 0;

        let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
        if text.is_ascii() {
            // Normalisation leaves ASCII as it is.
            for byte in text.bytes() {
                if self.is_full() {
                    break;
                }
                if byte.is_ascii_alphanumeric() {
                    self.push(char::from(byte.to_ascii_lowercase()));
                } else {
                    self.end_word();
                    self.push_symbol(char::from(byte));
                }
            }
        } else {
            for character in text
                .nfd()
                .filter(|character| !is_combining_mark(*character))
            {
                if self.is_full() {
                    break;
                }
                if character.is_alphanumeric() {
                    character.to_lowercase().for_each(|lower| self.push(lower));
                } else {
                    self.end_word();
                    self.push_symbol(character);
                }
            }
        }
        self.end_word();
        self.tokens.truncate(MAX_TOKENS);
        &self.tokens
    }

    fn is_full(&self) -> bool {
        self.tokens.len() >= MAX_TOKENS
    }

    fn push(&mut self, character: char) {
        self.characters += 1;
        if self.characters <= MAX_WORD_CHARACTERS {
            let mut buffer = [0; 4];
            self.word
                .extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        }
    }

    fn push_symbol(&mut self, symbol: char) {
        let mut buffer = [0; 4];
        let symbol = symbol.encode_utf8(&mut buffer).as_bytes();
        if let Some((row, length)) = vocabulary::longest(symbol, Place::Start)
            && length == symbol.len()
        {
            self.tokens.push(row);
        }
    }

    /// Splits the word that was read, greedily; one that cannot be split to
    /// its end gives nothing.
    fn end_word(&mut self) {
        let before = self.tokens.len();
        let mut rest = if self.characters > MAX_WORD_CHARACTERS {
            &[]
        } else {
            &self.word[..]
        };
        let mut place = Place::Start;
        while !rest.is_empty() {
            let Some((row, length)) = vocabulary::longest(rest, place) else {
                self.tokens.truncate(before);
                break;
            };
            self.tokens.push(row);
            rest = &rest[length..];
            place = Place::Continuation;
        }
        self.word.clear();
        self.characters = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn accents_and_case_make_no_difference() {
        assert_eq!(tokenize("CAFÉ"), tokenize("cafe"));
        assert_eq!(tokenize("cafe\u{301}"), tokenize("cafe"));
        assert_eq!(tokenize("İstanbul"), tokenize("istanbul"));
        assert_ne!(tokenize("cafe"), tokenize("coffee"));
    }

    #[test]
    fn white_space_controls_and_emoji_vanish_and_symbols_stay() {
        assert_eq!(
            tokenize(" \t\r\n\u{0}\u{1b}\u{1F600}\u{2003}"),
            Vec::<u16>::new()
        );
        assert_eq!(tokenize("@").len(), 1);
        assert_eq!(tokenize("€").len(), 1);
        assert_eq!(tokenize("##").len(), 2);
    }

    #[test]
    fn a_word_that_cannot_be_split_to_its_end_gives_nothing() {
        assert_eq!(tokenize("refund漢字"), Vec::<u16>::new());
        assert_eq!(tokenize("refund 漢字"), tokenize("refund"));
    }

    #[test]
    fn a_word_of_100_characters_counts_and_one_of_101_does_not() {
        assert!(!tokenize(&"a".repeat(100)).is_empty());
        assert_eq!(tokenize(&"a".repeat(101)), Vec::<u16>::new());
        // Characters, not bytes.
        assert!(!tokenize(&"я".repeat(100)).is_empty());
        assert_eq!(tokenize(&"я".repeat(101)), Vec::<u16>::new());
    }

    #[test]
    fn the_513th_token_does_not_count() {
        let full = "money ".repeat(512);
        assert_eq!(tokenize(&full).len(), 512);
        assert_eq!(tokenize(&format!("{full} router é")), tokenize(&full));
        // A word that reaches over the edge is cut there.
        let pieces = tokenize("pneumonoultramicroscopicsilicovolcanoconiosis");
        assert!(pieces.len() > 2);
        let cut = tokenize(&format!(
            "{} pneumonoultramicroscopicsilicovolcanoconiosis",
            "money ".repeat(511)
        ));
        assert_eq!((cut.len(), cut[511]), (512, pieces[0]));
    }

    #[test]
    fn a_megabyte_of_anything_takes_bounded_time() {
        let texts = [
            "a".repeat(1_000_000),
            "refund the router ".repeat(60_000),
            "\u{1F600}".repeat(250_000),
            "ﷺ".repeat(333_000),
            format!("a{}", "\u{301}".repeat(500_000)),
            "漢 ".repeat(250_000),
        ];
        for text in texts {
            let start = Instant::now();
            assert!(tokenize(&text).len() <= MAX_TOKENS);
            let took = start.elapsed();
            assert!(
                took < Duration::from_millis(200),
                "{took:?} for {:?}…",
                &text[..12]
            );
        }
    }
}
