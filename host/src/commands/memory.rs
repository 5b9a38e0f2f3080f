//! `host memory`: what is remembered of a customer.

mod backup;
mod compact;
mod erase;
mod export;
mod forks;
mod import;
mod recall;
pub(crate) mod reindex;
mod why;

use keepsake_storage::{Database, Fact, Memory, StorageError, Verification, View};
use keepsake_types::{ResourceRef, limits};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::cli::MemoryCommand;
use crate::failure::{ExitCode, Failure};
use crate::output;

pub(crate) async fn run(app: &App, command: MemoryCommand, json: bool) -> Result<(), Failure> {
    match command {
        MemoryCommand::List { whose } => {
            let resource = whose.resource(&app.config)?;
            let view = app.existing_database().await?.view(&resource)?;
            list(&view, &resource, json).await
        }
        MemoryCommand::Recall(arguments) => recall::run(app, arguments, json).await,
        MemoryCommand::Set { whose, key, value } => {
            let resource = whose.resource(&app.config)?;
            set(app, &resource, &key, &value, json).await
        }
        MemoryCommand::Forget {
            whose,
            facts,
            key,
            mentions,
        } => {
            let resource = whose.resource(&app.config)?;
            forget(app, &resource, facts, &key, mentions, json).await
        }
        MemoryCommand::Import(arguments) => import::import(app, arguments, json).await,
        MemoryCommand::Compact {
            whose,
            max_age,
            max_facts,
            agent,
            ..
        } => {
            let asked = compact::Compact {
                resource: whose.resource(&app.config)?,
                max_age,
                max_facts,
                agent,
            };
            asked.run(app, json).await
        }
        MemoryCommand::Expire { whose, facts, at } => {
            compact::expire(app, &whose.resource(&app.config)?, &facts, at, json).await
        }
        MemoryCommand::Forks { whose } => {
            forks::list(app, &whose.resource(&app.config)?, json).await
        }
        MemoryCommand::Fork { whose } => {
            forks::fork(app, &whose.resource(&app.config)?, json).await
        }
        MemoryCommand::Diff { whose } => {
            forks::diff(app, &whose.resource(&app.config)?, json).await
        }
        MemoryCommand::Merge { whose } => {
            forks::merge(app, &whose.resource(&app.config)?, json).await
        }
        MemoryCommand::Discard { whose } => {
            forks::discard(app, &whose.resource(&app.config)?, json).await
        }
        MemoryCommand::Export(arguments) => export::export(app, arguments, json).await,
        MemoryCommand::Erase(arguments) => erase::erase(app, arguments, json).await,
        MemoryCommand::Backup { file } => backup::back_up(app, &file, json).await,
        MemoryCommand::Restore { file, replace } => {
            backup::restore(app, &file, replace, json).await
        }
        MemoryCommand::Why(arguments) => why::why(app, arguments, json).await,
        MemoryCommand::Reindex { whose, .. } => {
            reindex::reindex(app, &whose.resource(&app.config)?, json).await
        }
    }
}

async fn list(view: &View, resource: &ResourceRef, json: bool) -> Result<(), Failure> {
    let profile = view.profile().await?;
    let mut working = Map::new();
    let mut after: Option<String> = None;
    loop {
        let page = view.list(after.as_deref(), limits::PAGE_ITEMS).await?;
        working.extend(page.items);
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let mut facts = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = view
            .list_facts(after.as_deref(), limits::PAGE_ITEMS)
            .await?;
        facts.extend(page.facts);
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    if json {
        // The profile is a document of working memory with a form of its own.
        if !profile.is_empty() && !working.contains_key("profile") {
            working.insert("profile".into(), Value::Object(profile.clone()));
        }
        let facts: Vec<_> = facts.iter().map(fact_as_json).collect();
        return output::json_of(
            resource,
            json!({ "profile": profile, "working": working, "facts": facts }),
        );
    }
    if profile.is_empty() && working.is_empty() && facts.is_empty() {
        output::note!("nothing is remembered of {}", output::whose(resource, 100));
        return Ok(());
    }
    section("profile", &profile)?;
    section("working memory", &working)?;
    if !facts.is_empty() {
        output::line("facts")?;
        for fact in &facts {
            output::line(&format!("  {}", fact_line(fact)))?;
        }
    }
    Ok(())
}

fn section(title: &str, members: &Map<String, Value>) -> Result<(), Failure> {
    if members.is_empty() {
        return Ok(());
    }
    output::line(title)?;
    for (key, value) in members {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        output::line(&format!(
            "  {}: {}",
            output::one_line(key, 100),
            output::one_line(&value, 400)
        ))?;
    }
    Ok(())
}

fn fact_line(fact: &Fact) -> String {
    let source = fact.source.as_ref().map_or_else(String::new, |source| {
        format!(
            ", source entry {} of session {}",
            source.index, source.session
        )
    });
    let summary = fact
        .summary_of
        .map_or_else(String::new, |facts| format!(", summary of {facts} facts"));
    format!(
        "{}  \"{}\" ({}{source}{summary}, {})",
        fact.id,
        output::one_line(&fact.content, 400),
        fact.verification.name(),
        output::time(fact.created_at)
    )
}

/// The stable form of a fact for programs.
fn fact_as_json(fact: &Fact) -> Value {
    json!({
        "id": fact.id,
        "content": fact.content,
        "verified": fact.verification == Verification::Verified,
        "verification": fact.verification.name(),
        "source": fact.source,
        "further_sources": fact.further_sources,
        "summary_of": fact.summary_of,
        "created_at": fact.created_at,
        "updated_at": fact.updated_at,
        "subject": fact.subject,
        "attribute": fact.attribute,
        "valid_from": fact.valid_from,
        "valid_until": fact.valid_until,
        "thread": fact.thread,
        "position": fact.position,
        "metadata": fact.metadata,
    })
}

async fn set(
    app: &App,
    resource: &ResourceRef,
    key: &str,
    value: &str,
    json: bool,
) -> Result<(), Failure> {
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    let database = app.database().await?;
    let memory = database.operator_session(resource).await?;
    let done = memory.ending().set(key, value.clone()).await;
    ended(&database, &memory, done).await?;
    if json {
        return output::json_of(resource, json!({ "key": key, "value": value }));
    }
    output::note!(
        "set `{}` of {}",
        output::one_line(key, 100),
        output::whose(resource, 100)
    );
    Ok(())
}

async fn forget(
    app: &App,
    resource: &ResourceRef,
    facts: Vec<String>,
    keys: &[String],
    mentions: bool,
    json: bool,
) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    let memory = database.operator_session(resource).await?;
    let asked = facts.len() + keys.len();
    let done = forget_all(&memory, facts, keys, mentions).await;
    let (facts, erased, keys) = ended(&database, &memory, done).await?;
    let forgotten = facts as usize + keys;
    if json {
        let answer = json!({ "facts": facts, "keys": keys, "mentions": erased });
        output::json_of(resource, answer)?;
    } else {
        let of_ledger = if mentions {
            format!(", and erased {erased} entries that held their texts")
        } else {
            String::new()
        };
        output::note!("forgot {facts} facts and {keys} keys{of_ledger}");
    }
    if forgotten < asked {
        return Err(Failure::new(
            ExitCode::Other,
            format!(
                "{} of {asked} were not there; `host memory list {}` shows what is",
                asked - forgotten,
                output::options_for(resource)
            ),
        ));
    }
    Ok(())
}

/// Forgets the facts, then the keys. The last write ends the session. Answers how
/// many facts, entries with their texts and keys there were.
async fn forget_all(
    memory: &Memory,
    facts: Vec<String>,
    keys: &[String],
    mentions: bool,
) -> Result<(u64, u64, usize), StorageError> {
    let of_facts = async |memory: &Memory, facts| {
        if mentions {
            memory.forget_with_mentions(facts).await
        } else {
            Ok((memory.forget(facts).await?, 0))
        }
    };
    let Some((last, others)) = keys.split_last() else {
        let (facts, erased) = of_facts(&memory.ending(), facts).await?;
        return Ok((facts, erased, 0));
    };
    let (facts, erased) = of_facts(memory, facts).await?;
    let mut deleted = 0;
    for key in others {
        deleted += usize::from(memory.delete(key).await?);
    }
    deleted += usize::from(memory.ending().delete(last).await?);
    Ok((facts, erased, deleted))
}

/// What a command did, whose last write ended its session; one that failed did
/// not, and the session is ended here.
async fn ended<T>(
    database: &Database,
    memory: &Memory,
    done: Result<T, StorageError>,
) -> Result<T, Failure> {
    if done.is_err() {
        database.end_session(memory.session_id(), json!({})).await?;
    }
    Ok(done?)
}
