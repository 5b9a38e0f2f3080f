//! The tools with which a model uses memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::memory::{
    EntryRef, Fact, NewFact, Outcome, RecallOptions, Remembered, Scope, Verification,
};
use crate::session::Session;
use crate::tool::Tool;

/// Facts that one recall gives at the most.
const RECALLED: u32 = 20;
/// Bytes of values that `get_working_memory` gives at once: with a profile of
/// ordinary size they fit into one answer, which would be cut otherwise.
const VALUES_BYTES: usize = 16 * 1_024;

/// `set_working_memory`, `get_working_memory`, `remember_fact` and
/// `recall_facts`, on the memory of the session's customer.
pub fn memory_tools() -> Vec<Tool<'static>> {
    vec![
        set_working_memory(),
        get_working_memory(),
        remember_fact(),
        recall_facts(),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct SetWorkingMemory {
    /// The name of the value, such as `open_case`.
    key: String,
    /// The value, any JSON; null deletes it.
    value: Value,
}

/// Keeps a value that this and later conversations need.
pub fn set_working_memory() -> Tool<'static> {
    Tool::new(
        "set_working_memory",
        "Keeps a value for this and later conversations with this customer. Use remember_fact \
         for what the customer told about themselves.",
        |session: &Session, arguments: SetWorkingMemory| {
            let scope = session.scope()?;
            if arguments.value.is_null() {
                scope.delete(&arguments.key)?;
            } else {
                scope.set(&arguments.key, &arguments.value)?;
            }
            Ok(json!({ "ok": true }))
        },
    )
}

#[derive(Deserialize, JsonSchema)]
struct GetWorkingMemory {
    /// The name of one value; leave it out for the profile and all values.
    key: Option<String>,
}

/// Gives the profile and the values that are kept, or one value.
pub fn get_working_memory() -> Tool<'static> {
    Tool::new(
        "get_working_memory",
        "Gives the customer's profile and all values that were kept.",
        |session: &Session, arguments: GetWorkingMemory| -> Result<Value> {
            let scope = session.scope()?;
            match arguments.key {
                Some(key) => Ok(json!({ "value": scope.get::<Value>(&key)? })),
                None => all_values(&scope),
            }
        },
    )
}

/// The profile and as many values as there is room for. Of the others, the
/// model is told the names.
fn all_values(scope: &Scope) -> Result<Value> {
    let mut values = Map::new();
    let mut too_large = Vec::new();
    let mut room = VALUES_BYTES;
    let mut more = false;
    for item in scope.each_value() {
        let (key, value) = item?;
        let bytes = key.len() + value.to_string().len();
        if bytes <= room {
            room -= bytes;
            values.insert(key, value);
        } else if key.len() <= room {
            room -= key.len();
            too_large.push(key);
        } else {
            more = true;
            break;
        }
    }
    let mut answer = json!({ "profile": scope.profile()?, "values": values });
    if !too_large.is_empty() {
        answer["left_out"] = json!(too_large);
    }
    if !too_large.is_empty() || more {
        answer["note"] = json!("there is more than fits here: ask for a value by its key");
    }
    Ok(answer)
}

/// A ledger entry as models and programs write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// The session that the entry belongs to.
    pub session: String,
    /// The entry's place in its session.
    pub index: u64,
    /// The entry's hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl From<Source> for EntryRef {
    fn from(source: Source) -> Self {
        Self {
            session: source.session,
            index: source.index,
            hash: source.hash,
        }
    }
}

impl From<EntryRef> for Source {
    fn from(entry: EntryRef) -> Self {
        Self {
            session: entry.session,
            index: entry.index,
            hash: entry.hash,
        }
    }
}

/// The arguments of `remember_fact`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RememberFact {
    /// The fact as one sentence in the third person, such as "Jordan is on the Pro plan."
    pub content: String,
    /// The `entry` of a command's answer that shows the fact; makes it verified.
    pub source: Option<Source>,
    /// Words that the source printed, to the letter.
    pub quote: Option<String>,
    /// Whom or what the fact is about; only together with `attribute`.
    pub subject: Option<String>,
    /// Which property it gives, such as `plan`: a new value replaces the old one.
    pub attribute: Option<String>,
    /// Further values as an object, such as {"order": "A-1042"}.
    pub metadata: Option<Map<String, Value>>,
    /// The ids of known facts that this one replaces, because they do not hold any more.
    pub supersedes: Option<Vec<String>>,
    /// True stores the fact beside known ones that say nearly the same.
    pub keep: Option<bool>,
}

impl From<RememberFact> for NewFact {
    fn from(arguments: RememberFact) -> Self {
        let fact = match arguments.keep {
            Some(true) => Self::new(arguments.content).keep(),
            _ => Self::new(arguments.content),
        };
        Self {
            source: arguments.source.map(EntryRef::from),
            supersedes: arguments.supersedes.unwrap_or_default(),
            quote: arguments.quote,
            subject: arguments.subject,
            attribute: arguments.attribute,
            metadata: arguments
                .metadata
                .map(|members| Value::Object(members).to_string()),
            ..fact
        }
    }
}

/// Remembers a fact.
pub fn remember_fact() -> Tool<'static> {
    Tool::new(
        "remember_fact",
        "Remembers a lasting fact about this customer. With a source it is marked as verified.",
        |session: &Session, arguments: RememberFact| {
            if arguments.quote.is_some() && arguments.source.is_none() {
                return Err(Error::invalid(
                    "a quote needs the source that it is taken from",
                ));
            }
            let remembered = session.scope()?.remember(NewFact::from(arguments))?;
            Ok(remembered_as_json(&remembered))
        },
    )
}

#[derive(Deserialize, JsonSchema)]
struct RecallFacts {
    /// What to look for, in a few words or as a question.
    query: String,
    /// At most so many facts; 5 unless given.
    limit: Option<u32>,
}

/// Looks facts up.
pub fn recall_facts() -> Tool<'static> {
    Tool::new(
        "recall_facts",
        "Looks up what is remembered about this customer.",
        |session: &Session, arguments: RecallFacts| -> Result<Value> {
            let limit = arguments.limit.unwrap_or(5).clamp(1, RECALLED);
            let found = session
                .scope()?
                .recall(&arguments.query, &RecallOptions::new(limit))?;
            let facts: Vec<Value> = found
                .facts
                .iter()
                .map(|recalled| {
                    let mut fact = fact_as_json(&recalled.fact);
                    fact["score"] = json!(recalled.score.total);
                    fact
                })
                .collect();
            Ok(json!({ "facts": facts }))
        },
    )
}

/// What became of a fact, as `remember_fact` answers it. Where nothing was
/// stored, `note` says what a model can do.
pub fn remembered_as_json(remembered: &Remembered) -> Value {
    let outcome = match remembered.outcome {
        Outcome::Stored => "stored",
        Outcome::Repeated => "repeated",
        Outcome::Merged => "merged",
        Outcome::Superseded => "superseded",
        Outcome::NearDuplicate => "near-duplicate",
        Outcome::Echo => "echo",
    };
    let near: Vec<Value> = remembered.near.iter().map(fact_as_json).collect();
    let mut answer =
        json!({ "outcome": outcome, "fact": fact_as_json(&remembered.fact), "near": near });
    let note = match remembered.outcome {
        Outcome::NearDuplicate => {
            "nothing was stored, because known facts in `near` say nearly the same. If they do, \
             leave it. If they do not hold any more, call again with their ids in `supersedes`. If \
             both hold and differ, call again with `keep` true"
        }
        Outcome::Echo => "nothing was stored: this was recalled in this conversation and is known",
        _ => return answer,
    };
    answer["note"] = json!(note);
    answer
}

/// A fact as the tools answer it.
pub fn fact_as_json(fact: &Fact) -> Value {
    let verification = match fact.verification {
        Verification::Verified => "verified",
        Verification::Unverified => "unverified",
        Verification::Dangling => "dangling",
        Verification::Tampered => "tampered",
    };
    json!({
        "id": fact.id,
        "content": fact.content,
        "verified": fact.is_verified(),
        "verification": verification,
        "created_at": fact.created_at,
    })
}
