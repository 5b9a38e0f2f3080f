//! The words of a statement.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::vocabulary::{Part, differs_in_small_letters, is_silent, part};

/// A word as it is compared.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) part: Part,
    /// It begins with a capital letter.
    pub(crate) capital: bool,
    /// It begins a sentence, where a capital says nothing.
    pub(crate) first: bool,
}

impl Word {
    /// A capital where none need be.
    pub(crate) fn is_name(&self) -> bool {
        self.capital && !self.first
    }

    fn exact(text: String) -> Self {
        Self {
            text,
            part: Part::Exact,
            capital: false,
            first: false,
        }
    }
}

/// The words of a text, without those that say nothing.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let text = plain(text);
    let shouts = !text.chars().any(char::is_lowercase);
    let mut words = Vec::new();
    let mut first = true;
    for piece in text.split_whitespace() {
        let ends_sentence = piece
            .trim_end_matches(['"', '\'', ')', ']'])
            .ends_with(['.', '!', '?', ':', ';']);
        for joined in piece.split(|c: char| !is_part_of_word(c)) {
            let count = words.len();
            add(&mut words, joined, first, shouts);
            first &= words.len() == count && joined.is_empty();
        }
        first |= ends_sentence;
    }
    words
}

/// The text with one spelling for what looks alike: compatible characters,
/// apostrophes, and numbers without their commas.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.nfkc().filter(|c| !is_unseen(*c)).peekable();
    while let Some(c) = characters.next() {
        let digit_before = plain.ends_with(|c: char| c.is_ascii_digit());
        match c {
            c if is_apostrophe(c) => plain.push('\''),
            ',' if digit_before && characters.peek().is_some_and(char::is_ascii_digit) => {}
            c => plain.push(c),
        }
    }
    plain
}

/// Adds what lies between two blanks or signs.
fn add(words: &mut Vec<Word>, joined: &str, first: bool, shouts: bool) {
    let bare = joined.trim_matches(is_joint);
    if bare.is_empty() {
        // A sign alone, such as a dash, joins nothing.
        if joined.chars().any(is_measure) {
            words.push(Word::exact(joined.to_owned()));
        }
        return;
    }
    let (before, after) = around(joined, bare);
    let exact = bare
        .chars()
        .any(|c| c.is_numeric() || matches!(c, '@' | '_' | '/') || is_measure(c))
        || inner_dot(bare);
    if exact {
        let text = bare.to_lowercase();
        // The sign of a number, and what it counts.
        let sign = before
            .chars()
            .rev()
            .take_while(|c| matches!(c, '-' | '+' | '#') || is_measure(*c));
        let sign: String = sign.filter(|c| *c != '#').collect();
        let unit: String = after.chars().filter(|c| is_measure(*c)).collect();
        words.push(Word::exact(format!("{sign}{text}{unit}")));
        return;
    }
    let capital = !shouts && bare.chars().next().is_some_and(char::is_uppercase);
    let mut parts = contracted(bare);
    // "e-mail" is "email".
    for part in &mut parts {
        part.retain(|c| !is_joint(c));
    }
    for part_text in parts {
        if part_text.is_empty() {
            continue;
        }
        let kept_capitals = !shouts && differs_in_small_letters(&part_text);
        let text = if kept_capitals {
            part_text
        } else {
            part_text.to_lowercase()
        };
        if is_silent(&text) {
            continue;
        }
        words.push(Word {
            part: if kept_capitals {
                Part::Content
            } else {
                part(&text)
            },
            text,
            capital,
            first,
        });
    }
}

fn around<'t>(joined: &'t str, bare: &str) -> (&'t str, &'t str) {
    let start = bare.as_ptr() as usize - joined.as_ptr() as usize;
    (&joined[..start], &joined[start + bare.len()..])
}

/// A word with its apostrophes resolved: "doesn't" is "does not", and what
/// `'s` says, "is" or whose it is, is silent or plain from the order.
fn contracted(word: &str) -> Vec<String> {
    let Some((base, ending)) = word.split_once('\'') else {
        return match word.to_lowercase().as_str() {
            "cannot" => vec!["can".into(), "not".into()],
            "dont" => vec!["do".into(), "not".into()],
            "doesnt" => vec!["does".into(), "not".into()],
            _ => vec![word.to_owned()],
        };
    };
    match (base.to_lowercase().as_str(), ending.to_lowercase().as_str()) {
        ("won", "t") => vec!["will".into(), "not".into()],
        ("can", "t") => vec!["can".into(), "not".into()],
        ("shan", "t") => vec!["shall".into(), "not".into()],
        (lower, "t") if lower.ends_with('n') => {
            vec![base[..base.len() - 1].to_owned(), "not".into()]
        }
        (_, "s" | "") => vec![base.to_owned()],
        (_, "re") => vec![base.to_owned(), "are".into()],
        (_, "m") => vec![base.to_owned(), "am".into()],
        (_, "ve") => vec![base.to_owned(), "have".into()],
        (_, "ll") => vec![base.to_owned(), "will".into()],
        // "o'clock", "O'Neill"
        _ => vec![word.replace('\'', "")],
    }
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() || is_joint(c) || is_measure(c) || is_combining_mark(c)
}

/// Characters that join the parts of a word, an identifier or an address.
fn is_joint(c: char) -> bool {
    matches!(
        c,
        '-' | '_' | '.' | '@' | '/' | ':' | '#' | '+' | '\'' | '\u{2010}' | '\u{2011}'
    ) || is_measure(c)
}

/// What a number counts.
fn is_measure(c: char) -> bool {
    matches!(
        c,
        '%' | '‰' | '°' | '$' | '¢' | '£' | '¥' | '\u{20a0}'..='\u{20cf}'
    )
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '’' | '‘' | 'ʼ' | '`' | '´' | '＇')
}

/// A dot or colon between letters: an address or a file's name.
fn inner_dot(bare: &str) -> bool {
    let letters: Vec<char> = bare.chars().collect();
    letters.windows(3).any(|three| {
        matches!(three[1], '.' | ':') && three[0].is_alphanumeric() && three[2].is_alphanumeric()
    })
}

fn is_unseen(c: char) -> bool {
    matches!(u32::from(c),
        0x00ad | 0x034f | 0x061c | 0x180e | 0x200b..=0x200f | 0x202a..=0x202e
        | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff)
}
