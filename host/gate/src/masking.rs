//! Masking: obvious secrets and card numbers leave a text before it is kept.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::{cards, keys, named_secrets};

/// A text without what must not be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked<'a> {
    /// The text, with a mask such as `[masked card ending 1111]` in each place.
    pub text: Cow<'a, str>,
    /// How many places were masked.
    pub places: usize,
}

/// What is masked in one place.
pub(crate) struct Find {
    pub(crate) place: Range<usize>,
    pub(crate) mask: String,
}

impl Find {
    pub(crate) fn new(place: Range<usize>, mask: &str) -> Self {
        Self {
            place,
            mask: mask.to_owned(),
        }
    }
}

/// Masks the obvious secrets in a text: private keys, keys of well-known
/// services, JSON web tokens, bearer tokens, passwords in addresses, what
/// follows "password is" and the like, and card numbers, of which the last four
/// digits stay. Masking a text again changes nothing.
#[must_use]
pub fn mask(text: &str) -> Masked<'_> {
    let mut found = keys::find(text);
    found.extend(named_secrets::find(text));
    found.extend(cards::find(text));
    if found.is_empty() {
        return Masked {
            text: Cow::Borrowed(text),
            places: 0,
        };
    }
    // What lies within another place goes with it.
    found.sort_by_key(|find| (find.place.start, std::cmp::Reverse(find.place.end)));
    let mut masked = String::with_capacity(text.len());
    let (mut end, mut places) = (0, 0);
    for find in found {
        if find.place.start < end {
            if find.place.end > end {
                end = find.place.end;
            }
            continue;
        }
        masked.push_str(&text[end..find.place.start]);
        masked.push_str(&find.mask);
        end = find.place.end;
        places += 1;
    }
    masked.push_str(&text[end..]);
    Masked {
        text: Cow::Owned(masked),
        places,
    }
}

/// Masks the texts in a JSON object, in objects and lists within it too, and
/// what stands under a name such as `password`. Answers how many places were
/// masked.
pub fn mask_members(members: &mut Map<String, Value>) -> usize {
    members
        .iter_mut()
        .map(|(name, value)| {
            if named_secrets::names_secret(name) {
                mask_whole(value)
            } else {
                mask_value(value)
            }
        })
        .sum()
}

// The depth of what is remembered is bounded before.
fn mask_value(value: &mut Value) -> usize {
    match value {
        Value::String(text) => {
            let masked = mask(text);
            let places = masked.places;
            if let Cow::Owned(masked) = masked.text {
                *text = masked;
            }
            places
        }
        Value::Number(number) => {
            let text = number.to_string();
            let masked = mask(&text);
            let places = masked.places;
            if let Cow::Owned(masked) = masked.text {
                *value = Value::String(masked);
            }
            places
        }
        Value::Array(items) => items.iter_mut().map(mask_value).sum(),
        Value::Object(members) => mask_members(members),
        Value::Null | Value::Bool(_) => 0,
    }
}

fn mask_whole(value: &mut Value) -> usize {
    match value {
        Value::String(text) if text.is_empty() || text.starts_with("[masked") => 0,
        Value::String(_) | Value::Number(_) => {
            *value = Value::String("[masked password]".to_owned());
            1
        }
        other => mask_value(other),
    }
}
