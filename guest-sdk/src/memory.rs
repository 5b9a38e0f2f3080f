//! What an agent remembers, across sessions and sandboxes.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use crate::bindings::agent_plugin::keepsake::host::memory::{
    CompactOptions, Compaction, Episode, EpisodeNode, EpisodeOptions, EpisodePage, Fact, FactPage,
    ForkDifference, MergeReport, NewFact, Outcome, RecallMode, RecallOptions, Recalled,
    Recollection, Remembered, Score, SnippetOptions, Verification, WorkingPage,
};
pub use crate::bindings::agent_plugin::keepsake::host::types::{EntryRef, Page};
use crate::error::{Error, Result};
use crate::host::{BranchHost, ScopeHost};

/// The memory of one resource. Each call is one transaction, and what it
/// answers has reached the disk.
pub struct Scope {
    host: Box<dyn ScopeHost>,
}

impl Scope {
    pub(crate) fn new(host: Box<dyn ScopeHost>) -> Self {
        Self { host }
    }

    /// The value under a key of working memory; none when there is none.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the value is not a `T`.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        match self.host.get(key)? {
            Some(value) => serde_json::from_str(&value).map(Some).map_err(|error| {
                Error::Invalid(format!(
                    "the value under `{key}` is not what is wanted: {error}"
                ))
            }),
            None => Ok(None),
        }
    }

    /// Sets the value under a key; the last write wins.
    ///
    /// # Errors
    /// `Limit` `working-value-bytes` past 64 KiB, `working-keys` past 10,000 keys.
    pub fn set(&self, key: &str, value: &impl Serialize) -> Result<()> {
        self.host.set(key, &serde_json::to_string(value)?)
    }

    /// Sets the value, or deletes it where `value` is none, if it equals
    /// `expected` (none: if there is none). Answers whether it did.
    ///
    /// # Errors
    /// As [`Scope::set`].
    pub fn compare_and_set(
        &self,
        key: &str,
        expected: Option<&Value>,
        value: Option<&Value>,
    ) -> Result<bool> {
        let text = |value: Option<&Value>| value.map(Value::to_string);
        let (expected, value) = (text(expected), text(value));
        self.host
            .compare_and_set(key, expected.as_deref(), value.as_deref())
    }

    /// Deletes a key. Answers whether it was there.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn delete(&self, key: &str) -> Result<bool> {
        self.host.delete(key)
    }

    /// All of working memory, without the profile.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn working(&self) -> Result<Map<String, Value>> {
        let mut all = Map::new();
        let mut after = None;
        loop {
            let page = self.host.list_working(&Page {
                after,
                limit: 1_000,
            })?;
            for (key, value) in page.items {
                all.insert(key, serde_json::from_str(&value)?);
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// The profile, an object; empty when none was written.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn profile(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.host.profile()?)?)
    }

    /// Applies a JSON merge patch to the profile: members are set, those with
    /// the value null are removed. Answers with the new profile.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the result breaks the schema that the agent
    /// describes; the text names the path.
    pub fn update_profile(&self, patch: &impl Serialize) -> Result<Value> {
        let patch = serde_json::to_string(patch)?;
        Ok(serde_json::from_str(&self.host.update_profile(&patch)?)?)
    }

    /// Deletes the profile.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn clear_profile(&self) -> Result<()> {
        self.host.clear_profile()
    }

    /// Remembers one fact: a [`NewFact`], or just its text.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a source that does not hold; nothing is
    /// remembered then.
    pub fn remember(&self, fact: impl Into<NewFact>) -> Result<Remembered> {
        let remembered = self.host.remember_many(&[fact.into()])?;
        remembered
            .into_iter()
            .next()
            .ok_or_else(|| Error::Internal("the host answered without the fact".into()))
    }

    /// Remembers up to 10,000 facts, all or none.
    ///
    /// # Errors
    /// As [`Scope::remember`].
    pub fn remember_many(&self, facts: &[NewFact]) -> Result<Vec<Remembered>> {
        self.host.remember_many(facts)
    }

    /// Facts that answer a question, best first.
    ///
    /// # Errors
    /// `Limit` `query-bytes` past 16 KiB.
    pub fn recall(&self, query: &str, options: &RecallOptions) -> Result<Recollection> {
        self.host.recall(query, options)
    }

    /// One fact; none when this scope has no such fact.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn find(&self, id: &str) -> Result<Option<Fact>> {
        self.host.find(id)
    }

    /// Current facts by pages, newest first.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a page that none answered with.
    pub fn list_facts(&self, after: Option<String>, limit: u32) -> Result<FactPage> {
        self.host.list_facts(&Page { after, limit })
    }

    /// Deletes facts for good. Answers how many there were.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn forget(&self, ids: &[String]) -> Result<u64> {
        self.host.forget(ids)
    }

    /// Sets when a fact ceases to hold, in milliseconds since 1970. Answers
    /// whether it is known.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn expire(&self, id: &str, at: u64) -> Result<bool> {
        self.host.expire(id, at)
    }

    /// Lets old facts go.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn compact(&self, options: &CompactOptions) -> Result<Compaction> {
        self.host.compact(options)
    }

    /// Text to put before a prompt: the profile and the facts that are of use.
    ///
    /// # Errors
    /// `Limit` `snippet-bytes` for a size beyond 64 KiB.
    pub fn snippet(&self, options: &SnippetOptions) -> Result<String> {
        self.host.snippet(options)
    }

    /// An independent copy of this memory under a name.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the host makes none.
    pub fn fork(&self, child: &str) -> Result<Branch> {
        let host = self.host.fork(child)?;
        Ok(Branch { host })
    }

    /// What happened in the sessions of this scope, oldest first.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a page that none answered with.
    pub fn episodes(&self, options: &EpisodeOptions) -> Result<EpisodePage> {
        self.host.episodes(options)
    }

    /// The same as a forest: sessions with those forked from them.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the host has none.
    pub fn episode_tree(&self) -> Result<Vec<EpisodeNode>> {
        self.host.episode_tree()
    }
}

/// A fork and its way back.
pub struct Branch {
    host: Box<dyn BranchHost>,
}

impl Branch {
    /// The fork's memory.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn scope(&self) -> Result<Scope> {
        self.host.scope().map(Scope::new)
    }

    /// How it differs from its parent.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn diff(&self) -> Result<ForkDifference> {
        self.host.diff()
    }

    /// Brings what the fork learned into its parent.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn merge(&self) -> Result<MergeReport> {
        self.host.merge()
    }

    /// Deletes the fork and all that it learned.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn discard(&self) -> Result<()> {
        self.host.discard()
    }
}

impl NewFact {
    /// A fact in one sentence or a few, without a source.
    pub fn new(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            metadata: None,
            source: None,
            quote: None,
            subject: None,
            attribute: None,
            supersedes: Vec::new(),
            valid_from: None,
            expires_at: None,
            thread: None,
            position: None,
            extras: None,
        }
    }

    /// The ledger entry that it was learned from, which makes it verified.
    #[must_use]
    pub fn source(mut self, entry: EntryRef) -> Self {
        self.source = Some(entry);
        self
    }

    /// Words that must occur in the source's output, to the letter.
    #[must_use]
    pub fn quote(mut self, words: impl Into<String>) -> Self {
        self.quote = Some(words.into());
        self
    }

    /// What it gives the value of. A new value for the same pair ends the old
    /// fact's validity.
    #[must_use]
    pub fn about(mut self, subject: impl Into<String>, attribute: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self.attribute = Some(attribute.into());
        self
    }

    /// Further values, as a JSON object.
    #[must_use]
    pub fn metadata(mut self, metadata: &Value) -> Self {
        self.metadata = Some(metadata.to_string());
        self
    }
}

impl<T: Into<String>> From<T> for NewFact {
    fn from(content: T) -> Self {
        Self::new(content)
    }
}

impl Fact {
    /// Whether its source exists, belongs to this scope and is intact.
    pub fn is_verified(&self) -> bool {
        self.verification == Verification::Verified
    }
}

impl RecallOptions {
    /// At most so many facts, by words and vectors together.
    pub fn new(limit: u32) -> Self {
        Self {
            limit,
            mode: RecallMode::Hybrid,
            min_score: None,
            metadata: None,
            since: None,
            until: None,
            as_of: None,
            verified_only: false,
            include_superseded: false,
            extras: None,
        }
    }
}

impl SnippetOptions {
    /// A snippet for a message, in at most 4 KiB and 20 facts.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: Some(query.into()),
            max_bytes: 4_096,
            max_facts: 20,
            extras: None,
        }
    }
}

impl EpisodeOptions {
    /// The first so many episodes of every session.
    pub fn new(limit: u32) -> Self {
        Self {
            page: Page { after: None, limit },
            since: None,
            until: None,
            session: None,
            lineage: false,
        }
    }
}
