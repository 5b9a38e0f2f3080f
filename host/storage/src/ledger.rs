//! The ledger: what happened, in the order it happened, so that a later change
//! is found.
//!
//! Entries are numbered from 0 within their session and each holds the hash of
//! the one before it. The first entry of a session holds the hash of the first
//! entry of the session that was created before it; the very first holds 32
//! zero bytes. The file also keeps how many entries each session has, the hash
//! of its last, and which session is the newest. [`Database::verify`] compares
//! all of it. The exact form that is hashed is told in `form.rs` and in
//! `docs/decisions/0003-ledger-form.md`.
//!
//! Only this crate writes entries. Sessions and memory write their own; what
//! the host does besides, it records with [`Database::append`].

mod append;
mod erase;
mod form;
mod read;
mod source;
mod verify;

use keepsake_types::{EntryRef, Timestamp};
use rusqlite::Connection;
use serde_json::Value;

use crate::Result;
use crate::database::Database;

pub(crate) use append::{Appended, append, running_session};
pub(crate) use erase::{erase, erase_owner};
pub(crate) use form::hexadecimal;
pub(crate) use read::{ENTRY_COLUMNS, entry_from_row, one};
pub use source::SourceState;
pub(crate) use source::{Chains, beginning, output_holds};
pub use verify::{Fault, SessionHead, VerifyReport};

/// Compares every hash, link and count that a connection sees.
pub(crate) fn verify_all(connection: &rusqlite::Connection) -> Result<VerifyReport> {
    verify::verify(connection, None)
}

/// Makes the enumeration of kinds and both ways between kind and name from one
/// list, so that none can be forgotten.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// What an entry records. The names are stable.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
            /// A kind that this version has no word for; a newer one wrote it.
            Other(String),
        }

        impl Kind {
            /// Every kind that this version knows.
            pub const KNOWN: &'static [Kind] = &[$(Kind::$kind),*];

            /// The kind's stable name, in lower case with dashes.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$kind => $name,)*
                    Self::Other(name) => name,
                }
            }

            /// The kind of that name.
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($name => Self::$kind,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }
    };
}

kinds! {
    /// A session began: `session`, `resource`, `team`, `agent`, `agent-hash`, `plugin`,
    /// and `account` where there is one.
    SessionStarted = "session-started",
    /// A session goes on: `agent-hash`.
    SessionResumed = "session-resumed",
    /// A session ended.
    SessionEnded = "session-ended",
    /// A message came in. Counts as one turn of the session.
    TurnStarted = "turn-started",
    /// A reply went out.
    TurnCompleted = "turn-completed",
    /// A turn ended without a reply.
    TurnFailed = "turn-failed",
    /// A sandbox was started; its id stands under `sandbox`.
    SandboxOpened = "sandbox-opened",
    /// A sandbox was closed.
    SandboxClosed = "sandbox-closed",
    /// A request of the agent goes out: `method`, `server`, `path`, `bytes`.
    HttpRequest = "http-request",
    /// It was answered, with `status`, or not, for the reason in `error`:
    /// `server`, `request`, `milliseconds`.
    HttpResponse = "http-response",
    /// A command was started in a sandbox.
    ExecStarted = "exec-started",
    /// A running command wrote something.
    ExecOutput = "exec-output",
    /// A command ended; what it wrote stands under `stdout` and `stderr`.
    ExecCompleted = "exec-completed",
    /// A file was written into a sandbox.
    FileWritten = "file-written",
    /// A file was deleted from a sandbox.
    FileRemoved = "file-removed",
    /// A copy of a sandbox's files was made.
    CheckpointCreated = "checkpoint-created",
    /// A sandbox was started from a copy; the new one's id stands under `sandbox`.
    SandboxForked = "sandbox-forked",
    /// A key of working memory was set: `key`, `value`.
    WorkingSet = "working-set",
    /// A key of working memory was deleted: `key`.
    WorkingDeleted = "working-deleted",
    /// The profile was changed by `patch`, or deleted where `cleared` is true.
    ProfileUpdated = "profile-updated",
    /// A fact was remembered: `fact`, `content` and what was given with it. What
    /// the write gate did stands under `gate`: how many places were `masked`,
    /// whether it is `instruction-like`, whether it was `kept` on demand.
    FactRemembered = "fact-remembered",
    /// A known fact was remembered again: `fact`.
    FactRepeated = "fact-repeated",
    /// A fact was remembered in other words, which `content` holds: `fact`.
    FactMerged = "fact-merged",
    /// A fact was not stored, as `gate` says: `content`, and in `gate` the
    /// `outcome` and the `known` facts that it resembles or repeats.
    FactHeldBack = "fact-held-back",
    /// A fact was remembered that ends others: as `fact-remembered`, and `superseded`.
    FactSuperseded = "fact-superseded",
    /// It was set when a fact ceases to hold: `fact`, `at`.
    FactExpired = "fact-expired",
    /// Facts were deleted: `facts`.
    FactForgotten = "fact-forgotten",
    /// Old facts were let go: `facts`, and in their place `summaries`, each with
    /// its `fact` and the facts that it is `of`; or not, for the reason in `error`.
    FactsCompacted = "facts-compacted",
    /// Facts came back from an export: `facts`. Those with a source have an entry
    /// of kind `fact-remembered` as well.
    FactsRestored = "facts-restored",
    /// A copy of the session's memory was made: `fork`, and how much it is.
    MemoryForked = "memory-forked",
    /// What a fork learned was brought into the memory that it is a fork of:
    /// `fork`, the facts `added`, `changed` and `removed` there, the keys
    /// `working`, the members `profile`, and `conflicts`, which were left.
    MemoryMerged = "memory-merged",
    /// A fork was deleted with all that it learned: `fork`, and how much it was.
    ForkDiscarded = "fork-discarded",
    /// All that was known of the session's resource was erased: how much it was.
    ResourceErased = "resource-erased",
    /// The payloads of older entries were erased: `entries`, each with `session`
    /// and `index`. With all of a resource's, `owner` is its name from then on.
    PayloadErased = "payload-erased",
    /// Facts were sought: `query`, `mode`, `model`, `as-of`, and `facts` with their scores.
    Recalled = "recalled",
    /// A snippet was built: `query`, `bytes`, `facts`.
    SnippetBuilt = "snippet-built",
    /// A model was asked: `provider`, `model`, `finish`, `usage` as the provider
    /// counts, and `tokens`, what it counts for in the session's budget.
    ModelCalled = "model-called",
    /// An embedding provider was asked.
    ProviderCalled = "provider-called",
    /// Something was asked for that was not granted.
    Denied = "denied",
    /// Another agent was started: its name `agent`, its `session`, the `fork` that
    /// it works on, and `depth`, how many agents it is away from the first.
    AgentSpawned = "agent-spawned",
    /// An agent that was started ended: its `session`, how many `turns` it had, and
    /// the `model-calls` and `model-tokens` that count in this session's budget.
    AgentEnded = "agent-ended",
}

impl std::fmt::Display for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

impl serde::Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// One record of the ledger.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Entry {
    /// The session it belongs to.
    pub session: String,
    /// Its place in the session, from 0.
    pub index: u64,
    /// When it was written.
    pub at: Timestamp,
    /// What it records.
    pub kind: Kind,
    /// The particulars, a JSON object; none when they were erased.
    pub payload: Option<Value>,
    /// Its hash, lower-case hexadecimal.
    pub hash: String,
    /// The hash of the entry before it, lower-case hexadecimal.
    pub prev: String,
}

impl Entry {
    /// Points at this entry.
    pub fn entry_ref(&self) -> EntryRef {
        EntryRef {
            session: self.session.clone(),
            index: self.index,
            hash: Some(self.hash.clone()),
        }
    }
}

/// One page of a session's entries.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct EntryPage {
    /// In ascending order of their index.
    pub entries: Vec<Entry>,
    /// What to give as `after` for the next page; none at the end.
    pub next: Option<u64>,
}

/// The work of appending one entry.
fn entry(
    session: &str,
    kind: &Kind,
    payload: Value,
) -> Result<impl FnOnce(&Connection) -> Result<EntryRef> + Send + 'static> {
    // One spelling for one kind, so that none gets round what follows.
    let kind = Kind::from_name(kind.name());
    append::refuse_reserved(&kind)?;
    let session = session.to_owned();
    Ok(move |connection: &Connection| append::append_by_id(connection, &session, &kind, &payload))
}

impl Database {
    /// Records that something happened in a session that is under way.
    ///
    /// # Errors
    /// `NotFound` for an unknown session; `Invalid` for one that has ended, for
    /// a payload that is no object, and for the kinds that sessions write
    /// themselves; `Limit` for a payload that is too large or too deep.
    pub async fn append(&self, session: &str, kind: Kind, payload: Value) -> Result<EntryRef> {
        self.write(entry(session, &kind, payload)?).await
    }

    /// As [`Database::append`], for what is said to nobody, as the beginning of a
    /// turn: it reaches the disk with the first write after it that waits for that.
    ///
    /// # Errors
    /// As [`Database::append`].
    pub async fn append_without_waiting(
        &self,
        session: &str,
        kind: Kind,
        payload: Value,
    ) -> Result<EntryRef> {
        self.write_without_waiting(entry(session, &kind, payload)?)
            .await
    }

    /// A session's entries after the one with index `after`, at most `limit` of them.
    ///
    /// # Errors
    /// `NotFound` for an unknown session, `Invalid` for a limit of 0, `Limit`
    /// for one that is too large.
    pub async fn entries(
        &self,
        session: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<EntryPage> {
        crate::memory::check_page(limit)?;
        let session = session.to_owned();
        self.read(move |connection| read::page(connection, &session, after, limit))
            .await
    }

    /// One entry; none where there is none with that session, index and, where
    /// it is given, hash.
    ///
    /// # Errors
    /// Only when the file cannot be read.
    pub async fn entry(&self, entry: &EntryRef) -> Result<Option<Entry>> {
        let entry = entry.clone();
        self.read(move |connection| read::one(connection, &entry))
            .await
    }

    /// Whether an entry can be trusted as the source of something in the
    /// memory of `resource`: reads its session from the beginning up to it.
    ///
    /// # Errors
    /// Only when the file cannot be read.
    pub async fn verify_entry(
        &self,
        entry: &EntryRef,
        resource: &keepsake_types::ResourceRef,
    ) -> Result<SourceState> {
        let (entry, resource) = (entry.clone(), resource.clone());
        self.read(move |connection| {
            let Some(scope) = crate::scope::find(connection, &resource)? else {
                // A resource that nothing is known of owns no entry; whether
                // there is such an entry still differs.
                return Ok(match read::one(connection, &entry)? {
                    Some(_) => SourceState::ForeignScope,
                    None => SourceState::Dangling,
                });
            };
            let lineage = crate::scope::lineage(connection, scope)?;
            Chains::default().state(connection, &entry, &lineage)
        })
        .await
    }

    /// Compares every hash, link and count of one session, or of all.
    ///
    /// # Errors
    /// `NotFound` for a session of which there is no trace; otherwise only when
    /// the file cannot be read. What is wrong with the ledger is no error but
    /// in the report.
    pub async fn verify(&self, session: Option<&str>) -> Result<VerifyReport> {
        let session = session.map(str::to_owned);
        self.read(move |connection| verify::verify(connection, session.as_deref()))
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_known_by_its_name_and_other_names_are_kept() {
        for kind in Kind::KNOWN {
            assert_eq!(&Kind::from_name(kind.name()), kind);
            assert!(
                kind.name()
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '-')
            );
        }
        assert_eq!(
            Kind::from_name("later-kind"),
            Kind::Other("later-kind".to_owned())
        );
        assert_eq!(Kind::from_name("later-kind").name(), "later-kind");
    }
}
