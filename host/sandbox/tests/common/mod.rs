//! Backends to test with.
//!
//! Where there is no bubblewrap, tests of isolation fail: a run that skipped
//! them would look as good as one that passed them. Setting
//! `KEEPSAKE_TESTS_WITHOUT_BWRAP=1` lets them pass without having looked, and
//! has the contract tested without isolation twice.

#![allow(dead_code, reason = "not every test binary uses all of it")]

pub(crate) mod host;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keepsake_sandbox::{
    Command, ExecResult, LocalBackend, LocalOptions, Sandbox, SandboxBackend, SandboxLimits,
    SandboxRequest,
};
use tempfile::TempDir;

/// A directory for sandboxes. It goes when all of them are gone: a sandbox that
/// is dropped removes its files a moment later, and both at once would be in
/// each other's way.
pub(crate) struct Root(TempDir);

impl Root {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // What a test that failed left behind is not waited for for ever.
        for _ in 0..100 {
            let empty = std::fs::read_dir(self.path()).map_or(true, |mut all| all.next().is_none());
            if empty {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Whether tests of isolation are to pass without having looked.
pub(crate) fn without_bwrap() -> bool {
    std::env::var_os("KEEPSAKE_TESTS_WITHOUT_BWRAP").is_some_and(|value| value == "1")
}

/// A backend that isolates, in a directory of its own.
pub(crate) fn isolated() -> (Root, LocalBackend) {
    let root = Root::new();
    let backend = LocalBackend::new(LocalOptions {
        root: Some(root.path().to_owned()),
        allow_unisolated: without_bwrap(),
        ..LocalOptions::default()
    });
    (root, backend)
}

/// A backend that does not, because its bubblewrap is not there.
pub(crate) fn unisolated() -> (Root, LocalBackend) {
    let root = Root::new();
    let backend = LocalBackend::new(LocalOptions {
        root: Some(root.path().to_owned()),
        bwrap: Some("/nowhere/bwrap".into()),
        allow_unisolated: true,
    });
    (root, backend)
}

/// An isolated sandbox with the directory that all is in; none where tests of
/// isolation are to pass without having looked.
pub(crate) async fn isolated_sandbox(request: SandboxRequest) -> Option<(Root, Arc<dyn Sandbox>)> {
    if without_bwrap() {
        eprintln!("not tested: KEEPSAKE_TESTS_WITHOUT_BWRAP is set");
        return None;
    }
    let (root, backend) = isolated();
    let sandbox = backend
        .create(request)
        .await
        .unwrap_or_else(|error| panic!("tests of isolation need it: {error}"));
    assert!(sandbox.isolated());
    Some((root, sandbox))
}

/// The same with nothing asked for beyond the defaults.
pub(crate) async fn plain_isolated_sandbox() -> Option<(Root, Arc<dyn Sandbox>)> {
    isolated_sandbox(SandboxRequest::default()).await
}

/// A sandbox without isolation, to show that what isolation prevents is
/// possible without it.
pub(crate) async fn unisolated_sandbox() -> (Root, Arc<dyn Sandbox>) {
    let (root, backend) = unisolated();
    let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
    assert!(!sandbox.isolated());
    (root, sandbox)
}

/// A request with other limits than the defaults.
pub(crate) fn limited(limits: SandboxLimits) -> SandboxRequest {
    SandboxRequest {
        limits,
        ..SandboxRequest::default()
    }
}

/// Runs a command to its end.
pub(crate) async fn run(sandbox: &Arc<dyn Sandbox>, line: &str) -> ExecResult {
    sandbox.exec(Command::new(line)).await.unwrap()
}

/// A command's standard output, as text.
pub(crate) async fn output(sandbox: &Arc<dyn Sandbox>, line: &str) -> String {
    String::from_utf8_lossy(&run(sandbox, line).await.stdout).into_owned()
}
