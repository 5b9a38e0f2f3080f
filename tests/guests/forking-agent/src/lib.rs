//! An agent that does to its memory and to forks of it what the message says.

use keepsake_sdk::memory::{EntryRef, EpisodeOptions, Fact, NewFact, RecallOptions, Scope};
use keepsake_sdk::{Agent, Description, Error, Reply, Result, Session, Turn};
use serde_json::{Value, json};

/// The agent.
pub struct Forking;

keepsake_sdk::register_agent!(Forking);

impl Agent for Forking {
    fn describe() -> Description {
        Description::new("forking-agent", "0.1.0", "Tries things out in forks.").profile_schema(
            json!({ "type": "object", "properties": { "plan": { "type": "string" } } }),
        )
    }

    fn handle(session: &Session, turn: Turn) -> Result<Reply> {
        let scope = session.scope()?;
        let (verb, rest) = split(&turn.message);
        let answer = match verb {
            "diff" => {
                let difference = scope.fork(rest)?.diff()?;
                json!({
                    "added": texts(&difference.added),
                    "changed": texts(&difference.changed),
                    "removed": difference.removed.len(),
                    "working": difference.working,
                    "profile": difference.profile,
                    "conflicts": difference.conflicts,
                })
            }
            "merge" => {
                let report = scope.fork(rest)?.merge()?;
                json!({
                    "added": report.added,
                    "changed": report.changed,
                    "removed": report.removed,
                    "conflicts": report.conflicts,
                })
            }
            "discard" => {
                let branch = scope.fork(rest)?;
                let held = branch.scope()?;
                branch.discard()?;
                match held.set("ghost", &true) {
                    Err(Error::NotFound(_)) => json!("gone"),
                    other => json!(format!("still there: {other:?}")),
                }
            }
            "in" => {
                let (fork, message) = split(rest);
                let fork = scope.fork(fork)?.scope()?;
                act(session, &fork, message)?
            }
            _ => act(session, &scope, &turn.message)?,
        };
        Ok(Reply::new(answer.to_string()))
    }
}

fn split(message: &str) -> (&str, &str) {
    message.split_once(' ').unwrap_or((message, ""))
}

fn texts(facts: &[Fact]) -> Vec<&str> {
    facts.iter().map(|fact| fact.content.as_str()).collect()
}

fn act(session: &Session, scope: &Scope, message: &str) -> Result<Value> {
    let (verb, rest) = split(message);
    Ok(match verb {
        "remember" => {
            scope.remember(rest)?;
            json!("remembered")
        }
        // From the first message of the session, which is its second entry.
        "learn" => {
            let source = EntryRef {
                session: session.info().session,
                index: 1,
                hash: None,
            };
            let learned = scope.remember(NewFact::new(rest).source(source))?;
            json!(learned.fact.is_verified())
        }
        "city" => {
            scope.remember(NewFact::new(rest).about("customer", "city"))?;
            json!("remembered")
        }
        "forget" => {
            let facts = scope.each_fact().collect::<Result<Vec<_>>>()?;
            let named = facts.into_iter().filter(|fact| fact.content == rest);
            let ids: Vec<String> = named.map(|fact| fact.id).collect();
            json!(scope.forget(&ids)?)
        }
        "set" => {
            let (key, value) = split(rest);
            scope.set(key, &value)?;
            json!("set")
        }
        "plan" => scope.update_profile(&json!({ "plan": rest }))?,
        "odd-plan" => scope.update_profile(&json!({ "plan": 7 }))?,
        "fork" => json!(scope.fork(rest)?.scope()?.each_fact().count()),
        "recall" => {
            let found = scope.recall(rest, &RecallOptions::new(5))?.facts;
            let facts = found.iter().map(|found| {
                let fact = &found.fact;
                json!([
                    fact.content,
                    fact.is_verified(),
                    found.score.cosine.is_some()
                ])
            });
            facts.collect()
        }
        "lineage" => {
            let options = EpisodeOptions::new(100).lineage();
            let episodes = scope.each_episode(options).collect::<Result<Vec<_>>>()?;
            episodes.into_iter().map(|episode| episode.kind).collect()
        }
        "tree" => {
            let nodes = scope.episode_tree()?.into_iter();
            let nodes = nodes.map(|node| json!([node.node, node.parent, node.episodes.len()]));
            nodes.collect()
        }
        other => return Err(Error::invalid(format!("I do not know how to {other}"))),
    })
}
