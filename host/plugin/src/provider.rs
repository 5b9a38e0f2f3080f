//! A provider that a session has, though it may not be loaded yet, or not be
//! able to say what it is because its server does not answer.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;

use crate::bindings::agent::keepsake::host::types::{self as wit, Error};
use crate::error::PluginError;

/// How long a provider that could not be made is left alone: each turn that
/// needs it would otherwise wait for a server in vain.
const PAUSE: Duration = Duration::from_secs(30);

type Making<P> = Pin<Box<dyn Future<Output = Result<Arc<P>, PluginError>> + Send>>;

/// A provider, made when it is needed first. Cheap to clone; all clones share it.
pub struct Provider<P>(Arc<Shared<P>>);

struct Shared<P> {
    name: String,
    make: Box<dyn Fn() -> Making<P> + Send + Sync>,
    made: OnceCell<Arc<P>>,
    failed: Mutex<Option<Unready>>,
}

/// Why there is no provider now.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct Unready {
    /// What went wrong.
    pub error: Arc<PluginError>,
    /// Until when nobody tries again.
    until: Instant,
}

impl Unready {
    /// Whether it may go well later, without anyone changing the settings.
    pub fn may_pass(&self) -> bool {
        matches!(*self.error, PluginError::Unready { .. })
    }
}

impl From<Unready> for Error {
    fn from(unready: Unready) -> Self {
        let wait = unready.until.saturating_duration_since(Instant::now());
        Self::Unavailable(wit::Unavailable {
            message: unready.to_string(),
            retry_after_ms: unready
                .may_pass()
                .then(|| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        })
    }
}

impl<P> Clone for Provider<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Send + Sync + 'static> Provider<P> {
    /// A provider by this name, which `make` makes; it is asked again, after a
    /// while, where it failed.
    pub fn new<M, F>(name: impl Into<String>, make: M) -> Self
    where
        M: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<Arc<P>, PluginError>> + Send + 'static,
    {
        Self(Arc::new(Shared {
            name: name.into(),
            make: Box::new(move || Box::pin(make())),
            made: OnceCell::new(),
            failed: Mutex::new(None),
        }))
    }

    /// The plugin's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The provider if it was made already.
    pub fn made(&self) -> Option<&Arc<P>> {
        self.0.made.get()
    }

    /// The provider, made now if it was not. Callers at the same time wait for
    /// one making.
    ///
    /// # Errors
    /// When it cannot be made, or could not be a moment ago.
    pub async fn get(&self) -> Result<&Arc<P>, Unready> {
        self.0
            .made
            .get_or_try_init(|| async {
                if let Some(unready) = self.failed_lately() {
                    return Err(unready);
                }
                (self.0.make)().await.map_err(|error| self.failed(error))
            })
            .await
    }

    /// Makes it beside whatever goes on. What fails is told to whoever needs it.
    pub fn make_beside(&self) {
        let provider = self.clone();
        tokio::spawn(async move {
            let _ = provider.get().await;
        });
    }

    fn failed_lately(&self) -> Option<Unready> {
        let failed = self.0.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed
            .clone()
            .filter(|unready| unready.until > Instant::now())
    }

    fn failed(&self, error: PluginError) -> Unready {
        let wished = match &error {
            PluginError::Unready { retry_after_ms, .. } => retry_after_ms.unwrap_or_default(),
            _ => 0,
        };
        let unready = Unready {
            error: Arc::new(error),
            until: Instant::now() + PAUSE.max(Duration::from_millis(wished)),
        };
        *self.0.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(unready.clone());
        unready
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn counted(fails: u32, retry_after_ms: Option<u64>) -> (Provider<u32>, Arc<AtomicU32>) {
        let asked = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&asked);
        let provider = Provider::new("sample", move || {
            let number = counter.fetch_add(1, Ordering::SeqCst);
            async move {
                tokio::task::yield_now().await;
                if number < fails {
                    return Err(PluginError::Unready {
                        name: "sample".into(),
                        reason: "its server is away".into(),
                        retry_after_ms,
                    });
                }
                Ok(Arc::new(number))
            }
        });
        (provider, asked)
    }

    #[tokio::test]
    async fn callers_at_the_same_time_wait_for_one_making() {
        let (provider, asked) = counted(0, None);
        assert!(provider.made().is_none());
        let (first, second) = tokio::join!(provider.get(), provider.get());
        assert_eq!((**first.unwrap(), **second.unwrap()), (0, 0));
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        assert!(provider.clone().made().is_some());
    }

    #[tokio::test]
    async fn a_provider_that_failed_is_left_alone_and_then_asked_again() {
        let (provider, asked) = counted(1, Some(60_000));
        let unready = provider.get().await.unwrap_err();
        assert!(unready.may_pass() && unready.to_string().contains("its server is away"));
        let Error::Unavailable(told) = Error::from(unready) else {
            panic!("it is not unavailable");
        };
        assert!(
            told.retry_after_ms.is_some_and(|wait| wait > 55_000),
            "{told:?}"
        );
        provider.get().await.unwrap_err();
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        // The pause is over.
        if let Some(failed) = provider.0.failed.lock().unwrap().as_mut() {
            failed.until = Instant::now();
        }
        assert_eq!(**provider.get().await.unwrap(), 1);
    }
}
