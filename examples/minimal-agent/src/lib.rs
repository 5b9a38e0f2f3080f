//! The smallest agent that remembers: what a customer says is kept, and what
//! they ask is answered from it.

use keepsake_sdk::memory::RecallOptions;
use keepsake_sdk::{Agent, Description, Reply, Result, Session, Turn};

/// The agent.
pub struct Minimal;

keepsake_sdk::register_agent!(Minimal);

impl Agent for Minimal {
    fn describe() -> Description {
        Description::new("minimal-agent", "0.1.0", "Keeps what it is told.")
    }

    fn handle(session: &Session, turn: Turn) -> Result<Reply> {
        let memory = session.scope()?;
        if !turn.message.trim_end().ends_with('?') {
            memory.remember(turn.message)?;
            return Ok(Reply::new("I will remember that."));
        }
        let found = memory.recall(&turn.message, &RecallOptions::new(1))?;
        Ok(match found.facts.first() {
            Some(known) => Reply::new(format!("You told me: {}", known.fact.content)),
            None => Reply::new("You have not told me."),
        })
    }
}

#[cfg(test)]
mod tests {
    use keepsake_sdk::testing::Host;

    use super::*;

    #[test]
    fn what_was_told_in_one_session_is_known_in_the_next() {
        let host = Host::new();
        host.turn::<Minimal>("My cat is called Miso.").unwrap();
        host.new_session();
        let reply = host.turn::<Minimal>("What is my cat called?").unwrap();
        assert_eq!(reply.text, "You told me: My cat is called Miso.");
    }

    #[test]
    fn what_was_not_told_is_not_made_up() {
        let reply = Host::new()
            .turn::<Minimal>("What is my dog called?")
            .unwrap();
        assert_eq!(reply.text, "You have not told me.");
    }
}
