//! The shapes of statements that are understood, read word by word from the
//! place where one may begin.

mod cursor;
mod possession;
mod values;

use self::{
    cursor::Cursor,
    possession::{numbered, possession},
    values::{is_settled, name, place, plan, third_person, when},
};
use crate::{
    statements::{Attribute, Said, Statement},
    text::Word,
    words::{CHANNELS, LANGUAGES, PLAN_WORDS, TIERS},
};

/// A statement and how many words it took.
pub(crate) struct Matched {
    pub(crate) statement: Statement,
    pub(crate) length: usize,
}

/// Words between subject and verb that change nothing.
const ADVERBS: &[&str] = &[
    "just",
    "recently",
    "already",
    "now",
    "also",
    "then",
    "finally",
    "currently",
    "still",
    "actually",
    "back",
];

/// Reads a statement at the beginning of `words`. `segment` words belong to the
/// segment that begins there; what is free text may go on beyond.
pub(crate) fn read(words: &[Word<'_>], segment: usize) -> Option<Matched> {
    let mut cursor = Cursor {
        words,
        at: 0,
        end: segment,
    };
    if cursor.eat(&["i'm", "im"]) || cursor.eat_all(&["i", "am"]) {
        being(&mut cursor)
    } else if cursor.eat(&["i've", "ive"]) || cursor.eat_all(&["i", "have"]) {
        let has = cursor.clone();
        verb(&mut cursor).or_else(|| having(has))
    } else if cursor.eat(&["i'd"]) || cursor.eat_all(&["i", "would"]) {
        cursor.eat(&["rather", "really"]);
        cursor
            .eat(&["prefer"])
            .then(|| preference(&mut cursor))
            .flatten()
    } else if cursor.eat(&["i"]) {
        verb(&mut cursor)
    } else if cursor.eat(&["my"]) {
        possession(&mut cursor)
    } else if cursor.eat_all(&["call", "me"]) {
        let name = name(&mut cursor)?;
        (cursor.is_at_end() || cursor.eat(&["instead"])).then(|| named(&cursor, name))
    } else if cursor.eat_all(&["this", "is"]) {
        let name = name(&mut cursor)?;
        cursor
            .eat(&["speaking", "from", "here"])
            .then(|| named(&cursor, name))
    } else if cursor.eat(&["reply", "answer", "respond", "write"]) {
        let _ = cursor.eat_all(&["to", "me"]);
        cursor.eat(&["in"]).then(|| language(&mut cursor)).flatten()
    } else {
        numbered(&mut cursor, &["order"])
    }
}

/// Reads a statement whose subject was named before: "… and downgraded to Free".
pub(crate) fn read_verb(words: &[Word<'_>], segment: usize) -> Option<Matched> {
    verb(&mut Cursor {
        words,
        at: 0,
        end: segment,
    })
}

/// After "I'm".
fn being(cursor: &mut Cursor<'_>) -> Option<Matched> {
    let start = cursor.at;
    if let Some(name) = name(cursor)
        && (cursor.is_at_end()
            || cursor.is(&[
                "from", "with", "at", "of", "speaking", "here", "i", "i'm", "my",
            ]))
    {
        return Some(named(cursor, name));
    }
    cursor.at = start;
    cursor.eat_while(ADVERBS);
    if cursor.eat(&["on"]) {
        let plan = plan(cursor)?;
        return on_plan(cursor, plan, None);
    }
    if cursor.eat(&["a", "an"]) {
        let tier = cursor
            .next()
            .filter(|word| TIERS.contains(&word.lower.as_str()))?
            .text
            .to_owned();
        return cursor
            .eat(&["customer", "user", "subscriber", "member"])
            .then(|| on_plan(cursor, tier, None))
            .flatten();
    }
    None
}

/// After "I have": "the Pro plan".
fn having(mut cursor: Cursor<'_>) -> Option<Matched> {
    cursor.eat(&["got"]);
    if !cursor.is(&["the", "a", "your"]) {
        return None;
    }
    let plan = plan(&mut cursor)?;
    // "I have the Pro": a phone, perhaps.
    PLAN_WORDS
        .contains(&cursor.words[cursor.at - 1].lower.as_str())
        .then(|| on_plan(&mut cursor, plan, None))
        .flatten()
}

/// After "I": something the customer did.
fn verb(cursor: &mut Cursor<'_>) -> Option<Matched> {
    cursor.eat_while(ADVERBS);
    let start = cursor.clone();
    let verb = cursor.next()?.lower.as_str();
    match verb {
        "upgraded" | "downgraded" | "subscribed" | "switched" | "changed" | "moved"
        | "migrated" | "reverted" | "went" | "signed" => change(cursor, verb).or_else(|| {
            *cursor = start;
            cursor.eat(&["moved"]).then(|| moved(cursor)).flatten()
        }),
        "relocated" => moved(cursor),
        "live" => {
            if !cursor.eat(&["in"]) {
                return None;
            }
            let place = place(cursor)?;
            let said = Said::Does(format!("lives in {place}"));
            let matched = cursor.matched(Attribute::Location, Some(place), said);
            is_settled(cursor).then_some(matched)
        }
        "cancelled" | "canceled" => cancellation(cursor),
        "prefer" => preference(cursor),
        "speak" => {
            let spoken = cursor
                .next()
                .filter(|word| LANGUAGES.contains(&word.lower.as_str()))?;
            let said = Said::Does(format!("speaks {}", spoken.text));
            cursor
                .is_at_end()
                .then(|| cursor.matched(Attribute::Other, None, said))
        }
        _ => None,
    }
}

/// A change of plan.
fn change(cursor: &mut Cursor<'_>, verb: &str) -> Option<Matched> {
    let label = match verb {
        "upgraded" => "Upgraded",
        "downgraded" => "Downgraded",
        "subscribed" => "Subscribed",
        "signed" => {
            if !cursor.eat_all(&["up", "for"]) {
                return None;
            }
            "Subscribed"
        }
        _ => "Switched",
    };
    if cursor.eat(&["my", "our"]) && !cursor.eat(PLAN_WORDS) {
        return None;
    }
    if cursor.eat(&["from"]) {
        plan(cursor)?;
    }
    cursor.eat(&["back", "over"]);
    if verb != "signed" && !cursor.eat(&["to"]) {
        return None;
    }
    let plan = plan(cursor)?;
    let when = when(cursor);
    on_plan(cursor, plan, when.map(|when| format!("{label} {when}.")))
}

/// After "moved": to another place.
fn moved(cursor: &mut Cursor<'_>) -> Option<Matched> {
    if !cursor.eat(&["to"]) {
        return None;
    }
    let place = place(cursor)?;
    let said = Said::Does(format!("moved to {place}"));
    let matched = cursor.matched(Attribute::Location, Some(place), said);
    is_settled(cursor).then_some(matched)
}

/// After "I cancelled".
fn cancellation(cursor: &mut Cursor<'_>) -> Option<Matched> {
    if !cursor.is(&["my", "the", "our", "an", "a"]) {
        return None;
    }
    let start = cursor.at;
    cursor.next();
    let mut ended = cursor.clone();
    // "my subscription", "the Pro plan"; not "my subscription to your letter".
    let of_plan = (ended.eat(PLAN_WORDS) || plan(&mut ended).is_some()) && {
        let _ = when(&mut ended);
        ended.eat_while(&["yesterday", "today", "already"]);
        ended.is_at_end()
    };
    cursor.at = start;
    let mut words = cursor.free_text();
    while let Some((last, rest)) = words.split_last()
        && matches!(
            last.lower.as_str(),
            "yesterday" | "today" | "already" | "please"
        )
    {
        words = rest;
    }
    let what = third_person(words)?;
    let attribute = if of_plan {
        Attribute::Plan
    } else {
        Attribute::Other
    };
    Some(cursor.matched(attribute, None, Said::Does(format!("cancelled {what}"))))
}

/// After "I prefer".
fn preference(cursor: &mut Cursor<'_>) -> Option<Matched> {
    let start = cursor.clone();
    if let Some(matched) = language(cursor) {
        return Some(matched);
    }
    *cursor = start;
    let words = cursor.free_text();
    let first = words.first()?.lower.as_str();
    if matches!(
        first,
        "not" | "it" | "that" | "this" | "these" | "those" | "nothing"
    ) {
        return None;
    }
    let what = third_person(words)?;
    let contact = words
        .iter()
        .any(|word| CHANNELS.contains(&word.lower.as_str()));
    let attribute = if contact {
        Attribute::ContactPreference
    } else {
        Attribute::Other
    };
    let value = contact.then(|| what.clone());
    Some(cursor.matched(attribute, value, Said::Does(format!("prefers {what}"))))
}

/// None where more follows than a time: "the Pro plan of your competitor".
fn on_plan(cursor: &mut Cursor<'_>, plan: String, more: Option<String>) -> Option<Matched> {
    let said = Said::Does(format!("is on the {plan} plan"));
    let mut matched = cursor.matched(Attribute::Plan, Some(plan), said);
    matched.statement.more = more;
    is_settled(cursor).then_some(matched)
}

/// A language at the end of the segment.
fn language(cursor: &mut Cursor<'_>) -> Option<Matched> {
    let word = cursor
        .next()
        .filter(|word| LANGUAGES.contains(&word.lower.as_str()))?;
    cursor.eat(&["please"]);
    cursor.is_at_end().then(|| {
        let said = Said::Does(format!("wants to be answered in {}", word.text));
        cursor.matched(Attribute::Language, Some(word.text.to_owned()), said)
    })
}

fn named(cursor: &Cursor<'_>, name: String) -> Matched {
    let said = Said::Has(format!("name is {name}"));
    cursor.matched(Attribute::Name, Some(name), said)
}
