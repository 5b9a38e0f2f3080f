//! Words: how a text is taken apart for finding it again.

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Bytes of a word that are kept. Longer ones are data, not words.
const WORD_BYTES: usize = 64;

/// The words of a text with how often each occurs, in a fixed order.
pub(super) type Words = BTreeMap<String, u32>;

/// Takes a text apart: case and accents do not count, common English words are
/// left out and endings taken off. What is joined and holds a digit or an `@`,
/// such as `ORD-1234` or `jo@example.com`, counts whole and in its parts, and
/// one with a digit also without what joins it, so that `ORD1234` finds it.
/// Scripts without spaces count by pairs of characters.
pub(super) fn words(text: &str) -> Words {
    let mut words = Words::new();
    for joined in joined(&folded(text)) {
        let parts: Vec<&str> = joined
            .split(is_joint)
            .filter(|part| !part.is_empty())
            .collect();
        let telling = |c: char| c.is_ascii_digit() || c == '@';
        if parts.len() > 1 && joined.contains(telling) {
            add(&mut words, joined);
            if !joined.contains('@') {
                add(&mut words, &without_joints(joined));
            }
        }
        for part in parts {
            if part.chars().any(is_unspaced) {
                add_pairs(&mut words, part);
            } else if !is_common(part) {
                add(&mut words, &stem(part));
            }
        }
    }
    words
}

/// A text without case and accents.
pub(super) fn folded(text: &str) -> String {
    text.nfkd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .collect()
}

/// The pieces of a folded text that hold no space: words, and parts that are
/// joined to one.
pub(super) fn joined(folded: &str) -> impl Iterator<Item = &str> {
    folded
        .split(|c: char| !c.is_alphanumeric() && !is_joint(c))
        .map(|joined| joined.trim_matches(is_joint))
        .filter(|joined| !joined.is_empty())
}

pub(super) fn without_joints(joined: &str) -> String {
    joined.chars().filter(|c| !is_joint(*c)).collect()
}

fn add(words: &mut Words, word: &str) {
    let word = bounded(word);
    if !word.is_empty() {
        *words.entry(word.to_owned()).or_default() += 1;
    }
}

/// As much of a word as is kept.
pub(super) fn bounded(word: &str) -> &str {
    let mut end = word.len().min(WORD_BYTES);
    while !word.is_char_boundary(end) {
        end -= 1;
    }
    &word[..end]
}

fn add_pairs(words: &mut Words, part: &str) {
    let characters: Vec<char> = part.chars().collect();
    if characters.len() == 1 {
        add(words, part);
    }
    for pair in characters.windows(2) {
        add(words, &pair.iter().collect::<String>());
    }
}

/// Characters that join parts of an identifier or an address.
fn is_joint(c: char) -> bool {
    matches!(
        c,
        '-' | '_' | '.' | '@' | '/' | ':' | '#' | '+' | '\'' | '’'
    )
}

/// Scripts that are written without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0e00..=0x0eff | 0x3040..=0x30ff | 0x3400..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

/// English words that say nothing about what a text is about, and the pieces
/// that an apostrophe leaves. In ascending order.
const COMMON: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "but", "by", "can", "could", "d", "did", "do", "does",
    "doing", "don", "for", "from", "had", "has", "have", "having", "he", "her", "here", "hers",
    "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "ll", "m", "may",
    "me", "might", "mine", "must", "my", "of", "on", "or", "our", "ours", "please", "re", "s",
    "shall", "she", "should", "so", "some", "than", "that", "the", "their", "theirs", "them",
    "then", "there", "these", "they", "this", "those", "to", "too", "us", "ve", "very", "was",
    "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your", "yours",
];

fn is_common(word: &str) -> bool {
    COMMON.binary_search(&word).is_ok()
}

/// Takes off the endings that English adds to a word for number and time, as
/// the first step of Porter's algorithm does.
pub(super) fn stem(word: &str) -> String {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = singular(word).to_owned();
    if let Some(base) = stem.strip_suffix("eed") {
        if has_vowel(base) {
            stem.pop();
        }
    } else if let Some(base) = stem.strip_suffix("ed").or_else(|| stem.strip_suffix("ing"))
        && base.len() >= 2
        && has_vowel(base)
    {
        stem = repaired(base);
    }
    if stem.len() > 3 && stem.ends_with('e') {
        // "charge" and "charg(ing)" are one word; which spelling is kept does not matter.
        stem.pop();
    }
    if stem.len() > 2 && stem.ends_with('y') && has_vowel(&stem[..stem.len() - 1]) {
        stem.pop();
        stem.push('i');
    }
    stem
}

fn singular(word: &str) -> &str {
    if word.ends_with("sses") || word.ends_with("ies") {
        &word[..word.len() - 2]
    } else if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        word
    } else {
        word.strip_suffix('s').unwrap_or(word)
    }
}

/// "stopp" is "stop", but "call" stays.
fn repaired(base: &str) -> String {
    let bytes = base.as_bytes();
    let doubled = bytes.len() > 2
        && bytes[bytes.len() - 1] == bytes[bytes.len() - 2]
        && !matches!(bytes[bytes.len() - 1], b'l' | b's' | b'z' | b'e' | b'o');
    if doubled {
        base[..base.len() - 1].to_owned()
    } else {
        base.to_owned()
    }
}

fn has_vowel(text: &str) -> bool {
    text.bytes()
        .any(|byte| matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        words(text).into_keys().collect()
    }

    #[test]
    fn the_forms_of_a_word_are_one_word() {
        for forms in [
            ["charge", "charges", "charged", "charging"],
            ["stop", "stops", "stopped", "stopping"],
            ["reply", "replies", "replied", "replying"],
            ["call", "calls", "called", "calling"],
            ["invoice", "invoices", "invoiced", "invoicing"],
        ] {
            let stems: Vec<String> = forms.iter().map(|form| stem(form)).collect();
            assert!(
                stems.iter().all(|stem| *stem == stems[0]),
                "{forms:?} gave {stems:?}"
            );
        }
    }

    #[test]
    fn words_that_only_look_alike_stay_apart() {
        assert_ne!(stem("status"), stem("state"));
        assert_ne!(stem("business"), stem("busy"));
        assert_eq!(stem("need"), "need");
        assert_eq!(stem("red"), "red");
        assert_eq!(stem("bring"), "bring");
    }

    #[test]
    fn case_accents_and_common_words_do_not_count() {
        assert_eq!(list("What is THE Café's plan?"), list("a cafe plan"));
    }

    #[test]
    fn an_identifier_counts_whole_and_in_its_parts() {
        assert_eq!(
            list("order ORD-1234."),
            ["1234", "ord", "ord-1234", "ord1234", "order"]
        );
        assert_eq!(
            list("jo@example.com"),
            ["com", "exampl", "jo", "jo@example.com"]
        );
    }

    #[test]
    fn a_script_without_spaces_counts_by_pairs() {
        assert_eq!(list("東京都"), ["京都", "東京"]);
        assert_eq!(list("猫"), ["猫"]);
    }

    #[test]
    fn the_list_of_common_words_is_in_order() {
        // A word out of order would never be found.
        assert!(COMMON.is_sorted());
        assert!(is_common("yours") && !is_common("plan"));
    }

    #[test]
    fn no_text_makes_it_panic_and_no_word_is_longer_than_its_bound() {
        let long = "é".repeat(5_000) + " " + &"東".repeat(5_000) + " -.- @@ \u{0} \u{301}";
        assert!(
            list(&long)
                .iter()
                .all(|word| !word.is_empty() && word.len() <= WORD_BYTES)
        );
        assert!(list("").is_empty());
    }
}
