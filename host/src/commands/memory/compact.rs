//! `host memory compact` and `host memory expire`: letting facts go.

use std::sync::Arc;

use keepsake_plugin::{CompactionError, Ledger, ModelBudget, Summariser, TurnContext, compact};
use keepsake_storage::{
    CompactOptions, Compaction, Database, Memory, ModelUse, OPERATOR_AGENT, StorageError,
};
use keepsake_types::{ResourceRef, now};
use serde_json::{Map, Value, json};

use super::ended;
use crate::app::App;
use crate::config::PluginChoice;
use crate::failure::{ExitCode, Failure};
use crate::{output, progress};

/// What is to go, and who summarises it.
pub(super) struct Compact {
    pub(super) resource: ResourceRef,
    pub(super) max_age: Option<u64>,
    pub(super) max_facts: Option<u32>,
    pub(super) agent: Option<String>,
}

impl Compact {
    pub(super) async fn run(self, app: &App, json: bool) -> Result<(), Failure> {
        let database = app.existing_database().await?;
        // What is said here replaces what the file says, age and number together.
        let options = match (self.max_age, self.max_facts) {
            (None, None) => app.config.memory.options,
            (max_age_ms, max_facts) => CompactOptions {
                max_age_ms,
                max_facts: max_facts.map(|most| most as usize),
                now: None,
            },
        };
        let memory = database.operator_session(&self.resource).await?;
        let working = progress::after_a_moment("compacting");
        let done = self.compact(app, &database, &memory, options).await;
        drop(working);
        database.end_session(memory.session_id(), json!({})).await?;
        let done = done?;
        if json {
            let answer = json!({
                "removed": done.removed,
                "summarised": done.summarised,
                "remaining": done.remaining,
            });
            return output::json_of(&self.resource, answer);
        }
        if options.max_age_ms.is_none() && options.max_facts.is_none() {
            output::note!(
                "nothing was to go: give --max-age or --max-facts, or set them in [memory] of host.toml"
            );
        }
        output::note!(
            "let {} facts go, {} of them into summaries; {} remain",
            done.removed,
            done.summarised,
            done.remaining
        );
        Ok(())
    }

    async fn compact(
        &self,
        app: &App,
        database: &Database,
        memory: &Memory,
        options: CompactOptions,
    ) -> Result<Compaction, Failure> {
        let summariser = match &self.agent {
            Some(agent) => Some(self.summariser(app, database, memory, agent).await?),
            None => None,
        };
        compact(memory, options, summariser.as_ref())
            .await
            .map_err(|error| match error {
                CompactionError::Storage(error) => error.into(),
                error => Failure::new(ExitCode::Plugin, error.to_string()),
            })
    }

    async fn summariser(
        &self,
        app: &App,
        database: &Database,
        memory: &Memory,
        agent: &str,
    ) -> Result<Summariser, Failure> {
        let plugins = app.plugins()?;
        let agent = plugins.agent(&PluginChoice::here(agent)).await?.agent;
        let embedder = plugins.embedding_provider()?;
        embedder.prepare().await?;
        let model = plugins.model_provider()?;
        if agent.needs().model {
            model.prepare().await?;
        }
        let (emit, _) = tokio::sync::mpsc::unbounded_channel();
        let context = TurnContext {
            session: memory.session_id().to_owned(),
            resource: self.resource.clone(),
            agent: OPERATOR_AGENT.to_owned(),
            turn: 0,
            started_at: now(),
            channel: Value::Object(Map::new()),
            memory: memory.clone(),
            wider: Vec::new(),
            profile_schema: agent.profile_schema(),
            ledger: Ledger::new(database.clone(), memory.session_id()),
            embedder: Some(embedder.provider),
            model: Some(model.provider),
            model_budget: Arc::new(ModelBudget::new(
                app.config.limits.model,
                ModelUse::default(),
            )),
            sandboxes: None,
            compactor: Some(Arc::clone(&agent)),
            agents: None,
            emit,
        };
        Summariser::new(&agent, &context).ok_or_else(|| {
            Failure::new(
                ExitCode::Plugin,
                format!(
                    "`{}` does not summarise: it does not export keepsake:host/summarizer; leave out --agent, or register it with `register_summarizer!`",
                    agent.name()
                ),
            )
        })
    }
}

/// Sets when facts cease to hold.
pub(super) async fn expire(
    app: &App,
    resource: &ResourceRef,
    facts: &[String],
    at: Option<u64>,
    json: bool,
) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    let memory = database.operator_session(resource).await?;
    let at = at.unwrap_or_else(now);
    let done = expire_all(&memory, facts, at).await;
    let expired = ended(&database, &memory, done).await?;
    if json {
        output::json_of(resource, json!({ "expired": expired, "at": at }))?;
    } else {
        output::note!("{expired} facts cease to hold at {}", output::time(at));
    }
    if expired < facts.len() {
        return Err(Failure::new(
            ExitCode::Other,
            format!(
                "{} of {} are not known; `host memory list {}` shows what is",
                facts.len() - expired,
                facts.len(),
                output::options_for(resource)
            ),
        ));
    }
    Ok(())
}

/// The last write ends the session.
async fn expire_all(memory: &Memory, facts: &[String], at: u64) -> Result<usize, StorageError> {
    let mut expired = 0;
    for (place, fact) in facts.iter().enumerate() {
        let last = place + 1 == facts.len();
        let memory = if last {
            memory.ending()
        } else {
            memory.clone()
        };
        expired += usize::from(memory.expire(fact, at).await?);
    }
    Ok(expired)
}
