//! Backends to test with.

use keepsake_sandbox::{LocalBackend, LocalOptions};
use tempfile::TempDir;

/// Set to `1`, it lets the tests of isolation pass where there is no bubblewrap.
pub const WITHOUT_BWRAP: &str = "KEEPSAKE_TESTS_WITHOUT_BWRAP";

/// A backend that isolates, in a directory of its own.
pub fn isolated() -> (TempDir, LocalBackend) {
    let root = TempDir::new().unwrap();
    let backend = LocalBackend::new(LocalOptions {
        root: Some(root.path().to_owned()),
        ..LocalOptions::default()
    });
    (root, backend)
}

/// A backend that does not, because its bubblewrap is not there.
#[allow(dead_code, reason = "not every test binary uses it")]
pub fn unisolated() -> (TempDir, LocalBackend) {
    let root = TempDir::new().unwrap();
    let backend = LocalBackend::new(LocalOptions {
        root: Some(root.path().to_owned()),
        bwrap: Some("/nowhere/bwrap".into()),
        allow_unisolated: true,
    });
    (root, backend)
}
