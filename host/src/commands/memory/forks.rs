//! `host memory forks`, `fork`, `diff`, `merge` and `discard`: copies of a memory
//! that go their own way, and their way back.

use keepsake_storage::{Branch, Conflict, Database, Difference, Fact, Fork, Memory};
use keepsake_types::ResourceRef;
use serde_json::{Value, json};

use super::{ended, erase, fact_as_json, fact_line};
use crate::app::App;
use crate::failure::{ExitCode, Failure};
use crate::output;

/// The forks of a memory, each followed by its own.
pub(super) async fn list(app: &App, resource: &ResourceRef, json: bool) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    let mut found: Vec<Fork> = Vec::new();
    // The last one is looked into first.
    let mut pending = database.view(resource)?.forks().await?;
    pending.reverse();
    while let Some(fork) = pending.pop() {
        let mut below = database.view(&fork.resource)?.forks().await?;
        below.reverse();
        pending.extend(below);
        found.push(fork);
    }
    if json {
        let forks: Vec<Value> = found
            .iter()
            .map(|fork| {
                json!({
                    "fork": fork.resource.fork,
                    "forked_at": fork.forked_at,
                    "facts": fork.facts,
                })
            })
            .collect();
        return output::json_of(resource, json!({ "forks": forks }));
    }
    if found.is_empty() {
        output::note!("{} has no forks", output::whose(resource, 100));
    }
    for fork in found {
        output::line(&format!(
            "{}  {} facts, made {}",
            path(&fork.resource),
            fork.facts,
            output::time(fork.forked_at)
        ))?;
    }
    Ok(())
}

pub(super) async fn fork(app: &App, fork: &ResourceRef, json: bool) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    let (parent, name) = parent(fork)?;
    let memory = database.operator_session(&parent).await?;
    let made = memory.ending().fork(name).await;
    let branch = ended(&database, &memory, made).await?;
    let facts = branch.memory().view().count_facts().await?;
    if json {
        return output::json_of(fork, json!({ "facts": facts }));
    }
    output::note!("{} has {facts} facts", output::whose(fork, 100));
    Ok(())
}

pub(super) async fn diff(app: &App, fork: &ResourceRef, json: bool) -> Result<(), Failure> {
    parent(fork)?;
    let database = app.existing_database().await?;
    let difference = database.view(fork)?.difference().await?;
    if json {
        let facts = |facts: &[Fact]| facts.iter().map(fact_as_json).collect::<Vec<_>>();
        return output::json_of(
            fork,
            json!({
                "added": facts(&difference.added),
                "changed": facts(&difference.changed),
                "removed": difference.removed,
                "working": difference.working,
                "profile": difference.profile,
                "conflicts": difference.conflicts,
            }),
        );
    }
    if difference == Difference::default() {
        output::note!(
            "{} changed nothing that its parent has otherwise",
            output::whose(fork, 100)
        );
        return Ok(());
    }
    for (sign, facts) in [("+", &difference.added), ("~", &difference.changed)] {
        for fact in facts {
            output::line(&format!("{sign} fact {}", fact_line(fact)))?;
        }
    }
    for id in &difference.removed {
        output::line(&format!("- fact {id}"))?;
    }
    for (what, names) in [
        ("working memory", &difference.working),
        ("profile", &difference.profile),
    ] {
        for name in names {
            output::line(&format!("~ {what} {}", output::one_line(name, 100)))?;
        }
    }
    tell_conflicts(&difference.conflicts)
}

pub(super) async fn merge(app: &App, fork: &ResourceRef, json: bool) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    let (memory, branch) = open(&database, fork).await?;
    // No agent is there that could describe a schema of profiles.
    let merged = branch.merge(None).await;
    let report = ended(&database, &memory, merged).await?;
    if json {
        return output::json_of(
            fork,
            json!({
                "added": report.added,
                "changed": report.changed,
                "removed": report.removed,
                "conflicts": report.conflicts,
            }),
        );
    }
    output::note!(
        "merged {}: {} added, {} changed, {} removed",
        output::whose(fork, 100),
        report.added,
        report.changed,
        report.removed
    );
    tell_conflicts(&report.conflicts)
}

pub(super) async fn discard(app: &App, fork: &ResourceRef, json: bool) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    let (memory, branch) = open(&database, fork).await?;
    let discarded = branch.discard().await;
    let discarded = ended(&database, &memory, discarded).await?;
    let before = "the fork was discarded and can be read by nobody through this program, but ";
    let scrubbed = erase::scrub(&database, before).await?;
    if json {
        output::json_of(fork, json!({ "discarded": discarded }))?;
    } else {
        output::note!(
            "discarded {} with {} facts and {} keys of working memory",
            output::whose(fork, 100),
            discarded.facts,
            discarded.working_keys
        );
    }
    erase::check_log(scrubbed, "what was discarded")
}

/// A fork in a session of its parent's, which its last write ends.
async fn open(database: &Database, fork: &ResourceRef) -> Result<(Memory, Branch), Failure> {
    let (parent, name) = parent(fork)?;
    // Before a session is begun for it.
    database.view(fork)?.forks().await?;
    let memory = database.operator_session(&parent).await?;
    let branch = memory.ending().branch(name).await;
    let branch = ended(database, &memory, branch).await?;
    Ok((memory, branch))
}

/// The memory that a fork is one of, and the fork's name there.
fn parent(fork: &ResourceRef) -> Result<(ResourceRef, &str), Failure> {
    fork.parent().ok_or_else(|| {
        Failure::new(
            ExitCode::Usage,
            format!(
                "no fork of {} is named: add --fork with the name of one",
                output::whose(fork, 100)
            ),
        )
    })
}

/// The names that lead to a fork.
fn path(fork: &ResourceRef) -> &str {
    fork.fork.as_deref().unwrap_or_default()
}

fn tell_conflicts(conflicts: &[Conflict]) -> Result<(), Failure> {
    for conflict in conflicts {
        let (what, name) = match conflict {
            Conflict::Fact(id) => ("fact", id),
            Conflict::Working(key) => ("working memory", key),
            Conflict::Profile(member) => ("profile", member),
        };
        output::line(&format!(
            "! {what} {}: both sides changed it, and the parent's is kept",
            output::one_line(name, 100)
        ))?;
    }
    Ok(())
}
