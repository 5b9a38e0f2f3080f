//! Between memory's own types and those of the WIT package.

use keepsake_storage as storage;
use keepsake_types::limits;
use serde_json::{Map, Value, json};

use crate::bindings::agent::keepsake::host::memory::{
    CompactOptions, Episode, EpisodeNode, EpisodeOptions, EpisodePage, Fact, Layer, NewFact,
    Outcome, RecallMode, RecallOptions, Recalled, Recollection, Remembered, Score, SnippetOptions,
    Verification,
};
use crate::bindings::agent::keepsake::host::types::Error;

/// JSON from a guest.
pub(super) fn value(text: &str, what: &str) -> Result<Value, Error> {
    serde_json::from_str(text)
        .map_err(|error| Error::Invalid(format!("{what} is not JSON: {error}")))
}

pub(super) fn optional_value(text: Option<String>, what: &str) -> Result<Option<Value>, Error> {
    text.map(|text| value(&text, what)).transpose()
}

fn object(text: Option<String>, what: &str) -> Result<Option<Map<String, Value>>, Error> {
    match optional_value(text, what)? {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(Error::Invalid(format!("{what} must be a JSON object"))),
    }
}

pub(super) fn new_fact(fact: NewFact) -> Result<storage::NewFact, Error> {
    Ok(storage::NewFact {
        content: fact.content,
        metadata: object(fact.metadata, "a fact's metadata")?.unwrap_or_default(),
        source: fact.source.map(Into::into),
        quote: fact.quote,
        subject: fact.subject,
        attribute: fact.attribute,
        supersedes: fact.supersedes,
        valid_from: fact.valid_from,
        expires_at: fact.expires_at,
        thread: fact.thread,
        position: fact.position,
        flags: storage::FactFlags::default(),
        extras: object(fact.extras, "a fact's extras")?,
    })
}

pub(super) fn recall_options(options: RecallOptions) -> Result<storage::RecallOptions, Error> {
    Ok(storage::RecallOptions {
        limit: options.limit as usize,
        mode: match options.mode {
            RecallMode::Hybrid => storage::RecallMode::Hybrid,
            RecallMode::Words => storage::RecallMode::Words,
            RecallMode::Vectors => storage::RecallMode::Vectors,
        },
        min_score: options.min_score,
        metadata: object(options.metadata, "the metadata to look for")?.unwrap_or_default(),
        since: options.since,
        until: options.until,
        as_of: options.as_of,
        verified_only: options.verified_only,
        include_superseded: options.include_superseded,
    })
}

pub(super) fn snippet_options(options: SnippetOptions) -> Result<storage::SnippetOptions, Error> {
    let extras = object(options.extras, "the snippet's extras")?.unwrap_or_default();
    let tokens = match extras.get("max-tokens") {
        None | Some(Value::Null) => usize::MAX,
        Some(tokens) => tokens.as_u64().map_or_else(
            || {
                Err(Error::Invalid(format!(
                    "`max-tokens` is {tokens}; it must be a whole number"
                )))
            },
            |tokens| Ok(usize::try_from(tokens).unwrap_or(usize::MAX)),
        )?,
    };
    let bytes = tokens.saturating_mul(limits::SNIPPET_TOKEN_BYTES);
    Ok(storage::SnippetOptions {
        query: options.query,
        max_bytes: bytes.min(options.max_bytes as usize),
        max_facts: (options.max_facts as usize).min(limits::PAGE_ITEMS),
        now: None,
    })
}

pub(super) fn compact_options(options: &CompactOptions) -> storage::CompactOptions {
    storage::CompactOptions {
        max_age_ms: options.max_age_ms,
        max_facts: options.max_facts.map(|most| most as usize),
        now: None,
    }
}

pub(super) fn episode_options(options: EpisodeOptions) -> storage::EpisodeOptions {
    storage::EpisodeOptions {
        after: options.page.after,
        limit: options.page.limit as usize,
        since: options.since,
        until: options.until,
        session: options.session,
        lineage: options.lineage,
    }
}

impl From<storage::Verification> for Verification {
    fn from(verification: storage::Verification) -> Self {
        match verification {
            storage::Verification::Verified => Self::Verified,
            storage::Verification::Unverified => Self::Unverified,
            storage::Verification::Dangling => Self::Dangling,
            storage::Verification::Tampered => Self::Tampered,
        }
    }
}

/// The extras of a fact; those of a summary tell what it stands for.
fn extras(fact: &storage::Fact) -> Option<String> {
    let mut extras = fact.extras.clone();
    if let Some(facts) = fact.summary_of {
        extras.get_or_insert_default().insert(
            "summary".to_owned(),
            json!({ "facts": facts, "sources": fact.further_sources }),
        );
    }
    extras.map(|extras| Value::Object(extras).to_string())
}

impl From<storage::Fact> for Fact {
    fn from(fact: storage::Fact) -> Self {
        Self {
            extras: extras(&fact),
            id: fact.id,
            content: fact.content,
            metadata: Value::Object(fact.metadata).to_string(),
            source: fact.source.map(Into::into),
            verification: fact.verification.into(),
            created_at: fact.created_at,
            updated_at: fact.updated_at,
            subject: fact.subject,
            attribute: fact.attribute,
            valid_from: fact.valid_from,
            valid_until: fact.valid_until,
            superseded_by: fact.superseded_by,
            thread: fact.thread,
            position: fact.position,
            instruction_like: fact.flags.instruction_like,
            masked: fact.flags.masked,
        }
    }
}

impl From<storage::Remembered> for Remembered {
    fn from(remembered: storage::Remembered) -> Self {
        Self {
            outcome: match remembered.outcome {
                storage::Outcome::Stored => Outcome::Stored,
                storage::Outcome::Repeated => Outcome::Repeated,
                storage::Outcome::Merged => Outcome::Merged,
                storage::Outcome::Superseded => Outcome::Superseded,
                storage::Outcome::NearDuplicate => Outcome::NearDuplicate,
                storage::Outcome::Echo => Outcome::Echo,
            },
            fact: remembered.fact.into(),
            near: remembered.near.into_iter().map(Fact::from).collect(),
        }
    }
}

impl From<storage::Recollection> for Recollection {
    fn from(recollection: storage::Recollection) -> Self {
        Self {
            facts: recollection
                .facts
                .into_iter()
                .map(|recalled| Recalled {
                    fact: recalled.fact.into(),
                    score: Score {
                        total: recalled.score.total,
                        word_rank: recalled.score.word_rank,
                        vector_rank: recalled.score.vector_rank,
                        cosine: recalled.score.cosine,
                    },
                    layer: match recalled.layer {
                        storage::Layer::This => Layer::This,
                        storage::Layer::Account => Layer::Account,
                        storage::Layer::Team => Layer::Team,
                    },
                })
                .collect(),
            receipt: recollection.receipt.into(),
        }
    }
}

impl From<storage::Entry> for Episode {
    fn from(entry: storage::Entry) -> Self {
        Self {
            entry: entry.entry_ref().into(),
            at: entry.at,
            kind: entry.kind.name().to_owned(),
            // What was erased leaves an empty object.
            payload: entry
                .payload
                .map_or_else(|| "{}".to_owned(), |payload| payload.to_string()),
        }
    }
}

impl From<storage::EpisodePage> for EpisodePage {
    fn from(page: storage::EpisodePage) -> Self {
        Self {
            episodes: page.episodes.into_iter().map(Episode::from).collect(),
            next: page.next,
        }
    }
}

/// A tree as a list whose nodes name each other by their places.
pub(super) fn episode_nodes(nodes: Vec<storage::EpisodeNode>) -> Vec<EpisodeNode> {
    let place = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
    let nodes = nodes.into_iter().enumerate();
    nodes
        .map(|(number, node)| EpisodeNode {
            node: place(number),
            parent: node.parent.map(place),
            session: node.session,
            episodes: node.episodes.into_iter().map(Episode::from).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(max_bytes: u32, extras: Option<&str>) -> Result<usize, Error> {
        let options = SnippetOptions {
            query: None,
            max_bytes,
            max_facts: 5,
            extras: extras.map(str::to_owned),
        };
        snippet_options(options).map(|options| options.max_bytes)
    }

    #[test]
    fn a_snippet_has_the_smaller_of_its_rooms_in_bytes_and_tokens() {
        assert_eq!(room(4_096, None), Ok(4_096));
        assert_eq!(room(4_096, Some("{}")), Ok(4_096));
        assert_eq!(room(4_096, Some(r#"{"max-tokens": 100}"#)), Ok(400));
        assert_eq!(room(300, Some(r#"{"max-tokens": 100}"#)), Ok(300));
        assert_eq!(
            room(300, Some(r#"{"max-tokens": 18446744073709551615}"#)),
            Ok(300)
        );
        for wrong in [
            r#"{"max-tokens": -1}"#,
            r#"{"max-tokens": "many"}"#,
            "[]",
            "no JSON",
        ] {
            assert!(
                matches!(room(300, Some(wrong)), Err(Error::Invalid(_))),
                "{wrong}"
            );
        }
    }
}
