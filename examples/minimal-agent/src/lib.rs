//! The smallest agent that remembers: what a customer says is kept, and what
//! they ask is answered from it.

use keepsake_sdk::memory::RecallOptions;
use keepsake_sdk::{Agent, Description, Reply, Result, Session, Turn};

struct Minimal;

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
