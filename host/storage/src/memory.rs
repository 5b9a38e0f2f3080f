//! Memory: what is known of one resource, across sessions.
//!
//! [`View`] reads it, [`Memory`] also writes it and is bound to the session that
//! does. Each writing call is one transaction that holds the change and its
//! ledger entry.

mod compact;
mod episodes;
mod erase;
mod export;
mod facts;
mod forks;
mod identifiers;
mod mentions;
mod model;
pub(crate) mod postings;
mod recall;
mod remember;
mod restore;
mod snippet;
mod summaries;
pub(crate) mod vectors;
mod words;
mod working;

use keepsake_types::{EntryRef, ResourceRef, limits};
use rusqlite::Connection;
use serde_json::{Map, Value, json};

use crate::database::{Database, Snapshot};
use crate::ledger::{self, Appended, Kind};
use crate::scope::{self, ScopeId};
use crate::{Result, StorageError, sessions};

pub use compact::{CompactOptions, Compaction, CompactionPlan, Summary, SummaryGroup};
pub use episodes::{EpisodeNode, EpisodeOptions, EpisodePage};
pub use erase::{Erased, Holdings};
pub use export::Exported;
pub use forks::{Branch, Conflict, Difference, Fork, MergeReport};
pub use model::{
    Fact, FactFlags, FactPage, FactVectors, Layer, NewFact, Outcome, QueryVector, RecallMode,
    RecallOptions, Recalled, Recollection, Remembered, Score, UnembeddedPage, Verification,
};
pub use remember::{ImportedFact, check_imported_facts, check_new_facts, kept_texts};
pub use restore::{Restored, RestoredFact, RestoredProfile, RestoredValue, check_restored_facts};
pub use snippet::SnippetOptions;
pub(crate) use vectors::Indexes;
pub use vectors::Near;
pub use working::{ProfileCheck, WorkingPage};

/// Reads the memory of one resource. A resource that was never written to has
/// an empty one.
#[derive(Clone, Debug)]
pub struct View {
    database: Database,
    resource: ResourceRef,
}

/// The memory of one resource, used by one session.
#[derive(Clone, Debug)]
pub struct Memory {
    view: View,
    session: Writer,
    /// What was shown in this turn, by any clone of this memory.
    shown: remember::Shown,
}

/// The session that writes, and where.
#[derive(Clone, Debug)]
struct Writer {
    /// The session's id.
    id: String,
    /// The scope that is written to.
    scope: ScopeId,
    /// The session's own scope; another one where a team's memory is used.
    session_scope: ScopeId,
    /// Whose memory it is, where it is not the session's own resource's.
    elsewhere: Option<ResourceRef>,
    /// Whether a write ends the session.
    ends: bool,
}

impl Writer {
    /// A memory that is not the session's own may be gone: a fork was discarded, or
    /// a resource of the team erased. Its number may be another's by now.
    fn check_still_there(&self, connection: &Connection) -> Result<()> {
        match &self.elsewhere {
            Some(resource) if scope::find(connection, resource)? != Some(self.scope) => {
                Err(StorageError::NotFound(format!(
                    "the memory `{}` is not there any more: it was discarded or erased",
                    resource.fork.as_ref().unwrap_or(&resource.resource)
                )))
            }
            _ => Ok(()),
        }
    }
}

impl Database {
    /// Reads the memory of a resource without a session.
    ///
    /// # Errors
    /// `Invalid` when the resource's name is not well formed.
    pub fn view(&self, resource: &ResourceRef) -> Result<View> {
        resource.checked()?;
        Ok(View {
            database: self.clone(),
            resource: resource.clone(),
        })
    }

    /// The memory of a resource as session `session` uses it. A session has
    /// access to the memory of its own resource and of the account that it began
    /// with; a session with a team has access to what else belongs to that team,
    /// which the caller decides.
    ///
    /// # Errors
    /// `NotFound` for an unknown session, `Invalid` for a resource that is
    /// neither the session's nor its account's or team's.
    pub async fn memory(&self, resource: &ResourceRef, session: &str) -> Result<Memory> {
        let view = self.view(resource)?;
        let (resource, id) = (resource.clone(), session.to_owned());
        let session = self
            .write_without_waiting(move |connection| {
                let Some((number, session)) = sessions::find(connection, &id)? else {
                    return Err(no_session(&id));
                };
                // A fork is reached by its own sessions and through its parent.
                let same_team = resource.team.is_some()
                    && resource.team == session.resource.team
                    && resource.fork.is_none();
                if resource != session.resource
                    && !same_team
                    && sessions::account(connection, number, &session.resource)?.as_ref()
                        != Some(&resource)
                {
                    return Err(StorageError::Invalid(format!(
                        "session `{id}` has no access to this memory: it belongs to another resource"
                    )));
                }
                Ok(Writer {
                    scope: scope::obtain(connection, &resource)?,
                    session_scope: scope::obtain(connection, &session.resource)?,
                    elsewhere: (resource != session.resource).then_some(resource),
                    ends: false,
                    id,
                })
            })
            .await?;
        Ok(Memory {
            view,
            session,
            shown: remember::Shown::default(),
        })
    }

    /// The memories beyond its own that a session was granted, the nearest first:
    /// that of the account that it began with, and its team's.
    ///
    /// # Errors
    /// `NotFound` for an unknown session.
    pub async fn wider_memories(&self, session: &str) -> Result<Vec<(Layer, Memory)>> {
        let id = session.to_owned();
        let owners = self
            .read(move |connection| {
                let Some((number, session)) = sessions::find(connection, &id)? else {
                    return Err(no_session(&id));
                };
                let account = sessions::account(connection, number, &session.resource)?;
                let team = session
                    .resource
                    .team
                    .map(ResourceRef::of_team)
                    .transpose()?;
                let account = account.map(|account| (Layer::Account, account));
                let team = team.map(|team| (Layer::Team, team));
                Ok(account.into_iter().chain(team).collect::<Vec<_>>())
            })
            .await?;
        let mut memories = Vec::with_capacity(owners.len());
        for (layer, owner) in owners {
            memories.push((layer, self.memory(&owner, session).await?));
        }
        Ok(memories)
    }
}

fn no_session(id: &str) -> StorageError {
    StorageError::NotFound(format!("there is no session `{id}`: begin one first"))
}

impl View {
    /// Whose memory this is.
    pub fn resource(&self) -> &ResourceRef {
        &self.resource
    }

    /// Reads within the scope; `empty` is the answer where there is no scope yet.
    /// A fork that is not there is none to be.
    async fn read<T, F>(&self, empty: T, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Snapshot<'_>, ScopeId) -> Result<T> + Send + 'static,
    {
        let resource = self.resource.clone();
        self.database
            .read(
                move |connection| match scope::find(connection, &resource)? {
                    Some(scope) => work(connection, scope),
                    None if resource.fork.is_some() => Err(scope::no_fork(&resource)),
                    None => Ok(empty),
                },
            )
            .await
    }
}

impl Memory {
    /// Reads this memory.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whose memory this is.
    pub fn resource(&self) -> &ResourceRef {
        &self.view.resource
    }

    /// The session that writes.
    pub fn session_id(&self) -> &str {
        &self.session.id
    }

    /// The same memory in another turn, in which nothing was shown yet. What is
    /// recalled or put into a snippet is not remembered again in its turn.
    #[must_use]
    pub fn for_new_turn(&self) -> Self {
        Self {
            shown: remember::Shown::default(),
            ..self.clone()
        }
    }

    /// The same memory, whose next write also ends the session: both reach the
    /// file, or neither does.
    #[must_use]
    pub fn ending(&self) -> Self {
        let mut memory = self.clone();
        memory.session.ends = true;
        memory
    }

    /// Writes within the scope, together with the ledger entries of what is done.
    async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Change<'_>) -> Result<T> + Send + 'static,
    {
        let session = self.session.clone();
        let done = self
            .view
            .database
            .write(move |connection| {
                let number = ledger::running_session(connection, &session.id)?;
                session.check_still_there(connection)?;
                let done = work(&Change {
                    connection,
                    scope: session.scope,
                    number,
                    session: &session,
                })?;
                if session.ends {
                    sessions::end(connection, number, &json!({}))?;
                }
                Ok(done)
            })
            .await;
        if self.session.ends && done.is_ok() {
            self.view.database.held().release(&self.session.id);
        }
        done
    }
}

/// A transaction that writes to a scope.
struct Change<'a> {
    connection: &'a Connection,
    scope: ScopeId,
    number: i64,
    session: &'a Writer,
}

impl Change<'_> {
    /// Records what is done. Says whose memory it was done to, where that is
    /// not the session's own resource.
    fn record(&self, kind: &Kind, payload: Value) -> Result<EntryRef> {
        Ok(self.append(kind, payload)?.entry)
    }

    /// Records what is done to a fact, so that the entry can be erased with it.
    fn record_for_fact(&self, kind: &Kind, payload: Value, fact: i64) -> Result<()> {
        self.record_for_facts(kind, payload, &[fact])
    }

    /// Records what speaks of several facts, so that the entry can be erased
    /// with any of them.
    fn record_for_facts(&self, kind: &Kind, payload: Value, facts: &[i64]) -> Result<()> {
        let entry = self.append(kind, payload)?.number;
        let mut link = self
            .connection
            .prepare_cached("INSERT INTO fact_entries (fact, entry) VALUES (?1, ?2)")?;
        for fact in facts {
            link.execute([*fact, entry])?;
        }
        Ok(())
    }

    fn append(&self, kind: &Kind, payload: Value) -> Result<Appended> {
        let mut payload = payload;
        if let (Some(resource), Some(object)) = (&self.session.elsewhere, payload.as_object_mut()) {
            let mut whose = json!({ "resource": resource.resource, "team": resource.team });
            if let Some(fork) = &resource.fork {
                whose["fork"] = json!(fork);
            }
            object.insert("scope".to_owned(), whose);
        }
        ledger::append(self.connection, self.number, kind, &payload)
    }
}

/// A page holds from 1 to [`limits::PAGE_ITEMS`] items.
pub(crate) fn check_page(limit: usize) -> Result<()> {
    if limit == 0 {
        return Err(StorageError::Invalid(
            "a page holds at least 1 item".to_owned(),
        ));
    }
    if limit > limits::PAGE_ITEMS {
        return Err(StorageError::limit(
            "page-items",
            "items on a page",
            limit,
            limits::PAGE_ITEMS,
        ));
    }
    Ok(())
}

/// Where a page goes on, in lists that are ordered by a number.
pub(crate) fn position(after: Option<&str>) -> Result<Option<i64>> {
    after
        .map(|after| {
            after.parse().map_err(|_| {
                StorageError::Invalid(format!(
                    "`{}` is not what a page answered with as `next`",
                    after.escape_default()
                ))
            })
        })
        .transpose()
}

/// A value that must be a JSON object, as text within its bound.
fn object_text(
    value: &Map<String, Value>,
    what: &str,
    name: &'static str,
    bound: usize,
) -> Result<String> {
    crate::json::bounded(&Value::Object(value.clone()), what, name, bound)
}
