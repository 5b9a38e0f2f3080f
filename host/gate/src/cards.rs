//! Card numbers. What counts as one is weighed between two harms: a card that
//! is kept, and an order number that is lost because it resembles one. One in
//! ten numbers passes the check digit by chance, so that it alone tells little.

use std::ops::Range;

use crate::masking::Find;

/// Digits in the shortest and the longest card number (ISO/IEC 7812-1).
const SHORTEST: usize = 13;
const LONGEST: usize = 19;
/// How cards are printed and read out.
const GROUPINGS: [&[usize]; 9] = [
    &[4, 4, 4, 4],
    &[4, 6, 5],
    &[4, 6, 4],
    &[4, 4, 4, 4, 3],
    &[4, 4, 4, 4, 2],
    &[4, 4, 4, 4, 1],
    &[4, 4, 5],
    &[4, 3, 3, 3],
    &[8, 8],
];
/// How far before a number a word says what it is.
const LOOK_BACK: usize = 40;
const CARD_WORDS: [&str; 14] = [
    "card",
    "cards",
    "visa",
    "mastercard",
    "amex",
    "express",
    "maestro",
    "discover",
    "diners",
    "jcb",
    "unionpay",
    "credit",
    "debit",
    "pan",
];
/// What numbers of a shop, a parcel or a device are called.
const OTHER_WORDS: [&str; 28] = [
    "order",
    "orders",
    "invoice",
    "invoices",
    "ticket",
    "tickets",
    "tracking",
    "parcel",
    "shipment",
    "reference",
    "ref",
    "case",
    "imei",
    "serial",
    "transaction",
    "booking",
    "reservation",
    "account",
    "ean",
    "isbn",
    "gtin",
    "barcode",
    "timestamp",
    "phone",
    "tel",
    "telephone",
    "mobile",
    "iccid",
];
/// Words between such a name and its number.
const BETWEEN: [&str; 10] = [
    "number", "numbers", "no", "nr", "id", "code", "is", "was", "the", "s",
];

/// The card numbers in a text, each with the mask that keeps its last four digits.
pub(crate) fn find(text: &str) -> Vec<Find> {
    let mut found = Vec::new();
    for row in rows(text) {
        let mut first = 0;
        while first < row.groups.len() {
            let card = (first..row.groups.len())
                .map(|last| first..last + 1)
                .take_while(|groups| row.digits(groups).len() <= LONGEST)
                .find(|groups| is_card(text, &row, groups));
            first = match card {
                Some(groups) => {
                    let digits = row.digits(&groups);
                    found.push(Find {
                        place: row.groups[groups.start].place.start
                            ..row.groups[groups.end - 1].place.end,
                        mask: format!("[masked card ending {}]", &digits[digits.len() - 4..]),
                    });
                    groups.end
                }
                None => first + 1,
            };
        }
    }
    found
}

/// Groups of digits with nothing but one blank or dash between them.
#[derive(Default)]
struct Row {
    groups: Vec<Group>,
    /// A plus or letters stand right before it: a phone number, an IBAN, `ORD-1`.
    joined_before: bool,
}

struct Group {
    digits: String,
    place: Range<usize>,
}

impl Row {
    fn digits(&self, groups: &Range<usize>) -> String {
        self.groups[groups.clone()]
            .iter()
            .map(|group| group.digits.as_str())
            .collect()
    }
}

fn rows(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut open = false;
    let mut before = [' ', ' '];
    for (place, c) in text.char_indices() {
        if let Some(digit) = decimal(c) {
            if !open {
                rows.push(Row {
                    groups: Vec::new(),
                    joined_before: before[1] == '+'
                        || before[1].is_alphabetic()
                        || (matches!(before[1], '-' | '_' | '/') && before[0].is_alphabetic()),
                });
            }
            if let Some(row) = rows.last_mut() {
                if !open || decimal(before[1]).is_none() {
                    row.groups.push(Group {
                        digits: String::new(),
                        place: place..place,
                    });
                }
                if let Some(group) = row.groups.last_mut() {
                    group.digits.push(digit);
                    group.place.end = place + c.len_utf8();
                }
            }
            open = true;
        } else if !is_separator(c) || decimal(before[1]).is_none() {
            if c.is_alphabetic()
                && decimal(before[1]).is_some()
                && let Some(row) = rows.last_mut()
            {
                // Of `4111x`, the last group is no number.
                row.groups.pop();
            }
            open = false;
        }
        before = [before[1], c];
    }
    rows
}

/// An ASCII or a full-width digit, as ASCII.
fn decimal(c: char) -> Option<char> {
    match c {
        '0'..='9' => Some(c),
        '０'..='９' => char::from_u32(u32::from(c) - 0xff10 + 0x30),
        _ => None,
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '-' | '.' | '\u{2010}'..='\u{2015}' | '\u{2212}')
        || (c.is_whitespace() && c != '\n')
}

fn is_card(text: &str, row: &Row, groups: &Range<usize>) -> bool {
    let digits = row.digits(groups);
    if !(SHORTEST..=LONGEST).contains(&digits.len()) || !check_digit_holds(digits.as_bytes()) {
        return false;
    }
    let called = called(text, row.groups[groups.start].place.start);
    if row.joined_before && called != Called::Card {
        // A card may follow a phone number, but is no part of it.
        return groups.start > 0 && is_printed_as_card(row, groups) && is_branded(&digits);
    }
    if is_printed_as_card(row, groups) {
        return true;
    }
    match called {
        Called::Card => true,
        Called::Other => false,
        Called::Nothing if groups.len() == 1 => matches!(digits.as_bytes()[0], b'2'..=b'6'),
        Called::Nothing => is_branded(&digits) && groups.len() == row.groups.len(),
    }
}

fn is_printed_as_card(row: &Row, groups: &Range<usize>) -> bool {
    let sizes = row.groups[groups.clone()]
        .iter()
        .map(|group| group.digits.len());
    let sizes: Vec<usize> = sizes.collect();
    GROUPINGS.contains(&sizes.as_slice())
}

#[derive(PartialEq)]
enum Called {
    Card,
    Other,
    Nothing,
}

/// What the words before a number call it.
fn called(text: &str, end: usize) -> Called {
    let mut start = end.saturating_sub(LOOK_BACK);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let before = text[start..end].to_lowercase();
    let mut words = before
        .rsplit(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    if words.clone().any(|word| CARD_WORDS.contains(&word)) {
        return Called::Card;
    }
    let name = words.find(|word| !BETWEEN.contains(word));
    let other = name.is_some_and(|name| OTHER_WORDS.contains(&name));
    if other || before.trim_end().ends_with('#') {
        Called::Other
    } else {
        Called::Nothing
    }
}

/// By what the brands' numbers begin with and how long they are.
fn is_branded(digits: &str) -> bool {
    let begins = |beginnings: &[&str]| beginnings.iter().any(|start| digits.starts_with(start));
    match digits.len() {
        13 => begins(&["4"]),
        14 => begins(&["30", "36", "38", "39"]),
        15 => begins(&["34", "37"]),
        16 => begins(&["4", "5", "6", "22", "23", "24", "25", "26", "27", "35"]),
        17..=19 => begins(&["4", "5", "6"]),
        _ => false,
    }
}

/// The check digit of ISO/IEC 7812-1, annex B.
fn check_digit_holds(digits: &[u8]) -> bool {
    if digits.iter().all(|digit| *digit == digits[0]) {
        return false;
    }
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
