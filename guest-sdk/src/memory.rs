//! What an agent remembers, across sessions and sandboxes.

mod pages;
mod records;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use crate::bindings::agent_plugin::keepsake::host::memory::{
    CompactOptions, Compaction, Episode, EpisodeNode, EpisodeOptions, EpisodePage, Fact, FactPage,
    ForkDifference, Layer, MergeReport, NewFact, Outcome, RecallMode, RecallOptions, Recalled,
    Recollection, Remembered, Score, SnippetOptions, Verification, WorkingPage,
};
pub use crate::bindings::agent_plugin::keepsake::host::types::{EntryRef, Page};
use crate::error::{Error, Result};
use crate::host::{BranchHost, ScopeHost};
pub use pages::{EachEpisode, EachFact, EachValue};
pub use records::QUERY_BYTES;

/// How often [`Scope::update`] tries again when another session was faster.
pub const UPDATE_ATTEMPTS: u32 = 16;

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
        let value = self.host.get(key)?;
        value.map(|value| value_under(key, &value)).transpose()
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

    /// Changes the value under a key: `change` is given the value as it stands
    /// and answers with the new one, or none to delete it. When another session
    /// changed it meanwhile, `change` is asked again with the newer value.
    ///
    /// ```
    /// # let host = keepsake_sdk::testing::Host::new();
    /// let scope = host.session().scope()?;
    /// let visits = scope.update("visits", |visits: Option<u32>| Ok(Some(visits.unwrap_or(0) + 1)))?;
    /// assert_eq!(visits, Some(1));
    /// # Ok::<(), keepsake_sdk::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Scope::get`], [`Scope::set`] and `change` itself; `Unavailable` when
    /// others were faster [`UPDATE_ATTEMPTS`] times.
    pub fn update<T: DeserializeOwned + Serialize>(
        &self,
        key: &str,
        change: impl Fn(Option<T>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        for _ in 0..UPDATE_ATTEMPTS {
            let known = self.host.get(key)?;
            let old = known.as_deref().map(|text| value_under(key, text));
            let new = change(old.transpose()?)?;
            let text = new.as_ref().map(serde_json::to_string).transpose()?;
            if self
                .host
                .compare_and_set(key, known.as_deref(), text.as_deref())?
            {
                return Ok(new);
            }
        }
        Err(Error::unavailable(format!(
            "other sessions changed `{key}` {UPDATE_ATTEMPTS} times while it was being changed: try again"
        )))
    }

    /// Keys and values of working memory in the order of the keys, read by
    /// pages as they are asked for. The profile is not among them.
    pub fn each_value(&self) -> EachValue<'_> {
        EachValue::new(&*self.host)
    }

    /// All of working memory, without the profile. Up to 10,000 values of
    /// 64 KiB: see [`Scope::each_value`] for reading less.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn working(&self) -> Result<Map<String, Value>> {
        self.each_value().collect()
    }

    /// The profile, an object; empty when none was written.
    ///
    /// # Errors
    /// When the memory cannot be reached.
    pub fn profile(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.host.profile()?)?)
    }

    /// The profile as a type. Give its fields defaults: a profile begins empty.
    ///
    /// ```
    /// # let host = keepsake_sdk::testing::Host::new();
    /// #[derive(Default, serde::Deserialize, serde::Serialize)]
    /// #[serde(default)]
    /// struct Profile {
    ///     name: Option<String>,
    /// }
    ///
    /// let scope = host.session().scope()?;
    /// scope.update_profile(&Profile { name: Some("Jordan".into()) })?;
    /// let profile: Profile = scope.profile_as()?;
    /// assert_eq!(profile.name.as_deref(), Some("Jordan"));
    /// # Ok::<(), keepsake_sdk::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] when the profile is not a `T`.
    pub fn profile_as<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.host.profile()?)
            .map_err(|error| Error::Invalid(format!("the profile is not what is wanted: {error}")))
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

    /// Every current fact, newest first, read by pages as they are asked for.
    ///
    /// ```
    /// # let host = keepsake_sdk::testing::Host::new();
    /// let scope = host.session().scope()?;
    /// scope.remember("Jordan has a cat.")?;
    /// for fact in scope.each_fact() {
    ///     assert_eq!(fact?.content, "Jordan has a cat.");
    /// }
    /// # Ok::<(), keepsake_sdk::Error>(())
    /// ```
    pub fn each_fact(&self) -> EachFact<'_> {
        EachFact::new(&*self.host)
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

    /// Lets old facts go for good: first those past the age, then those beyond
    /// the number, verified ones last. Where the agent is a
    /// [`Summarizer`](crate::Summarizer), its summaries take their place.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the summarizer fails: the facts stay.
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

    /// An independent copy of this memory under a name, which has from 1 to 64 of
    /// `A-Z a-z 0-9 . _ -`. The same name opens the same fork again, in later
    /// sessions too.
    ///
    /// ```
    /// # let host = keepsake_sdk::testing::Host::new();
    /// let scope = host.session().scope()?;
    /// let branch = scope.fork("draft")?;
    /// branch.scope()?.remember("Jordan might want a refund.")?;
    /// assert!(scope.each_fact().next().is_none());
    /// assert_eq!(branch.diff()?.added.len(), 1);
    /// branch.merge()?;
    /// assert!(scope.each_fact().next().is_some());
    /// branch.discard()?;
    /// # Ok::<(), keepsake_sdk::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for what is no name; `Limit` `forks`, `fork-depth` or
    /// `fork-facts`.
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

    /// Every episode that fits the options, oldest first, read by pages as they
    /// are asked for. The options' `limit` is the size of a page.
    pub fn each_episode(&self, options: EpisodeOptions) -> EachEpisode<'_> {
        EachEpisode::new(&*self.host, options)
    }

    /// The same as a forest: this scope's sessions, and those of its forks below
    /// the session that made the fork.
    ///
    /// # Errors
    /// `Limit` `episode-tree-entries` past 10,000 episodes.
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

    /// How it differs from its parent, by what it changed since both were last the
    /// same. Shows what [`Branch::merge`] would bring and what it would leave.
    ///
    /// # Errors
    /// [`Error::NotFound`] once it was discarded; `Limit` `fork-difference-facts`.
    pub fn diff(&self) -> Result<ForkDifference> {
        self.host.diff()
    }

    /// Brings what the fork changed into its parent. What both sides changed, each
    /// in another way, stays as the parent has it, and is told.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a profile that breaks the agent's schema, and
    /// [`Error::NotFound`] once the fork was discarded; nothing is brought then.
    pub fn merge(&self) -> Result<MergeReport> {
        self.host.merge()
    }

    /// Deletes the fork and all that it learned, for good. What was merged stays.
    ///
    /// # Errors
    /// [`Error::NotFound`] where it was discarded already.
    pub fn discard(&self) -> Result<()> {
        self.host.discard()
    }
}

fn value_under<T: DeserializeOwned>(key: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        Error::Invalid(format!(
            "the value under `{key}` is not what is wanted: {error}"
        ))
    })
}
