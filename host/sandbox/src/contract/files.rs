//! The files of a sandbox, as its holder reads and writes them.

use keepsake_types::limits::FILE_BYTES;

use super::{refused, run, sandbox, text};
use crate::{ExitStatus, FileKind, SandboxBackend, SandboxError};

pub async fn files_go_in_and_out_unchanged(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let content: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for path in ["file", "/work/deep/er/file", "./ü ñ/-x"] {
        sandbox.write_file(path, &content).await.unwrap();
        assert!(sandbox.read_file(path).await.unwrap() == content, "{path}");
        sandbox.write_file(path, b"short").await.unwrap();
        assert_eq!(sandbox.read_file(path).await.unwrap(), b"short", "{path}");
    }
    let result = run(
        &sandbox,
        "cat deep/er/file './ü ñ/-x'; printf made > made; mkdir d",
    )
    .await;
    assert_eq!(text(&result.stdout), "shortshort");
    assert_eq!(sandbox.read_file("made").await.unwrap(), b"made");
    sandbox
        .write_file("d/in-a-directory-of-a-command", b"x")
        .await
        .unwrap();
    sandbox.write_file("empty", b"").await.unwrap();
    assert_eq!(sandbox.read_file("empty").await.unwrap(), b"");
}

pub async fn a_command_may_change_a_file_of_the_host(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    sandbox.write_file("d/file", b"one").await.unwrap();
    let line = "printf ' two' >> d/file && printf new > d/other && rm -r d && echo gone";
    assert_eq!(text(&run(&sandbox, line).await.stdout), "gone\n");
    refused!(
        sandbox.read_file("d/file").await,
        SandboxError::NotFound { .. }
    );
}

pub async fn files_that_cannot_be_read_are_told_apart(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let line = format!(
        "mkdir d; echo x > file; mkfifo pipe; head -c {} /dev/zero > large; \
         head -c {FILE_BYTES} /dev/zero > largest",
        FILE_BYTES + 1
    );
    assert!(run(&sandbox, &line).await.status.success());
    refused!(
        sandbox.read_file("nothing").await,
        SandboxError::NotFound { .. }
    );
    refused!(
        sandbox.read_file("d/nothing").await,
        SandboxError::NotFound { .. }
    );
    refused!(
        sandbox.read_file("d").await,
        SandboxError::InvalidPath { .. }
    );
    refused!(
        sandbox.read_file("file/x").await,
        SandboxError::InvalidPath { .. }
    );
    refused!(
        sandbox.read_file("pipe").await,
        SandboxError::InvalidPath { .. }
    );
    refused!(
        sandbox.write_file("pipe", b"x").await,
        SandboxError::InvalidPath { .. }
    );
    refused!(
        sandbox.write_file("d", b"x").await,
        SandboxError::InvalidPath { .. }
    );
    refused!(
        sandbox.list_files("file").await,
        SandboxError::InvalidPath { .. }
    );
    refused!(
        sandbox.read_file("large").await,
        SandboxError::Limit {
            name: "file-bytes",
            ..
        }
    );
    assert_eq!(
        sandbox.read_file("largest").await.unwrap().len(),
        FILE_BYTES
    );
    refused!(
        sandbox.write_file("new", &vec![0; FILE_BYTES + 1]).await,
        SandboxError::Limit {
            name: "file-bytes",
            ..
        }
    );
    for path in [
        "",
        "..",
        "../x",
        "d/../../x",
        "/",
        "/etc/passwd",
        "/tmp/x",
        "/work/../x",
    ] {
        refused!(
            sandbox.read_file(path).await,
            SandboxError::InvalidPath { .. }
        );
        refused!(
            sandbox.write_file(path, b"x").await,
            SandboxError::InvalidPath { .. }
        );
        refused!(
            sandbox.list_files(path).await,
            SandboxError::InvalidPath { .. }
        );
        refused!(
            sandbox.remove_file(path).await,
            SandboxError::InvalidPath { .. }
        );
    }
}

pub async fn a_directory_is_listed_in_order(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    assert_eq!(sandbox.list_files(".").await.unwrap(), []);
    let line =
        "mkdir -p d/sub; printf 12345 > d/b; touch d/a d/B d/ä; ln -s b d/link; mkfifo d/pipe";
    assert!(run(&sandbox, line).await.status.success());
    let files = sandbox.list_files("d").await.unwrap();
    let told: Vec<_> = files
        .iter()
        .map(|file| (file.path.as_str(), file.kind))
        .collect();
    assert_eq!(
        told,
        [
            ("/work/d/B", FileKind::File),
            ("/work/d/a", FileKind::File),
            ("/work/d/b", FileKind::File),
            ("/work/d/link", FileKind::Symlink),
            ("/work/d/pipe", FileKind::Other),
            ("/work/d/sub", FileKind::Directory),
            ("/work/d/ä", FileKind::File),
        ]
    );
    assert_eq!(files[2].size, 5);
    let age = keepsake_types::now().abs_diff(files[2].modified_at.unwrap());
    assert!(age < 60_000, "{age} ms");
    refused!(
        sandbox.list_files("nowhere").await,
        SandboxError::NotFound { .. }
    );
}

pub async fn what_is_removed_is_gone(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let line = "mkdir -p d/e/f kept; touch d/e/file file kept/file; ln -s kept link; \
                mkdir locked; touch locked/x; chmod 000 locked";
    assert!(run(&sandbox, line).await.status.success());
    for path in ["file", "d", "link", "locked"] {
        assert!(sandbox.remove_file(path).await.unwrap(), "{path}");
        assert!(!sandbox.remove_file(path).await.unwrap(), "{path}");
    }
    assert!(!sandbox.remove_file("no/where").await.unwrap());
    let left = run(&sandbox, "find . | sort").await;
    assert_eq!(text(&left.stdout), ".\n./kept\n./kept/file\n");
    refused!(
        sandbox.remove_file(".").await,
        SandboxError::InvalidPath { .. }
    );
}

pub async fn no_symlink_leads_the_host_out(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let line = "ln -s /etc/passwd absolute; ln -s ../../../../etc/passwd relative; \
                ln -s /etc directory; ln -s .. up; ln -s up/up chain; ln -s loop loop; \
                ln -s /dev/zero device; echo inside > file; ln -s file inside";
    assert!(run(&sandbox, line).await.status.success());
    for path in [
        "absolute",
        "relative",
        "directory/passwd",
        "up/x",
        "chain/etc/passwd",
        "loop",
        "device",
    ] {
        refused!(
            sandbox.read_file(path).await,
            SandboxError::InvalidPath { .. }
        );
        refused!(
            sandbox.write_file(path, b"x").await,
            SandboxError::InvalidPath { .. }
        );
    }
    for path in ["directory", "up", "chain", "loop"] {
        refused!(
            sandbox.list_files(path).await,
            SandboxError::InvalidPath { .. }
        );
    }
    refused!(
        sandbox.remove_file("directory/passwd").await,
        SandboxError::InvalidPath { .. }
    );
    assert_eq!(sandbox.read_file("inside").await.unwrap(), b"inside\n");
    sandbox.write_file("inside", b"new").await.unwrap();
    assert_eq!(sandbox.read_file("file").await.unwrap(), b"new");
}

pub async fn metrics_tell_of_files(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let before = sandbox.metrics().await.unwrap();
    sandbox
        .write_file("file", &vec![7; 1_000_000])
        .await
        .unwrap();
    let after = sandbox.metrics().await.unwrap();
    if let (Some(before), Some(after)) = (before.disk_bytes, after.disk_bytes) {
        assert!(after >= before + 1_000_000, "{before} then {after}");
    }
}

pub async fn sandboxes_do_not_share_files(backend: &dyn SandboxBackend) {
    let (one, other) = (sandbox(backend).await, sandbox(backend).await);
    assert_ne!(one.id(), other.id());
    one.write_file("file", b"one's").await.unwrap();
    refused!(other.read_file("file").await, SandboxError::NotFound { .. });
    assert_eq!(run(&other, "cat file").await.status, ExitStatus::Code(1));
    assert_eq!(text(&run(&one, "cat file").await.stdout), "one's");
}
