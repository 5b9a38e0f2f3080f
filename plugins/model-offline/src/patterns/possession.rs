//! Statements that begin with "my", and those that name a number.

use super::{
    Matched,
    cursor::Cursor,
    language, named, on_plan,
    values::{is_digits, is_email, is_lower_case_name, name, plan},
};
use crate::{
    statements::{Attribute, Said},
    text::Word,
    words::PLAN_WORDS,
};

/// Letters in a code such as an order number.
const MAX_CODE_BYTES: usize = 64;

/// After "my".
pub(super) fn possession(cursor: &mut Cursor<'_>) -> Option<Matched> {
    cursor.eat(&["new", "current", "full", "first"]);
    if cursor.eat(&["name's"]) || cursor.eat_all(&["name", "is"]) {
        let start = cursor.at;
        if let Some(name) = name(cursor)
            && (cursor.is_at_end() || cursor.is(&["from", "with", "i", "i'm", "my"]))
        {
            return Some(named(cursor, name));
        }
        cursor.at = start;
        let lower = cursor.next().filter(|word| is_lower_case_name(word))?;
        return cursor
            .is_at_end()
            .then(|| named(cursor, lower.text.to_owned()));
    }
    if cursor.eat(PLAN_WORDS) {
        cursor.eat(&["is"]).then_some(())?;
        cursor.eat(&["now", "currently"]);
        let plan = plan(cursor)?;
        return on_plan(cursor, plan, None);
    }
    if cursor.eat(&["email", "e-mail", "mail"]) {
        cursor.eat(&["address", "adress"]);
        let address = linked(cursor)?.text.to_owned();
        return is_email(&address).then(|| {
            let said = Said::Has(format!("email address is {address}"));
            cursor.matched(Attribute::Email, Some(address), said)
        });
    }
    if cursor.eat(&["phone", "mobile", "telephone", "cell"]) {
        cursor.eat(&["phone"]);
        cursor.eat(&["number"]);
        let mut number = linked(cursor)?.text.to_owned();
        while let Some(more) = cursor.peek().filter(|word| is_digits(word.text)) {
            number = format!("{number} {}", more.text);
            cursor.at += 1;
        }
        let digits = number.chars().filter(char::is_ascii_digit).count();
        return (is_digits(&number) && (5..=20).contains(&digits) && cursor.is_at_end()).then(
            || {
                let said = Said::Has(format!("phone number is {number}"));
                cursor.matched(Attribute::Phone, Some(number), said)
            },
        );
    }
    if cursor.eat(&["language"]) {
        return cursor.eat(&["is"]).then(|| language(cursor)).flatten();
    }
    numbered(
        cursor,
        &[
            "order",
            "account",
            "ticket",
            "invoice",
            "tracking",
            "serial",
            "customer",
            "case",
            "booking",
            "reservation",
        ],
    )
}

/// "order number is A-1042".
pub(super) fn numbered(cursor: &mut Cursor<'_>, kinds: &[&str]) -> Option<Matched> {
    let kind = cursor
        .next()
        .filter(|word| kinds.contains(&word.lower.as_str()))?;
    let label = if cursor.eat(&["number", "no", "nr", "code", "reference"]) {
        "number"
    } else if cursor.eat(&["id"]) {
        "id"
    } else {
        "number"
    };
    let code = linked(cursor)?.text;
    let fits = code.len() <= MAX_CODE_BYTES
        && code.chars().any(|character| character.is_ascii_digit())
        && code
            .chars()
            .all(|character| character.is_alphanumeric() || "-_/.#".contains(character));
    // "3 days late", "123 456": no code, or not the whole of it.
    (fits && cursor.is_at_end()).then(|| {
        let said = Said::Has(format!("{} {label} is {code}", kind.lower));
        cursor.matched(Attribute::Other, Some(code.to_owned()), said)
    })
}

/// The word after "is", or after a colon: "my order number: A-1042".
fn linked<'a>(cursor: &mut Cursor<'a>) -> Option<&'a Word<'a>> {
    let after_colon = cursor.is_at_end() && cursor.at < cursor.words.len();
    if after_colon {
        cursor.end = cursor.words.len();
    } else {
        cursor.eat(&["is"]).then_some(())?;
        cursor.eat(&["now"]);
    }
    cursor.next()
}
