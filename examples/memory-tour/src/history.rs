//! What held when: values that follow each other.

use keepsake_sdk::memory::{NewFact, RecallOptions};
use keepsake_sdk::{Result, Session};

use crate::guide::{Guide, outcome};

/// A day in milliseconds.
const DAY: u64 = 86_400_000;

pub(crate) fn history(session: &Session, guide: &mut Guide<'_>) -> Result<()> {
    let memory = session.scope()?;
    let now = session.info().started_at;
    let plan = |plan: &str, from: u64| {
        let text = format!("Jordan is on the {plan} plan.");
        NewFact::new(text).about("jordan", "plan").valid_from(from)
    };
    let ask = |options: RecallOptions| memory.recall("which plan is Jordan on", &options);
    memory.remember(plan("Free", now - 30 * DAY))?;
    let done = memory.remember(plan("Pro", now - 3 * DAY))?;
    guide.say(format!("a new value: {}", outcome(done.outcome)))?;
    guide.say("which plan is Jordan on?")?;
    guide.recalled(&ask(RecallOptions::new(3))?.facts)?;
    guide.say("a week ago?")?;
    guide.recalled(&ask(RecallOptions::new(3).as_of(now - 7 * DAY))?.facts)?;
    guide.say("ever?")?;
    guide.recalled(&ask(RecallOptions::new(3).include_superseded())?.facts)
}
