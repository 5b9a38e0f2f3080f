//! Working memory and the profile: what an agent has at hand.

use keepsake_sdk::{Error, Result, Session};
use serde_json::json;

use crate::guide::Guide;

pub(crate) fn values(session: &Session, guide: &mut Guide<'_>) -> Result<()> {
    let memory = session.scope()?;
    memory.set("ticket", &json!({ "id": 7, "open": true }))?;
    let ticket: Option<serde_json::Value> = memory.get("ticket")?;
    guide.say(format!("set and read: {}", ticket.unwrap_or_default()))?;

    // Two sessions that count at once lose nothing.
    let count = |visits: Option<u32>| Ok(Some(visits.unwrap_or(0) + 1));
    memory.update("visits", count)?;
    let visits = memory.update("visits", count)?;
    guide.say(format!("visits: {}", visits.unwrap_or_default()))?;

    let swapped = memory.compare_and_set("visits", Some(&json!(9)), Some(&json!(10)))?;
    guide.say(format!("from 9 to 10, if it is 9: {swapped}"))?;

    guide.say("all of it:")?;
    for (key, value) in memory.working()? {
        guide.say(format!("  {key} = {value}"))?;
    }
    memory.delete("ticket")?;
    guide.say(format!("left: {}", memory.working()?.len()))
}

pub(crate) fn profile(session: &Session, guide: &mut Guide<'_>) -> Result<()> {
    let memory = session.scope()?;
    let profile = memory.update_profile(&json!({ "name": "Jordan", "plan": "Free" }))?;
    guide.say(format!("written: {profile}"))?;
    let profile = memory.update_profile(&json!({ "plan": "Pro", "name": null }))?;
    guide.say(format!("patched: {profile}"))?;
    match memory.update_profile(&json!({ "plan": "Gold" })) {
        Err(Error::Invalid(reason)) => guide.say(format!("refused: {reason}"))?,
        other => return other.map(drop),
    }
    guide.say(format!("unchanged: {}", memory.profile()?))
}
