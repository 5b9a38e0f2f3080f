//! `host memory reindex`: gives facts the vectors of the provider that is in
//! use now. Until then they are found by their words only.

use keepsake_plugin::EmbeddingPlugin;
use keepsake_storage::{Database, FactVectors, Memory};
use keepsake_types::ResourceRef;
use keepsake_types::embedding::{Embedder, EmbeddingKind};
use serde_json::json;

use crate::app::App;
use crate::failure::{ExitCode, Failure};
use crate::output;
use crate::progress::{self, Counting};

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
    let left = memory.view().count_unembedded(model).await?;
    let working = progress::counting("embedding facts", Some(left));
    let embedded = embed_all(&memory, &embedder, &working).await;
    working.finish();
    database.end_session(memory.session_id(), json!({})).await?;
    let embedded = embedded?;
    if json {
        return output::json_of(resource, json!({ "model": model, "embedded": embedded }));
    }
    output::note!("gave {embedded} facts vectors of `{model}`");
    Ok(())
}

async fn embed_all(
    memory: &Memory,
    embedder: &EmbeddingPlugin,
    working: &Counting,
) -> Result<u64, Failure> {
    let info = embedder.info();
    let mut embedded = 0;
    let mut after: Option<String> = None;
    loop {
        let view = memory.view();
        let page = view
            .unembedded(&info.model, after.as_deref(), BATCH)
            .await?;
        after = page.next;
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
            .set_vectors(ids, FactVectors::of(info, vectors))
            .await?;
        // Some may have been forgotten in the meantime.
        embedded += set;
        working.at(embedded);
        if after.is_none() {
            return Ok(embedded);
        }
    }
}

/// Says so when facts have no vector of the provider in use, and how many.
pub(crate) async fn note_unembedded(
    database: &Database,
    resource: &ResourceRef,
    model: &str,
) -> Result<u64, Failure> {
    let count = database.view(resource)?.count_unembedded(model).await?;
    if count > 0 {
        let (name, options) = (output::whose(resource, 100), output::options_for(resource));
        output::note!(
            "note: {count} facts of {name} have no vectors of `{}` and are found by their words only, until they are embedded in the background; `host memory reindex {options}` embeds them at once",
            output::one_line(model, 100)
        );
    }
    Ok(count)
}

/// Says how many of them were embedded in the background.
pub(crate) fn note_embedded(unembedded: u64, embedded: u64) {
    if unembedded == 0 || embedded == 0 {
        return;
    }
    if embedded < unembedded {
        output::note!(
            "note: {embedded} of {unembedded} facts were embedded; the next run goes on with the others"
        );
    } else {
        output::note!("note: {embedded} facts were embedded");
    }
}
