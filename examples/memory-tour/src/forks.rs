//! Forks: what an agent learns on trial, and whether it counts.

use keepsake_sdk::memory::RecallOptions;
use keepsake_sdk::{Result, Session};
use serde_json::json;

use crate::guide::Guide;

pub(crate) fn forks(session: &Session, guide: &mut Guide<'_>) -> Result<()> {
    let memory = session.scope()?;
    memory.set("tone", &json!("formal"))?;
    let branch = memory.fork("draft")?;
    let draft = branch.scope()?;
    draft.remember("Jordan might accept a voucher.")?;
    draft.set("tone", &json!("friendly"))?;

    let difference = branch.diff()?;
    for fact in &difference.added {
        guide.say(format!("the fork added \"{}\"", fact.content))?;
    }
    guide.say(format!("and changed {}", difference.working.join(", ")))?;
    let question = "would a voucher be accepted?";
    guide.say(format!("{question} (before the merge)"))?;
    guide.recalled(&memory.recall(question, &RecallOptions::new(1))?.facts)?;

    // Somebody else changed their mind meanwhile.
    memory.set("tone", &json!("brief"))?;
    let report = branch.merge()?;
    guide.say(format!(
        "merged: {} added, {} changed, in conflict: {}",
        report.added,
        report.changed,
        report.conflicts.join(", ")
    ))?;
    guide.say(format!("{question} (after it)"))?;
    guide.recalled(&memory.recall(question, &RecallOptions::new(1))?.facts)?;
    branch.discard()
}
