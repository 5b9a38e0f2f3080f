//! The forms that English gives a word.

/// The word without the ending of plural or of the third person.
pub(crate) fn singular(word: &str) -> String {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    if word == "goes" {
        return "go".to_owned();
    }
    if let Some(base) = word.strip_suffix("ies") {
        return format!("{base}y");
    }
    for ending in ["sses", "xes", "ches", "shes", "zes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return word.to_owned();
    }
    word.strip_suffix('s').unwrap_or(word).to_owned()
}

/// The word without the endings of number and of time. It need not be a word.
pub(crate) fn stem(word: &str) -> String {
    let word = singular(word);
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    let base = match word.strip_suffix("ing").or_else(|| word.strip_suffix("ed")) {
        Some(base) if base.len() >= 3 && has_vowel(base) => undoubled(base),
        _ => word.as_str(),
    };
    let base = match base.strip_suffix('e') {
        Some(shorter) if shorter.len() >= 3 => shorter,
        _ => base,
    };
    match base.strip_suffix('i') {
        // "replied" and "reply"
        Some(shorter) if shorter.len() >= 2 => format!("{shorter}y"),
        _ => base.to_owned(),
    }
}

/// "stopp" is "stop", but "call" stays.
fn undoubled(base: &str) -> &str {
    let bytes = base.as_bytes();
    let last = bytes[bytes.len() - 1];
    let doubled = bytes.len() > 3
        && last == bytes[bytes.len() - 2]
        && !matches!(last, b'l' | b's' | b'z' | b'e' | b'o');
    if doubled {
        &base[..base.len() - 1]
    } else {
        base
    }
}

fn has_vowel(text: &str) -> bool {
    text.bytes()
        .any(|byte| matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y'))
}

/// Whether one word is the other with one letter more, less, changed, or two
/// exchanged: a slip of the pen, or another country's spelling.
pub(crate) fn is_slip(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (short, long) = if one.len() <= other.len() {
        (one, other)
    } else {
        (other, one)
    };
    if short.len() < SHORTEST_SLIP || long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(&long).take_while(|(a, b)| a == b).count();
    let (short, long) = (&short[same..], &long[same..]);
    match (short, long) {
        _ if short.len() < long.len() => short == &long[1..],
        ([], []) => false,
        ([_, rest @ ..], [_, other @ ..]) if rest == other => true,
        ([a, b, rest @ ..], [c, d, other @ ..]) => (a, b) == (d, c) && rest == other,
        _ => false,
    }
}

/// In shorter words, one letter makes another word.
const SHORTEST_SLIP: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_have_one_stem() {
        for forms in [
            ["charge", "charges", "charged", "charging"],
            ["stop", "stops", "stopped", "stopping"],
            ["reply", "replies", "replied", "replying"],
            ["call", "calls", "called", "calling"],
            ["invoice", "invoices", "invoiced", "invoicing"],
            ["prefer", "prefers", "preferred", "preferring"],
            ["box", "boxes", "boxed", "boxing"],
        ] {
            let stems: Vec<String> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
        }
        for (one, other) in [("status", "state"), ("new", "newly"), ("business", "busy")] {
            assert_ne!(stem(one), stem(other));
        }
    }

    #[test]
    fn a_slip_is_one_letter_of_a_long_word() {
        for (one, other) in [
            ("transferred", "transfered"),
            ("colours", "colors"),
            ("emails", "emials"),
            ("receive", "recieve"),
        ] {
            assert!(is_slip(one, other) && is_slip(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("coffee", "coffee"),
            ("tea", "ten"),
            ("increase", "decrease"),
            ("enabled", "disabled"),
            ("login", "logon"),
        ] {
            assert!(!is_slip(one, other), "{one} {other}");
        }
    }
}
