//! What goes into memory and what comes out of it.

use keepsake_types::embedding::EmbeddingInfo;
use keepsake_types::{EntryRef, Timestamp};
use serde_json::{Map, Value};

/// A fact to be remembered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewFact {
    /// The fact in one sentence or a few; from 1 byte to
    /// [`FACT_BYTES`](keepsake_types::limits::FACT_BYTES).
    pub content: String,
    /// Further values.
    pub metadata: Map<String, Value>,
    /// The ledger entry that the fact was learned from.
    pub source: Option<EntryRef>,
    /// Words that must occur to the letter in what the source says came out.
    pub quote: Option<String>,
    /// What the fact is about; given together with `attribute` or not at all.
    pub subject: Option<String>,
    /// Which property of the subject the fact gives.
    pub attribute: Option<String>,
    /// Ids of facts that this one replaces.
    pub supersedes: Vec<String>,
    /// Since when it holds; none means since now.
    pub valid_from: Option<Timestamp>,
    /// When it ceases to hold; none means never.
    pub expires_at: Option<Timestamp>,
    /// The conversation that it was said in.
    pub thread: Option<String>,
    /// Its place in the thread.
    pub position: Option<u32>,
    /// What the caller found out about the text; more may be found.
    pub flags: FactFlags,
    /// What this version has no field for. A member `keep` that is true says
    /// that the fact is to be stored whatever it resembles, and is not kept.
    pub extras: Option<Map<String, Value>>,
}

impl NewFact {
    /// A fact with nothing but its text.
    pub fn new(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            ..Self::default()
        }
    }
}

/// What was found out about a fact's text when it was remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct FactFlags {
    /// It reads like an instruction to a model.
    pub instruction_like: bool,
    /// A secret or card number in it was masked.
    pub masked: bool,
}

/// How far a fact's source holds. Found out anew each time a fact is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verification {
    /// The source exists, belongs to this memory, and the chain up to it is intact.
    Verified,
    /// The fact names no source.
    Unverified,
    /// The source is not there any more.
    Dangling,
    /// The source, or an entry before it, is not what was written.
    Tampered,
}

impl Verification {
    /// The word for it, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Unverified => "unverified",
            Self::Dangling => "dangling",
            Self::Tampered => "tampered",
        }
    }
}

/// A remembered fact, as it stood when it was read.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Fact {
    /// A UUIDv7.
    pub id: String,
    /// The text.
    pub content: String,
    /// Further values.
    pub metadata: Map<String, Value>,
    /// The ledger entry that it was learned from.
    pub source: Option<EntryRef>,
    /// The words of the source that were given as evidence.
    pub quote: Option<String>,
    /// The entries besides `source` that a summary was learned from.
    pub further_sources: Vec<EntryRef>,
    /// The number of facts that it stands for, where it is their summary.
    pub summary_of: Option<u32>,
    /// How far the source holds, and the further ones with it.
    pub verification: Verification,
    /// When it was first remembered.
    pub created_at: Timestamp,
    /// When it was last remembered again, or changed.
    pub updated_at: Timestamp,
    /// What it is about.
    pub subject: Option<String>,
    /// Which property of the subject it gives.
    pub attribute: Option<String>,
    /// Since when it holds.
    pub valid_from: Timestamp,
    /// When it ceased or will cease to hold.
    pub valid_until: Option<Timestamp>,
    /// The id of the fact that replaced it.
    pub superseded_by: Option<String>,
    /// The conversation that it was said in.
    pub thread: Option<String>,
    /// Its place in the thread.
    pub position: Option<u32>,
    /// What was found out about the text.
    #[serde(flatten)]
    pub flags: FactFlags,
    /// What this version has no field for.
    pub extras: Option<Map<String, Value>>,
}

/// The vectors of the facts in one call.
#[derive(Clone, Debug, PartialEq)]
pub struct FactVectors {
    /// Names the vector space. Vectors of different models are never compared.
    pub model: String,
    /// How many numbers each vector has.
    pub dimensions: u32,
    /// One for each fact, in the order of the facts.
    pub vectors: Vec<Vec<f32>>,
}

impl FactVectors {
    /// What a provider's model made of texts.
    #[must_use]
    pub fn of(info: &EmbeddingInfo, vectors: Vec<Vec<f32>>) -> Self {
        Self {
            model: info.model.clone(),
            dimensions: info.dimensions,
            vectors,
        }
    }
}

/// What became of a fact that was to be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is new.
    Stored,
    /// The same text was known: that fact's times grew.
    Repeated,
    /// A fact that says the same in other words grew.
    Merged,
    /// It is new and ended the validity of others.
    Superseded,
    /// Known facts say nearly the same. Nothing was stored.
    NearDuplicate,
    /// It was recalled or put into a snippet in this turn. Nothing was stored.
    Echo,
}

/// The answer to a fact that was to be remembered.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Remembered {
    /// What became of it.
    pub outcome: Outcome,
    /// The fact as it stands at the end of the call; where nothing was stored,
    /// the known fact that is closest.
    pub fact: Fact,
    /// Known facts that say nearly the same, the closest first.
    pub near: Vec<Fact>,
}

/// Which rankings a recall uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecallMode {
    /// Words and vectors together; words alone where there is no query vector.
    #[default]
    Hybrid,
    /// Words only.
    Words,
    /// Vectors only.
    Vectors,
}

/// The query as the provider in use sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryVector {
    /// Names the vector space.
    pub model: String,
    /// The query's vector.
    pub vector: Vec<f32>,
    /// The cosine below which a fact without a common word is no answer, where
    /// the model's author measured one.
    pub relevance_threshold: Option<f32>,
}

/// How to recall.
#[derive(Clone, Debug, PartialEq)]
pub struct RecallOptions {
    /// How many facts at the most; from 1 to
    /// [`PAGE_ITEMS`](keepsake_types::limits::PAGE_ITEMS).
    pub limit: usize,
    /// Which rankings to use.
    pub mode: RecallMode,
    /// Facts that score lower are left out.
    pub min_score: Option<f64>,
    /// Only facts whose metadata has each of these members with an equal value.
    pub metadata: Map<String, Value>,
    /// Only facts remembered at or after this time.
    pub since: Option<Timestamp>,
    /// Only facts remembered before this time.
    pub until: Option<Timestamp>,
    /// What held at this time, instead of now.
    pub as_of: Option<Timestamp>,
    /// Only verified facts.
    pub verified_only: bool,
    /// Superseded and expired facts too.
    pub include_superseded: bool,
}

impl Default for RecallOptions {
    fn default() -> Self {
        Self {
            limit: 10,
            mode: RecallMode::default(),
            min_score: None,
            metadata: Map::new(),
            since: None,
            until: None,
            as_of: None,
            verified_only: false,
            include_superseded: false,
        }
    }
}

/// Why a fact was recalled.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Score {
    /// What facts are ordered by, higher is better. Compares only within one recall.
    pub total: f64,
    /// The place among the word hits, from 1; none when no word matched.
    pub word_rank: Option<u32>,
    /// The place among the vectors, from 1; none without a vector of the model in use.
    pub vector_rank: Option<u32>,
    /// The cosine of query and fact, from -1 to 1.
    pub cosine: Option<f64>,
}

/// Whose memory a recalled fact is in, the nearest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The memory that was asked.
    #[default]
    This,
    /// The account's.
    Account,
    /// The team's.
    Team,
}

/// A fact that was recalled.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Recalled {
    /// The fact.
    pub fact: Fact,
    /// Why.
    pub score: Score,
    /// Whose memory it is in.
    pub layer: Layer,
}

/// The answer to a recall.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Recollection {
    /// Best first; equal scores are ordered newest first, then by id.
    pub facts: Vec<Recalled>,
    /// The ledger entry that says what was recalled and why.
    pub receipt: EntryRef,
}

/// One page of facts.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct FactPage {
    /// Newest first.
    pub facts: Vec<Fact>,
    /// What to give as `after` for the next page; none at the end.
    pub next: Option<String>,
}

/// One page of facts that have no vector of some model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnembeddedPage {
    /// Ids and texts, oldest first.
    pub facts: Vec<(String, String)>,
    /// What to give as `after` for the next page; none at the end.
    pub next: Option<String>,
}
