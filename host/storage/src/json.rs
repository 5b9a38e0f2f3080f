//! JSON as this crate stores it: one text for one value, bounded in depth.

use keepsake_types::limits;
use serde_json::{Map, Value};

use crate::{Result, StorageError};

/// The one text that stands for `value`: members in ascending byte order of
/// their names, no white space, strings and numbers as `serde_json` writes
/// them. Sorted here, because a map's own order depends on how `serde_json`
/// was built.
pub(crate) fn canonical(value: &Value) -> String {
    canonical_with(value, |text| text.to_owned())
}

/// As [`canonical`], with every text in `value`, names included, changed first.
pub(crate) fn canonical_with(value: &Value, change: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    write(value, &change, &mut text);
    text
}

fn write(value: &Value, change: &dyn Fn(&str) -> String, text: &mut String) {
    let literal = |text: &str| Value::String(change(text)).to_string();
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            text.push('{');
            for (place, name) in names.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                text.push_str(&literal(name));
                text.push(':');
                write(&members[name], change, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write(item, change, text);
            }
            text.push(']');
        }
        Value::String(string) => text.push_str(&literal(string)),
        scalar => text.push_str(&scalar.to_string()),
    }
}

/// The canonical text of `value`, when it is neither too deep nor over `bound` bytes.
pub(crate) fn bounded(
    value: &Value,
    what: &str,
    name: &'static str,
    bound: usize,
) -> Result<String> {
    check_depth(value, what)?;
    within_bytes(value, what, name, bound)
}

/// The canonical text of a ledger entry's payload. It may be deeper than what
/// it records, by the objects that it wraps it in.
pub(crate) fn payload(value: &Value) -> Result<String> {
    let what = "an entry's payload";
    check_levels(
        value,
        what,
        "ledger-payload-depth",
        limits::LEDGER_PAYLOAD_DEPTH,
    )?;
    within_bytes(
        value,
        what,
        "ledger-payload-bytes",
        limits::LEDGER_PAYLOAD_BYTES,
    )
}

fn within_bytes(value: &Value, what: &str, name: &'static str, bound: usize) -> Result<String> {
    let text = canonical(value);
    if text.len() > bound {
        return Err(StorageError::limit(
            name,
            &format!("bytes of {what}"),
            text.len(),
            bound,
        ));
    }
    Ok(text)
}

/// Refuses what a reader with a bounded stack could not parse again.
pub(crate) fn check_depth(value: &Value, what: &str) -> Result<()> {
    check_levels(value, what, "json-depth", limits::JSON_DEPTH)
}

fn check_levels(value: &Value, what: &str, name: &'static str, bound: usize) -> Result<()> {
    // An own stack, so that a deep value cannot overflow the thread's.
    let mut pending = vec![(value, 1_usize)];
    while let Some((value, depth)) = pending.pop() {
        if depth > bound {
            let what = format!("levels of nesting in {what}");
            return Err(StorageError::limit(name, &what, depth, bound));
        }
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                pending.extend(members.values().map(|item| (item, depth + 1)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// What was stored as `text`. That it does not parse means that someone else
/// wrote to the file.
pub(crate) fn stored(text: &str, what: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| {
        StorageError::Invalid(format!(
            "{what} in the database is not JSON any more ({error}): the file was changed by another \
             program; run `host ledger verify` and restore a backup"
        ))
    })
}

/// Applies a JSON merge patch (RFC 7386) to an object.
pub(crate) fn merge_patch(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, change) in patch {
        match change {
            Value::Null => {
                target.remove(name);
            }
            Value::Object(inner) => {
                let slot = target.entry(name.clone()).or_insert(Value::Null);
                if !slot.is_object() {
                    *slot = Value::Object(Map::new());
                }
                if let Value::Object(object) = slot {
                    merge_patch(object, inner);
                }
            }
            other => {
                target.insert(name.clone(), other.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_value_has_one_text_whatever_order_its_members_came_in() {
        let left: Value = serde_json::from_str(r#"{"b":1,"a":{"é":[1, 2.50],"c":"x\n"}}"#).unwrap();
        let right: Value = serde_json::from_str(r#"{"a":{"c":"x\n","é":[1,2.5]}, "b":1}"#).unwrap();
        assert_eq!(canonical(&left), r#"{"a":{"c":"x\n","é":[1,2.5]},"b":1}"#);
        assert_eq!(canonical(&left), canonical(&right));
    }

    #[test]
    fn what_is_too_deep_is_refused_and_what_is_just_deep_enough_is_not() {
        let nested = |levels: usize| (1..levels).fold(json!(1), |inner, _| json!([inner]));
        assert!(check_depth(&nested(limits::JSON_DEPTH), "a value").is_ok());
        let refused = check_depth(&nested(limits::JSON_DEPTH + 1), "a value").unwrap_err();
        assert!(matches!(
            refused,
            StorageError::Limit {
                name: "json-depth",
                ..
            }
        ));
    }

    /// The examples of RFC 7386, appendix A, whose target and patch are objects.
    #[test]
    fn a_merge_patch_does_what_its_standard_shows() {
        let cases = [
            (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
            (json!({"a":"b"}), json!({"a":null}), json!({})),
            (
                json!({"a":"b","b":"c"}),
                json!({"a":null}),
                json!({"b":"c"}),
            ),
            (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"c"}), json!({"a":["b"]}), json!({"a":["b"]})),
            (
                json!({"a":{"b":"c"}}),
                json!({"a":{"b":"d","c":null}}),
                json!({"a":{"b":"d"}}),
            ),
            (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
            (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
            (
                json!({}),
                json!({"a":{"bb":{"ccc":null}}}),
                json!({"a":{"bb":{}}}),
            ),
        ];
        for (target, patch, expected) in cases {
            let (Value::Object(mut target), Value::Object(patch)) = (target, patch) else {
                panic!("both are objects")
            };
            merge_patch(&mut target, &patch);
            assert_eq!(Value::Object(target), expected);
        }
    }
}
