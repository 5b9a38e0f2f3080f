//! An agent that others hand questions about bills to. What it notes lies in its
//! own fork of the customer's memory until the one that started it takes it over.

use keepsake_sdk::{Agent, Description, Reply, Result, Session, Turn};

/// The agent.
pub struct Billing;

keepsake_sdk::register_agent!(Billing);

impl Agent for Billing {
    fn describe() -> Description {
        Description::new("billing-agent", "0.1.0", "Notes what a bill is about.")
    }

    fn handle(session: &Session, turn: Turn) -> Result<Reply> {
        session.emit("I am noting this for the billing team. ")?;
        session
            .scope()?
            .remember(format!("Billing was asked: {}", turn.message))?;
        Ok(Reply::new(
            "I am noting this for the billing team. They answer within a day.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use keepsake_sdk::testing::Host;

    use super::*;

    #[test]
    fn a_question_is_noted_and_answered() {
        let host = Host::new();
        let reply = host.turn::<Billing>("Why was I charged twice?").unwrap();
        assert!(reply.text.ends_with("within a day."), "{}", reply.text);
        let facts = host.facts();
        assert_eq!(
            facts[0].content,
            "Billing was asked: Why was I charged twice?"
        );
    }
}
