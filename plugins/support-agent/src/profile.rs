//! What a customer's profile may hold.

use serde_json::{Value, json};

/// The JSON Schema of profiles. Further members are for other agents.
pub(crate) fn schema() -> Value {
    let text = |bytes: u32| json!({ "type": "string", "minLength": 1, "maxLength": bytes });
    json!({
        "type": "object",
        "properties": {
            "name": text(200),
            "plan": text(100),
            "email": text(320),
            "phone": text(50),
            "language": text(50),
        },
        "additionalProperties": true,
    })
}
