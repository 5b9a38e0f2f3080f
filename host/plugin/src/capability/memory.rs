//! `keepsake:host/memory`: what an agent remembers. A scope is bound to its
//! resource by the host; nothing a guest passes names one.

mod convert;
mod forks;
pub(crate) mod profile;

use std::sync::Arc;

use keepsake_storage::{self as storage, FactVectors, Layer, Memory, ProfileCheck, QueryVector};
use keepsake_types::embedding::{Embedder, EmbeddingKind};
use keepsake_types::limits;
use serde_json::Value;
use wasmtime::component::{HasData, Resource};

use crate::bindings::agent::keepsake::host::memory::{
    self, CompactOptions, Compaction, EpisodeNode, EpisodeOptions, EpisodePage, Fact, FactPage,
    ForkDifference, MergeReport, NewFact, Page, RecallMode, RecallOptions, Recollection,
    Remembered, SnippetOptions, WorkingPage,
};
use crate::bindings::agent::keepsake::host::types::{Error, LimitReached};
use crate::capability::embeddings::{embed, no_provider};
use crate::capability::session::TurnContext;
use crate::capability::unavailable;
use crate::compaction::{self, CompactionError, Summariser};
use crate::embedder::EmbeddingPlugin;
use crate::ledger::Ledger;
use crate::provider::Provider;
use crate::state::State;
use crate::used::Handles;
use profile::ProfileSchema;

/// A guest's handle on one resource's memory.
#[derive(Clone)]
#[expect(unreachable_pub, reason = "the generated code exports it")]
pub struct Scope {
    memory: Memory,
    /// What a recall may take in as well.
    wider: Vec<(Layer, Memory)>,
    embedder: Option<Provider<EmbeddingPlugin>>,
    ledger: Ledger,
    schema: Option<Arc<ProfileSchema>>,
    may_compact: bool,
    summariser: Option<Summariser>,
}

/// A guest's handle on a fork and its way back.
#[expect(unreachable_pub, reason = "the generated code exports it")]
pub struct Branch {
    branch: storage::Branch,
    /// The fork's memory, with what its parent's scope was granted. Scopes that are
    /// made of it share what was shown in this turn.
    scope: Scope,
}

impl Scope {
    /// The customer's own memory, which has the account's and the team's beyond it.
    pub(crate) fn own(context: &TurnContext) -> Self {
        Self {
            wider: context.wider.clone(),
            ..Self::new(context, context.memory.clone())
        }
    }

    pub(crate) fn new(context: &TurnContext, memory: Memory) -> Self {
        Self {
            memory,
            wider: Vec::new(),
            embedder: context.embedder.clone(),
            ledger: context.ledger.clone(),
            schema: context.profile_schema.clone(),
            may_compact: context.compactor.is_some(),
            summariser: context
                .compactor
                .as_ref()
                .and_then(|agent| Summariser::new(agent, context)),
        }
    }

    async fn get(&self, key: &str) -> Result<Option<String>, Error> {
        let value = self.memory.get(key).await?;
        Ok(value.map(|value| value.to_string()))
    }

    async fn set(&self, key: &str, value: &str) -> Result<(), Error> {
        let value = convert::value(value, "the value")?;
        Ok(self.memory.set(key, value).await?)
    }

    async fn compare_and_set(
        &self,
        key: &str,
        expected: Option<String>,
        value: Option<String>,
    ) -> Result<bool, Error> {
        let expected = convert::optional_value(expected, "the expected value")?;
        let value = convert::optional_value(value, "the value")?;
        Ok(self.memory.compare_and_set(key, expected, value).await?)
    }

    async fn list_working(&self, page: Page) -> Result<WorkingPage, Error> {
        let answer = self
            .memory
            .list(page.after.as_deref(), page.limit as usize)
            .await?;
        Ok(WorkingPage {
            items: answer
                .items
                .into_iter()
                .map(|(key, value)| (key, value.to_string()))
                .collect(),
            next: answer.next,
        })
    }

    async fn profile(&self) -> Result<String, Error> {
        Ok(Value::Object(self.memory.profile().await?).to_string())
    }

    async fn update_profile(&self, patch: &str) -> Result<String, Error> {
        let patch = convert::value(patch, "the patch")?;
        let profile = self.memory.update_profile(patch, self.check()).await?;
        Ok(Value::Object(profile).to_string())
    }

    /// What a profile is held to before it is stored.
    fn check(&self) -> Option<ProfileCheck> {
        self.schema.clone().map(|schema| -> ProfileCheck {
            Arc::new(move |profile: &Value| schema.check(profile))
        })
    }

    async fn remember_many(&self, facts: Vec<NewFact>) -> Result<Vec<Remembered>, Error> {
        let facts = facts
            .into_iter()
            .map(convert::new_fact)
            .collect::<Result<Vec<_>, _>>()?;
        // Checked before the provider is asked, which may cost money.
        storage::check_new_facts(&facts)?;
        let vectors = self.passages(&facts).await?;
        let remembered = self.memory.remember_many(facts, vectors).await?;
        Ok(remembered.into_iter().map(Remembered::from).collect())
    }

    /// The facts' vectors. Without a provider, or when it fails, the facts are
    /// remembered all the same: words find them, and what was learned is not
    /// lost because a service was away.
    async fn passages(&self, facts: &[storage::NewFact]) -> Result<Option<FactVectors>, Error> {
        let Some(embedder) = &self.embedder else {
            return Ok(None);
        };
        // A provider may be anyone's server: no secret goes to it.
        let texts = storage::kept_texts(facts);
        match embed(embedder, &self.ledger, texts, EmbeddingKind::Passage).await {
            Ok((embedder, vectors)) => Ok(Some(FactVectors::of(embedder.info(), vectors))),
            Err(Error::Unavailable(unavailable)) => {
                tracing::warn!(
                    "facts are remembered without vectors, and only words will find them: {}",
                    unavailable.message
                );
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The query's vector, or none where only words can be searched.
    async fn query(&self, query: &str, mode: RecallMode) -> Result<Option<QueryVector>, Error> {
        if query.len() > limits::QUERY_BYTES {
            return Err(Error::Limit(LimitReached {
                name: "query-bytes".into(),
                message: format!(
                    "the query has {} bytes; at most {} are searched for",
                    query.len(),
                    limits::QUERY_BYTES
                ),
            }));
        }
        if mode == RecallMode::Words || query.trim().is_empty() {
            return Ok(None);
        }
        let Some(embedder) = &self.embedder else {
            return match mode {
                RecallMode::Vectors => Err(no_provider()),
                _ => Ok(None),
            };
        };
        let texts = vec![query.to_owned()];
        match embed(embedder, &self.ledger, texts, EmbeddingKind::Query).await {
            Ok((embedder, mut vectors)) => {
                let relevance_threshold = embedder.relevance_threshold().await;
                Ok(vectors.pop().map(|vector| QueryVector {
                    model: embedder.info().model.clone(),
                    vector,
                    relevance_threshold,
                }))
            }
            Err(Error::Unavailable(unavailable)) if mode == RecallMode::Hybrid => {
                tracing::warn!("recall goes by words alone: {}", unavailable.message);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    async fn recall(&self, query: &str, options: RecallOptions) -> Result<Recollection, Error> {
        let (mode, wider) = (options.mode, options.wider);
        let options = convert::recall_options(options)?;
        let vector = self.query(query, mode).await?;
        let wider = if wider { self.wider.as_slice() } else { &[] };
        let recalled = self.memory.recall_wider(wider, query, vector, options);
        Ok(recalled.await?.into())
    }

    async fn snippet(&self, options: SnippetOptions) -> Result<String, Error> {
        let vector = match &options.query {
            Some(query) => self.query(query, RecallMode::Hybrid).await?,
            None => None,
        };
        let options = convert::snippet_options(options)?;
        Ok(self.memory.snippet(options, vector).await?)
    }

    async fn compact(&self, options: CompactOptions) -> Result<Compaction, Error> {
        if !self.may_compact {
            return Err(Error::Denied(
                "a memory cannot be compacted from here: a summarizer must not call `compact`"
                    .into(),
            ));
        }
        let options = convert::compact_options(&options);
        match compaction::compact(&self.memory, options, self.summariser.as_ref()).await {
            Ok(done) => Ok(Compaction {
                removed: done.removed,
                summarised: done.summarised,
                remaining: done.remaining,
            }),
            Err(CompactionError::Storage(error)) => Err(error.into()),
            Err(error) => Err(unavailable(error.to_string())),
        }
    }

    async fn list_facts(&self, page: Page) -> Result<FactPage, Error> {
        let answer = self
            .memory
            .list_facts(page.after.as_deref(), page.limit as usize)
            .await?;
        Ok(FactPage {
            facts: answer.facts.into_iter().map(Fact::from).collect(),
            next: answer.next,
        })
    }

    async fn episodes(&self, options: EpisodeOptions) -> Result<EpisodePage, Error> {
        let options = convert::episode_options(options);
        Ok(self.memory.episodes(options).await?.into())
    }
}

pub(crate) struct MemoryView<'a> {
    handles: Handles<'a>,
}

impl<'a> MemoryView<'a> {
    pub(crate) fn new(state: &'a mut State) -> Self {
        Self {
            handles: Handles::new(&mut state.table, &mut state.used),
        }
    }
}

pub(crate) struct HasMemory;

impl HasData for HasMemory {
    type Data<'a> = MemoryView<'a>;
}

impl MemoryView<'_> {
    /// So many facts are to be remembered, which has each of them embedded.
    fn remembers(&mut self, facts: usize) -> Result<(), Error> {
        self.handles.used.writes(facts)?;
        self.handles.used.embeds(facts)
    }

    /// Something is looked for, by words alone or by a text that is embedded.
    fn searches(&mut self, words_alone: bool) -> Result<(), Error> {
        self.handles.used.embeds(usize::from(!words_alone))
    }
}

impl memory::Host for MemoryView<'_> {}

type Answer<T> = wasmtime::Result<Result<T, Error>>;

impl memory::HostScope for MemoryView<'_> {
    async fn get(&mut self, scope: Resource<Scope>, key: String) -> Answer<Option<String>> {
        Ok(self.handles.get(&scope)?.get(&key).await)
    }

    async fn set(&mut self, scope: Resource<Scope>, key: String, value: String) -> Answer<()> {
        if let Err(error) = self.handles.used.writes(1) {
            return Ok(Err(error));
        }
        Ok(self.handles.get(&scope)?.set(&key, &value).await)
    }

    async fn compare_and_set(
        &mut self,
        scope: Resource<Scope>,
        key: String,
        expected: Option<String>,
        value: Option<String>,
    ) -> Answer<bool> {
        if let Err(error) = self.handles.used.writes(1) {
            return Ok(Err(error));
        }
        let scope = self.handles.get(&scope)?;
        Ok(scope.compare_and_set(&key, expected, value).await)
    }

    async fn delete(&mut self, scope: Resource<Scope>, key: String) -> Answer<bool> {
        if let Err(error) = self.handles.used.writes(1) {
            return Ok(Err(error));
        }
        let deleted = self.handles.get(&scope)?.memory.delete(&key).await;
        Ok(deleted.map_err(Error::from))
    }

    async fn list_working(&mut self, scope: Resource<Scope>, page: Page) -> Answer<WorkingPage> {
        Ok(self.handles.get(&scope)?.list_working(page).await)
    }

    async fn profile(&mut self, scope: Resource<Scope>) -> Answer<String> {
        Ok(self.handles.get(&scope)?.profile().await)
    }

    async fn update_profile(&mut self, scope: Resource<Scope>, patch: String) -> Answer<String> {
        if let Err(error) = self.handles.used.writes(1) {
            return Ok(Err(error));
        }
        Ok(self.handles.get(&scope)?.update_profile(&patch).await)
    }

    async fn clear_profile(&mut self, scope: Resource<Scope>) -> Answer<()> {
        if let Err(error) = self.handles.used.writes(1) {
            return Ok(Err(error));
        }
        let cleared = self.handles.get(&scope)?.memory.clear_profile().await;
        Ok(cleared.map_err(Error::from))
    }

    async fn remember(&mut self, scope: Resource<Scope>, fact: NewFact) -> Answer<Remembered> {
        if let Err(error) = self.remembers(1) {
            return Ok(Err(error));
        }
        let remembered = self.handles.get(&scope)?.remember_many(vec![fact]).await;
        Ok(remembered.and_then(|mut one| {
            one.pop()
                .ok_or_else(|| Error::Internal("the memory answered for no fact".into()))
        }))
    }

    async fn remember_many(
        &mut self,
        scope: Resource<Scope>,
        facts: Vec<NewFact>,
    ) -> Answer<Vec<Remembered>> {
        if let Err(error) = self.remembers(facts.len()) {
            return Ok(Err(error));
        }
        Ok(self.handles.get(&scope)?.remember_many(facts).await)
    }

    async fn recall(
        &mut self,
        scope: Resource<Scope>,
        query: String,
        options: RecallOptions,
    ) -> Answer<Recollection> {
        if let Err(error) = self.searches(options.mode == RecallMode::Words) {
            return Ok(Err(error));
        }
        Ok(self.handles.get(&scope)?.recall(&query, options).await)
    }

    async fn find(&mut self, scope: Resource<Scope>, id: String) -> Answer<Option<Fact>> {
        let found = self.handles.get(&scope)?.memory.find(&id).await;
        Ok(found.map(|fact| fact.map(Fact::from)).map_err(Error::from))
    }

    async fn list_facts(&mut self, scope: Resource<Scope>, page: Page) -> Answer<FactPage> {
        Ok(self.handles.get(&scope)?.list_facts(page).await)
    }

    async fn forget(&mut self, scope: Resource<Scope>, ids: Vec<String>) -> Answer<u64> {
        if let Err(error) = self.handles.used.writes(ids.len()) {
            return Ok(Err(error));
        }
        let forgotten = self.handles.get(&scope)?.memory.forget(ids).await;
        Ok(forgotten.map_err(Error::from))
    }

    async fn expire(&mut self, scope: Resource<Scope>, id: String, at: u64) -> Answer<bool> {
        if let Err(error) = self.handles.used.writes(1) {
            return Ok(Err(error));
        }
        let expired = self.handles.get(&scope)?.memory.expire(&id, at).await;
        Ok(expired.map_err(Error::from))
    }

    async fn compact(
        &mut self,
        scope: Resource<Scope>,
        options: CompactOptions,
    ) -> Answer<Compaction> {
        if let Err(error) = self.handles.used.writes(1) {
            return Ok(Err(error));
        }
        Ok(self.handles.get(&scope)?.compact(options).await)
    }

    async fn snippet(&mut self, scope: Resource<Scope>, options: SnippetOptions) -> Answer<String> {
        if let Err(error) = self.searches(options.query.is_none()) {
            return Ok(Err(error));
        }
        Ok(self.handles.get(&scope)?.snippet(options).await)
    }

    async fn fork(&mut self, scope: Resource<Scope>, child: String) -> Answer<Resource<Branch>> {
        if let Err(error) = self.handles.used.writes(1) {
            return Ok(Err(error));
        }
        let forked = self.handles.get(&scope)?.fork(&child).await;
        match forked {
            Ok(branch) => self.handles.push(branch),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn episodes(
        &mut self,
        scope: Resource<Scope>,
        options: EpisodeOptions,
    ) -> Answer<EpisodePage> {
        Ok(self.handles.get(&scope)?.episodes(options).await)
    }

    async fn episode_tree(&mut self, scope: Resource<Scope>) -> Answer<Vec<EpisodeNode>> {
        let tree = self.handles.get(&scope)?.memory.episode_tree().await;
        Ok(tree.map(convert::episode_nodes).map_err(Error::from))
    }

    async fn drop(&mut self, scope: Resource<Scope>) -> wasmtime::Result<()> {
        self.handles.delete(scope)?;
        Ok(())
    }
}

impl memory::HostBranch for MemoryView<'_> {
    async fn scope(&mut self, branch: Resource<Branch>) -> Answer<Resource<Scope>> {
        let scope = self.handles.get(&branch)?.scope();
        self.handles.push(scope)
    }

    async fn diff(&mut self, branch: Resource<Branch>) -> Answer<ForkDifference> {
        Ok(self.handles.get(&branch)?.diff().await)
    }

    async fn merge(&mut self, branch: Resource<Branch>) -> Answer<MergeReport> {
        if let Err(error) = self.handles.used.writes(1) {
            return Ok(Err(error));
        }
        Ok(self.handles.get(&branch)?.merge().await)
    }

    async fn discard(&mut self, branch: Resource<Branch>) -> Answer<()> {
        if let Err(error) = self.handles.used.writes(1) {
            return Ok(Err(error));
        }
        Ok(self.handles.get(&branch)?.discard().await)
    }

    async fn drop(&mut self, branch: Resource<Branch>) -> wasmtime::Result<()> {
        self.handles.delete(branch)?;
        Ok(())
    }
}
