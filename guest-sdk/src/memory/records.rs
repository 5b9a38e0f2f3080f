//! Ways to make and to read the records of memory.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    CompactOptions, EntryRef, Episode, EpisodeOptions, Fact, NewFact, Page, RecallMode,
    RecallOptions, SnippetOptions, Verification,
};
use crate::error::Result;

/// How long a query of [`Scope::recall`](super::Scope::recall) or a snippet may be.
pub const QUERY_BYTES: usize = 16 * 1_024;

impl NewFact {
    /// A fact in one sentence or a few, without a source.
    ///
    /// ```
    /// # use keepsake_sdk::memory::NewFact;
    /// let fact = NewFact::new("Jordan is on the Pro plan.").about("jordan", "plan");
    /// assert_eq!(fact.attribute.as_deref(), Some("plan"));
    /// ```
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

    /// Further values, as a JSON object of at most 16 KiB.
    #[must_use]
    pub fn metadata(mut self, metadata: &Value) -> Self {
        self.metadata = Some(metadata.to_string());
        self
    }

    /// A known fact that it replaces. May be called again for more.
    #[must_use]
    pub fn supersedes(mut self, id: impl Into<String>) -> Self {
        self.supersedes.push(id.into());
        self
    }

    /// Since when it holds, in milliseconds since 1970; since now unless given.
    #[must_use]
    pub fn valid_from(mut self, at: u64) -> Self {
        self.valid_from = Some(at);
        self
    }

    /// When it ceases to hold, in milliseconds since 1970; never unless given.
    #[must_use]
    pub fn expires_at(mut self, at: u64) -> Self {
        self.expires_at = Some(at);
        self
    }

    /// The conversation that it was said in, and its place there.
    #[must_use]
    pub fn thread(mut self, thread: impl Into<String>, position: u32) -> Self {
        self.thread = Some(thread.into());
        self.position = Some(position);
        self
    }

    /// Stores it even where a known fact says nearly the same.
    #[must_use]
    pub fn keep(mut self) -> Self {
        self.extras = Some(r#"{"keep":true}"#.to_owned());
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

    /// Its further values as a type.
    ///
    /// # Errors
    /// [`Invalid`](crate::Error::Invalid) when they are not a `T`.
    pub fn metadata_as<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_str(&self.metadata)?)
    }
}

impl Episode {
    /// What the entry records, as a type; a [`Value`] takes everything.
    ///
    /// # Errors
    /// [`Invalid`](crate::Error::Invalid) when it is not a `T`.
    pub fn payload_as<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_str(&self.payload)?)
    }
}

impl RecallOptions {
    /// At most so many facts, from 1 to 1,000, by words and vectors together.
    ///
    /// ```
    /// # use keepsake_sdk::memory::RecallOptions;
    /// let options = RecallOptions::new(3).verified_only();
    /// assert!(options.verified_only);
    /// ```
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
            wider: false,
            extras: None,
        }
    }

    /// Which rankings it uses.
    #[must_use]
    pub fn mode(mut self, mode: RecallMode) -> Self {
        self.mode = mode;
        self
    }

    /// Leaves out facts that score lower.
    #[must_use]
    pub fn min_score(mut self, score: f64) -> Self {
        self.min_score = Some(score);
        self
    }

    /// Only facts whose metadata has each member of this object with an equal value.
    #[must_use]
    pub fn metadata(mut self, members: &Value) -> Self {
        self.metadata = Some(members.to_string());
        self
    }

    /// Only facts remembered at or after this time, in milliseconds since 1970.
    #[must_use]
    pub fn since(mut self, at: u64) -> Self {
        self.since = Some(at);
        self
    }

    /// Only facts remembered before this time, in milliseconds since 1970.
    #[must_use]
    pub fn until(mut self, at: u64) -> Self {
        self.until = Some(at);
        self
    }

    /// What held at this time, in milliseconds since 1970, instead of now.
    #[must_use]
    pub fn as_of(mut self, at: u64) -> Self {
        self.as_of = Some(at);
        self
    }

    /// Only verified facts.
    #[must_use]
    pub fn verified_only(mut self) -> Self {
        self.verified_only = true;
        self
    }

    /// Superseded and expired facts too.
    #[must_use]
    pub fn include_superseded(mut self) -> Self {
        self.include_superseded = true;
        self
    }

    /// Also what the account and the team know, where the customer's own scope is
    /// asked and the session was granted them.
    #[must_use]
    pub fn wider(mut self) -> Self {
        self.wider = true;
        self
    }
}

impl Default for RecallOptions {
    /// At most 5 facts.
    fn default() -> Self {
        Self::new(5)
    }
}

impl SnippetOptions {
    /// A snippet for a message, in at most 4 KiB and 20 facts. Of a message
    /// beyond [`QUERY_BYTES`] the beginning is looked for: memory takes no
    /// longer query, and the rest says little more.
    pub fn new(query: impl Into<String>) -> Self {
        let mut query = query.into();
        query.truncate(query.floor_char_boundary(QUERY_BYTES));
        Self {
            query: Some(query),
            ..Self::default()
        }
    }

    /// At most so many bytes, from 64 to 65,536.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u32) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// At most so many facts, up to 1,000.
    #[must_use]
    pub fn max_facts(mut self, facts: u32) -> Self {
        self.max_facts = facts;
        self
    }

    /// At most so many tokens as well, where four bytes are taken for one: the
    /// host does not know the model's tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.extras = Some(format!(r#"{{"max-tokens":{tokens}}}"#));
        self
    }
}

impl Default for SnippetOptions {
    /// The profile and the newest facts, in at most 4 KiB and 20 facts.
    fn default() -> Self {
        Self {
            query: None,
            max_bytes: 4_096,
            max_facts: 20,
            extras: None,
        }
    }
}

impl EpisodeOptions {
    /// The first so many episodes of every session, from 1 to 1,000.
    pub fn new(limit: u32) -> Self {
        Self {
            page: Page { after: None, limit },
            since: None,
            until: None,
            session: None,
            lineage: false,
        }
    }

    /// The page after the one that answered with this `next`.
    #[must_use]
    pub fn after(mut self, next: impl Into<String>) -> Self {
        self.page.after = Some(next.into());
        self
    }

    /// Only this session.
    #[must_use]
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Only what happened at or after this time, in milliseconds since 1970.
    #[must_use]
    pub fn since(mut self, at: u64) -> Self {
        self.since = Some(at);
        self
    }

    /// Only what happened before this time, in milliseconds since 1970.
    #[must_use]
    pub fn until(mut self, at: u64) -> Self {
        self.until = Some(at);
        self
    }

    /// Also what happened in the scopes that this one was forked from.
    #[must_use]
    pub fn lineage(mut self) -> Self {
        self.lineage = true;
        self
    }
}

impl CompactOptions {
    /// Lets nothing go yet: give an age, a number, or both.
    pub fn new() -> Self {
        Self {
            max_age_ms: None,
            max_facts: None,
            extras: None,
        }
    }

    /// Facts older than so many milliseconds.
    #[must_use]
    pub fn max_age_ms(mut self, milliseconds: u64) -> Self {
        self.max_age_ms = Some(milliseconds);
        self
    }

    /// The oldest facts beyond this number; verified ones go last.
    #[must_use]
    pub fn max_facts(mut self, facts: u32) -> Self {
        self.max_facts = Some(facts);
        self
    }
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_any_length_is_a_query_that_memory_takes() {
        let short = SnippetOptions::new("Which plan?");
        assert_eq!(short.query.as_deref(), Some("Which plan?"));
        // The bound falls within a character of three bytes.
        let long = SnippetOptions::new("€".repeat(QUERY_BYTES)).query.unwrap();
        assert_eq!(long.len(), QUERY_BYTES - 1);
    }
}
