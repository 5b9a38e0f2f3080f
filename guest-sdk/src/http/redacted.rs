//! Texts of servers without the credentials that some of them repeat.

/// What stands in place of a credential.
const REDACTED: &str = "[redacted]";

/// How the keys of well-known services begin.
const KEY_BEGINNINGS: [&str; 8] = ["sk-", "sk_", "nvapi-", "hf_", "gsk_", "xai-", "AIza", "eyJ"];

/// Words behind which a credential stands.
const HERALDS: [&str; 6] = [
    "bearer",
    "basic",
    "authorization",
    "key",
    "token",
    "provided",
];

/// Replaces each word that looks like a credential. `strictly`, for answers
/// that are about the credential, also takes every long word with a digit.
///
/// The plugin does not know the credential and so cannot look for it.
pub(super) fn redacted(text: &str, strictly: bool) -> String {
    let mut heralded = false;
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        // `Authorization: x`, `api_key=x` and `"token":"x"` as well.
        let parts = word.split_inclusive(['=', ':', ',', '"', '\'', '(', ')', '`', '<', '>']);
        let mut kept = String::new();
        for part in parts {
            let bare = part.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            if bare.is_empty() {
                kept.push_str(part);
            } else if is_key(bare, heralded, strictly) {
                kept.push_str(&part.replace(bare, REDACTED));
                heralded = false;
            } else {
                kept.push_str(part);
                let lower = bare.to_ascii_lowercase();
                heralded = HERALDS.iter().any(|herald| lower.ends_with(herald));
            }
        }
        words.push(kept);
    }
    words.join(" ")
}

fn is_key(word: &str, heralded: bool, strictly: bool) -> bool {
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    KEY_BEGINNINGS
        .iter()
        .any(|beginning| word.len() > beginning.len() + 3 && word.starts_with(beginning))
        || heralded && (has_digit || word.len() >= 16)
        || strictly && has_digit && word.len() >= 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_a_server_repeats_are_left_out() {
        for text in [
            "Incorrect API key provided: sk-abcdef0123.",
            "bad header Authorization: Bearer secret-0123",
            "bad header \"authorization\":\"Bearer secret-0123\"",
            "invalid api_key=secret0123, go away",
            "your nvapi-0123secret is no good",
            "token 'secret0123' has ended",
            "Basic c2VjcmV0OjAxMjM=",
        ] {
            let shown = redacted(text, false);
            assert!(shown.contains(REDACTED), "{shown}");
            assert!(
                !shown.contains("0123") && !shown.contains("c2Vj"),
                "{shown}"
            );
        }
        let unmarked = "0123456789abcdef0123 is not known here";
        assert_eq!(redacted(unmarked, true), "[redacted] is not known here");
    }

    #[test]
    fn other_words_stay() {
        for text in [
            "The model `meta/llama-3.1-8b-instruct` does not exist",
            "This model's maximum context length is 8192 tokens, not 9000",
            "Invalid authorization",
            "skip this: sk-",
        ] {
            assert_eq!(redacted(text, false), text);
        }
    }
}
