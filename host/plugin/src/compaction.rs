//! Compacting a memory with the help of an agent that summarises.

use std::sync::Arc;

use keepsake_storage::{
    CompactOptions, Compaction, Fact, FactVectors, Memory, StorageError, Summary, SummaryGroup,
};
use keepsake_types::embedding::{Embedder, EmbeddingKind};
use keepsake_types::now;

use crate::agent::{AgentPlugin, TurnError};
use crate::capability::embeddings::embed;
use crate::capability::session::TurnContext;

/// Why a compaction did not come to its end. What was carried out before stays.
#[derive(Debug, thiserror::Error)]
pub enum CompactionError {
    /// The memory cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The agent gave no summaries.
    #[error("the facts stay, because they could not be summarised: {0}")]
    Summariser(#[source] TurnError),
    /// The agent gave summaries that cannot be used.
    #[error("the facts stay, because their summaries by agent `{agent}` cannot be used: {reason}")]
    Summaries {
        /// The agent's name.
        agent: String,
        /// What is wrong with them.
        reason: StorageError,
    },
}

/// An agent that summarises, and what it may use while it does.
#[derive(Clone)]
pub struct Summariser {
    agent: Arc<AgentPlugin>,
    context: TurnContext,
}

impl Summariser {
    /// The agent, if it summarises. Of what the context holds, it may use all
    /// but sandboxes, and compact nothing itself; what it emits is shown to nobody.
    pub fn new(agent: &Arc<AgentPlugin>, context: &TurnContext) -> Option<Self> {
        let (nobody, _) = tokio::sync::mpsc::unbounded_channel();
        agent.summarises().then(|| Self {
            agent: Arc::clone(agent),
            context: TurnContext {
                sandboxes: None,
                compactor: None,
                agents: None,
                emit: nobody,
                ..context.clone()
            },
        })
    }

    async fn summarise(&self, group: &SummaryGroup) -> Result<Vec<Summary>, TurnError> {
        let facts: Vec<Fact> = group.facts.clone();
        self.agent
            .summarise(facts, group.most, self.context.clone())
            .await
    }

    /// The vectors of summaries; none where the provider does not answer, as
    /// for facts that are remembered.
    async fn vectors(&self, summaries: &[Summary]) -> Option<FactVectors> {
        let embedder = self.context.embedder.as_ref()?;
        let texts = summaries.iter().map(|summary| summary.content.clone());
        let ledger = &self.context.ledger;
        match embed(embedder, ledger, texts.collect(), EmbeddingKind::Passage).await {
            Ok((embedder, vectors)) => Some(FactVectors::of(embedder.info(), vectors)),
            Err(error) => {
                tracing::warn!(
                    "summaries are kept without vectors, and only words will find them: {}",
                    crate::capability::describe(&error)
                );
                None
            }
        }
    }
}

/// Lets old facts of a memory go, with summaries in their place where someone
/// makes them. A failure is recorded in the ledger, and counts as a compaction.
///
/// # Errors
/// See [`CompactionError`].
pub async fn compact(
    memory: &Memory,
    options: CompactOptions,
    summariser: Option<&Summariser>,
) -> Result<Compaction, CompactionError> {
    let Some(summariser) = summariser else {
        return Ok(memory.compact(options).await?);
    };
    let done = with_summaries(memory, options, summariser).await;
    if let Err(error @ (CompactionError::Summariser(_) | CompactionError::Summaries { .. })) = &done
    {
        memory.record_failed_compaction(&error.to_string()).await?;
    }
    done
}

async fn with_summaries(
    memory: &Memory,
    options: CompactOptions,
    summariser: &Summariser,
) -> Result<Compaction, CompactionError> {
    let mut done = Compaction::default();
    // One time for all rounds, so that no summary is old in the next.
    let options = CompactOptions {
        now: Some(options.now.unwrap_or_else(now)),
        ..options
    };
    loop {
        let plan = memory.view().plan_compaction(options, true).await?;
        let summaries = match plan.group() {
            Some(group) => summariser
                .summarise(group)
                .await
                .map_err(CompactionError::Summariser)?,
            None => Vec::new(),
        };
        let vectors = match summaries.is_empty() {
            true => None,
            false => summariser.vectors(&summaries).await,
        };
        let summarised = !summaries.is_empty();
        let part = memory.carry_out(plan, summaries, vectors).await;
        let part = part.map_err(|error| match error {
            StorageError::Invalid(_) | StorageError::Limit { .. } if summarised => {
                CompactionError::Summaries {
                    agent: summariser.agent.name().to_owned(),
                    reason: error,
                }
            }
            error => error.into(),
        })?;
        done.removed += part.removed;
        done.summarised += part.summarised;
        done.remaining = part.remaining;
        if part.removed == 0 {
            return Ok(done);
        }
    }
}
