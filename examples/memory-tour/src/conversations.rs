//! What was said in a conversation lends what stands beside it its context.

use keepsake_sdk::memory::{NewFact, RecallOptions};
use keepsake_sdk::{Result, Session};

use crate::guide::Guide;

pub(crate) fn conversations(session: &Session, guide: &mut Guide<'_>) -> Result<()> {
    let memory = session.scope()?;
    let lines = [
        "Agent: Which device has the problem?",
        "Jordan: The tablet in the kitchen.",
        "Agent: And since when does it not print?",
        "Jordan: Since the update on Monday.",
    ];
    let facts: Vec<_> = (0..)
        .zip(lines)
        .map(|(place, line)| NewFact::new(line).thread("ticket-7", place))
        .collect();
    memory.remember_many(&facts)?;
    let question = "since when does the tablet not print?";
    guide.say(question)?;
    guide.recalled(&memory.recall(question, &RecallOptions::new(3))?.facts)
}
