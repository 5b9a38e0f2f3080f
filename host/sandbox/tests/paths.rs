//! That no path and no symlink leads the host out of a sandbox, not even one
//! that changes while the host looks; and names of any bytes.

mod common;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{isolated, output, run, unisolated};
use keepsake_sandbox::{Command, FileKind, Sandbox, SandboxBackend, SandboxError, SandboxRequest};
use tempfile::TempDir;

const SECRET: &str = "a secret outside";

/// A directory outside, which every account can change.
fn outside() -> TempDir {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("file"), SECRET).unwrap();
    for path in [directory.path().join("file"), directory.path().to_owned()] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    }
    directory
}

fn assert_untouched(outside: &Path) {
    let names: Vec<_> = std::fs::read_dir(outside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["file"]);
    let content = std::fs::read_to_string(outside.join("file")).unwrap();
    assert_eq!(content, SECRET);
}

/// What the host did with a directory that is a link at times.
#[derive(Default)]
struct Seen {
    read: u32,
    refused: u32,
}

async fn read(sandbox: &Arc<dyn Sandbox>, path: &str, seen: &mut Seen) {
    match sandbox.read_file(path).await {
        Ok(content) => {
            seen.read += 1;
            assert_ne!(String::from_utf8_lossy(&content), SECRET);
        }
        Err(SandboxError::InvalidPath { .. }) => seen.refused += 1,
        Err(SandboxError::NotFound { .. }) => {}
        Err(error) => panic!("{path}: {error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_becomes_a_link_leads_nowhere() {
    for (_root, backend) in [isolated(), unisolated()] {
        let outside = outside();
        let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
        let swap = format!(
            "perl -e '$out = \"{}\"; while (1) {{ \
               mkdir \"d\"; open(my $f, \">\", \"d/file\"); print $f \"inside\"; close $f; \
               open(my $g, \">\", \"f\"); print $g \"inside\"; close $g; \
               rename \"d\", \"away\"; symlink $out, \"d\"; \
               unlink \"f\"; symlink \"$out/file\", \"f\"; \
               unlink \"d\"; unlink \"f\"; unlink \"away/file\"; rmdir \"away\"; }}'",
            outside.path().display()
        );
        let mut swapping = sandbox.start(Command::new(swap)).await.unwrap();
        let began = Instant::now();
        let mut seen = Seen::default();
        let mut rounds = 0;
        while rounds < 300 || seen.read < 10 || seen.refused < 10 {
            rounds += 1;
            assert!(
                began.elapsed() < Duration::from_secs(50),
                "the race is not run"
            );
            read(&sandbox, "d/file", &mut seen).await;
            read(&sandbox, "f", &mut seen).await;
            for path in ["d/new", "d/below/new", "f"] {
                // It may be refused at any step; it must not arrive outside.
                let _ = sandbox.write_file(path, b"written by the host").await;
            }
            let _ = sandbox.list_files("d").await;
            for path in ["d/file", "d/below", "d"] {
                let _ = sandbox.remove_file(path).await;
            }
            if rounds % 20 == 0 {
                // A copy is of one moment for each name, or is refused.
                let Ok(fork) = sandbox.fork(None).await else {
                    continue;
                };
                for path in ["d/file", "f", "away/file"] {
                    read(&fork, path, &mut seen).await;
                }
            }
        }
        swapping.kill().await.unwrap();
        while swapping.next().await.unwrap().is_some() {}
        assert_untouched(outside.path());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_way_of_writing_a_path_leads_out() {
    let (root, backend) = unisolated();
    let outside = outside();
    let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
    let line = format!(
        "ln -s {0} link; ln -s {0}/file file-link; mkdir d",
        outside.path().display()
    );
    assert!(run(&sandbox, &line).await.status.success());
    let secret = outside.path().join("file");
    let secret = secret.to_str().unwrap();
    let up = format!("{}{secret}", "../".repeat(30));
    let real = root.path().join(sandbox.id()).join("work/d");
    for path in [
        secret,
        &up,
        &format!("/work/{up}"),
        &format!("/work/d/..{secret}"),
        "link/file",
        "link/./file",
        "d/../link/file",
        "file-link",
        "file-link/",
        "/proc/self/root",
        "//work",
        "/work/../work/d",
        "d/..",
        real.to_str().unwrap(),
    ] {
        let read = sandbox.read_file(path).await;
        assert!(read.is_err(), "{path}: {read:?}");
        assert!(sandbox.write_file(path, b"x").await.is_err(), "{path}");
    }
    // A link itself can be removed, and what is behind it stays.
    for path in ["file-link", "link"] {
        assert!(sandbox.remove_file(path).await.unwrap());
    }
    assert_untouched(outside.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_stays_inside_is_followed() {
    let (_root, backend) = isolated();
    let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
    let line = "mkdir -p a/b; echo inside > a/file; ln -s ../file a/b/up; ln -s a/b/up chain; ln -s a to-a";
    assert!(run(&sandbox, line).await.status.success());
    for path in ["a/b/up", "chain", "to-a/file", "to-a/b/up"] {
        assert_eq!(
            sandbox.read_file(path).await.unwrap(),
            b"inside\n",
            "{path}"
        );
    }
    sandbox.write_file("to-a/new/file", b"x").await.unwrap();
    assert_eq!(output(&sandbox, "cat a/new/file").await, "x");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_output_may_be_any_bytes() {
    for (_root, backend) in [isolated(), unisolated()] {
        let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
        let line = "printf 1 > \"$(printf 'a\\377b')\"; printf 22 > 'line\nfeed'; printf 333 > ' '; \
                    mkdir \"$(printf '\\376')\"; printf x > \"$(printf '\\376/x')\"; \
                    ls | od -An -tx1 | tr -d ' \\n'; printf '\\377' >&2";
        let result = run(&sandbox, line).await;
        assert_eq!(result.stderr, b"\xff", "{result:?}");
        let files = sandbox.list_files(".").await.unwrap();
        let told: Vec<_> = files
            .iter()
            .map(|file| (file.path.as_str(), file.kind, file.size))
            .map(|(path, kind, size)| (path, kind, if kind == FileKind::File { size } else { 0 }))
            .collect();
        assert_eq!(
            told,
            [
                ("/work/ ", FileKind::File, 3),
                ("/work/a\u{fffd}b", FileKind::File, 1),
                ("/work/line\nfeed", FileKind::File, 2),
                ("/work/\u{fffd}", FileKind::Directory, 0),
            ]
        );
        assert_eq!(sandbox.read_file("line\nfeed").await.unwrap(), b"22");
        assert_eq!(sandbox.read_file(" ").await.unwrap(), b"333");
        let shown = sandbox.read_file("a\u{fffd}b").await;
        assert!(
            matches!(shown, Err(SandboxError::NotFound { .. })),
            "{shown:?}"
        );
        let error = sandbox.read_file("no\u{1b}[2J").await.unwrap_err();
        assert!(!error.to_string().contains('\u{1b}'), "{error}");
        let longest = "n".repeat(255);
        sandbox.write_file(&longest, b"x").await.unwrap();
        let too_long = sandbox.write_file(&"n".repeat(256), b"x").await;
        assert!(too_long.is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_host_writes_at_once_is_never_mixed_up() {
    let (_root, backend) = isolated();
    let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20_usize {
        let sandbox = Arc::clone(&sandbox);
        tasks.spawn(async move {
            let path = format!("shared/{number}/file");
            let content = number.to_string().repeat(10_000);
            sandbox.write_file(&path, content.as_bytes()).await.unwrap();
            let read = sandbox.read_file(&path).await.unwrap();
            assert!(read == content.as_bytes());
            number
        });
    }
    let done: BTreeSet<_> = tasks.join_all().await.into_iter().collect();
    assert_eq!(done.len(), 20);
    assert_eq!(output(&sandbox, "ls shared | wc -l").await.trim(), "20");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_host_wrote_runs_at_once_while_other_commands_start() {
    let (_root, backend) = unisolated();
    let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
    run(&sandbox, "mkdir tools; cp /bin/true tools/true").await;
    let program = sandbox.read_file("tools/true").await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..4 {
        let (sandbox, program) = (Arc::clone(&sandbox), program.clone());
        tasks.spawn(async move {
            for round in 0..30 {
                let path = format!("program-{number}-{round}");
                sandbox.write_file(&path, &program).await.unwrap();
                let result = run(&sandbox, &format!("chmod +x {path} && ./{path}")).await;
                assert!(result.status.success(), "{result:?}");
            }
        });
    }
    tasks.join_all().await;
}
