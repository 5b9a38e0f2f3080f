//! Embedding providers as plugins: each call goes to a component in a store of
//! its own, from a small pool of warm ones, and what it answers is checked.

mod chunks;
mod queries;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use keepsake_types::embedding::{Embedder, EmbeddingError, EmbeddingInfo, EmbeddingKind};
use keepsake_types::limits;
use tokio::sync::{OnceCell, Semaphore};
use wasmtime::Store;

use crate::bindings::embedding_provider::exports::keepsake::host::embeddings::Kind;
use crate::bindings::embedding_provider::{EmbeddingProvider, EmbeddingProviderPre};
use crate::calibration;
use crate::call::Guest;
use crate::capability::http::HttpAccess;
use crate::capability::settings::Settings;
use crate::engine::{GuestLimits, PluginEngine};
use crate::error::{PluginError, PluginFailure};
use crate::linker;
use crate::loader::LoadedPlugin;
use crate::report::PluginKind;
use crate::state::State;
use queries::Queries;

/// Instances of one provider that work at the same time.
const WORKERS: usize = 4;
/// How far a vector's length may be from 1 and still count as normalised.
const LENGTH_TOLERANCE: f32 = 1e-2;

/// An embedding provider that is a plugin.
pub struct EmbeddingPlugin {
    guest: Guest,
    info: EmbeddingInfo,
    pre: EmbeddingProviderPre<State>,
    permits: Semaphore,
    warm: Mutex<Vec<Worker>>,
    queries: Queries,
    /// What was found for a model whose author gives no threshold.
    calibrated: OnceCell<f32>,
}

struct Worker {
    store: Store<State>,
    instance: EmbeddingProvider,
}

impl EmbeddingPlugin {
    /// Links a provider and asks it what it is.
    ///
    /// # Errors
    /// When the plugin is no embedding provider, does not fit this host, or
    /// tells impossible things of itself.
    pub async fn new(
        engine: &PluginEngine,
        plugin: LoadedPlugin,
        limits: GuestLimits,
        settings: Settings,
        http: HttpAccess,
    ) -> Result<Arc<Self>, PluginError> {
        let plugin = plugin.expect(PluginKind::EmbeddingProvider)?;
        let linker = linker::for_provider(engine);
        let pre = linker::link(&plugin, linker, EmbeddingProviderPre::new)?;
        let mut provider = Self {
            info: EmbeddingInfo {
                model: String::new(),
                dimensions: 0,
                normalised: false,
                max_texts: 1,
                max_text_bytes: 0,
                relevance_threshold: None,
            },
            guest: Guest::new(plugin.name(), engine, limits, settings, http),
            pre,
            permits: Semaphore::new(WORKERS),
            warm: Mutex::new(Vec::new()),
            queries: Queries::default(),
            calibrated: OnceCell::new(),
        };
        provider.info = provider.ask_info().await?;
        Ok(Arc::new(provider))
    }

    /// The plugin's name.
    pub fn name(&self) -> &str {
        &self.guest.name
    }

    /// What the provider says it is, asked now.
    pub(crate) async fn ask_info(&self) -> Result<EmbeddingInfo, PluginError> {
        let guest = &self.guest;
        let mut worker = self
            .worker()
            .await
            .map_err(|failure| guest.failed(failure))?;
        let call = worker
            .instance
            .keepsake_host_embeddings()
            .call_info(&mut worker.store);
        let info = match guest.within(call).await {
            Ok(Ok(info)) => info,
            Ok(Err(error)) => {
                return Err(guest.mute(&error));
            }
            Err(error) => {
                return Err(guest.failed(guest.failure(&worker.store, error)));
            }
        };
        self.put_back(worker);
        if info.model.is_empty()
            || info.model.len() > 256
            || info.model.chars().any(char::is_control)
        {
            return Err(guest.broken(
                "its model's name must have from 1 to 256 bytes without control characters",
            ));
        }
        let widest = limits::VECTOR_DIMENSIONS;
        if info.dimensions == 0 || info.dimensions as usize > widest {
            return Err(guest.broken(format!(
                "it says that its vectors have {} dimensions; from 1 to {widest} are possible",
                info.dimensions
            )));
        }
        if info.max_texts == 0 {
            return Err(guest.broken("it says that it takes no text at all"));
        }
        Ok(EmbeddingInfo {
            model: info.model,
            dimensions: info.dimensions,
            normalised: info.normalised,
            max_texts: info.max_texts,
            max_text_bytes: info.max_text_bytes,
            relevance_threshold: info.relevance_threshold.filter(|value| value.is_finite()),
        })
    }

    fn take_warm(&self) -> Option<Worker> {
        self.warm
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
    }

    async fn worker(&self) -> Result<Worker, PluginFailure> {
        if let Some(mut worker) = self.take_warm() {
            self.guest.arm(&mut worker.store);
            return Ok(worker);
        }
        let mut store = self.guest.store(None);
        let instance = self.guest.within(self.pre.instantiate_async(&mut store));
        match instance.await {
            Ok(instance) => Ok(Worker { store, instance }),
            Err(error) => Err(self.guest.failure(&store, error)),
        }
    }

    /// Keeps an instance for the next call. One that trapped is not given back.
    fn put_back(&self, worker: Worker) {
        self.warm
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(worker);
    }

    /// Has the next calls made by instances that are new.
    pub(crate) fn start_anew(&self) {
        self.warm
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    async fn embed_batch(
        &self,
        texts: &[String],
        kind: EmbeddingKind,
    ) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let vectors = self.ask(texts, kind).await?;
        self.checked(vectors, texts.len())
    }

    /// What the provider answers to one call, whatever that is.
    pub(crate) async fn ask(
        &self,
        texts: &[String],
        kind: EmbeddingKind,
    ) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let failed = |reason, retry_after_ms| EmbeddingError::Failed {
            provider: self.guest.name.clone(),
            reason,
            retry_after_ms,
        };
        // Waits for one of the pool's places: a queue, not an error.
        let _permit = self
            .permits
            .acquire()
            .await
            .map_err(|_| failed("the host is shutting down".into(), None))?;
        let told = |failure: PluginFailure| {
            tracing::warn!(target: "plugin", "{failure}\n{}", failure.details());
            failed(failure.cause.to_string(), None)
        };
        let mut worker = self.worker().await.map_err(told)?;
        let kind = match kind {
            EmbeddingKind::Query => Kind::Query,
            EmbeddingKind::Passage => Kind::Passage,
        };
        let call =
            worker
                .instance
                .keepsake_host_embeddings()
                .call_embed(&mut worker.store, texts, kind);
        let answer = match self.guest.within(call).await {
            Ok(answer) => answer,
            Err(error) => {
                // The instance is poisoned, and is dropped with its store.
                return Err(told(self.guest.failure(&worker.store, error)));
            }
        };
        self.put_back(worker);
        answer.map_err(|error| {
            failed(
                crate::capability::describe(&error),
                crate::capability::retry_after(&error),
            )
        })
    }

    /// One vector for each text, however long it is.
    async fn embed_whole(
        &self,
        texts: &[String],
        kind: EmbeddingKind,
    ) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let max_bytes = self.info.max_text_bytes as usize;
        let parts: Vec<Vec<&str>> = texts
            .iter()
            .map(|text| chunks::chunks(text, max_bytes))
            .collect();
        if parts.iter().all(|parts| parts.len() == 1) {
            return self.embed_all(texts, kind).await;
        }
        let all: Vec<String> = parts
            .iter()
            .flatten()
            .map(|part| (*part).to_owned())
            .collect();
        let mut vectors = self.embed_all(&all, kind).await?.into_iter();
        Ok(parts
            .iter()
            .map(|parts| {
                let mut own: Vec<_> = vectors.by_ref().take(parts.len()).collect();
                match own.len() {
                    1 => own.remove(0),
                    _ => chunks::mean(&own, self.info.normalised),
                }
            })
            .collect())
    }

    /// As many calls as the provider needs for so many texts.
    async fn embed_all(
        &self,
        texts: &[String],
        kind: EmbeddingKind,
    ) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.info.max_texts as usize) {
            vectors.append(&mut self.embed_batch(batch, kind).await?);
        }
        Ok(vectors)
    }

    /// A provider is not believed: a wrong vector would spoil every recall.
    pub(crate) fn checked(
        &self,
        vectors: Vec<Vec<f32>>,
        texts: usize,
    ) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let wrong = |reason: String| EmbeddingError::BadAnswer {
            provider: self.guest.name.clone(),
            reason,
        };
        if vectors.len() != texts {
            return Err(wrong(format!(
                "{} vectors for {texts} texts",
                vectors.len()
            )));
        }
        for (number, vector) in vectors.iter().enumerate() {
            let number = number + 1;
            if vector.len() != self.info.dimensions as usize {
                return Err(wrong(format!(
                    "vector {number} has {} dimensions, the provider promised {}",
                    vector.len(),
                    self.info.dimensions
                )));
            }
            if !vector.iter().all(|value| value.is_finite()) {
                return Err(wrong(format!(
                    "vector {number} holds a value that is no finite number"
                )));
            }
            let length = squares(vector).sqrt();
            if self.info.normalised && length != 0.0 && (length - 1.0).abs() > LENGTH_TOLERANCE {
                return Err(wrong(format!(
                    "vector {number} has length {length}, the provider promised 1"
                )));
            }
        }
        Ok(vectors)
    }
}

/// The sum of the squares. In lanes, which the processor adds at once: one after
/// the other would take longer than a short text's embedding.
fn squares(vector: &[f32]) -> f32 {
    let (chunks, rest) = vector.as_chunks::<8>();
    let mut lanes = [0.0_f32; 8];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value * value;
        }
    }
    let rest: f32 = rest.iter().map(|value| value * value).sum();
    lanes.iter().sum::<f32>() + rest
}

#[async_trait]
impl Embedder for EmbeddingPlugin {
    fn info(&self) -> &EmbeddingInfo {
        &self.info
    }

    async fn relevance_threshold(&self) -> Option<f32> {
        if let Some(threshold) = self.info.relevance_threshold {
            return Some(threshold);
        }
        let calibrated = || calibration::relevance_threshold(self);
        match self.calibrated.get_or_try_init(calibrated).await {
            Ok(threshold) => Some(*threshold),
            Err(error) => {
                tracing::debug!("no relevance threshold was found: {error}");
                None
            }
        }
    }

    async fn embed(
        &self,
        texts: Vec<String>,
        kind: EmbeddingKind,
    ) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let vectors = self.embed_whole(&texts, kind).await?;
        if kind == EmbeddingKind::Query {
            for (text, vector) in texts.iter().zip(&vectors) {
                self.queries.put(text, vector);
            }
        }
        Ok(vectors)
    }

    fn known_query(&self, text: &str) -> Option<Vec<f32>> {
        self.queries.get(text)
    }
}
