//! What a customer's profile may hold.

use serde_json::{Map, Value, json};

/// The members that this agent knows, what they are, and how many letters they
/// may have.
const MEMBERS: [(&str, &str, u32); 5] = [
    ("name", "What the customer goes by.", 200),
    ("plan", "The plan that they are on, such as Pro.", 100),
    ("email", "Their e-mail address.", 320),
    ("phone", "Their phone number.", 50),
    ("language", "The language to answer in, such as German.", 50),
];

/// The JSON Schema of profiles. Further members are for other agents.
pub(crate) fn schema() -> Value {
    of_members(|_, letters| json!({ "type": "string", "minLength": 1, "maxLength": letters }))
}

/// The JSON Schema of what `update_profile` takes: the same members, where null
/// removes one.
pub(crate) fn patch_schema() -> Value {
    let mut patch = of_members(
        |description, letters| json!({ "type": ["string", "null"], "maxLength": letters, "description": description }),
    );
    patch["description"] = json!("The members to set; one with the value null is removed.");
    json!({ "type": "object", "properties": { "patch": patch }, "required": ["patch"] })
}

fn of_members(schema: impl Fn(&str, u32) -> Value) -> Value {
    let members: Map<String, Value> = MEMBERS
        .iter()
        .map(|(name, description, letters)| ((*name).to_owned(), schema(description, *letters)))
        .collect();
    json!({ "type": "object", "properties": members, "additionalProperties": true })
}
