//! A key taken out of what others send: some servers repeat it in their errors.
//!
//! It is looked for as it is and in the forms in which programs write texts of
//! others: in URLs, in JSON, as hexadecimal digits, and in base64 wherever it
//! begins. Whoever means to hide it in another form can, but the server that
//! would have to do so has the key already.

use std::ops::Range;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem::Finder;
use reqwest::header::{HeaderMap, HeaderValue};
use secrecy::zeroize::Zeroizing;

/// What stands in place of each byte: a text keeps its length, which may have
/// been announced, and JSON stays JSON.
const MASK: u8 = b'*';

/// A key shorter than this is not looked for: it would be found in texts that
/// have nothing to do with it, and guessing it is easier than asking for it.
pub const SHORTEST_REDACTED_KEY: usize = 8;

/// Takes keys out of bytes. Cheap to clone; prints nothing of them.
#[derive(Clone, Default)]
pub struct Redaction(Arc<[Arc<Key>]>);

/// One key, as itself and in the forms that are texts of their own.
struct Key {
    key: Zeroizing<Vec<u8>>,
    forms: Vec<Zeroizing<Vec<u8>>>,
}

impl Redaction {
    /// The redaction of a key.
    #[must_use]
    pub fn of(key: &str) -> Self {
        if key.len() < SHORTEST_REDACTED_KEY {
            return Self::default();
        }
        Self([Arc::new(Key::new(key))].into())
    }

    /// The redaction of these keys and those.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().chain(&*other.0).cloned().collect())
    }

    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Masks the keys wherever they are whole. Answers whether any was there.
    pub fn mask(&self, bytes: &mut [u8]) -> bool {
        let mut places = Vec::new();
        for key in &*self.0 {
            key.find(bytes, &mut places);
        }
        // Found first and masked then: what is found may overlap.
        let found = !places.is_empty();
        for place in places {
            bytes[place].fill(MASK);
        }
        found
    }

    /// Masks the keys in the values of headers.
    pub fn headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let mut bytes = value.as_bytes().to_vec();
            if self.mask(&mut bytes) {
                // A mask is printable, and so is what was a value before.
                *value = HeaderValue::from_bytes(&bytes)
                    .unwrap_or_else(|_| HeaderValue::from_static("***"));
            }
        }
    }

    /// Masks the keys in bytes that come in pieces.
    #[must_use]
    pub fn stream(&self) -> RedactedStream {
        RedactedStream {
            redaction: self.clone(),
            held: Vec::new(),
        }
    }

    /// Where what may be the beginning of a key begins at the end of the bytes.
    fn begun(&self, bytes: &[u8]) -> usize {
        let begun = self.0.iter().map(|key| key.begun(bytes));
        begun.min().unwrap_or(bytes.len())
    }
}

impl std::fmt::Debug for Redaction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Redaction({} keys)", self.0.len())
    }
}

/// How far bytes are a key.
enum Likeness {
    /// They are it, up to here.
    Whole(usize),
    /// They are its beginning, and end too soon.
    Begun,
    /// They are not.
    None,
}

impl Key {
    fn new(key: &str) -> Self {
        let key = key.as_bytes();
        let hex = |digits: &[u8; 16]| {
            key.iter()
                .flat_map(|byte| [byte >> 4, byte & 15])
                .map(|digit| digits[usize::from(digit)])
                .collect::<Vec<_>>()
        };
        let mut forms = vec![hex(b"0123456789abcdef"), hex(b"0123456789ABCDEF")];
        // In base64 three bytes become four characters: by where the key begins, it
        // reads in one of three ways, but for the characters at its ends.
        for before in 0..3_usize {
            let mut bytes = Zeroizing::new(vec![0; before]);
            bytes.extend_from_slice(key);
            for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                let text = Zeroizing::new(engine.encode(&*bytes));
                let (first, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
                forms.push(text.as_bytes()[first..end].to_vec());
            }
        }
        Self {
            key: Zeroizing::new(key.to_vec()),
            forms: forms.into_iter().map(Zeroizing::new).collect(),
        }
    }

    /// Compares the key with the bytes from here on, each of its characters as
    /// it is or escaped, as in URLs and in JSON.
    fn likeness(&self, bytes: &[u8], mut at: usize) -> Likeness {
        for expected in &*self.key {
            match character(&bytes[at..]) {
                Some((found, length)) if found == *expected => at += length,
                // A backslash is itself as well as an escape.
                Some(_) if bytes[at] == *expected => at += 1,
                Some(_) => return Likeness::None,
                None => return Likeness::Begun,
            }
        }
        Likeness::Whole(at)
    }

    /// Where the key can begin: at its first byte, or at an escape.
    fn candidates<'b>(&self, bytes: &'b [u8]) -> impl Iterator<Item = usize> + use<'b> {
        memchr::memchr3_iter(self.key[0], b'%', b'\\', bytes)
    }

    fn find(&self, bytes: &[u8], places: &mut Vec<Range<usize>>) {
        let mut end = 0;
        for at in self.candidates(bytes) {
            if at < end {
                continue;
            }
            if let Likeness::Whole(to) = self.likeness(bytes, at) {
                places.push(at..to);
                end = to;
            }
        }
        for form in &self.forms {
            let found = Finder::new(form.as_slice());
            places.extend(found.find_iter(bytes).map(|at| at..at + form.len()));
        }
    }

    fn begun(&self, bytes: &[u8]) -> usize {
        let longest = self.key.len() * LONGEST_ESCAPE;
        let from = bytes.len().saturating_sub(longest);
        let begun = self
            .candidates(&bytes[from..])
            .map(|at| from + at)
            .find(|at| matches!(self.likeness(bytes, *at), Likeness::Begun));
        let forms = self.forms.iter().map(|form| {
            let longest = form.len().saturating_sub(1).min(bytes.len());
            let length = (1..=longest)
                .rev()
                .find(|length| bytes.ends_with(&form[..*length]));
            bytes.len() - length.unwrap_or(0)
        });
        forms.chain(begun).min().unwrap_or(bytes.len())
    }
}

/// The bytes of `\u0041`, the longest way to write one of a key's characters.
const LONGEST_ESCAPE: usize = 6;

/// The character that these bytes begin with, and how many of them it takes;
/// none where they end too soon. What is no whole escape is itself.
fn character(bytes: &[u8]) -> Option<(u8, usize)> {
    let escaped = |digits: Range<usize>| {
        let text = bytes.get(digits.clone())?;
        let value = std::str::from_utf8(text).ok()?;
        let value = u32::from_str_radix(value, 16).ok()?;
        Some((u8::try_from(value).ok()?, digits.end))
    };
    match bytes {
        [] => None,
        [b'%'] | [b'%', _] if is_hexadecimal(&bytes[1..]) => None,
        [b'%', ..] => Some(escaped(1..3).unwrap_or((b'%', 1))),
        [b'\\'] => None,
        [b'\\', b'u', digits @ ..] if digits.len() < 4 && is_hexadecimal(digits) => None,
        [b'\\', b'u', ..] => Some(escaped(2..6).unwrap_or((b'\\', 1))),
        [b'\\', character @ (b'"' | b'/' | b'\\'), ..] => Some((*character, 2)),
        [byte, ..] => Some((*byte, 1)),
    }
}

fn is_hexadecimal(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_hexdigit)
}

/// Masks a key in bytes that come in pieces, wherever they are cut. What may be
/// the beginning of the key is held back until more comes, and nothing else.
#[derive(Debug)]
pub struct RedactedStream {
    redaction: Redaction,
    held: Vec<u8>,
}

impl RedactedStream {
    /// The next bytes that can be handed on, after this piece came.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(piece);
        self.redaction.mask(&mut bytes);
        self.held = bytes.split_off(self.redaction.begun(&bytes));
        bytes
    }

    /// What was held back and turned out to be no key, once nothing more comes.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    const KEY: &str = "sk-hun/ter2+0123~4567=\"x";

    /// What is left of a text that comes in pieces of that length.
    fn in_pieces(text: &[u8], length: usize) -> Vec<u8> {
        let mut stream = Redaction::of(KEY).stream();
        let mut left: Vec<u8> = text
            .chunks(length)
            .flat_map(|piece| stream.push(piece))
            .collect();
        left.extend(stream.finish());
        left
    }

    #[test]
    fn a_key_is_masked_wherever_the_pieces_are_cut() {
        let text = format!("bad key {KEY}, I say: {KEY}{KEY} sk-hun/ter2");
        let mask = "*".repeat(KEY.len());
        let expected = format!("bad key {mask}, I say: {mask}{mask} sk-hun/ter2");
        for length in 1..=text.len() {
            let left = in_pieces(text.as_bytes(), length);
            assert_eq!(String::from_utf8(left).unwrap(), expected, "{length}");
        }
    }

    #[test]
    fn only_what_may_be_the_beginning_of_a_key_is_held_back() {
        let mut stream = Redaction::of(KEY).stream();
        assert_eq!(stream.push(b"data: one\n\n"), b"data: one\n\n");
        assert_eq!(stream.push(b"data: sk-h"), b"data: ");
        assert_eq!(stream.push(b"at and coat"), b"sk-hat and coat");
        assert_eq!(stream.push(b"sk-hun/t"), b"");
        assert_eq!(stream.finish(), b"sk-hun/t");
        assert_eq!(stream.finish(), b"");
    }

    #[test]
    fn a_key_is_masked_in_the_forms_that_programs_write() {
        let json = serde_json::to_string(KEY).unwrap();
        let escaped_slash = json.replace('/', "\\/");
        let query: String = url::form_urlencoded::byte_serialize(KEY.as_bytes()).collect();
        let mut texts = vec![
            json,
            escaped_slash,
            query.to_lowercase(),
            query,
            KEY.replace('~', "%7E").replace('=', "\\u003d"),
            KEY.bytes().map(|byte| format!("%{byte:02X}")).collect(),
            KEY.bytes().map(|byte| format!("\\u{byte:04x}")).collect(),
            KEY.bytes().map(|byte| format!("{byte:02x}")).collect(),
        ];
        for before in ["", "a", "Bearer ", "user:"] {
            for behind in ["", "\n", " and more"] {
                let text = format!("{before}{KEY}{behind}");
                texts.push(STANDARD.encode(&text));
                texts.push(URL_SAFE.encode(&text));
            }
        }
        for text in texts {
            let mut left = text.clone().into_bytes();
            assert!(Redaction::of(KEY).mask(&mut left), "{text}");
            for length in [1, 2, 3, 5] {
                assert_eq!(in_pieces(text.as_bytes(), length), left, "{text}");
            }
            assert_eq!(left.len(), text.len());
            // Decoded again, what is left tells next to nothing of the key.
            let masked = left.iter().filter(|byte| **byte == MASK).count();
            assert!(masked + 6 >= KEY.len(), "{text}");
        }
    }

    #[test]
    fn a_key_with_a_backslash_is_masked_as_itself_and_escaped() {
        let key = "back\\slash-\\key";
        let json = serde_json::to_string(key).unwrap();
        for text in [key.to_owned(), json, key.replace('\\', "\\u005c")] {
            let mut left = text.clone().into_bytes();
            assert!(Redaction::of(key).mask(&mut left), "{text}");
            assert_eq!(left.len(), text.len());
            assert!(!left.ends_with(b"key"), "{text}");
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let text = "sk-hun/ter2+0123~4567= is not it, nor is ****; größer".as_bytes();
        for length in [1, 2, 7, text.len()] {
            assert_eq!(in_pieces(text, length), text);
        }
        let masked = |redaction: Redaction, text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            redaction.mask(&mut bytes);
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(masked(Redaction::default(), "x"), "x");
        // Too short to be looked for.
        assert!(Redaction::of("1234567").is_empty());
        assert_eq!(masked(Redaction::of("1234567"), "[1234567]"), "[1234567]");
    }

    #[test]
    fn a_redaction_prints_nothing_of_its_key() {
        let printed = format!("{:?}", Redaction::of(KEY).stream());
        assert!(!printed.contains("hun"), "{printed}");
    }
}
