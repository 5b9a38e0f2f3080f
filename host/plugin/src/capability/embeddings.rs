//! `keepsake:host/embeddings` as agents see it: the provider that the host was
//! configured with.

use keepsake_storage::Kind as EntryKind;
use keepsake_types::embedding::{Embedder, EmbeddingError, EmbeddingKind};
use serde_json::json;
use wasmtime::component::HasData;

use crate::bindings::agent::keepsake::host::embeddings::{self, EmbeddingInfo, Kind};
use crate::bindings::agent::keepsake::host::types::{Error, LimitReached, Unavailable};
use crate::capability::session::TurnState;
use crate::capability::unavailable;
use crate::embedder::EmbeddingPlugin;
use crate::ledger::Ledger;
use crate::provider::Provider;
use crate::state::State;
use crate::used::Used;
use keepsake_types::limits;

/// The provider, and where its calls are recorded.
pub(crate) struct EmbeddingsView<'a> {
    turn: Option<&'a TurnState>,
    used: &'a mut Used,
}

impl<'a> EmbeddingsView<'a> {
    pub(crate) fn new(state: &'a mut State) -> Self {
        state.used.called();
        Self {
            turn: state.turn.as_ref(),
            used: &mut state.used,
        }
    }
}

pub(crate) struct HasEmbeddings;

impl HasData for HasEmbeddings {
    type Data<'a> = EmbeddingsView<'a>;
}

/// Embeds texts and records the call, if the provider has to be asked.
pub(crate) async fn embed<'a>(
    provider: &'a Provider<EmbeddingPlugin>,
    ledger: &Ledger,
    texts: Vec<String>,
    kind: EmbeddingKind,
) -> Result<(&'a EmbeddingPlugin, Vec<Vec<f32>>), Error> {
    let bytes: usize = texts.iter().map(String::len).sum();
    if texts.len() > limits::REMEMBER_MANY_FACTS || bytes > limits::EMBEDDED_BYTES {
        return Err(Error::Limit(LimitReached {
            name: "embedded-bytes".into(),
            message: format!(
                "{} texts with {bytes} bytes in one call; at most {} texts with {} bytes are embedded",
                texts.len(),
                limits::REMEMBER_MANY_FACTS,
                limits::EMBEDDED_BYTES
            ),
        }));
    }
    let embedder = provider.get().await?;
    if texts.is_empty() {
        return Ok((embedder, Vec::new()));
    }
    // What is known asks nobody, and so is no entry.
    if let (EmbeddingKind::Query, [query]) = (kind, texts.as_slice())
        && let Some(vector) = embedder.known_query(query)
    {
        return Ok((embedder, vec![vector]));
    }
    let count = texts.len();
    let started = std::time::Instant::now();
    let answer = embedder.embed(texts, kind).await;
    ledger
        .append(
            EntryKind::ProviderCalled,
            json!({
                "model": embedder.info().model,
                "kind": match kind {
                    EmbeddingKind::Query => "query",
                    EmbeddingKind::Passage => "passage",
                },
                "texts": count,
                "bytes": bytes,
                "milliseconds": started.elapsed().as_millis() as u64,
                "error": answer.as_ref().err().map(ToString::to_string),
            }),
        )
        .await?;
    let vectors = answer.map_err(|error| match error {
        EmbeddingError::Limit { name, message } => Error::Limit(LimitReached {
            name: name.into(),
            message,
        }),
        EmbeddingError::Failed { retry_after_ms, .. } => Error::Unavailable(Unavailable {
            message: error.to_string(),
            retry_after_ms,
        }),
        EmbeddingError::BadAnswer { .. } => unavailable(error.to_string()),
    })?;
    Ok((embedder, vectors))
}

pub(crate) fn no_provider() -> Error {
    unavailable("this host was started without an embedding provider")
}

impl EmbeddingsView<'_> {
    fn provider(&self) -> Result<(&Provider<EmbeddingPlugin>, &Ledger), Error> {
        let turn = self
            .turn
            .ok_or_else(|| Error::Denied("embeddings belong to a turn".into()))?;
        let embedder = turn.context.embedder.as_ref().ok_or_else(no_provider)?;
        Ok((embedder, &turn.context.ledger))
    }
}

impl embeddings::Host for EmbeddingsView<'_> {
    async fn info(&mut self) -> wasmtime::Result<Result<EmbeddingInfo, Error>> {
        let provider = match self.provider() {
            Ok((provider, _)) => provider,
            Err(error) => return Ok(Err(error)),
        };
        let info = match provider.get().await {
            Ok(embedder) => embedder.info(),
            Err(unready) => return Ok(Err(unready.into())),
        };
        Ok(Ok(EmbeddingInfo {
            model: info.model.clone(),
            dimensions: info.dimensions,
            normalised: info.normalised,
            max_texts: info.max_texts,
            max_text_bytes: info.max_text_bytes,
            relevance_threshold: info.relevance_threshold,
            extras: None,
        }))
    }

    async fn embed(
        &mut self,
        texts: Vec<String>,
        kind: Kind,
    ) -> wasmtime::Result<Result<Vec<Vec<f32>>, Error>> {
        if let Err(error) = self.used.embeds(texts.len()) {
            return Ok(Err(error));
        }
        let (embedder, ledger) = match self.provider() {
            Ok(provider) => provider,
            Err(error) => return Ok(Err(error)),
        };
        let kind = match kind {
            Kind::Query => EmbeddingKind::Query,
            Kind::Passage => EmbeddingKind::Passage,
        };
        let embedded = embed(embedder, ledger, texts, kind).await;
        Ok(embedded.map(|(_, vectors)| vectors))
    }
}
