//! The JSON Schema that an agent wants its customers' profiles to fit.

use serde_json::Value;

/// Faults that one error names; more would not help the reader.
const FAULTS: usize = 5;

/// A compiled schema.
pub struct ProfileSchema(jsonschema::Validator);

impl ProfileSchema {
    /// Compiles a schema. References to other documents are not followed: the
    /// host fetches nothing on a plugin's behalf.
    ///
    /// # Errors
    /// When it is no JSON Schema.
    pub fn new(schema: &Value) -> Result<Self, String> {
        jsonschema::validator_for(schema)
            .map(Self)
            .map_err(|error| error.to_string())
    }

    /// Whether a profile fits.
    ///
    /// # Errors
    /// A text that names each path that does not fit, and why.
    pub fn check(&self, profile: &Value) -> Result<(), String> {
        let faults: Vec<_> = self
            .0
            .iter_errors(profile)
            .take(FAULTS)
            .map(|fault| {
                let path = fault.instance_path().to_string();
                let path = if path.is_empty() { "/" } else { &path };
                format!("`{path}`: {fault}")
            })
            .collect();
        if faults.is_empty() {
            return Ok(());
        }
        Err(format!(
            "the profile would not fit the agent's schema: {}",
            faults.join("; ")
        ))
    }
}

impl std::fmt::Debug for ProfileSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProfileSchema")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_profile_that_does_not_fit_is_refused_with_the_path() {
        let schema = ProfileSchema::new(&json!({
            "type": "object",
            "properties": { "plan": { "enum": ["Free", "Pro"] } },
        }))
        .unwrap();
        assert_eq!(schema.check(&json!({ "plan": "Pro" })), Ok(()));
        let fault = schema.check(&json!({ "plan": 7 })).unwrap_err();
        assert!(fault.contains("`/plan`"), "{fault}");
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        assert!(ProfileSchema::new(&json!({ "type": "colour" })).is_err());
        assert!(ProfileSchema::new(&json!({ "$ref": "https://example.com/schema" })).is_err());
    }
}
