//! What is known of the commands: lost when execd ends, as with the real one.

use super::clock;
use super::order::Order;
use super::process::Output;
use rustix::process::Pid;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use tokio::sync::watch;

/// How many commands are remembered. Past it the oldest that ended is forgotten.
const REMEMBERED: usize = 4096;

/// How a command ended.
#[derive(Clone)]
pub(crate) struct Outcome {
    /// What it exited with; -1 where a signal ended it.
    pub(crate) exit_code: i32,
    /// Why it is not a success, in words.
    pub(crate) error: Option<String>,
}

/// All commands since the start, by id.
#[derive(Default)]
pub(crate) struct Commands(Mutex<HashMap<String, Entry>>);

struct Entry {
    content: String,
    group: Pid,
    output: Output,
    started: SystemTime,
    finished: Option<SystemTime>,
    outcome: watch::Sender<Option<Outcome>>,
}

/// The answer of `GET /command/status/{id}`.
#[derive(Serialize)]
pub(crate) struct Status {
    id: String,
    content: String,
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
}

impl Commands {
    /// Remembers a started command, and gives what tells of its end.
    pub(crate) fn add(
        &self,
        id: &str,
        order: &Order,
        group: Pid,
        output: &Output,
    ) -> watch::Receiver<Option<Outcome>> {
        let (outcome, ended) = watch::channel(None);
        let mut entries = self.entries();
        if entries.len() >= REMEMBERED {
            forget_oldest(&mut entries);
        }
        entries.insert(
            id.to_owned(),
            Entry {
                content: order.command.clone(),
                group,
                output: output.clone(),
                started: SystemTime::now(),
                finished: None,
                outcome,
            },
        );
        ended
    }

    /// Records how a command ended.
    pub(crate) fn finish(&self, id: &str, outcome: Outcome) {
        if let Some(entry) = self.entries().get_mut(id) {
            entry.finished = Some(SystemTime::now());
            entry.outcome.send_replace(Some(outcome));
        }
    }

    /// What is known of a command.
    pub(crate) fn status(&self, id: &str) -> Option<Status> {
        let entries = self.entries();
        let entry = entries.get(id)?;
        let outcome = entry.outcome.borrow().clone();
        Some(Status {
            id: id.to_owned(),
            content: entry.content.clone(),
            running: outcome.is_none(),
            exit_code: outcome.as_ref().map(|outcome| outcome.exit_code),
            error: outcome.and_then(|outcome| outcome.error),
            started_at: clock::rfc3339(entry.started),
            finished_at: entry.finished.map(clock::rfc3339),
        })
    }

    /// Where a command's output lies.
    pub(crate) fn output(&self, id: &str) -> Option<Output> {
        Some(self.entries().get(id)?.output.clone())
    }

    /// A command's process group, and what tells of its end.
    pub(crate) fn running(&self, id: &str) -> Option<(Pid, watch::Receiver<Option<Outcome>>)> {
        let entries = self.entries();
        let entry = entries.get(id)?;
        Some((entry.group, entry.outcome.subscribe()))
    }

    /// No code panics while it holds the lock, so its content is sound.
    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_oldest(entries: &mut HashMap<String, Entry>) {
    let oldest = entries
        .iter()
        .filter_map(|(id, entry)| Some((entry.finished?, id.clone())))
        .min();
    if let Some((_, id)) = oldest {
        entries.remove(&id);
    }
}
