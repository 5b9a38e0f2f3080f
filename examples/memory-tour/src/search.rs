//! Recall: words, vectors, both, identifiers, and nothing.

use keepsake_sdk::memory::{NewFact, RecallMode, RecallOptions};
use keepsake_sdk::{Result, Session};
use serde_json::json;

use crate::guide::Guide;

pub(crate) fn search(session: &Session, guide: &mut Guide<'_>) -> Result<()> {
    let memory = session.scope()?;
    memory.remember_many(&[
        NewFact::new("Order ORD-1042 arrived with a cracked screen.")
            .metadata(&json!({ "channel": "mail" })),
        NewFact::new("Order ORD-1043 was returned unopened.")
            .metadata(&json!({ "channel": "phone" })),
        NewFact::new("Jordan runs a bakery in Lisbon."),
        NewFact::new("Deliveries are only possible before noon."),
    ])?;
    let mut ask = |question: &str, how: &str, options: RecallOptions| {
        guide.say(format!("{question}{how}"))?;
        guide.recalled(&memory.recall(question, &options)?.facts)
    };
    let two = || RecallOptions::new(2);
    let parcels = "when may parcels be dropped off?";
    ask(parcels, " (by words)", two().mode(RecallMode::Words))?;
    ask(parcels, " (by vectors)", two().mode(RecallMode::Vectors))?;
    ask(parcels, " (by both)", two())?;
    ask("what was wrong with ORD-1042?", " (an identifier)", two())?;
    let by_phone = two().metadata(&json!({ "channel": "phone" }));
    ask("which orders are there?", " (by phone)", by_phone)?;
    ask("who won the chess tournament?", "", two())
}
