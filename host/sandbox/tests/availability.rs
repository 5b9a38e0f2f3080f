//! What a machine that cannot isolate is told, and what it takes to run there.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use common::output;
use keepsake_sandbox::{LocalBackend, LocalOptions, SandboxBackend, SandboxError, SandboxRequest};
use tempfile::TempDir;

/// A `bwrap` that says this where it should isolate.
fn failing_bwrap(words: &str) -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    // The account of a sandbox runs it.
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let path = directory.path().join("bwrap");
    let script = format!(
        "#!/bin/sh\ncase $1 in --version) echo bubblewrap 0.8.0;; --help) ;; \
         *) echo \"{words}\" >&2; exit 1;; esac\n"
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    (directory, path)
}

fn backend(root: &TempDir, bwrap: PathBuf, allow_unisolated: bool) -> LocalBackend {
    LocalBackend::new(LocalOptions {
        bwrap: Some(bwrap),
        allow_unisolated,
        root: Some(root.path().to_owned()),
    })
}

async fn refusal(backend: &LocalBackend) -> SandboxError {
    let error = backend.check().await.unwrap_err();
    let again = backend
        .create(SandboxRequest::default())
        .await
        .err()
        .unwrap();
    assert_eq!(error.to_string(), again.to_string());
    error
}

#[tokio::test]
async fn a_bubblewrap_that_is_not_there_is_told_with_how_to_install_it() {
    let root = TempDir::new().unwrap();
    let plain_file = root.path().join("no-program");
    std::fs::write(&plain_file, "").unwrap();
    for path in ["/nowhere/bwrap".into(), "/".into(), plain_file] {
        let error = refusal(&backend(&root, path, false)).await;
        assert!(matches!(error, SandboxError::Missing), "{error:?}");
        assert!(
            error.to_string().contains("apt-get install bubblewrap"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn forbidden_namespaces_are_told_with_bubblewraps_words() {
    let root = TempDir::new().unwrap();
    for words in [
        "bwrap: No permissions to create new namespace, likely because the kernel does not allow \
         non-privileged user namespaces. On e.g. debian this can be enabled with 'sysctl \
         kernel.unprivileged_userns_clone=1'.",
        "bwrap: Creating new namespace failed: Operation not permitted",
        "bwrap: setting up uid map: Permission denied",
        "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    ] {
        let (_directory, bwrap) = failing_bwrap(words);
        let error = refusal(&backend(&root, bwrap.clone(), false)).await;
        assert!(
            matches!(error, SandboxError::NotPermitted { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);

        let allowed = backend(&root, bwrap, true);
        let report = allowed.check().await.unwrap();
        assert!(!report.isolated);
        assert!(report.notes[0].contains(words), "{report:?}");
    }
}

#[tokio::test]
async fn another_failure_of_bubblewrap_is_no_reason_to_do_without() {
    let root = TempDir::new().unwrap();
    let (_directory, bwrap) = failing_bwrap("bwrap: Unknown option --unshare-all");
    for allow_unisolated in [false, true] {
        let error = refusal(&backend(&root, bwrap.clone(), allow_unisolated)).await;
        assert!(
            matches!(error, SandboxError::Unavailable { .. }),
            "{error:?}"
        );
        assert!(
            error.to_string().contains("Unknown option --unshare-all"),
            "{error}"
        );
    }
    let (_directory, silent) = failing_bwrap("");
    let error = refusal(&backend(&root, silent, false)).await;
    assert!(error.to_string().contains("did not say why"), "{error}");
}

#[tokio::test]
async fn what_is_there_is_told() {
    let (_root, backend) = common::isolated();
    let report = backend.check().await.unwrap();
    assert_eq!(report.backend, "local");
    assert_eq!(report.isolated, !common::without_bwrap());
    if report.isolated {
        assert!(report.engine.starts_with("bubblewrap "), "{report:?}");
        assert_eq!(report.notes, [""; 0]);
    }
    let (_root, backend) = common::unisolated();
    let report = backend.check().await.unwrap();
    assert!(!report.isolated);
    assert!(report.notes[0].contains("without isolation"), "{report:?}");
    let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
    assert!(!sandbox.isolated());
    assert_eq!(output(&sandbox, "echo works").await, "works\n");
}

#[tokio::test]
async fn a_directory_that_others_can_change_is_not_used() {
    let parent = TempDir::new().unwrap();
    std::fs::set_permissions(parent.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let writable = parent.path().join("writable");
    std::fs::create_dir(&writable).unwrap();
    std::fs::set_permissions(&writable, PermissionsExt::from_mode(0o777)).unwrap();
    let link = parent.path().join("link");
    std::os::unix::fs::symlink("/", &link).unwrap();
    let file = parent.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut refused = vec![writable, link, file.join("below"), file];
    if rustix::process::geteuid().is_root() {
        // The accounts of the sandboxes could not pass.
        let closed = parent.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
        refused.push(closed.join("below"));
    }
    for root in refused {
        let backend = LocalBackend::new(LocalOptions {
            root: Some(root.clone()),
            ..LocalOptions::default()
        });
        let error = backend.create(SandboxRequest::default()).await.err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(
            text.contains(root.to_str().unwrap()),
            "{}: {text}",
            root.display()
        );
    }
    let made = parent.path().join("made/by/the/host");
    let backend = LocalBackend::new(LocalOptions {
        root: Some(made.clone()),
        allow_unisolated: common::without_bwrap(),
        ..LocalOptions::default()
    });
    let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
    assert_eq!(output(&sandbox, "echo works").await, "works\n");
}
