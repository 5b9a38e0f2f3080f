//! Letting go: expiry, forgetting, and summaries in the place of old facts; and
//! what the ledger says of it all.

use std::collections::BTreeMap;

use keepsake_sdk::memory::{CompactOptions, EpisodeOptions, NewFact};
use keepsake_sdk::{Result, Session};

use crate::guide::{Guide, quoted};

pub(crate) fn keeping(session: &Session, guide: &mut Guide<'_>) -> Result<()> {
    let memory = session.scope()?;
    let holiday = memory.remember("Jordan is on holiday.")?.fact;
    memory.expire(&holiday.id, session.info().started_at)?;
    let secret = memory
        .remember("Jordan would rather not have said this.")?
        .fact;
    let forgotten = memory.forget(std::slice::from_ref(&secret.id))?;
    guide.say(format!(
        "expired: {}, forgotten: {forgotten}, found again: {}",
        quoted(&holiday),
        memory.find(&secret.id)?.is_some()
    ))?;

    let days = ["Monday", "Tuesday", "Wednesday"];
    let calls = days.map(|day| NewFact::new(format!("Jordan called on {day}.")));
    memory.remember_many(&calls)?;
    let before = memory.each_fact().count();
    let keep = u32::try_from(before).unwrap_or(u32::MAX) - 6;
    let done = memory.compact(&CompactOptions::new().max_facts(keep))?;
    guide.say(format!(
        "compacted to {keep} facts: {} went, {} of them into summaries",
        done.removed, done.summarised
    ))?;
    for fact in memory.each_fact() {
        let fact = fact?;
        if fact.content.starts_with("In short") {
            guide.say(format!("  {}", quoted(&fact)))?;
        }
    }

    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    let this = EpisodeOptions::new(500).session(session.info().session);
    for episode in memory.each_episode(this) {
        *kinds.entry(episode?.kind).or_default() += 1;
    }
    guide.say("the ledger of this session:")?;
    for (kind, count) in kinds {
        guide.say(format!("  {count} {kind}"))?;
    }
    Ok(())
}
