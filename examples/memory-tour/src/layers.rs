//! What an account and a team know, where the operator grants it.

use keepsake_sdk::memory::{NewFact, RecallOptions};
use keepsake_sdk::{Result, Session};

use crate::guide::Guide;

pub(crate) fn layers(session: &Session, guide: &mut Guide<'_>) -> Result<()> {
    let (Some(account), Some(team)) = (session.account_scope()?, session.team_scope()?) else {
        return guide.say("not granted: run this with --account and --team");
    };
    let rule = |text: &str| NewFact::new(text).about("refunds", "rule");
    team.remember(rule("Refunds take 14 days."))?;
    team.remember("Support is open from nine to five.")?;
    account.remember(rule("Refunds take 30 days."))?;
    let memory = session.scope()?;
    for question in ["how long do refunds take?", "when is support open?"] {
        guide.say(question)?;
        let wider = RecallOptions::new(2).wider();
        guide.recalled(&memory.recall(question, &wider)?.facts)?;
    }
    Ok(())
}
