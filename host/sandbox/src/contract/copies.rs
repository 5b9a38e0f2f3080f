//! Checkpoints and forks.

use super::{refused, run, sandbox, text};
use crate::{SandboxBackend, SandboxError};

pub async fn a_fork_has_the_files_of_its_checkpoint(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let line = "mkdir -p d/e; echo one > d/e/file; chmod 751 d/e; chmod 640 d/e/file; \
                ln -s d/e/file link; ln -s /etc/passwd out; printf '#!/bin/sh\\necho ran' > run; \
                chmod 755 run; echo secret > unreadable; chmod 000 unreadable; mkfifo pipe";
    assert!(run(&sandbox, line).await.status.success());
    let kept = sandbox.checkpoint("before").await.unwrap();
    assert_eq!(kept.name, "before");
    assert!(keepsake_types::now().abs_diff(kept.created_at) < 60_000);
    run(&sandbox, "echo two > d/e/file; rm run; touch later").await;
    let again = sandbox.checkpoint("before").await.unwrap();
    assert_ne!(kept.id, again.id);

    let fork = sandbox.fork(Some(&kept.id)).await.unwrap();
    assert_ne!(fork.id(), sandbox.id());
    let line = "cat link; ./run; stat -c '%a' d/e d/e/file unreadable; readlink out; \
                [ -e later ] || echo no later; echo mine >> d/e/file && cat link";
    let result = run(&fork, line).await;
    assert_eq!(
        text(&result.stdout),
        "one\nran\n751\n640\n0\n/etc/passwd\nno later\none\nmine\n",
        "{}",
        text(&result.stderr)
    );
    assert_eq!(text(&run(&sandbox, "cat link").await.stdout), "two\n");
    sandbox.close().await.unwrap();
    assert_eq!(text(&run(&fork, "head -n 1 link").await.stdout), "one\n");
}

pub async fn a_fork_of_the_present_is_independent(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    sandbox.write_file("file", b"shared").await.unwrap();
    let fork = sandbox.fork(None).await.unwrap();
    fork.write_file("file", b"fork's").await.unwrap();
    assert_eq!(sandbox.read_file("file").await.unwrap(), b"shared");
    sandbox.remove_file("file").await.unwrap();
    assert_eq!(fork.read_file("file").await.unwrap(), b"fork's");
    assert_eq!(text(&run(&fork, "cat file").await.stdout), "fork's");
}

pub async fn a_checkpoint_that_is_not_there_is_told(backend: &dyn SandboxBackend) {
    let (one, other) = (sandbox(backend).await, sandbox(backend).await);
    let kept = one.checkpoint("kept").await.unwrap();
    for id in ["nothing", "", "..", "../work", &kept.id] {
        refused!(
            other.fork(Some(id)).await.map(|_| ()),
            SandboxError::NotFound { .. }
        );
    }
    refused!(one.checkpoint("").await, SandboxError::Invalid { .. });
    refused!(one.checkpoint("a\nb").await, SandboxError::Invalid { .. });
}
