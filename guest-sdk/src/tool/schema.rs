//! Whether arguments fit a tool's schema, as far as models get it wrong: types,
//! what is missing, what is too much, and words that are none of those allowed.
//! What else a schema says (`$ref`, `anyOf` and the like) is left to the tool.

use serde_json::{Map, Value};

/// How deep a schema is followed. Deeper ones are left to the tool.
const DEPTH: usize = 16;

/// What is wrong with arguments, with the path to it.
///
/// # Errors
/// The first fault, as a sentence.
pub(super) fn check(schema: &Value, arguments: &Value) -> Result<(), String> {
    within(schema, arguments, "", DEPTH)
}

fn within(schema: &Value, value: &Value, path: &str, depth: usize) -> Result<(), String> {
    let Some(schema) = schema.as_object().filter(|_| depth > 0) else {
        return Ok(());
    };
    let place = if path.is_empty() {
        "the arguments".to_owned()
    } else {
        format!("`{path}`")
    };
    if let Some(types) = schema.get("type")
        && !types_of(types).any(|wanted| is_of(wanted, value))
    {
        let types: Vec<_> = types_of(types).collect();
        return Err(format!(
            "{place} must be of type {}, and is {}",
            types.join(" or "),
            shown(value)
        ));
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let allowed: Vec<_> = allowed.iter().map(Value::to_string).collect();
        return Err(format!(
            "{place} must be one of {}, and is {}",
            allowed.join(", "),
            shown(value)
        ));
    }
    match value {
        Value::Object(members) => check_members(schema, members, path, depth),
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else {
                return Ok(());
            };
            for (number, item) in items.iter().enumerate() {
                within(schema, item, &format!("{path}[{number}]"), depth - 1)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check_members(
    schema: &Map<String, Value>,
    members: &Map<String, Value>,
    path: &str,
    depth: usize,
) -> Result<(), String> {
    let inner = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            return Err(format!("`{}` is missing", inner(name)));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in members {
        match properties.and_then(|properties| properties.get(name)) {
            Some(schema) => within(schema, value, &inner(name), depth - 1)?,
            None if closed => return Err(format!("there is no `{}`", inner(name))),
            None => {}
        }
    }
    Ok(())
}

fn types_of(types: &Value) -> impl Iterator<Item = &str> {
    let several = types.as_array().into_iter().flatten();
    std::iter::once(types)
        .chain(several)
        .filter_map(Value::as_str)
}

fn is_of(wanted: &str, value: &Value) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        // 2.0 is a whole number, however it is written.
        "integer" => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        // Whatever that is, it is not for this check to refuse.
        _ => true,
    }
}

/// A value as a model recognises it: its beginning.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "plan": { "enum": ["Free", "Pro"] },
                "seats": { "type": "integer" },
                "note": { "type": ["string", "null"] },
                "address": {
                    "type": "object",
                    "properties": { "lines": { "type": "array", "items": { "type": "string" } } },
                    "required": ["lines"],
                    "additionalProperties": false,
                },
            },
            "required": ["plan"],
        })
    }

    #[test]
    fn arguments_that_fit_are_taken() {
        for arguments in [
            json!({ "plan": "Pro" }),
            json!({ "plan": "Pro", "seats": 2.0, "note": null, "more": [] }),
            json!({ "plan": "Free", "note": "x", "address": { "lines": ["a", "b"] } }),
        ] {
            assert_eq!(check(&schema(), &arguments), Ok(()), "{arguments}");
        }
        // A schema that says nothing takes all.
        assert_eq!(check(&json!({}), &json!(3)), Ok(()));
        assert_eq!(check(&json!({ "type": "text" }), &json!("a")), Ok(()));
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        for (arguments, told) in [
            (json!([]), "the arguments must be of type object, and is []"),
            (json!({}), "`plan` is missing"),
            (
                json!({ "plan": "Gold" }),
                "`plan` must be one of \"Free\", \"Pro\", and is \"Gold\"",
            ),
            (
                json!({ "plan": "Pro", "seats": 1.5 }),
                "`seats` must be of type integer, and is 1.5",
            ),
            (
                json!({ "plan": "Pro", "note": 7 }),
                "`note` must be of type string or null, and is 7",
            ),
            (
                json!({ "plan": "Pro", "address": {} }),
                "`address.lines` is missing",
            ),
            (
                json!({ "plan": "Pro", "address": { "lines": ["a", 2] } }),
                "`address.lines[1]` must be of type string, and is 2",
            ),
            (
                json!({ "plan": "Pro", "address": { "lines": [], "town": "Oslo" } }),
                "there is no `address.town`",
            ),
        ] {
            assert_eq!(check(&schema(), &arguments), Err(told.to_owned()));
        }
        let long = check(&schema(), &json!({ "plan": "ä".repeat(1_000) }));
        assert!(long.unwrap_err().len() < 300);
    }

    #[test]
    fn a_schema_without_end_is_followed_only_so_far() {
        let (mut schema, mut value) = (json!({ "type": "string" }), json!(1));
        for _ in 0..DEPTH {
            assert!(check(&schema, &value).is_err());
            schema = json!({ "items": schema });
            value = json!([value]);
        }
        assert_eq!(check(&schema, &value), Ok(()));
    }
}
