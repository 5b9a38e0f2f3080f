//! Compaction: letting old facts go, so that a memory stays as small and as
//! young as it is to be.
//!
//! A fact's age counts from when it was last remembered or changed. Facts that
//! are older than the greatest age go, whatever they are. Of those that are
//! left, the ones beyond the greatest number go, in this order, the oldest
//! first in each group:
//!
//! 1. those that do not hold any more: superseded or expired,
//! 2. those that are not verified,
//! 3. those that are not verified and give the value of a property, which a
//!    newer value would replace,
//! 4. verified ones.
//!
//! Choosing reads the whole scope, and so is done on a reader, as a
//! [`CompactionPlan`]; carrying it out is one transaction, which passes over
//! what was changed meanwhile.
//!
//! Where there is a summariser, part of what goes is replaced by summaries,
//! which were asked for between the two. Verified facts are summarised apart
//! from others, so that a summary of them names all of their entries and is as
//! verified as they were. What is not summarised, and just goes: summaries, so
//! that no text is boiled down again and again; what does not hold now or will
//! end by itself, which a summary would make current; and values of properties,
//! which no newer value could replace within a summary.

mod carry_out;
mod plan;

use keepsake_types::Timestamp;

use super::model::Fact;
use super::{Memory, View};
use crate::Result;

/// What to let go of. With neither age nor number, nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactOptions {
    /// Facts that were last remembered or changed more than so many
    /// milliseconds ago.
    pub max_age_ms: Option<u64>,
    /// The facts beyond this number, history and summaries counted.
    pub max_facts: Option<usize>,
    /// What ages are counted to; none means now.
    pub now: Option<Timestamp>,
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Compaction {
    /// Facts that went, those that were summarised among them.
    pub removed: u64,
    /// Facts that went and are part of a summary.
    pub summarised: u64,
    /// Facts that are there afterwards, counted in the same transaction.
    pub remaining: u64,
}

/// What would go, as it was chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactionPlan {
    options: CompactOptions,
    /// What goes without a summary.
    plain: Vec<Going>,
    group: Option<SummaryGroup>,
    /// The rows of the group, in its order.
    grouped: Vec<Going>,
}

/// A fact that is to go, as it was when it was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Going {
    number: i64,
    updated_at: i64,
}

/// Facts that are to be summarised together.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryGroup {
    /// The facts, oldest first. All of them are verified, or none is.
    pub facts: Vec<Fact>,
    /// How many summaries there may be in their place.
    pub most: usize,
}

/// A text that stands for facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The text; bounds are those of a fact.
    pub content: String,
    /// Ids of the facts of the group that it stands for; none means all.
    pub of: Vec<String>,
}

impl CompactionPlan {
    /// Whether there is nothing to let go.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.grouped.is_empty()
    }

    /// The facts that a summariser is to be asked about.
    pub fn group(&self) -> Option<&SummaryGroup> {
        self.group.as_ref()
    }
}

impl View {
    /// Chooses what is to go next, at most
    /// [`COMPACTED_FACTS`](keepsake_types::limits::COMPACTED_FACTS): when it is
    /// carried out, the next plan has the rest. With `summarise`, up to
    /// [`SUMMARISED_FACTS`](keepsake_types::limits::SUMMARISED_FACTS) of them
    /// are the plan's group; without, it has none.
    ///
    /// # Errors
    /// Only when the file cannot be read.
    pub async fn plan_compaction(
        &self,
        options: CompactOptions,
        summarise: bool,
    ) -> Result<CompactionPlan> {
        self.read(CompactionPlan::default(), move |connection, scope| {
            plan::plan(connection, scope, options, summarise)
        })
        .await
    }

    /// Whether at least `after` facts were remembered since the last
    /// compaction. The count is in the file and costs no write anything.
    ///
    /// # Errors
    /// Only when the file cannot be read.
    pub async fn compaction_due(&self, after: u64) -> Result<bool> {
        self.read(false, move |connection, scope| {
            Ok(connection
                .prepare_cached(
                    "SELECT s.next_fact - coalesce(c.next_fact, 1) >= ?2 FROM scopes s
                     LEFT JOIN compactions c ON c.scope = s.id WHERE s.id = ?1",
                )?
                .query_row(rusqlite::params![scope, after.max(1)], |row| row.get(0))?)
        })
        .await
    }
}

impl Memory {
    /// Lets old facts go without summaries. More than
    /// [`COMPACTED_FACTS`](keepsake_types::limits::COMPACTED_FACTS) go in
    /// several transactions, each whole.
    ///
    /// # Errors
    /// Only when the file cannot be read or written.
    pub async fn compact(&self, options: CompactOptions) -> Result<Compaction> {
        let mut done = Compaction::default();
        loop {
            let plan = self.view.plan_compaction(options, false).await?;
            let part = self.carry_out(plan, Vec::new(), None).await?;
            done.removed += part.removed;
            done.remaining = part.remaining;
            if part.removed == 0 {
                return Ok(done);
            }
        }
    }
}
