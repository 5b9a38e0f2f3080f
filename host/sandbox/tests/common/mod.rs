//! Backends to test with.
//!
//! Where there is no bubblewrap, tests of isolation fail: a run that skipped
//! them would look as good as one that passed them. Setting
//! `KEEPSAKE_TESTS_WITHOUT_BWRAP=1` lets them pass without having looked, and
//! has the contract tested without isolation twice.

#![allow(dead_code, reason = "not every test binary uses all of it")]

pub(crate) mod host;

use std::sync::Arc;

use keepsake_sandbox::{
    Command, ExecResult, LocalBackend, LocalOptions, Sandbox, SandboxBackend, SandboxLimits,
    SandboxRequest,
};
use tempfile::TempDir;

/// Whether tests of isolation are to pass without having looked.
pub(crate) fn without_bwrap() -> bool {
    std::env::var_os("KEEPSAKE_TESTS_WITHOUT_BWRAP").is_some_and(|value| value == "1")
}

/// A backend that isolates, in a directory of its own.
pub(crate) fn isolated() -> (TempDir, LocalBackend) {
    let root = TempDir::new().unwrap();
    let backend = LocalBackend::new(LocalOptions {
        root: Some(root.path().to_owned()),
        allow_unisolated: without_bwrap(),
        ..LocalOptions::default()
    });
    (root, backend)
}

/// A backend that does not, because its bubblewrap is not there.
pub(crate) fn unisolated() -> (TempDir, LocalBackend) {
    let root = TempDir::new().unwrap();
    let backend = LocalBackend::new(LocalOptions {
        root: Some(root.path().to_owned()),
        bwrap: Some("/nowhere/bwrap".into()),
        allow_unisolated: true,
    });
    (root, backend)
}

/// An isolated sandbox with the directory that all is in; none where tests of
/// isolation are to pass without having looked.
pub(crate) async fn isolated_sandbox(
    request: SandboxRequest,
) -> Option<(TempDir, Arc<dyn Sandbox>)> {
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
pub(crate) async fn plain_isolated_sandbox() -> Option<(TempDir, Arc<dyn Sandbox>)> {
    isolated_sandbox(SandboxRequest::default()).await
}

/// A sandbox without isolation, to show that what isolation prevents is
/// possible without it.
pub(crate) async fn unisolated_sandbox() -> (TempDir, Arc<dyn Sandbox>) {
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
