//! The lines of an export. `docs/memory-files.md` tells their form.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use keepsake_storage::{Exported, Fact, FactVectors};
use keepsake_types::{ResourceRef, Timestamp};
use serde_json::{Map, Value, json};

use super::Written;

/// The member that tells the lines of an export from facts of others.
pub(crate) const KIND: &str = "keepsake";
/// The version of the form. A change that older programs would misread gets the
/// next number.
pub(crate) const VERSION: u64 = 1;

/// The first line: what follows, and of when it is.
pub(super) fn header(owner: &ResourceRef, at: Timestamp) -> Value {
    let mut line = line("export", owner);
    line.insert("version".into(), json!(VERSION));
    line.insert("exported_at".into(), json!(at));
    Value::Object(line)
}

/// The last line, which an export that was broken off does not have.
pub(super) fn end(written: &Written) -> Value {
    json!({
        KIND: "end",
        "facts": written.facts,
        "working_keys": written.working_keys,
        "profiles": written.profiles,
    })
}

pub(super) fn record(owner: &ResourceRef, record: Exported) -> Value {
    Value::Object(match record {
        Exported::Profile { value, updated_at } => {
            let mut line = line("profile", owner);
            line.insert("value".into(), Value::Object(value));
            line.insert("updated_at".into(), json!(updated_at));
            line
        }
        Exported::Working {
            key,
            value,
            updated_at,
        } => {
            let mut line = line("working", owner);
            line.insert("key".into(), json!(key));
            line.insert("value".into(), value);
            line.insert("updated_at".into(), json!(updated_at));
            line
        }
        Exported::Fact { fact, vector } => {
            let mut line = line("fact", owner);
            add_fact(&mut line, *fact);
            if let Some(vector) = vector {
                line.insert("vector".into(), vector_as_json(&vector));
            }
            line
        }
    })
}

fn line(kind: &str, owner: &ResourceRef) -> Map<String, Value> {
    let mut line = Map::new();
    line.insert(KIND.into(), json!(kind));
    line.insert("resource".into(), json!(owner.resource));
    if let Some(team) = &owner.team {
        line.insert("team".into(), json!(team));
    }
    line
}

/// A fact's members; those that it does not have are left out.
fn add_fact(line: &mut Map<String, Value>, fact: Fact) {
    let mut add = |name: &str, value: Value| {
        let empty = value.is_null()
            || value.as_object().is_some_and(Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty);
        if !empty {
            line.insert(name.to_owned(), value);
        }
    };
    add("id", json!(fact.id));
    add("content", json!(fact.content));
    add("metadata", Value::Object(fact.metadata));
    add("created_at", json!(fact.created_at));
    add("updated_at", json!(fact.updated_at));
    add("valid_from", json!(fact.valid_from));
    add("valid_until", json!(fact.valid_until));
    add("superseded_by", json!(fact.superseded_by));
    add("subject", json!(fact.subject));
    add("attribute", json!(fact.attribute));
    add("thread", json!(fact.thread));
    add("position", json!(fact.position));
    add("verification", json!(fact.verification.name()));
    add("source", json!(fact.source));
    add("quote", json!(fact.quote));
    add("summary_of", json!(fact.summary_of));
    add("further_sources", json!(fact.further_sources));
    add("instruction_like", json!(fact.flags.instruction_like));
    add("masked", json!(fact.flags.masked));
    add("extras", json!(fact.extras));
}

/// A vector as Base64 of its numbers, each 4 bytes with the lowest first.
fn vector_as_json(vectors: &FactVectors) -> Value {
    let bytes: Vec<u8> = vectors
        .vectors
        .iter()
        .flatten()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    json!({
        "model": vectors.model,
        "dimensions": vectors.dimensions,
        "base64": BASE64_STANDARD.encode(bytes),
    })
}
