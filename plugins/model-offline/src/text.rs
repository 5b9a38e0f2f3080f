//! Messages as sentences, segments and words.

/// One sentence of a message.
pub(crate) struct Sentence<'a> {
    /// As the customer wrote it, with its end mark.
    pub(crate) text: &'a str,
    /// The same bytes with all that stood in quotation marks blotted out by
    /// [`BLOT`]: what is quoted was said by someone else.
    pub(crate) plain: &'a str,
    /// It ends with a question mark.
    pub(crate) asks: bool,
}

/// Stands for each byte of quoted text. A control character, so no word holds it.
pub(crate) const BLOT: char = '\u{1}';

/// One word with the punctuation around it taken off.
#[derive(Clone, Debug)]
pub(crate) struct Word<'a> {
    /// As it was written.
    pub(crate) text: &'a str,
    /// In lower case, with a straight apostrophe.
    pub(crate) lower: String,
    /// A comma, colon, dash or bracket stands behind it.
    pub(crate) pause: bool,
}

/// Marks that stand behind a word.
const CLOSING: [char; 14] = [
    ',', '.', '!', '?', ';', ':', ')', ']', '}', '\'', '"', '*', '’', '…',
];

/// Words that end with a point without ending the sentence.
const ABBREVIATIONS: [&str; 9] = [
    "dr.", "mr.", "mrs.", "ms.", "no.", "nr.", "e.g.", "i.e.", "st.",
];

/// Blots out what stands in double quotation marks, and lines that quote an
/// older mail. Every byte keeps its place.
pub(crate) fn without_quotations(message: &str) -> String {
    let mut plain = String::with_capacity(message.len());
    for line in message.split_inclusive('\n') {
        let mut quoted = line.trim_start().starts_with('>');
        let whole_line = quoted;
        for character in line.chars() {
            let opens = matches!(character, '“' | '„' | '«');
            let closes = matches!(character, '”' | '»');
            let turns = character == '"';
            if (quoted && !turns && !closes || opens || whole_line) && character != '\n' {
                plain.extend(std::iter::repeat_n(BLOT, character.len_utf8()));
            } else {
                plain.push(character);
            }
            if !whole_line {
                quoted = opens || (quoted && !closes) != turns;
            }
        }
    }
    plain
}

/// The sentences of a message. `plain` is what [`without_quotations`] made of it.
pub(crate) fn sentences<'a>(message: &'a str, plain: &'a str) -> Vec<Sentence<'a>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut characters = plain.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let end = at + character.len_utf8();
        let stops = match character {
            '\n' | ';' => true,
            '!' | '?' | '.' => {
                let last = characters
                    .peek()
                    .is_none_or(|(_, next)| next.is_whitespace());
                last && !(character == '.' && is_abbreviation(&plain[start..end]))
            }
            _ => false,
        };
        if stops {
            push_sentence(&mut found, message, plain, start..end);
            start = end;
        }
    }
    push_sentence(&mut found, message, plain, start..plain.len());
    found
}

fn push_sentence<'a>(
    found: &mut Vec<Sentence<'a>>,
    message: &'a str,
    plain: &'a str,
    range: std::ops::Range<usize>,
) {
    let text = message[range.clone()].trim();
    let plain = plain[range].trim();
    if plain.chars().any(char::is_alphanumeric) {
        // Blots are no white space, so both are trimmed alike.
        found.push(Sentence {
            text,
            plain,
            asks: plain.ends_with('?'),
        });
    }
}

fn is_abbreviation(text: &str) -> bool {
    let last = text
        .split_whitespace()
        .next_back()
        .unwrap_or_default()
        .to_lowercase();
    ABBREVIATIONS.contains(&last.as_str())
}

/// The words of a sentence.
pub(crate) fn words(sentence: &str) -> Vec<Word<'_>> {
    let mut found: Vec<Word<'_>> = Vec::new();
    for raw in sentence.split_whitespace() {
        let opens = raw.starts_with(['(', '[']);
        let text = raw
            .trim_start_matches(['(', '[', '{', '\'', '"', '#', '*', '‘', '¡', '¿'])
            .trim_end_matches(CLOSING);
        if opens && let Some(last) = found.last_mut() {
            last.pause = true;
        }
        if !text
            .chars()
            .any(|character| character.is_alphanumeric() || character == BLOT)
        {
            if let Some(last) = found.last_mut() {
                last.pause = true;
            }
            continue;
        }
        let end = raw.trim_end_matches(CLOSING).len();
        found.push(Word {
            text,
            lower: text.to_lowercase().replace('’', "'"),
            pause: raw[end..].contains([',', ':', ')', ']', ';', '…']),
        });
    }
    found
}

/// Sentence as lower-case words with single blanks, for looking up phrases in:
/// there is a blank at each end.
pub(crate) fn flat(words: &[Word<'_>]) -> String {
    let mut flat = String::from(" ");
    for word in words {
        flat.push_str(&word.lower);
        flat.push(' ');
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(message: &str) -> Vec<String> {
        let plain = without_quotations(message);
        sentences(message, &plain)
            .into_iter()
            .map(|sentence| sentence.text.to_owned())
            .collect()
    }

    #[test]
    fn a_point_within_a_number_or_an_address_ends_no_sentence() {
        assert_eq!(
            split("I paid 3.50 to jo.doe@example.com. Thanks! Dr. Who?\nBye"),
            [
                "I paid 3.50 to jo.doe@example.com.",
                "Thanks!",
                "Dr. Who?",
                "Bye"
            ]
        );
        assert!(split(" … !? \n").is_empty());
    }

    #[test]
    fn quoted_text_is_blotted_out_and_every_byte_keeps_its_place() {
        for message in [
            "She said “I’m Jo. I moved.” and left",
            "\"I upgraded\" he wrote \"and more",
            "> I'm Jordan\nme too",
        ] {
            let plain = without_quotations(message);
            assert_eq!(plain.len(), message.len());
            for hidden in ["I’m", "moved", "I upgraded", "and more", "I'm Jordan"] {
                assert!(!plain.contains(hidden), "{plain:?}");
            }
        }
        assert!(without_quotations("> I'm Jordan\nme too").ends_with("\nme too"));
        assert!(without_quotations("“a” b \"c\" d").contains(" b "));
        assert!(without_quotations("“a” b \"c\" d").ends_with(" d"));
    }

    #[test]
    fn a_dash_is_a_pause() {
        let words = words("I'm Jordan — which plan (if any)?");
        let pauses: Vec<_> = words
            .iter()
            .filter(|word| word.pause)
            .map(|word| word.text)
            .collect();
        assert_eq!(pauses, ["Jordan", "plan", "any"]);
    }
}
