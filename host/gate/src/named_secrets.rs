//! Secrets that have no form of their own, but a name before them: "the
//! password is hunter2", `api_key=...`, "PIN 1234".

use crate::masking::Find;

/// What a name lets its value look like.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    /// Anything, a word too.
    Any,
    /// Letters with digits or signs: its name also means other things.
    Telling,
    /// From three to eight digits.
    Digits,
}

/// What secrets are called. A dash or underscore counts as a blank.
const NAMES: [(&str, Value); 34] = [
    ("password", Value::Any),
    ("passwords", Value::Any),
    ("passwd", Value::Any),
    ("passwort", Value::Any),
    ("kennwort", Value::Any),
    ("pwd", Value::Any),
    ("passcode", Value::Any),
    ("passphrase", Value::Any),
    ("pass phrase", Value::Any),
    ("mot de passe", Value::Any),
    ("contraseña", Value::Any),
    ("secret key", Value::Telling),
    ("secret access key", Value::Telling),
    ("secret", Value::Telling),
    ("client secret", Value::Telling),
    ("api key", Value::Telling),
    ("apikey", Value::Telling),
    ("api token", Value::Telling),
    ("api secret", Value::Telling),
    ("access key", Value::Telling),
    ("access token", Value::Telling),
    ("auth token", Value::Telling),
    ("refresh token", Value::Telling),
    ("session token", Value::Telling),
    ("recovery code", Value::Telling),
    ("token", Value::Telling),
    ("pin", Value::Digits),
    ("pin code", Value::Digits),
    ("pin number", Value::Digits),
    ("cvv", Value::Digits),
    ("cvc", Value::Digits),
    ("security code", Value::Digits),
    ("one time code", Value::Digits),
    ("otp", Value::Digits),
];
/// What is said of a secret without giving it: "the password is wrong".
const NO_VALUES: [&str; 46] = [
    "a",
    "accepted",
    "an",
    "being",
    "blank",
    "changed",
    "correct",
    "empty",
    "expired",
    "forgotten",
    "hidden",
    "incorrect",
    "invalid",
    "known",
    "locked",
    "lost",
    "masked",
    "missing",
    "never",
    "no",
    "none",
    "not",
    "null",
    "old",
    "optional",
    "rejected",
    "required",
    "reset",
    "rotated",
    "safe",
    "same",
    "secure",
    "set",
    "short",
    "still",
    "stored",
    "strong",
    "the",
    "too",
    "unchanged",
    "undefined",
    "unknown",
    "unset",
    "valid",
    "weak",
    "wrong",
];
/// The shortest value that a name with another meaning has.
const SHORTEST_TELLING: usize = 6;

pub(crate) fn find(text: &str) -> Vec<Find> {
    let words = words(text);
    let mut found = Vec::new();
    for start in 0..words.len() {
        // The longest name counts: "secret key" before "secret".
        let named = (1..=3)
            .rev()
            .filter_map(|count| {
                let name = words.get(start..start + count)?;
                let name: Vec<&str> = name.iter().map(|word| word.lower.as_str()).collect();
                let name = name.join(" ");
                let (_, value) = NAMES.iter().find(|(known, _)| *known == name)?;
                Some((start + count - 1, *value))
            })
            .next();
        if let Some((last, value)) = named
            && let Some(place) = value_after(text, words[last].end, value)
        {
            found.push(Find::new(place, "[masked password]"));
        }
    }
    found
}

/// Whether a member of this name holds a secret, whatever it is.
pub(crate) fn names_secret(name: &str) -> bool {
    let words: Vec<String> = words(name).into_iter().map(|word| word.lower).collect();
    let name = words.join(" ");
    NAMES
        .iter()
        .any(|(known, value)| *value != Value::Digits && *known == name)
        || matches!(name.as_str(), "pin" | "pin code" | "cvv" | "cvc" | "otp")
}

struct Word {
    lower: String,
    end: usize,
}

fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = None;
    for (place, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(place),
            (false, Some(begin)) => {
                words.push(Word {
                    lower: text[begin..place].to_lowercase(),
                    end: place,
                });
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// Where the value lies that the text gives behind a name.
fn value_after(text: &str, from: usize, kind: Value) -> Option<std::ops::Range<usize>> {
    let rest = &text[from..];
    let link =
        rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'));
    let (linked, value) = if let Some(value) = link.strip_prefix([':', '=']) {
        (Link::Sign, value.trim_start_matches(['=', '>', ' ', '\t']))
    } else if let Some(value) = after_words(link) {
        (Link::Words, value)
    } else if kind == Value::Digits {
        (Link::None, link)
    } else {
        return None;
    };
    let value = value.trim_start();
    let quote = value
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`' | '“' | '«'));
    let value = match quote {
        Some(quote) => &value[quote.len_utf8()..],
        None => value,
    };
    let length = value
        .find(|c: char| match quote {
            Some('“') => c == '”',
            Some('«') => c == '»',
            Some(quote) => c == quote || c == '\n',
            None => c.is_whitespace(),
        })
        .unwrap_or(value.len());
    let behind = value[length..].trim_start_matches(' ');
    let value = match quote {
        Some(_) => &value[..length],
        None => value[..length]
            .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'', '}', ']']),
    };
    let ends_clause =
        behind.is_empty() || behind.starts_with(['\n', ',', ';']) || value.len() < length;
    let start = value.as_ptr() as usize - text.as_ptr() as usize;
    is_secret(value, kind, linked, quote.is_some(), ends_clause)
        .then_some(start..start + value.len())
}

#[derive(Clone, Copy, PartialEq)]
enum Link {
    Sign,
    Words,
    None,
}

/// What follows "is", "was changed to" and the like.
fn after_words(link: &str) -> Option<&str> {
    const LINKS: [&str; 10] = [
        "is now ",
        "is set to ",
        "is ",
        "was changed to ",
        "was set to ",
        "was ",
        "changed to ",
        "set to ",
        "ist ",
        "es ",
    ];
    let lower = link.to_ascii_lowercase();
    let found = LINKS.iter().find(|words| lower.starts_with(*words))?;
    // "is: hunter2"
    Some(link[found.len()..].trim_start_matches([':', ' ']))
}

fn is_secret(value: &str, kind: Value, link: Link, quoted: bool, ends_clause: bool) -> bool {
    let lower = value.to_lowercase();
    if value.is_empty()
        || value.starts_with("[masked")
        || NO_VALUES.binary_search(&lower.as_str()).is_ok()
    {
        return false;
    }
    let telling = value
        .chars()
        .any(|c| !c.is_alphabetic() && c != '\'' && c != '-')
        || value.chars().skip(1).any(char::is_uppercase);
    match kind {
        Value::Digits => {
            (3..=8).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_digit())
        }
        Value::Telling => (telling || quoted) && value.chars().count() >= SHORTEST_TELLING,
        // A word that ends what is said is the value; one that goes on says
        // something about the password.
        Value::Any => link == Link::Sign || quoted || telling || ends_clause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_what_is_no_value_is_in_order() {
        assert!(NO_VALUES.is_sorted());
    }
}
