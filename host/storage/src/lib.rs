//! What lasts: one SQLite file with the sessions, the ledger of what happened
//! in them, and the memory of each resource.
//!
//! [`Database`] is the handle on the file. Sessions and the ledger are reached
//! through it: [`Database::begin_session`], [`Database::append`],
//! [`Database::verify`]. [`Memory`] is the memory of one resource, bound to the
//! session that uses it, so that each write stands in the ledger; [`View`]
//! reads the same memory without a session.
//!
//! ```
//! # async fn example() -> Result<(), keepsake_storage::StorageError> {
//! use keepsake_storage::{BeginSession, Database, NewFact, RecallOptions};
//! use keepsake_types::ResourceRef;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = folder.path().join("keepsake.db");
//! let database = Database::open(file).await?;
//! let jordan = ResourceRef::new("jordan")?;
//! let session = database.begin_session(BeginSession::new(jordan.clone(), "support")).await?;
//! let memory = database.memory(&jordan, &session.id).await?;
//!
//! memory.remember_many(vec![NewFact::new("Jordan is on the Pro plan")], None).await?;
//! let found = memory.recall("which plan?", None, RecallOptions::default()).await?;
//! assert_eq!(found.facts[0].fact.content, "Jordan is on the Pro plan");
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

mod database;
mod error;
mod json;
mod ledger;
mod memory;
mod scope;
mod sessions;

pub use database::{
    Check, Counts, Database, ModelCount, Restoration, SCHEMA_VERSION, Scrubbed, Settings,
};
pub use error::StorageError;
pub use ledger::{Entry, EntryPage, Fault, Kind, SessionHead, SourceState, VerifyReport};
pub use memory::{
    Branch, CompactOptions, Compaction, CompactionPlan, Conflict, Difference, EpisodeNode,
    EpisodeOptions, EpisodePage, Erased, Exported, Fact, FactFlags, FactPage, FactVectors, Fork,
    Holdings, ImportedFact, Layer, Memory, MergeReport, Near, NewFact, Outcome, ProfileCheck,
    QueryVector, RecallMode, RecallOptions, Recalled, Recollection, Remembered, Restored,
    RestoredFact, RestoredProfile, RestoredValue, Score, SnippetOptions, Summary, SummaryGroup,
    UnembeddedPage, Verification, View, WorkingPage, check_imported_facts, check_new_facts,
    check_restored_facts, kept_texts,
};
pub use sessions::{
    BeginSession, Exchange, ModelUse, OPERATOR_AGENT, ResumeSession, Session, SessionPage,
    SessionStatus,
};

pub(crate) use error::Result;
