//! `host memory`: what is remembered of a customer.

pub(crate) mod reindex;

use keepsake_storage::{
    Database, Fact, Memory, QueryVector, RecallMode, RecallOptions, Recollection, StorageError,
    Verification, View,
};
use keepsake_types::embedding::{Embedder, EmbeddingKind};
use keepsake_types::{ResourceRef, limits};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::cli::{MemoryCommand, Mode};
use crate::failure::{ExitCode, Failure};
use crate::output;

pub(crate) async fn run(app: &App, command: MemoryCommand, json: bool) -> Result<(), Failure> {
    match command {
        MemoryCommand::List { whose } => {
            let resource = ResourceRef::new(whose.resource)?;
            let view = app.existing_database().await?.view(&resource)?;
            list(&view, &resource, json).await
        }
        MemoryCommand::Recall {
            whose,
            query,
            top_k,
            mode,
            min_score,
            explain,
            ..
        } => {
            let asked = Recall {
                query,
                mode,
                options: RecallOptions {
                    limit: top_k as usize,
                    mode: match mode {
                        Mode::Hybrid => RecallMode::Hybrid,
                        Mode::Words => RecallMode::Words,
                        Mode::Vectors => RecallMode::Vectors,
                    },
                    min_score,
                    ..RecallOptions::default()
                },
                explain,
            };
            asked
                .run(app, &ResourceRef::new(whose.resource)?, json)
                .await
        }
        MemoryCommand::Set { whose, key, value } => {
            let resource = ResourceRef::new(whose.resource)?;
            set(app, &resource, &key, &value, json).await
        }
        MemoryCommand::Forget { whose, facts, key } => {
            let resource = ResourceRef::new(whose.resource)?;
            forget(app, &resource, facts, &key, json).await
        }
        MemoryCommand::Reindex { whose, .. } => {
            reindex::reindex(app, &ResourceRef::new(whose.resource)?, json).await
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
        return output::json(&json!({
            "resource": resource.resource,
            "profile": profile,
            "working": working,
            "facts": facts.iter().map(fact_as_json).collect::<Vec<_>>(),
        }));
    }
    if profile.is_empty() && working.is_empty() && facts.is_empty() {
        output::note!(
            "nothing is remembered of {}",
            output::one_line(&resource.resource, 100)
        );
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
    format!(
        "{}  \"{}\" ({}{source}, {})",
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
        "created_at": fact.created_at,
        "updated_at": fact.updated_at,
        "subject": fact.subject,
        "attribute": fact.attribute,
        "metadata": fact.metadata,
    })
}

/// A question to a memory.
struct Recall {
    query: String,
    mode: Mode,
    options: RecallOptions,
    explain: bool,
}

impl Recall {
    async fn run(self, app: &App, resource: &ResourceRef, json: bool) -> Result<(), Failure> {
        let database = app.existing_database().await?;
        let vector = self.vector(app).await?;
        let memory = database.operator_session(resource).await?;
        let recalled = memory
            .ending()
            .recall(&self.query, vector, self.options.clone())
            .await;
        let recalled = ended(&database, &memory, recalled).await?;
        if json {
            return output::json(&json!({
                "query": self.query,
                "facts": self.facts_as_json(&recalled),
            }));
        }
        if recalled.facts.is_empty() {
            output::note!("nothing that is remembered answers this");
        }
        for found in &recalled.facts {
            output::line(&format!(
                "{:.3}  {}",
                found.score.total,
                fact_line(&found.fact)
            ))?;
            if self.explain {
                let rank = |rank: Option<u32>| rank.map_or("-".to_owned(), |rank| rank.to_string());
                output::line(&format!(
                    "       word rank {}, vector rank {}, cosine {}",
                    rank(found.score.word_rank),
                    rank(found.score.vector_rank),
                    found
                        .score
                        .cosine
                        .map_or("-".to_owned(), |cosine| format!("{cosine:.3}")),
                ))?;
            }
        }
        Ok(())
    }

    async fn vector(&self, app: &App) -> Result<Option<QueryVector>, Failure> {
        if self.mode == Mode::Words {
            return Ok(None);
        }
        let embedder = app.plugins()?.embedder().await?;
        let vectors = embedder
            .embed(vec![self.query.clone()], EmbeddingKind::Query)
            .await
            .map_err(|error| {
                Failure::new(
                    ExitCode::Plugin,
                    format!("{error}; `--mode words` recalls without a provider"),
                )
            })?;
        Ok(vectors.into_iter().next().map(|vector| QueryVector {
            model: embedder.info().model.clone(),
            vector,
            relevance_threshold: embedder.info().relevance_threshold,
        }))
    }

    fn facts_as_json(&self, recalled: &Recollection) -> Vec<Value> {
        recalled
            .facts
            .iter()
            .map(|found| {
                let mut fact = fact_as_json(&found.fact);
                fact["score"] = json!(found.score.total);
                if self.explain {
                    fact["explanation"] = json!(found.score);
                }
                fact
            })
            .collect()
    }
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
        return output::json(&json!({
            "resource": resource.resource, "key": key, "value": value,
        }));
    }
    output::note!(
        "set `{}` of {}",
        output::one_line(key, 100),
        output::one_line(&resource.resource, 100)
    );
    Ok(())
}

async fn forget(
    app: &App,
    resource: &ResourceRef,
    facts: Vec<String>,
    keys: &[String],
    json: bool,
) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    let memory = database.operator_session(resource).await?;
    let asked = facts.len() + keys.len();
    let done = forget_all(&memory, facts, keys).await;
    let (facts, keys) = ended(&database, &memory, done).await?;
    let forgotten = facts as usize + keys;
    if json {
        output::json(&json!({
            "resource": resource.resource, "facts": facts, "keys": keys,
        }))?;
    } else {
        output::note!("forgot {facts} facts and {keys} keys");
    }
    if forgotten < asked {
        return Err(Failure::new(
            ExitCode::Other,
            format!(
                "{} of {asked} were not there; `host memory list --resource {}` shows what is",
                asked - forgotten,
                output::one_line(&resource.resource, 100)
            ),
        ));
    }
    Ok(())
}

/// Forgets the facts, then the keys. The last write ends the session.
async fn forget_all(
    memory: &Memory,
    facts: Vec<String>,
    keys: &[String],
) -> Result<(u64, usize), StorageError> {
    let Some((last, others)) = keys.split_last() else {
        return Ok((memory.ending().forget(facts).await?, 0));
    };
    let facts = memory.forget(facts).await?;
    let mut deleted = 0;
    for key in others {
        deleted += usize::from(memory.delete(key).await?);
    }
    deleted += usize::from(memory.ending().delete(last).await?);
    Ok((facts, deleted))
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
