//! Identifiers in a query: order and invoice numbers, error codes, serial
//! numbers, versions, e-mail addresses. Who names one wants the facts that hold
//! it, before any that merely mean something similar.

use super::words::{bounded, folded, joined, without_joints};

/// Digits of a bare number that make it an identifier by themselves. Shorter
/// ones are years, amounts and ages.
const BARE_DIGITS: usize = 5;
/// Digits of a bare number that is announced, as in "order 712" or "#712".
const ANNOUNCED_DIGITS: usize = 2;

/// Words after which a short number is an identifier.
const ANNOUNCING: &[&str] = &[
    "account",
    "article",
    "booking",
    "bug",
    "case",
    "code",
    "contract",
    "customer",
    "error",
    "http",
    "id",
    "invoice",
    "issue",
    "item",
    "model",
    "no",
    "nr",
    "number",
    "order",
    "parcel",
    "part",
    "payment",
    "policy",
    "ref",
    "reference",
    "return",
    "room",
    "serial",
    "sku",
    "status",
    "ticket",
    "tracking",
    "version",
    "voucher",
];

/// What letters behind a number make of it: an ordinal, an amount or a time.
const UNITS: &[&str] = &[
    "am", "c", "cm", "d", "eur", "f", "ft", "g", "gb", "ghz", "h", "hr", "hrs", "in", "k", "kb",
    "kg", "km", "kw", "kwh", "l", "lb", "lbs", "m", "mb", "mbit", "mg", "mhz", "mi", "min", "mins",
    "ml", "mm", "mph", "ms", "nd", "oz", "pm", "px", "rd", "s", "sec", "st", "tb", "th", "usd",
    "v", "w", "x", "y", "yo", "yr", "yrs",
];

/// An identifier by the words that the index may hold it under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identifier {
    /// Without case and accents; one that is joined also without its joints.
    pub(super) forms: Vec<String>,
}

/// The identifiers in a text, each once.
pub(super) fn identifiers(text: &str) -> Vec<Identifier> {
    let folded = folded(text);
    let mut found: Vec<Identifier> = Vec::new();
    let mut before = "";
    for word in joined(&folded) {
        if is_identifier(word, before, is_numbered(&folded, word)) {
            let mut forms = vec![bounded(word).to_owned()];
            let plain = without_joints(word);
            if plain != word && !word.contains('@') {
                forms.push(bounded(&plain).to_owned());
            }
            let identifier = Identifier { forms };
            if !found.contains(&identifier) {
                found.push(identifier);
            }
        }
        before = word;
    }
    found
}

/// Whether `#` stands before the word, which `joined` took off.
fn is_numbered(folded: &str, word: &str) -> bool {
    // Both are parts of one text, so their addresses tell the distance.
    let start = word.as_ptr() as usize - folded.as_ptr() as usize;
    folded[..start].ends_with('#')
}

fn is_identifier(word: &str, before: &str, numbered: bool) -> bool {
    if word.contains('@') {
        let (name, host) = word.split_once('@').unwrap_or_default();
        return !name.is_empty() && host.contains('.');
    }
    let digits = word.chars().filter(char::is_ascii_digit).count();
    if digits == 0 {
        return false;
    }
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        let announced = numbered || ANNOUNCING.binary_search(&before).is_ok();
        return digits >= BARE_DIGITS || announced && digits >= ANNOUNCED_DIGITS;
    }
    let parts: Vec<&str> = word.split(|c: char| !c.is_alphanumeric()).collect();
    if parts
        .iter()
        .all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return is_joined_number(word, &parts, before);
    }
    if let [part] = parts[..] {
        let unit = part.trim_start_matches(|c: char| c.is_ascii_digit());
        return UNITS.binary_search(&unit).is_err();
    }
    // "covid-19" and "24-hour" are words; "ord-1234" and "inv-7-b" are not.
    let letters = |part: &&str| part.chars().all(char::is_alphabetic);
    let longest = parts
        .iter()
        .filter(|part| letters(part))
        .map(|part| part.chars().count());
    !is_measured(&parts) && (digits >= 3 || longest.max().unwrap_or(0) <= 3)
}

/// A range such as "10-15km".
fn is_measured(parts: &[&str]) -> bool {
    parts.iter().all(|part| {
        let unit = part.trim_start_matches(|c: char| c.is_ascii_digit());
        unit.is_empty() || UNITS.binary_search(&unit).is_ok()
    })
}

/// Digits that are joined: a version, a part number, a telephone number; not a
/// date, a time, a fraction, a range or an amount.
fn is_joined_number(word: &str, parts: &[&str], before: &str) -> bool {
    let announced = ANNOUNCING.binary_search(&before).is_ok();
    let date = parts.len() == 3
        && !word.contains('.')
        && parts.iter().filter(|part| part.len() <= 2).count() == 2
        && parts.iter().filter(|part| part.len() == 4).count() == 1;
    let short_date = parts.len() == 3 && word.contains('/');
    let time = word.contains(':') && parts.len() <= 3 && parts.iter().all(|part| part.len() <= 2);
    if date || short_date || time {
        return false;
    }
    match parts.len() {
        0 | 1 => false,
        2 => {
            announced
                || parts.iter().all(|part| part.len() >= 3)
                    && word.contains('-')
                    && !is_years(parts)
        }
        _ => true,
    }
}

/// "2023-2024".
fn is_years(parts: &[&str]) -> bool {
    parts
        .iter()
        .all(|part| part.len() == 4 && (part.starts_with("19") || part.starts_with("20")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_forms(text: &str) -> Vec<String> {
        identifiers(text)
            .into_iter()
            .map(|identifier| identifier.forms[0].clone())
            .collect()
    }

    #[test]
    fn numbers_codes_versions_and_addresses_are_identifiers() {
        for (text, expected) in [
            ("Where is order A-10482?", "a-10482"),
            ("invoice INV-2024-0391 please", "inv-2024-0391"),
            ("what does E4012 mean", "e4012"),
            ("write to Jo.Doe+x@Example.com.", "jo.doe+x@example.com"),
            ("since version 2.13.4", "2.13.4"),
            ("version 2.13 broke it", "2.13"),
            ("the camera has v5.0.9b", "v5.0.9b"),
            ("ticket #882 again", "882"),
            ("my order 1234", "1234"),
            ("account 4471920", "4471920"),
            ("error 0x80092012", "0x80092012"),
            ("device 3C:5A:B4:00:1F:9E", "3c:5a:b4:00:1f:9e"),
            ("part 90-554-17", "90-554-17"),
            ("contract VN-2210/B", "vn-2210/b"),
            ("QX7T2P", "qx7t2p"),
            ("call 555-0147", "555-0147"),
        ] {
            assert_eq!(first_forms(text), [expected], "{text}");
        }
    }

    #[test]
    fn dates_times_amounts_and_ages_are_not() {
        for text in [
            "on 3 March 2024",
            "on 2024-03-05 or 03/05/2024 or 5-3-2024",
            "at 10:30 or 18:20:05",
            "the 3rd, 21st and 30th",
            "it costs 19.99 or 1,200 euros",
            "in 1998 he was 34",
            "a 24-hour shift and covid-19",
            "10km in 45min, 5pm, 90s",
            "2023-2024, 10-15km",
            "no plan and no number",
            "@home",
        ] {
            assert!(
                identifiers(text).is_empty(),
                "{text}: {:?}",
                identifiers(text)
            );
        }
    }

    #[test]
    fn one_that_is_joined_is_sought_without_its_joints_too() {
        assert_eq!(
            identifiers("ORD-1234, ord-1234")[0].forms,
            ["ord-1234", "ord1234"]
        );
        assert_eq!(identifiers("ORD-1234, ord-1234").len(), 1);
    }

    #[test]
    fn the_lists_are_in_order() {
        // A word out of order would never be found.
        assert!(ANNOUNCING.is_sorted() && UNITS.is_sorted());
    }
}
