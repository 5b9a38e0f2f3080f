//! Backends to test with.

use keepsake_sandbox::{LocalBackend, LocalOptions};
use tempfile::TempDir;

/// A backend that isolates, in a directory of its own.
pub(crate) fn isolated() -> (TempDir, LocalBackend) {
    let root = TempDir::new().unwrap();
    let backend = LocalBackend::new(LocalOptions {
        root: Some(root.path().to_owned()),
        ..LocalOptions::default()
    });
    (root, backend)
}

/// A backend that does not, because its bubblewrap is not there.
#[allow(dead_code, reason = "not every test binary uses it")]
pub(crate) fn unisolated() -> (TempDir, LocalBackend) {
    let root = TempDir::new().unwrap();
    let backend = LocalBackend::new(LocalOptions {
        root: Some(root.path().to_owned()),
        bwrap: Some("/nowhere/bwrap".into()),
        allow_unisolated: true,
    });
    (root, backend)
}
