//! A walk through all that a memory can do. Each section is one turn: its name
//! is the message, and what it did is the reply. The sections are told for a
//! memory that was empty before the first one.

mod conversations;
mod facts;
mod forks;
mod guide;
mod history;
mod keeping;
mod layers;
mod prompts;
mod search;
mod working;

use keepsake_sdk::memory::Fact;
use keepsake_sdk::{Agent, Description, Error, Reply, Result, Session, Summarizer, Summary, Turn};
use serde_json::json;

use guide::Guide;

/// The agent.
pub struct MemoryTour;

keepsake_sdk::register_agent!(MemoryTour);
keepsake_sdk::register_summarizer!(MemoryTour);

/// A part of the walk.
type Section = fn(&Session, &mut Guide<'_>) -> Result<()>;

/// The parts by their names, in their order.
const SECTIONS: [(&str, Section); 11] = [
    ("working", working::values),
    ("profile", working::profile),
    ("facts", facts::gate),
    ("verified", facts::verified),
    ("history", history::history),
    ("search", search::search),
    ("conversations", conversations::conversations),
    ("layers", layers::layers),
    ("prompts", prompts::prompts),
    ("forks", forks::forks),
    ("keeping", keeping::keeping),
];

impl Agent for MemoryTour {
    fn describe() -> Description {
        Description::new(
            "memory-tour",
            "0.1.0",
            "Walks through all that a memory can do.",
        )
        .profile_schema(json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "plan": { "enum": ["Free", "Pro"] },
            },
        }))
    }

    fn handle(session: &Session, turn: Turn) -> Result<Reply> {
        let wanted = turn.message.trim();
        let section = SECTIONS.iter().find(|(name, _)| *name == wanted);
        let Some((name, section)) = section else {
            let names: Vec<_> = SECTIONS.iter().map(|(name, _)| *name).collect();
            return Err(Error::invalid(format!(
                "there is no section `{wanted}`: say one of {}",
                names.join(", ")
            )));
        };
        let mut guide = Guide::new(session, name)?;
        section(session, &mut guide)?;
        Ok(Reply::new(guide.text()))
    }
}

impl Summarizer for MemoryTour {
    /// An agent with a model would ask it here.
    fn summarize(_session: &Session, facts: &[Fact], _most: usize) -> Result<Vec<Summary>> {
        let texts: Vec<_> = facts
            .iter()
            .map(|fact| fact.content.trim_end_matches('.'))
            .collect();
        Ok(vec![Summary::new(format!(
            "In short: {}.",
            texts.join("; ")
        ))])
    }
}

#[cfg(test)]
mod tests {
    use keepsake_sdk::testing::Host;

    use super::*;

    #[test]
    fn a_section_that_does_not_exist_is_told_with_those_that_do() {
        let error = Host::new().turn::<MemoryTour>("everything").unwrap_err();
        assert!(error.to_string().contains("working, profile"), "{error}");
    }

    #[test]
    fn working_memory_is_walked_through_without_a_host() {
        let reply = Host::new().turn::<MemoryTour>("working").unwrap();
        assert!(reply.text.contains("visits: 2"), "{}", reply.text);
    }
}
