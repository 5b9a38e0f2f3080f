//! Writing batches: for each customer of a batch the facts are one transaction,
//! and where there are many, their transactions share the wait for the disk.

use std::collections::HashMap;

use keepsake_storage::{Database, Memory, Outcome, StorageError};
use keepsake_types::ResourceRef;
use serde_json::json;
use tokio::task::JoinSet;

use super::embed::Share;
use crate::failure::Failure;

/// Sessions that are open at once. The lines of one customer mostly come
/// together, and a session that is open costs a little memory.
const OPEN_SESSIONS: usize = 1_000;

/// Writes in one session for each customer.
pub(super) struct Writer {
    database: Database,
    open: HashMap<ResourceRef, Memory>,
    /// What was done up to now.
    pub(super) done: Done,
}

/// What an import did.
#[derive(Clone, Copy, Default)]
pub(super) struct Done {
    /// Facts that are new.
    pub(super) imported: u64,
    /// Facts that were there already.
    pub(super) repeated: u64,
    /// Keys of working memory that were set.
    pub(super) working_keys: u64,
    /// Profiles that were written.
    pub(super) profiles: u64,
    /// Keys and profiles that were left as they are.
    pub(super) left: u64,
}

impl Done {
    /// How much of the file that is.
    pub(super) fn lines(&self) -> u64 {
        self.imported + self.repeated + self.working_keys + self.profiles + self.left
    }

    fn add(&mut self, other: Self) {
        self.imported += other.imported;
        self.repeated += other.repeated;
        self.working_keys += other.working_keys;
        self.profiles += other.profiles;
        self.left += other.left;
    }
}

impl Writer {
    pub(super) fn new(database: Database) -> Self {
        Self {
            database,
            open: HashMap::new(),
            done: Done::default(),
        }
    }

    /// Writes what belongs to several customers. When it answers, all of it is
    /// on the disk; of what fails, whole shares are.
    pub(super) async fn write(&mut self, shares: Vec<Share>) -> Result<(), Failure> {
        let mut writing = JoinSet::new();
        for share in shares {
            let open = self.open.get(&share.resource).cloned();
            let database = self.database.clone();
            writing.spawn(async move {
                let memory = match open {
                    Some(memory) => memory,
                    None => database.operator_session(&share.resource).await?,
                };
                let done = write(&memory, share).await;
                Ok::<_, StorageError>((memory, done))
            });
        }
        let mut failed = None;
        for done in writing.join_all().await {
            match done {
                Ok((memory, done)) => {
                    self.open.insert(memory.resource().clone(), memory);
                    match done {
                        Ok(done) => self.done.add(done),
                        Err(error) => failed = failed.or(Some(error)),
                    }
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        if self.open.len() > OPEN_SESSIONS {
            self.end_sessions().await?;
        }
        Ok(())
    }

    /// Ends the sessions that are open. A process that is killed leaves them
    /// open, which costs nothing but a line in the list of sessions.
    pub(super) async fn end_sessions(&mut self) -> Result<(), Failure> {
        let mut ending = JoinSet::new();
        for (_, memory) in self.open.drain() {
            let database = self.database.clone();
            ending.spawn(async move {
                database
                    .end_session(memory.session_id(), json!({}))
                    .await
                    .map(drop)
            });
        }
        for ended in ending.join_all().await {
            ended?;
        }
        Ok(())
    }
}

/// Writes what a batch brings for one customer. Facts are one transaction, and
/// where an export is restored, so is each of its other kinds.
async fn write(memory: &Memory, share: Share) -> Result<Done, StorageError> {
    let mut done = Done::default();
    for profile in share.profiles {
        let restored = memory.restore_profile(profile).await?;
        done.profiles += restored.stored;
        done.left += restored.repeated;
    }
    if !share.working.is_empty() {
        let restored = memory.restore_working(share.working).await?;
        done.working_keys += restored.stored;
        done.left += restored.repeated;
    }
    let restored = memory
        .restore_facts(share.restored, Some(share.restored_vectors))
        .await?;
    done.imported += restored.stored;
    done.repeated += restored.repeated;
    let imported = memory.import_many(share.facts, Some(share.vectors)).await?;
    let repeats = imported
        .iter()
        .filter(|one| one.outcome == Outcome::Repeated)
        .count();
    done.repeated += repeats as u64;
    done.imported += (imported.len() - repeats) as u64;
    Ok(done)
}
