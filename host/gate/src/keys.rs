//! Keys and tokens that can be told by their form: those of well-known
//! services, JSON web tokens, private keys, credentials in headers and addresses.

use crate::masking::Find;

/// How keys begin, and how many characters follow at the least.
const BEGINNINGS: [(&str, usize); 41] = [
    ("sk-", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("rk_test_", 10),
    ("whsec_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AIza", 30),
    ("ya29.", 20),
    ("GOCSPX-", 20),
    ("hf_", 20),
    ("gsk_", 20),
    ("nvapi-", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("SG.", 30),
    ("key-", 32),
    ("dop_v1_", 30),
    ("doo_v1_", 30),
    ("shpat_", 20),
    ("shpca_", 20),
    ("shpss_", 20),
    ("sq0atp-", 20),
    ("sq0csp-", 20),
    ("dckr_pat_", 20),
    ("lin_api_", 20),
    ("AGE-SECRET-KEY-", 20),
];
/// An AWS access key is one of these and sixteen more.
const AWS: [&str; 4] = ["AKIA", "ASIA", "ABIA", "ACCA"];
const AWS_LENGTH: usize = 20;
/// A shorter word after `Bearer` is a word.
const SHORTEST_BEARER: usize = 8;
const LONGEST_WORD: usize = 24;

pub(crate) fn find(text: &str) -> Vec<Find> {
    let mut found = private_keys(text);
    for (place, word) in words(text) {
        let end = place + word.len();
        if let Some(start) = key_start(word) {
            found.push(Find::new(place + start..end, "[masked key]"));
        } else if let Some(start) = web_token_start(word) {
            found.push(Find::new(place + start..end, "[masked token]"));
        }
    }
    found.extend(bearers(text));
    found.extend(address_passwords(text));
    found
}

/// Runs of the characters that keys are made of.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_key_letter = |c: char| c.is_ascii_alphanumeric() || "-_.+/=~".contains(c);
    text.split(move |c: char| !is_key_letter(c))
        .filter(|word| !word.is_empty())
        .map(|word| {
            let place = word.as_ptr() as usize - text.as_ptr() as usize;
            (place, word.trim_end_matches(['.', '-', '/', '~']))
        })
}

/// Where a key begins in a word, which may bring a name: `token=ghp_...`.
fn key_start(word: &str) -> Option<usize> {
    let starts = std::iter::once(0).chain(
        word.char_indices()
            .filter(|(_, c)| matches!(c, '=' | '/' | '.' | '+'))
            .map(|(place, c)| place + c.len_utf8()),
    );
    starts.into_iter().find(|start| is_key(&word[*start..]))
}

fn is_key(word: &str) -> bool {
    if AWS.iter().any(|start| word.starts_with(start)) {
        return word.len() == AWS_LENGTH
            && word
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    }
    BEGINNINGS.iter().any(|(beginning, least)| {
        word.strip_prefix(beginning)
            // Words joined by dashes have no digits.
            .is_some_and(|rest| rest.len() >= *least && rest.bytes().any(|b| b.is_ascii_digit()))
    })
}

/// Three parts in base 64 with dots between, the first an object: `eyJ` is `{"`.
fn web_token_start(word: &str) -> Option<usize> {
    let start = word.find("eyJ")?;
    let token = &word[start..];
    let parts: Vec<&str> = token.split('.').collect();
    let whole = parts.len() >= 3 && parts[0].len() >= 10 && parts[1].len() >= 4;
    let bounded = start == 0 || !word.as_bytes()[start - 1].is_ascii_alphanumeric();
    (whole && bounded).then_some(start)
}

fn private_keys(text: &str) -> Vec<Find> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find("-----BEGIN ").map(|place| from + place) {
        let after = start + "-----BEGIN ".len();
        let Some(label) = text[after..].find("-----").map(|end| after + end) else {
            break;
        };
        if !text[after..label].contains("PRIVATE KEY") {
            from = label;
            continue;
        }
        // A block that was cut off is masked to its end.
        let body = label + "-----".len();
        let end = text[body..]
            .find("-----END ")
            .map(|place| body + place + "-----END ".len())
            .and_then(|place| Some(place + text[place..].find("-----")? + "-----".len()))
            .unwrap_or(text.len());
        found.push(Find::new(start..end, "[masked private key]"));
        from = end;
    }
    found
}

/// `Bearer` and a token, and any credentials in an `Authorization` header.
fn bearers(text: &str) -> Vec<Find> {
    // ASCII only, so that places stay the same.
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    for (place, scheme) in lower
        .match_indices("bearer")
        .chain(lower.match_indices("basic"))
    {
        let after = &text[place + scheme.len()..];
        let token = after.trim_start_matches([' ', ':', '"', '\'']);
        if token.len() == after.len() {
            continue;
        }
        let length = token
            .find(|c: char| !(c.is_ascii_alphanumeric() || "-._~+/=".contains(c)))
            .unwrap_or(token.len());
        let token = token[..length].trim_end_matches('.');
        let in_header = lower[..place].trim_end().ends_with("authorization:");
        let telling = token.bytes().any(|b| b.is_ascii_digit()) || token.len() > LONGEST_WORD;
        if token.len() >= SHORTEST_BEARER && (in_header || scheme == "bearer" && telling) {
            let start = token.as_ptr() as usize - text.as_ptr() as usize;
            found.push(Find::new(start..start + token.len(), "[masked token]"));
        }
    }
    found
}

/// `https://user:password@host`.
fn address_passwords(text: &str) -> Vec<Find> {
    let mut found = Vec::new();
    for (place, mark) in text.match_indices("://") {
        let start = place + mark.len();
        let rest = &text[start..];
        let end = rest
            .find(|c: char| c == '/' || c.is_whitespace())
            .unwrap_or(rest.len());
        let Some(at) = rest[..end].rfind('@') else {
            continue;
        };
        if let Some(colon) = rest[..at].find(':')
            && colon + 1 < at
        {
            found.push(Find::new(
                start + colon + 1..start + at,
                "[masked password]",
            ));
        }
    }
    found
}
