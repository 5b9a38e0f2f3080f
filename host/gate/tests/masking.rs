//! What is masked, and what only resembles it.

use keepsake_gate::{mask, mask_members};
use serde_json::json;

#[track_caller]
fn assert_masked(pairs: &[(&str, &str)]) {
    for (text, expected) in pairs {
        let masked = mask(text);
        assert_eq!(masked.text, *expected, "{text}");
        assert!(masked.places > 0);
        let again = mask(expected);
        assert_eq!((again.text.as_ref(), again.places), (*expected, 0));
    }
}

#[track_caller]
fn assert_kept(texts: &[&str]) {
    for text in texts {
        let masked = mask(text);
        assert_eq!((masked.text.as_ref(), masked.places), (*text, 0), "{text}");
    }
}

#[test]
fn of_a_card_number_the_last_four_digits_stay() {
    assert_masked(&[
        (
            "Jordan's card is 4111 1111 1111 1111.",
            "Jordan's card is [masked card ending 1111].",
        ),
        (
            "4111-1111-1111-1111 12/27",
            "[masked card ending 1111] 12/27",
        ),
        (
            "4111\u{a0}1111\u{2011}1111 1111",
            "[masked card ending 1111]",
        ),
        (
            "it was 4111111111111111",
            "it was [masked card ending 1111]",
        ),
        (
            "paid with 5500005555555559, not cash",
            "paid with [masked card ending 5559], not cash",
        ),
        ("Amex 3782 822463 10005", "Amex [masked card ending 0005]"),
        ("Amex 378282246310005", "Amex [masked card ending 0005]"),
        (
            "old Visa 4222222222222",
            "old Visa [masked card ending 2222]",
        ),
        ("6304000000000000018?", "[masked card ending 0018]?"),
        ("card 1234567812345670", "card [masked card ending 5670]"),
        ("1234-5678-1234-5670", "[masked card ending 5670]"),
        (
            "order 17 paid by card 4111111111111111",
            "order 17 paid by card [masked card ending 1111]",
        ),
        (
            "order 4111 1111 1111 1111",
            "order [masked card ending 1111]",
        ),
        (
            "４１１１ １１１１ １１１１ １１１１",
            "[masked card ending 1111]",
        ),
        (
            "4111 1111 1111 1111 and 5500-0055-5555-5559",
            "[masked card ending 1111] and [masked card ending 5559]",
        ),
        (
            "call +49 151 12345678 4111 1111 1111 1111",
            "call +49 151 12345678 [masked card ending 1111]",
        ),
    ]);
}

#[test]
fn numbers_of_other_things_are_kept() {
    assert_kept(&[
        "",
        "4111 1111 1111 1112",
        "order 4111111111111111 is late",
        "order number: 4539578763621486",
        "invoice #4539578763621486",
        "#4539578763621486",
        "tracking number is 4539578763621486",
        "see ORD-4539578763621486",
        "the order's number: 4539578763621486",
        "IMEI 356938035643809",
        "at 1764633600000 ms",
        "DE89 3704 0044 0532 0130 00",
        "GB82WEST12345698765432",
        "phone +3782 822463 10005",
        "978 3 16 148410 0",
        "0000 0000 0000 0000",
        "12345678901234567890123",
        "on 2026-12-02 at 10.30, 1 of 3",
        "a1b2c3d4e5f64111111111111111",
        "4111111111111111x",
    ]);
}

#[test]
fn keys_and_tokens_are_masked_by_their_form() {
    assert_masked(&[
        ("key sk-proj-abcd1234EFGH5678ijkl.", "key [masked key]."),
        ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "[masked key]"),
        (
            "token=ghp_0123456789abcdefABCDEF0123456789abcd",
            "token=[masked key]",
        ),
        ("AKIAIOSFODNN7EXAMPLE works", "[masked key] works"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[masked key]"),
        ("xoxb-1234567890-abcdefghij", "[masked key]"),
        (
            "uses glpat-1234567890abcdefghij now",
            "uses [masked key] now",
        ),
        ("hf_abcdefghijklmnopqrstuvwxyz012345", "[masked key]"),
        (
            "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U!",
            "jwt [masked token]!",
        ),
        (
            "Authorization: Bearer abc123def456",
            "Authorization: Bearer [masked token]",
        ),
        (
            "authorization: Basic dXNlcjpwYXNz",
            "authorization: Basic [masked token]",
        ),
        (
            "curl -H 'bearer: A1b2C3d4E5'",
            "curl -H 'bearer: [masked token]'",
        ),
        (
            "see https://jo:hunter2@example.com/x",
            "see https://jo:[masked password]@example.com/x",
        ),
        (
            "it is -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- there",
            "it is [masked private key] there",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIEcut off",
            "[masked private key]",
        ),
    ]);
}

#[test]
fn secrets_are_masked_behind_their_names() {
    assert_masked(&[
        (
            "Jordan's password is hunter2.",
            "Jordan's password is [masked password].",
        ),
        (
            "my password is swordfish",
            "my password is [masked password]",
        ),
        (
            "Password: \"open sesame\" for the door",
            "Password: \"[masked password]\" for the door",
        ),
        ("password:hunter2", "password:[masked password]"),
        (
            "PASSWORD = Tr0ub4dor&3 here",
            "PASSWORD = [masked password] here",
        ),
        (
            "the password was changed to Ab3!x today",
            "the password was changed to [masked password] today",
        ),
        (
            "Das Passwort ist Geheim1",
            "Das Passwort ist [masked password]",
        ),
        ("api_key=abc123def", "api_key=[masked password]"),
        (
            "the API key is abc123def, she said",
            "the API key is [masked password], she said",
        ),
        (
            "{\"client_secret\": \"s3cr3tvalue\"}",
            "{\"client_secret\": \"[masked password]\"}",
        ),
        ("PIN 1234", "PIN [masked password]"),
        ("the pin is 1234.", "the pin is [masked password]."),
        ("CVV: 737", "CVV: [masked password]"),
        ("security code 737", "security code [masked password]"),
    ]);
}

#[test]
fn what_is_said_about_secrets_is_kept() {
    assert_kept(&[
        "Jordan forgot the password.",
        "Jordan's password is expired.",
        "the password is not accepted",
        "the password is case sensitive",
        "a password is required",
        "password: none",
        "the password:",
        "The shopping is late, and the spin is fast.",
        "Jordan lost a pin 4 of the plug",
        "the token ring is slow",
        "the secret is out",
        "the secret: a good night's sleep",
        "task-force sk-8 eyJ",
        "sk-this-is-only-a-long-name-of-words",
        "a bearer certificate",
        "basic information",
        "https://example.com:8080/a@b",
        "-----BEGIN CERTIFICATE-----",
        "AKIA is a prefix",
        "token bucket of 1000",
    ]);
}

#[test]
fn values_are_masked_with_their_names_at_any_depth() {
    let mut members = json!({
        "password": "hunter2",
        "account": { "api-key": "abc", "note": ["the pin is 1234", 5] },
        "card": 4_111_111_111_111_111_u64,
        "order": "4111111111111111x",
        "pin": 1234,
        "seats": 3,
        "pinned": true,
        "passwords": null,
    });
    let places = mask_members(members.as_object_mut().unwrap());
    let expected = json!({
        "password": "[masked password]",
        "account": { "api-key": "[masked password]", "note": ["the pin is [masked password]", 5] },
        "card": "[masked card ending 1111]",
        "order": "4111111111111111x",
        "pin": "[masked password]",
        "seats": 3,
        "pinned": true,
        "passwords": null,
    });
    assert_eq!((members, places), (expected.clone(), 5));
    let mut again = expected.clone();
    assert_eq!(mask_members(again.as_object_mut().unwrap()), 0);
    assert_eq!(again, expected);
}

#[test]
fn no_text_makes_it_panic_and_masking_again_changes_nothing() {
    let pieces = [
        "password",
        " is ",
        ":",
        "=",
        "\"",
        "é",
        "４",
        "4111",
        " ",
        "-",
        "1111",
        "Bearer ",
        "sk-",
        "eyJhbGciOi",
        ".",
        "://",
        "@",
        "-----BEGIN ",
        "PRIVATE KEY",
        "-----",
        "x9",
        "東",
        "\n",
        "card ",
        "order ",
        "+",
        "[masked",
        "]",
        "pin",
    ];
    let mut state = 0x2545_f491_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize
    };
    for _ in 0..20_000 {
        let count = next() % 12;
        let text: String = (0..count).map(|_| pieces[next() % pieces.len()]).collect();
        let once = mask(&text).text.into_owned();
        let twice = mask(&once).text.into_owned();
        assert_eq!(once, twice, "{text:?}");
    }
}
