//! Files and directories of the sandbox.

mod change;
mod download;
mod info;
mod list;
mod mode;
mod replace;
mod upload;

pub(crate) use change::{create_directories, permissions, remove, remove_directories, rename};
pub(crate) use download::download;
pub(crate) use info::info;
pub(crate) use list::{list, search};
pub(crate) use replace::replace;
pub(crate) use upload::upload;

use crate::answer::{Answer, Failure};

/// Runs calls on files away from the thread that serves requests.
async fn blocking(calls: impl FnOnce() -> Answer + Send + 'static) -> Answer {
    tokio::task::spawn_blocking(calls)
        .await
        .unwrap_or_else(|error| Err(Failure::runtime(format!("the call was lost: {error}"))))
}
