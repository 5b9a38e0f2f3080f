//! The values that statements give: plans, dates, places, names, addresses.

use super::cursor::Cursor;
use crate::{
    text::{BLOT, Word},
    words::{NO_NAMES, NO_PLAN_NAMES, PLAN_WORDS, TIERS},
};

/// Words in a preference or in what was cancelled.
const MAX_FREE_WORDS: usize = 20;

const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
];

/// A plan's name, with or without `plan` behind it.
pub(super) fn plan(cursor: &mut Cursor<'_>) -> Option<String> {
    cursor.eat(&["the", "your", "a", "an", "our"]);
    let start = cursor.at;
    let is_tier = |word: &Word<'_>| TIERS.contains(&word.lower.as_str());
    // As many as three words before `plan`.
    for length in 1..=3 {
        let name = cursor.words[..cursor.end].get(start..start + length)?;
        let fits = name.iter().all(|word| {
            (is_tier(word) || word.text.starts_with(char::is_uppercase))
                && !NO_PLAN_NAMES.contains(&word.lower.as_str())
        });
        if !fits {
            break;
        }
        cursor.at = start + length;
        if cursor.eat(PLAN_WORDS) {
            return Some(join(name));
        }
        if length == 1 && is_tier(&name[0]) && cursor.is_at_end() {
            return Some(join(name));
        }
    }
    cursor.at = start;
    let tier = cursor.next().filter(|word| is_tier(word))?;
    // "the Pro machine" is no plan.
    let ends = cursor.is(&[
        "on",
        "in",
        "since",
        "as",
        "yesterday",
        "today",
        "last",
        "this",
        "for",
        "from",
        "to",
        "now",
        "again",
        "by",
    ]);
    (cursor.is_at_end() || ends).then(|| tier.text.to_owned())
}

/// A date that will still mean the same later: "on the 3rd", "in March 2026".
/// "Yesterday" would not, so it is left out.
pub(super) fn when(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    if !cursor.eat(&["on", "in", "since"]) {
        return None;
    }
    cursor.eat(&["the"]);
    let mut dated = false;
    while let Some(word) = cursor.peek() {
        let month = MONTHS.contains(&word.lower.as_str());
        let number = word.text.starts_with(|c: char| c.is_ascii_digit());
        if !(month || number || dated && word.lower == "of") {
            break;
        }
        dated = true;
        cursor.at += 1;
    }
    if !dated {
        cursor.at = start;
        return None;
    }
    // "March 3rd, 2026": the year stands behind a comma.
    let is_year =
        |word: &Word<'_>| word.text.len() == 4 && word.text.bytes().all(|b| b.is_ascii_digit());
    if cursor.is_at_end() && cursor.words.get(cursor.at).is_some_and(is_year) {
        cursor.at += 1;
        cursor.end = cursor.at;
    }
    Some(join(&cursor.words[start..cursor.at]))
}

/// Whether nothing but a time or a courtesy follows, so that what was read
/// is the whole of it.
pub(super) fn is_settled(cursor: &mut Cursor<'_>) -> bool {
    let _ = when(cursor);
    cursor.is_at_end()
        || cursor.is(&[
            "now",
            "currently",
            "today",
            "yesterday",
            "last",
            "this",
            "again",
            "already",
            "since",
            "a",
            "two",
            "three",
            "to",
            "thanks",
            "please",
            "i",
            "i'm",
            "my",
        ])
}

/// A place: words with a capital.
pub(super) fn place(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    cursor.eat(&["the"]);
    let named = cursor.at;
    while cursor.at < named + 4
        && cursor.peek().is_some_and(|word| {
            word.text.starts_with(char::is_uppercase)
                && word
                    .text
                    .chars()
                    .all(|c| c.is_alphabetic() || ".'-’".contains(c))
                && !matches!(
                    word.lower.as_str(),
                    "i" | "i'm"
                        | "my"
                        | "monday"
                        | "tuesday"
                        | "wednesday"
                        | "thursday"
                        | "friday"
                        | "saturday"
                        | "sunday"
                )
        })
    {
        cursor.at += 1;
    }
    let words = &cursor.words[start..cursor.at];
    let one = words.len() == 1 && TIERS.contains(&words[0].lower.as_str());
    (cursor.at > named && !one).then(|| join(words))
}

/// A person's name: one to three words with a capital.
pub(super) fn name(cursor: &mut Cursor<'_>) -> Option<String> {
    let start = cursor.at;
    while cursor.at < start + 3 && cursor.peek().is_some_and(is_name) {
        cursor.at += 1;
    }
    (cursor.at > start).then(|| join(&cursor.words[start..cursor.at]))
}

pub(super) fn is_name(word: &Word<'_>) -> bool {
    let letters = word
        .text
        .chars()
        .filter(|character| character.is_alphabetic())
        .count();
    let shouted = letters > 2 && !word.text.chars().any(char::is_lowercase);
    word.text.starts_with(char::is_uppercase)
        && word
            .text
            .chars()
            .all(|c| c.is_alphabetic() || ".'-’".contains(c))
        && !word.lower.ends_with("'s")
        && !word.lower.starts_with("i'")
        && !shouted
        && !NO_NAMES.contains(&word.lower.as_str())
}

pub(super) fn is_lower_case_name(word: &Word<'_>) -> bool {
    word.text.chars().all(|c| c.is_lowercase() || c == '-')
        && !word.lower.ends_with("ed")
        && !word.lower.ends_with("ing")
        && !NO_NAMES.contains(&word.lower.as_str())
}

pub(super) fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty()
            && domain.contains('.')
            && !domain.starts_with('.')
            && !domain.contains('@')
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || "@._+-%'".contains(c))
    })
}

pub(super) fn is_digits(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || "+-()/. ".contains(c))
}

/// The customer's words as said about them. None where that takes more than
/// exchanging a word: nothing is guessed.
pub(super) fn third_person(words: &[Word<'_>]) -> Option<String> {
    if words.is_empty() || words.len() > MAX_FREE_WORDS {
        return None;
    }
    let mut said = String::new();
    for (number, word) in words.iter().enumerate() {
        let text = match word.lower.as_str() {
            "i" | "i'm" | "i'd" | "i've" | "i'll" | "im" | "we" | "you" | "your" | "am" => {
                return None;
            }
            "my" => "their",
            "mine" => "theirs",
            "me" => "them",
            "myself" => "themselves",
            _ if word.text.contains(BLOT) => return None,
            _ => word.text,
        };
        if number > 0 {
            said.push(' ');
        }
        said.push_str(text);
        if word.pause && number + 1 < words.len() {
            said.push(',');
        }
    }
    Some(said)
}

pub(super) fn join(words: &[Word<'_>]) -> String {
    words
        .iter()
        .map(|word| word.text)
        .collect::<Vec<_>>()
        .join(" ")
}
