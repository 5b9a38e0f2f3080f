//! An agent that summarises, well or badly: facts that tell it to panic, to
//! stall or to flood have it do so while it summarises.

use keepsake_sdk::memory::{CompactOptions, EntryRef, Fact, NewFact, RecallOptions};
use keepsake_sdk::{Agent, Description, Error, Reply, Result, Session, Summarizer, Summary, Turn};

/// The agent.
pub struct Summarising;

keepsake_sdk::register_agent!(Summarising);
keepsake_sdk::register_summarizer!(Summarising);

impl Agent for Summarising {
    fn describe() -> Description {
        Description::new("summarising-agent", "0.1.0", "Summarises what is let go.")
    }

    fn handle(session: &Session, turn: Turn) -> Result<Reply> {
        let scope = session.scope()?;
        let (verb, rest) = turn.message.split_once(' ').unwrap_or((&turn.message, ""));
        Ok(match verb {
            "remember" => {
                scope.remember(rest)?;
                "remembered".into()
            }
            // From the first message of the session, which is its second entry.
            "learn" => {
                let source = EntryRef {
                    session: session.info().session,
                    index: 1,
                    hash: None,
                };
                scope.remember(NewFact::new(rest).source(source))?;
                "learned".into()
            }
            "many" => {
                let count: u32 = rest.parse().unwrap_or(0);
                let facts: Vec<_> = (0..count)
                    .map(|number| NewFact::new(format!("Number {number} was drawn.")))
                    .collect();
                scope.remember_many(&facts)?;
                "remembered".into()
            }
            "compact" => {
                let most = rest.parse().map_err(|_| Error::invalid("how many?"))?;
                let done = scope.compact(&CompactOptions::new().max_facts(most))?;
                Reply::new(format!(
                    "removed {}, summarised {}, remaining {}",
                    done.removed, done.summarised, done.remaining
                ))
            }
            "recall" => {
                let found = scope.recall(rest, &RecallOptions::new(5))?;
                let contents: Vec<_> = found
                    .facts
                    .iter()
                    .map(|found| &found.fact.content)
                    .collect();
                Reply::new(format!("{contents:?}"))
            }
            other => return Err(Error::invalid(format!("I do not know how to {other}"))),
        })
    }
}

impl Summarizer for Summarising {
    fn summarize(session: &Session, facts: &[Fact], most: usize) -> Result<Vec<Summary>> {
        let texts: Vec<_> = facts.iter().map(|fact| fact.content.as_str()).collect();
        let text = texts.join(" ");
        if text.contains("panic") {
            panic!("the summarizer's own words");
        }
        while text.contains("stall") {
            std::hint::black_box(&text);
        }
        if text.contains("flood") {
            return Ok(vec![Summary::new("too many"); most + 1]);
        }
        if text.contains("compact again") {
            session
                .scope()?
                .compact(&CompactOptions::new().max_facts(0))?;
        }
        Ok(vec![Summary::new(format!("In short: {text}"))])
    }
}
