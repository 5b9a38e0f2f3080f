//! Finding what the server may have made although its answer was lost.

use std::time::Duration;

use super::failure::Failure;

/// How often to look, and how far apart.
const LOOKS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Looks for what got no answer because of `failure`, a few times; none where
/// it does not show up. `what` is its name in the log.
pub(super) async fn look_for<T, F>(what: &str, failure: &Failure, find: impl Fn() -> F) -> Option<T>
where
    F: Future<Output = Result<Option<T>, Failure>>,
{
    tracing::warn!(%failure, "no answer about a new {what}; looking for it");
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        match find().await {
            Ok(Some(found)) => return Some(found),
            Ok(None) => {}
            Err(second) => {
                tracing::debug!(failure = %second, "looking for the {what} failed too");
            }
        }
    }
    None
}
