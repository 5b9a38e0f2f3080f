//! What must not be kept, where it can be told from its shape. The prompt asks
//! the model to leave such things out; this is for when it does not.

use keepsake_sdk::{Error, Result};
use serde_json::Value;

/// What secrets are called. A dash or underscore counts as a blank.
const NAMES: [&str; 15] = [
    "password",
    "passwort",
    "passcode",
    "passphrase",
    "pin",
    "pin code",
    "pin number",
    "cvv",
    "cvc",
    "security code",
    "secret key",
    "api key",
    "access token",
    "client secret",
    "private key",
];
/// What is said of a secret without giving it: "the password is wrong".
const NO_VALUES: [&str; 19] = [
    "not",
    "no",
    "never",
    "expired",
    "wrong",
    "incorrect",
    "invalid",
    "forgotten",
    "lost",
    "locked",
    "missing",
    "unknown",
    "required",
    "reset",
    "being",
    "too",
    "working",
    "accepted",
    "rejected",
];
/// How the keys of well-known services begin.
const KEY_BEGINNINGS: [&str; 15] = [
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
    "hf_",
];
/// Shorter words that begin so are words.
const SHORTEST_KEY: usize = 16;
/// Groups of digits in a card number have at least so many.
const SHORTEST_GROUP: usize = 3;
/// Digits in the longest card number.
const LONGEST_CARD: usize = 19;
/// Digits in the longest phone number with its country (E.164).
const LONGEST_PHONE: usize = 15;

/// Refuses what must not be kept.
pub(crate) fn refuse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<()> {
    match texts.into_iter().find_map(kind) {
        Some(kind) => Err(Error::invalid(format!(
            "this holds what looks like {kind}, which is not kept: leave it out"
        ))),
        None => Ok(()),
    }
}

/// Refuses a value with what must not be kept anywhere in it.
pub(crate) fn refuse_in(name: &str, value: &Value) -> Result<()> {
    match value {
        Value::Object(members) => members
            .iter()
            .try_for_each(|(name, value)| refuse_in(name, value)),
        Value::Array(items) => items.iter().try_for_each(|item| refuse_in(name, item)),
        Value::Null | Value::Bool(_) => Ok(()),
        // With its name, which may be what tells.
        Value::String(text) => refuse([text.as_str(), &format!("{name}: {text}")]),
        Value::Number(number) => refuse([format!("{name}: {number}").as_str()]),
    }
}

fn kind(text: &str) -> Option<&'static str> {
    if has_card_number(text) {
        Some("a card number")
    } else if has_key(text) {
        Some("a key")
    } else if has_named_secret(text) {
        Some("a password")
    } else {
        None
    }
}

fn has_key(text: &str) -> bool {
    let is_key_letter = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let mut words = text.split(|c: char| !is_key_letter(c));
    text.contains("PRIVATE KEY-----")
        || words.any(|word| {
            word.len() >= SHORTEST_KEY
                && KEY_BEGINNINGS
                    .iter()
                    .any(|beginning| word.starts_with(beginning))
        })
}

/// "The password is hunter2", "pin: 1234", "CVV 123".
fn has_named_secret(text: &str) -> bool {
    let mut words = Vec::new();
    for word in text.to_lowercase().split_whitespace() {
        // A name and its value may stand together: "password:hunter2".
        for part in word.split_inclusive([':', '=']) {
            words.extend(
                part.split(['-', '_'])
                    .filter(|word| !word.is_empty())
                    .map(str::to_owned),
            );
        }
    }
    let plain: Vec<&str> = words
        .iter()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .collect();
    NAMES.iter().any(|name| {
        let name: Vec<&str> = name.split(' ').collect();
        (0..plain.len()).any(|start| {
            let end = start + name.len();
            plain.get(start..end) == Some(&name[..])
                && gives_value(&words[end - 1..], &plain[end..])
        })
    })
}

/// Whether a value follows. `words` begins with the last word of the name,
/// `rest` with the word behind it.
fn gives_value(words: &[String], rest: &[&str]) -> bool {
    let linked = words[0].trim_end_matches(['"', '\'']).ends_with([':', '=']);
    let value = match rest {
        [":" | "=" | "", value, ..] | ["is" | "was", value, ..] => value,
        [value, ..] if linked => value,
        [value, ..] => {
            return value.len() >= SHORTEST_GROUP && value.bytes().all(|b| b.is_ascii_digit());
        }
        [] => return false,
    };
    !value.is_empty() && !NO_VALUES.contains(value)
}

/// Looks at each row of digit groups that could be a card's number.
fn has_card_number(text: &str) -> bool {
    let mut row = Row::default();
    let mut before = ' ';
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_digit() {
            if !before.is_ascii_digit() {
                row.groups.push(String::new());
            }
            if let Some(group) = row.groups.last_mut() {
                group.push(c);
            }
        } else if !matches!(c, ' ' | '-' | '.' | '\u{a0}' | '\u{2011}' | '\u{2013}') {
            if row.has_card() {
                return true;
            }
            row = Row {
                groups: Vec::new(),
                is_phone: c == '+',
            };
        }
        before = c;
    }
    false
}

/// Groups of digits with nothing but blanks and dashes between them.
#[derive(Default)]
struct Row {
    groups: Vec<String>,
    /// A plus stands before it.
    is_phone: bool,
}

impl Row {
    fn has_card(&self) -> bool {
        (self.begin()..self.groups.len()).any(|start| {
            let mut digits = String::new();
            for group in &self.groups[start..] {
                digits.push_str(group);
                if group.len() < SHORTEST_GROUP || digits.len() > LONGEST_CARD {
                    break;
                }
                if is_card(&digits) {
                    return true;
                }
            }
            false
        })
    }

    /// The first group that is no part of a phone number.
    fn begin(&self) -> usize {
        if !self.is_phone {
            return 0;
        }
        let mut digits = 0;
        let of_phone = self.groups.iter().take_while(|group| {
            digits += group.len();
            digits <= LONGEST_PHONE
        });
        of_phone.count()
    }
}

/// By what the brands' numbers begin with and how long they are, and by the
/// check digit (ISO/IEC 7812-1, annex B).
fn is_card(digits: &str) -> bool {
    let begins = |beginnings: &[&str]| beginnings.iter().any(|start| digits.starts_with(start));
    let branded = match digits.len() {
        13 => begins(&["4"]),
        14 => begins(&["30", "36", "38", "39"]),
        15 => begins(&["34", "37"]),
        16 => begins(&["4", "5", "6", "22", "23", "24", "25", "26", "27", "35"]),
        19 => begins(&["4", "6"]),
        _ => false,
    };
    branded && check_digit_holds(digits.as_bytes())
}

fn check_digit_holds(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let digit = u32::from(digit - b'0');
            match (place % 2, digit) {
                (0, digit) => digit,
                (_, digit @ 0..=4) => digit * 2,
                (_, digit) => digit * 2 - 9,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_must_not_be_kept_is_told_by_its_shape() {
        for (text, wanted) in [
            ("Jordan's card is 4111 1111 1111 1111.", "a card number"),
            ("4111-1111-1111-1111 12/27", "a card number"),
            ("4111 1111 1111 1111 12 27 123", "a card number"),
            ("on 03 12 it was 4111111111111111", "a card number"),
            ("4111\u{a0}1111\u{a0}1111\u{a0}1111", "a card number"),
            ("+49 151 12345678 4111 1111 1111 1111", "a card number"),
            ("Amex 3782 822463 10005", "a card number"),
            ("Jordan's password is hunter2.", "a password"),
            ("Password: \"hunter2\"", "a password"),
            ("password:hunter2", "a password"),
            ("the PIN was 1234", "a password"),
            ("CVV 123", "a password"),
            ("api_key = abc", "a password"),
            ("the security code is 737", "a password"),
            ("uses ghp_0123456789abcdefABCDEF", "a key"),
            ("-----BEGIN RSA PRIVATE KEY-----", "a key"),
        ] {
            assert_eq!(kind(text), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_only_resembles_it_is_kept() {
        for text in [
            "",
            "Jordan's order number is 4111 1111 1111 1112.",
            "Jordan called on the 3rd, case A-1042.",
            "Jordan's phone number is +3782 822463 10005.",
            "The IMEI is 356938035643809.",
            "Jordan's password is not accepted.",
            "Jordan forgot the password.",
            "The shopping is late, and the spin is fast.",
            "Jordan lost a pin 4 of the plug",
            "It came on 2026-12-02 at 10.30, 1 of 3.",
            "task-force sk-8 eyJ",
            "the password:",
        ] {
            assert_eq!(kind(text), None, "{text}");
        }
    }

    #[test]
    fn a_value_is_read_together_with_its_name() {
        for value in [
            json!({ "password": "hunter2" }),
            json!({ "account": { "api-key": "abc" } }),
            json!({ "cards": [4_111_111_111_111_111_u64] }),
            json!({ "note": "my pin is 1234" }),
            json!({ "pin": 1234 }),
        ] {
            let refused = refuse_in("value", &value).unwrap_err().to_string();
            assert!(refused.contains("not kept"), "{refused}");
        }
        let harmless = json!({ "name": "Jordan", "seats": 3, "tags": ["a", null], "pinned": true });
        refuse_in("value", &harmless).unwrap();
    }
}
