//! An agent that hands questions about bills to another, looks at what that one
//! learned, and takes it over unless the customer wants nothing kept.

use keepsake_sdk::memory::RecallOptions;
use keepsake_sdk::{Agent, Description, Reply, Result, Session, Turn};

/// Words by which a question about a bill is known.
const BILLING: [&str; 4] = ["bill", "charge", "invoice", "refund"];

/// The agent.
pub struct Triage;

keepsake_sdk::register_agent!(Triage);

impl Agent for Triage {
    fn describe() -> Description {
        Description::new("triage-agent", "0.1.0", "Hands questions to who knows.")
    }

    fn handle(session: &Session, turn: Turn) -> Result<Reply> {
        let said = turn.message.to_lowercase();
        if !BILLING.iter().any(|word| said.contains(word)) {
            return known(session, &turn.message);
        }
        let billing = session.spawn("billing", false, None)?;
        let reply = billing.ask(&turn.message, |chunk| session.emit(chunk))?;
        let learned = billing.diff()?.added.len();
        if said.contains("off the record") {
            billing.discard()?;
            return Ok(Reply::new(format!("{reply} Nothing is kept.")));
        }
        billing.merge()?;
        Ok(Reply::new(format!("{reply} Facts kept: {learned}.")))
    }
}

/// What is known already.
fn known(session: &Session, question: &str) -> Result<Reply> {
    let found = session
        .scope()?
        .recall(question, &RecallOptions::new(1))?
        .facts;
    Ok(match found.first() {
        Some(found) => Reply::new(&found.fact.content),
        None => Reply::new("I know nothing of that."),
    })
}
