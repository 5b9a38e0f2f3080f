//! What a memory needs besides turns, done beside them: facts are embedded
//! anew after another provider was chosen, and old ones are let go.
//!
//! A turn never waits for it. What is done reaches the file piece by piece, so
//! that the next run goes on where this one ended.

mod embedding;

use std::time::Duration;

use keepsake_plugin::{EmbeddingPlugin, Ledger, Provider, Summariser, compact};
use keepsake_storage::Memory;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::MemoryConfig;
use embedding::Embedding;

/// How long the end of a session waits for what is under way: for the batch
/// that is being embedded, so that even the shortest runs get on, and for a
/// compaction, with the summaries that it asks for.
const PATIENCE: Duration = Duration::from_secs(10);

/// After so long, the processor is free for others than the turn.
const LONG: Duration = Duration::from_secs(1);

/// What there is to look after.
pub(crate) struct Task {
    pub(crate) memory: Memory,
    pub(crate) ledger: Ledger,
    /// None where the agent has no use for vectors.
    pub(crate) embedder: Option<Provider<EmbeddingPlugin>>,
    pub(crate) summariser: Option<Summariser>,
    pub(crate) config: MemoryConfig,
}

/// What the session tells the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No message has come yet. The first often comes at once, and is not to be
    /// held up.
    Begin,
    /// A message is being handled.
    Turn,
    /// None is being handled.
    Between,
    /// The session ends.
    End,
}

/// The task of a running session.
pub(crate) struct Upkeep {
    memory: Memory,
    stage: watch::Sender<Stage>,
    task: JoinHandle<u64>,
}

impl Upkeep {
    /// Begins to look after a memory.
    pub(crate) fn begin(task: Task) -> Self {
        let (stage, told) = watch::channel(Stage::Begin);
        Self {
            memory: task.memory.clone(),
            stage,
            task: tokio::spawn(task.run(told)),
        }
    }

    pub(crate) fn turn_begins(&self) {
        self.stage.send_replace(Stage::Turn);
    }

    pub(crate) fn turn_ended(&self) {
        self.stage.send_replace(Stage::Between);
    }

    /// Ends it, and answers how many facts were embedded. Nothing is written
    /// after that. With `at_once`, what is under way is broken off: it is
    /// written whole or not at all, and the next run goes on.
    pub(crate) async fn end(mut self, at_once: bool) -> u64 {
        self.stage.send_replace(Stage::End);
        let patience = if at_once { Duration::ZERO } else { PATIENCE };
        if let Ok(ended) = tokio::time::timeout(patience, &mut self.task).await {
            return ended.unwrap_or_default();
        }
        self.task.abort();
        let embedded = self.task.await.unwrap_or_default();
        if !at_once {
            // Otherwise each of many short runs would wait for it in vain.
            let reason =
                format!("the session ended, and it took longer than {PATIENCE:?} after that");
            if let Err(error) = self.memory.record_failed_compaction(&reason).await {
                tracing::warn!("{error}");
            }
        }
        embedded
    }
}

/// Whether nothing is told for so long that whoever is handled waits for a model
/// or a command, or whoever writes still thinks.
async fn waits(stage: &mut watch::Receiver<Stage>) -> bool {
    tokio::time::timeout(LONG, stage.changed())
        .await
        .map_or(true, |told| {
            if told.is_ok() {
                stage.mark_changed();
            }
            false
        })
}

impl Task {
    /// Answers how many facts were embedded.
    async fn run(self, mut stage: watch::Receiver<Stage>) -> u64 {
        let mut embedding = Embedding::new(&self).await;
        loop {
            let now = *stage.borrow_and_update();
            match now {
                Stage::Begin | Stage::Turn => {
                    let beginning = now == Stage::Begin;
                    while embedding.is_under_way() && waits(&mut stage).await {
                        embedding.batch(&self).await;
                        if beginning {
                            embedding.go_on(&self, &stage).await;
                        }
                    }
                }
                Stage::Between => {
                    self.compact_if_due().await;
                    embedding.go_on(&self, &stage).await;
                }
                Stage::End => {
                    self.compact_if_due().await;
                    if embedding.embedded() == 0 {
                        embedding.batch(&self).await;
                    }
                    return embedding.embedded();
                }
            }
            // Told meanwhile, or to be waited for; none comes after the session.
            if stage.changed().await.is_err() {
                return embedding.embedded();
            }
        }
    }

    /// A compaction that fails is no failure of anything that was asked for:
    /// the facts stay, and the ledger tells.
    async fn compact_if_due(&self) {
        let Some(after) = self.config.compact_after else {
            return;
        };
        let done = async {
            if !self.memory.view().compaction_due(after).await? {
                return Ok(None);
            }
            let options = self.config.options;
            let done = compact(&self.memory, options, self.summariser.as_ref()).await?;
            Ok::<_, keepsake_plugin::CompactionError>(Some(done))
        };
        match done.await {
            Ok(Some(done)) => tracing::info!(
                "compacted: {} facts went, {} of them into summaries, and {} remain",
                done.removed,
                done.summarised,
                done.remaining
            ),
            Ok(None) => {}
            Err(error) => tracing::warn!("facts were not compacted: {error}"),
        }
    }
}
