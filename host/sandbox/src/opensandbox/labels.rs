//! Labels as the server allows them.

use std::collections::BTreeMap;

/// Marks the sandboxes of this program, so that they can be listed.
pub(super) const OURS: (&str, &str) = ("managed-by", "keepsake");
/// The label that tells one sandbox from all others before it has an id.
pub(super) const UNIQUE: &str = "keepsake";

/// The most bytes that a label's name or value may have.
const LONGEST: usize = 63;
/// How much of a hash stands for what had to be replaced.
const HASH: usize = 16;

/// All labels of one sandbox: the operator's, the request's, and the two by
/// which it is found again.
pub(super) fn labels(
    operators: &BTreeMap<String, String>,
    requests: &BTreeMap<String, String>,
    unique: &str,
) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, value) in operators.iter().chain(requests) {
        if !name.is_empty() && !value.is_empty() {
            all.insert(fit(name), fit(value));
        }
    }
    all.insert(OURS.0.into(), OURS.1.into());
    all.insert(UNIQUE.into(), unique.into());
    all
}

/// A text as a label: itself where it is allowed, and else what is allowed of
/// it with a hash of the whole, so that different texts stay different.
fn fit(text: &str) -> String {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let ends = |text: &str| {
        text.bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric())
            && text
                .bytes()
                .last()
                .is_some_and(|byte| byte.is_ascii_alphanumeric())
    };
    if text.len() <= LONGEST && text.bytes().all(allowed) && ends(text) {
        return text.into();
    }
    let kept: String = text
        .chars()
        .map(|character| {
            if u8::try_from(character).is_ok_and(allowed) {
                character
            } else {
                '-'
            }
        })
        .take(LONGEST - HASH - 1)
        .collect();
    let kept = kept.trim_matches(|character: char| !character.is_ascii_alphanumeric());
    let hash = blake3::hash(text.as_bytes()).to_hex();
    if kept.is_empty() {
        hash[..HASH].into()
    } else {
        format!("{kept}-{}", &hash[..HASH])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_the_servers_rules_and_stay_different() {
        for text in ["a", "session-1", "A.b_c"] {
            assert_eq!(fit(text), text);
        }
        let long = "x".repeat(100);
        let odd = [
            "Ärger",
            "a b",
            "a/b",
            "-",
            "",
            "a\n",
            "opensandbox.io/id",
            &long,
        ];
        let fitted: Vec<String> = odd.iter().map(|text| fit(text)).collect();
        for (text, label) in odd.iter().zip(&fitted) {
            assert!((1..=LONGEST).contains(&label.len()), "{text}: {label}");
            assert_eq!(fit(label), *label, "{text}");
        }
        let different: std::collections::BTreeSet<_> = fitted.iter().collect();
        assert_eq!(different.len(), odd.len());
    }
}
