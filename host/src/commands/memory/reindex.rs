//! `host memory reindex`: gives facts the vectors of the provider that is in
//! use now. Until then they are found by their words only.

use keepsake_plugin::EmbeddingPlugin;
use keepsake_storage::{Database, FactVectors, Memory};
use keepsake_types::embedding::{Embedder, EmbeddingKind};
use keepsake_types::{ResourceRef, limits};
use serde_json::json;

use crate::app::App;
use crate::failure::{ExitCode, Failure};
use crate::output;
use crate::progress;

/// Facts that are embedded and written together, so that a provider that fails
/// in the middle loses no more than one batch.
const BATCH: usize = 256;

pub(super) async fn reindex(app: &App, resource: &ResourceRef, json: bool) -> Result<(), Failure> {
    let database = app.existing_database().await?;
    let embedder = app.plugins()?.embedder().await?;
    let (model, dimensions) = (&embedder.info().model, embedder.info().dimensions);
    let known = database.model_dimensions(model).await?;
    if let Some(known) = known.filter(|known| *known != dimensions) {
        database.drop_model(model).await?;
        output::note!(
            "`{model}` had {known} dimensions and has {dimensions} now: its old vectors, of all customers, were dropped"
        );
    }
    let memory = database.operator_session(resource).await?;
    let working = progress::after_a_moment("embedding facts");
    let embedded = embed_all(&memory, &embedder).await;
    drop(working);
    database.end_session(memory.session_id(), json!({})).await?;
    let embedded = embedded?;
    if json {
        return output::json(&json!({
            "resource": resource.resource, "model": model, "embedded": embedded,
        }));
    }
    output::note!("gave {embedded} facts vectors of `{model}`");
    Ok(())
}

async fn embed_all(memory: &Memory, embedder: &EmbeddingPlugin) -> Result<u64, Failure> {
    let info = embedder.info();
    let mut embedded = 0;
    loop {
        // Always the first page: what was embedded is on none any more.
        let page = memory.view().unembedded(&info.model, None, BATCH).await?;
        if page.facts.is_empty() {
            return Ok(embedded);
        }
        let (ids, texts): (Vec<_>, Vec<_>) = page.facts.into_iter().unzip();
        let vectors = embedder
            .embed(texts, EmbeddingKind::Passage)
            .await
            .map_err(|error| {
                Failure::new(
                    ExitCode::Plugin,
                    format!(
                        "{error}; {embedded} facts were embedded, and running the command again goes on with the others"
                    ),
                )
            })?;
        let set = memory
            .set_vectors(
                ids,
                FactVectors {
                    model: info.model.clone(),
                    dimensions: info.dimensions,
                    vectors,
                },
            )
            .await?;
        if set == 0 {
            // Someone else forgot them all in the meantime; the next page tells.
            tracing::debug!("a page of facts was forgotten while it was embedded");
        }
        embedded += set;
    }
}

/// Says so when facts have no vector of the provider in use.
pub(crate) async fn warn_of_unembedded(
    database: &Database,
    resource: &ResourceRef,
    model: &str,
) -> Result<(), Failure> {
    let page = database
        .view(resource)?
        .unembedded(model, None, limits::PAGE_ITEMS)
        .await?;
    if page.facts.is_empty() {
        return Ok(());
    }
    let count = match page.next {
        Some(_) => format!("more than {}", limits::PAGE_ITEMS),
        None => page.facts.len().to_string(),
    };
    let name = output::one_line(&resource.resource, 100);
    output::note!(
        "note: {count} facts of {name} have no vectors of `{}` and are found by their words only; `host memory reindex --resource {name}` embeds them",
        output::one_line(model, 100)
    );
    Ok(())
}
