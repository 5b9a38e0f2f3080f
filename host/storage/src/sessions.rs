//! Sessions: one run of an agent for one resource, which may go on later.

mod abandoned;
mod exchanges;
mod held;
mod list;
mod model_use;

use keepsake_types::{ResourceRef, Timestamp, limits, now};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::database::Database;
use crate::ledger::{Kind, append};
use crate::memory::Memory;
use crate::{Result, StorageError, ledger, scope};

pub use exchanges::Exchange;
pub(crate) use held::Held;
pub use list::SessionPage;
pub use model_use::ModelUse;

/// The agent's name in sessions that an operator's commands begin.
pub const OPERATOR_AGENT: &str = "operator";

/// What a session begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeginSession {
    /// From 1 to 64 of `A-Z a-z 0-9 . _ -`; none means a new one, a UUIDv7.
    pub id: Option<String>,
    /// Whose memory the session uses.
    pub resource: ResourceRef,
    /// The account that the customer belongs to, in the same team, where the
    /// session is to use its memory too.
    pub account: Option<String>,
    /// The name under which the host runs the agent.
    pub agent: String,
    /// The hash of the agent's component, where it has one.
    pub agent_hash: Option<String>,
    /// The path of the agent's component, where it has one.
    pub plugin: Option<String>,
    /// The session of the agent that started this one's.
    pub parent: Option<String>,
}

impl BeginSession {
    /// A session with a new id, of an agent without a component.
    pub fn new(resource: ResourceRef, agent: impl Into<String>) -> Self {
        Self {
            id: None,
            resource,
            account: None,
            agent: agent.into(),
            agent_hash: None,
            plugin: None,
            parent: None,
        }
    }
}

/// Which session goes on, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeSession {
    /// The session's id.
    pub id: String,
    /// Must be the resource that the session began with.
    pub resource: ResourceRef,
    /// Where it is given, must be the account that the session began with.
    pub account: Option<String>,
    /// Must be the agent that the session began with.
    pub agent: String,
    /// The hash of the agent's component as it is now; it may have changed.
    pub agent_hash: Option<String>,
}

/// Whether a session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionStatus {
    /// It has not ended. Its process may have.
    Running,
    /// It was ended, and can be resumed.
    Ended,
}

/// A session as it stood when it was read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Session {
    /// The session's id.
    pub id: String,
    /// Whose memory it uses.
    #[serde(flatten)]
    pub resource: ResourceRef,
    /// The agent's name.
    pub agent: String,
    /// The hash of the agent's component, as of the last beginning or resuming.
    pub agent_hash: Option<String>,
    /// The path of the agent's component.
    pub plugin: Option<String>,
    /// The session of the agent that started this one's.
    pub parent: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; none while it is running.
    pub ended_at: Option<Timestamp>,
    /// How many turns were started, which is the next turn's number.
    pub turns: u64,
    /// How many ledger entries it has.
    pub entries: u64,
    /// The sandboxes it used, in the order in which they were opened.
    pub sandboxes: Vec<String>,
    /// Whether it goes on.
    pub status: SessionStatus,
}

impl Database {
    /// Begins a session and records it. That acknowledges nothing: it reaches
    /// the disk with the first write that does.
    ///
    /// # Errors
    /// `Invalid` for an id that is used already or not well formed.
    pub async fn begin_session(&self, session: BeginSession) -> Result<Session> {
        let id = match &session.id {
            Some(id) => checked_id(id)?,
            None => Uuid::now_v7().to_string(),
        };
        let taken = self.hold(&id)?;
        let begun = {
            let id = id.clone();
            self.write_without_waiting(move |connection| begin(connection, &id, &session))
                .await
        };
        self.kept(&id, taken, begun)
    }

    /// Goes on with a session; its entries are numbered on. A session that was
    /// not ended, because its process was killed, is resumed the same way, and the
    /// turn that it was in is recorded as failed.
    ///
    /// # Errors
    /// `NotFound` for an unknown id; `Invalid` where the resource or the agent
    /// is another one; `SessionInUse` where another program works on it.
    pub async fn resume_session(&self, session: ResumeSession) -> Result<Session> {
        let id = session.id.clone();
        let taken = self.hold(&id)?;
        let resumed = self
            .write_without_waiting(move |connection| resume(connection, &session))
            .await;
        self.kept(&id, taken, resumed)
    }

    /// Takes a session for this program, so that no other one writes to it.
    /// Answers whether it had not been this program's before.
    fn hold(&self, id: &str) -> Result<bool> {
        if self.held().holds(id) {
            return Ok(false);
        }
        if !self.held().take(self.path(), id)? {
            return Err(StorageError::SessionInUse {
                session: id.to_owned(),
            });
        }
        Ok(true)
    }

    /// Lets a session go that was taken and not begun.
    fn kept(&self, id: &str, taken: bool, session: Result<Session>) -> Result<Session> {
        if taken && session.is_err() {
            self.held().release(id);
        }
        session
    }

    /// Ends a session and records `payload` with it, a JSON object. Answers
    /// whether it was running. Where the power fails before the next write that
    /// waits for the disk, the session is one that has not ended.
    ///
    /// # Errors
    /// `NotFound` for an unknown id; `Invalid` for a payload that is no object.
    pub async fn end_session(&self, id: &str, payload: Value) -> Result<bool> {
        let known_as = id.to_owned();
        let ended = self
            .write_without_waiting(move |connection| {
                let session = known(connection, &known_as)?;
                if session.1.status == SessionStatus::Ended {
                    return Ok(false);
                }
                end(connection, session.0, &payload)?;
                Ok(true)
            })
            .await;
        if ended.is_ok() {
            self.held().release(id);
        }
        ended
    }

    /// A session; none when there is none of that id.
    ///
    /// # Errors
    /// Only when the file cannot be read.
    pub async fn session(&self, id: &str) -> Result<Option<Session>> {
        let id = id.to_owned();
        self.read(move |connection| Ok(find(connection, &id)?.map(|(_, session)| session)))
            .await
    }

    /// The memory of a resource for a command of the operator's: begins a
    /// session of the agent [`OPERATOR_AGENT`], so that what the command writes
    /// stands in the ledger. End it with its last write, by [`Memory::ending`], or
    /// by [`Memory::session_id`].
    ///
    /// # Errors
    /// When the resource's name is not well formed.
    pub async fn operator_session(&self, resource: &ResourceRef) -> Result<Memory> {
        self.operator_session_with(resource, None).await
    }

    /// The same, for a customer of an account whose memory is to be reached too.
    ///
    /// # Errors
    /// As [`Database::operator_session`]; `Invalid` for an account's name that is
    /// not well formed.
    pub async fn operator_session_with(
        &self,
        resource: &ResourceRef,
        account: Option<String>,
    ) -> Result<Memory> {
        let session = BeginSession {
            account,
            ..BeginSession::new(resource.clone(), OPERATOR_AGENT)
        };
        let session = self.begin_session(session).await?;
        self.memory(resource, &session.id).await
    }
}

/// Ends a session that runs.
pub(crate) fn end(connection: &Connection, number: i64, payload: &Value) -> Result<()> {
    append(connection, number, &Kind::SessionEnded, payload)?;
    connection
        .prepare_cached("UPDATE sessions SET ended_at = ?2 WHERE number = ?1")?
        .execute(params![number, now()])?;
    Ok(())
}

/// Ids stand in file names and on command lines.
fn checked_id(id: &str) -> Result<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if id.is_empty() || id.len() > limits::SESSION_ID_BYTES || !id.chars().all(allowed) {
        return Err(StorageError::Invalid(format!(
            "`{}` is no session id: it has from 1 to {} of A-Z a-z 0-9 . _ -",
            id.escape_default(),
            limits::SESSION_ID_BYTES
        )));
    }
    Ok(id.to_owned())
}

pub(crate) fn begin(connection: &Connection, id: &str, session: &BeginSession) -> Result<Session> {
    if find(connection, id)?.is_some() {
        return Err(StorageError::Invalid(format!(
            "there is a session `{id}` already: resume it, or choose another id"
        )));
    }
    let scope = scope::obtain(connection, &session.resource)?;
    let number: i64 = connection
        .prepare_cached(
            "INSERT INTO sessions (id, scope, agent, agent_hash, plugin, started_at, parent)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING number",
        )?
        .query_row(
            params![
                id,
                scope,
                session.agent,
                session.agent_hash,
                session.plugin,
                now(),
                session.parent
            ],
            |row| row.get(0),
        )?;
    let mut payload = json!({
        "session": id,
        "resource": session.resource.resource,
        "team": session.resource.team,
        "agent": session.agent,
        "agent-hash": session.agent_hash,
        "plugin": session.plugin,
    });
    if let Some(account) = &session.account {
        let account = of_account(&session.resource, account);
        account.checked()?;
        payload["account"] = json!(account.resource);
    }
    if let Some(parent) = &session.parent {
        payload["parent"] = json!(parent);
    }
    if let Some(fork) = &session.resource.fork {
        payload["fork"] = json!(fork);
    }
    append(connection, number, &Kind::SessionStarted, &payload)?;
    Ok(known(connection, id)?.1)
}

fn resume(connection: &Connection, wanted: &ResumeSession) -> Result<Session> {
    let (number, session) = known(connection, &wanted.id)?;
    if session.resource != wanted.resource {
        return Err(StorageError::Invalid(format!(
            "session `{}` belongs to `{}` and cannot go on for `{}`: begin a new session",
            wanted.id, session.resource, wanted.resource
        )));
    }
    if let Some(wanted_account) = &wanted.account
        && account(connection, number, &session.resource)?
            .is_none_or(|account| account.resource != *wanted_account)
    {
        return Err(StorageError::Invalid(format!(
            "session `{}` was begun without account `{}` and cannot be granted it now: begin a new session",
            wanted.id,
            wanted_account.escape_default()
        )));
    }
    if session.agent != wanted.agent {
        return Err(StorageError::Invalid(format!(
            "session `{}` was begun by agent `{}` and cannot go on with agent `{}`: begin a new session",
            wanted.id, session.agent, wanted.agent
        )));
    }
    if session.status == SessionStatus::Running {
        abandoned::fail_unfinished_turn(connection, number)?;
    }
    connection
        .prepare_cached("UPDATE sessions SET ended_at = NULL, agent_hash = ?2 WHERE number = ?1")?
        .execute(params![number, wanted.agent_hash])?;
    let payload = json!({ "agent-hash": wanted.agent_hash });
    append(connection, number, &Kind::SessionResumed, &payload)?;
    Ok(known(connection, &wanted.id)?.1)
}

/// The account that a session was begun with. The first entry says so, which is
/// in the chain.
pub(crate) fn account(
    connection: &Connection,
    number: i64,
    customer: &ResourceRef,
) -> Result<Option<ResourceRef>> {
    let beginning = ledger::beginning(connection, number)?.unwrap_or_default();
    Ok(beginning["account"]
        .as_str()
        .map(|account| of_account(customer, account)))
}

/// An account lies in the team of its customers.
fn of_account(customer: &ResourceRef, account: &str) -> ResourceRef {
    ResourceRef {
        resource: account.to_owned(),
        team: customer.team.clone(),
        fork: None,
    }
}

fn known(connection: &Connection, id: &str) -> Result<(i64, Session)> {
    find(connection, id)?.ok_or_else(|| {
        StorageError::NotFound(format!(
            "there is no session `{id}`: `host sessions` lists them"
        ))
    })
}

const COLUMNS: &str = "s.number, s.id, c.resource, c.team, c.fork, s.agent, s.agent_hash, \
                       s.plugin, s.started_at, s.ended_at, s.turns, s.entries, s.parent";

fn from_row(row: &Row<'_>) -> rusqlite::Result<(i64, Session)> {
    let ended_at: Option<Timestamp> = row.get(9)?;
    let session = Session {
        id: row.get(1)?,
        resource: scope::from_columns(row, 2)?,
        agent: row.get(5)?,
        agent_hash: row.get(6)?,
        plugin: row.get(7)?,
        parent: row.get(12)?,
        started_at: row.get(8)?,
        ended_at,
        turns: row.get(10)?,
        entries: row.get(11)?,
        sandboxes: Vec::new(),
        status: if ended_at.is_some() {
            SessionStatus::Ended
        } else {
            SessionStatus::Running
        },
    };
    Ok((row.get(0)?, session))
}

/// A session and its number in the file.
pub(crate) fn find(connection: &Connection, id: &str) -> Result<Option<(i64, Session)>> {
    let found = connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM sessions s JOIN scopes c ON c.id = s.scope WHERE s.id = ?1"
        ))?
        .query_row([id], from_row)
        .optional()?;
    found
        .map(|found| with_sandboxes(connection, found))
        .transpose()
}

fn with_sandboxes(
    connection: &Connection,
    (number, mut session): (i64, Session),
) -> Result<(i64, Session)> {
    session.sandboxes = connection
        .prepare_cached("SELECT sandbox FROM session_sandboxes WHERE session = ?1 ORDER BY place")?
        .query_map([number], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok((number, session))
}
