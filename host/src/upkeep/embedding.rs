//! Facts get the vectors of the provider that is in use, a few at a time.

use std::sync::Arc;

use keepsake_plugin::EmbeddingPlugin;
use keepsake_storage::{FactVectors, Kind};
use keepsake_types::embedding::{Embedder, EmbeddingKind};
use serde_json::json;
use tokio::sync::watch;

use super::{Stage, Task};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Facts of one batch: few, because a turn that begins meanwhile shares the
/// processor with it.
const BATCH: usize = 64;

/// How far it came.
pub(super) struct Embedding {
    /// None where nothing is to be embedded, or nobody can be asked.
    embedder: Option<Arc<EmbeddingPlugin>>,
    facts: u64,
    /// Where the next batch begins; none for the first fact.
    after: Option<String>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    UnderWay,
    Done,
    /// The provider or the memory failed; the next run tries again.
    Failed,
}

impl Embedding {
    pub(super) async fn new(task: &Task) -> Self {
        let (embedder, state) = match Self::left(task).await {
            Ok(None) => (None, State::Done),
            Ok(Some(embedder)) => (Some(embedder), State::UnderWay),
            Err(error) => {
                tracing::debug!("no facts are embedded anew: {error}");
                (None, State::Failed)
            }
        };
        Self {
            embedder,
            facts: 0,
            after: None,
            state,
        }
    }

    /// The provider that is to embed something, if there is something. Without
    /// any facts it need not even be loaded.
    async fn left(task: &Task) -> Result<Option<Arc<EmbeddingPlugin>>, AnyError> {
        let view = task.memory.view();
        let Some(provider) = &task.embedder else {
            return Ok(None);
        };
        if view.count_facts().await? == 0 {
            return Ok(None);
        }
        let embedder = provider.get().await?;
        let left = view.count_unembedded(&embedder.info().model).await?;
        Ok((left > 0).then(|| Arc::clone(embedder)))
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.state == State::UnderWay
    }

    pub(super) fn embedded(&self) -> u64 {
        self.facts
    }

    /// Embeds batch after batch until something is told or all are embedded.
    pub(super) async fn go_on(&mut self, task: &Task, stage: &watch::Receiver<Stage>) {
        while self.is_under_way() && !stage.has_changed().unwrap_or(true) {
            self.batch(task).await;
        }
    }

    /// Embeds the next facts that have no vector of the model.
    pub(super) async fn batch(&mut self, task: &Task) {
        if !self.is_under_way() {
            return;
        }
        match self.next(task).await {
            Ok(facts) => {
                self.facts += facts;
                tracing::info!("{} facts were embedded anew so far", self.facts);
            }
            Err(error) => {
                self.state = State::Failed;
                tracing::warn!("facts wait to be embedded anew: {error}");
            }
        }
    }

    async fn next(&mut self, task: &Task) -> Result<u64, AnyError> {
        let Some(embedder) = &self.embedder else {
            return Ok(0);
        };
        let model = &embedder.info().model;
        let view = task.memory.view();
        let after = self.after.take();
        let page = view.unembedded(model, after.as_deref(), BATCH).await?;
        if page.next.is_none() {
            // What comes to be without a vector later is for the next run.
            self.state = State::Done;
        }
        self.after = page.next;
        if page.facts.is_empty() {
            return Ok(0);
        }
        let (ids, texts): (Vec<_>, Vec<_>) = page.facts.into_iter().unzip();
        let bytes: usize = texts.iter().map(String::len).sum();
        let asked = texts.len();
        let started = std::time::Instant::now();
        let answer = embedder.embed(texts, EmbeddingKind::Passage).await;
        let called = json!({
            "model": model,
            "kind": "passage",
            "texts": asked,
            "bytes": bytes,
            "milliseconds": u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            "error": answer.as_ref().err().map(ToString::to_string),
            "background": true,
        });
        task.ledger.write(Kind::ProviderCalled, called).await?;
        let vectors = FactVectors::of(embedder.info(), answer?);
        Ok(task.memory.set_vectors(ids, vectors).await?)
    }
}
