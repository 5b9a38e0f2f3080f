//! What every backend owes its callers, as tests.
//!
//! A backend's tests call [`contract_tests!`](crate::contract_tests) with an
//! expression that makes the backend; it becomes one test for each function of
//! this module, which panics where the backend breaks the contract. The tests
//! run real commands, and expect a POSIX shell with the usual tools in the
//! sandbox.

// Each rule's name says what it demands.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keepsake_types::limits::{EXEC_OUTPUT_BYTES, FILE_BYTES};

use crate::{
    Command, ExecEvent, ExecResult, ExitStatus, FileKind, Sandbox, SandboxBackend, SandboxError,
    SandboxLimits, SandboxRequest,
};

/// Tests a backend: `contract_tests!(make_backend());`. The crate that calls
/// it needs tokio with the features `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! contract_tests {
    ($backend:expr) => {
        $crate::contract_tests!(@each $backend;
            a_command_tells_its_code_and_both_outputs
            output_is_bytes_whatever_they_are
            standard_input_is_what_was_given_or_empty
            a_commands_variables_go_before_the_sandboxs
            a_command_runs_where_it_is_told
            a_command_that_a_signal_ends_tells_its_name
            a_command_that_hangs_is_killed_in_time
            a_killed_command_tells_its_end_and_then_nothing
            a_dropped_command_is_killed
            output_comes_while_the_command_runs
            much_output_is_cut_and_holds_nothing_up
            endless_output_is_stopped
            files_go_in_and_out_unchanged
            a_command_may_change_a_file_of_the_host
            files_that_cannot_be_read_are_told_apart
            a_directory_is_listed_in_order
            what_is_removed_is_gone
            no_symlink_leads_the_host_out
            a_fork_has_the_files_of_its_checkpoint
            a_fork_of_the_present_is_independent
            a_checkpoint_that_is_not_there_is_told
            sandboxes_do_not_share_files
            a_closed_sandbox_answers_nothing_else
            closing_kills_what_runs
            metrics_tell_of_files
            commands_that_break_a_rule_are_refused
        );
    };
    (@each $backend:expr; $($name:ident)*) => {
        $(
            #[::tokio::test(flavor = "multi_thread")]
            async fn $name() {
                $crate::contract::$name(&$backend).await;
            }
        )*
    };
}

async fn sandbox(backend: &dyn SandboxBackend) -> Arc<dyn Sandbox> {
    backend
        .create(SandboxRequest::default())
        .await
        .expect("a sandbox is made")
}

async fn run(sandbox: &Arc<dyn Sandbox>, line: &str) -> ExecResult {
    sandbox
        .exec(Command::new(line))
        .await
        .expect("the command is started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks an error's case and shows the whole of it where it is another.
macro_rules! refused {
    ($result:expr, $case:pat) => {{
        let result = $result;
        assert!(matches!(result, Err($case)), "{result:?}");
    }};
}

pub async fn a_command_tells_its_code_and_both_outputs(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let result = run(&sandbox, "echo out; echo err >&2; exit 3").await;
    assert_eq!(result.status, ExitStatus::Code(3));
    assert!(!result.status.success());
    assert_eq!(text(&result.stdout), "out\n");
    assert_eq!(text(&result.stderr), "err\n");
    assert!(!result.truncated);
    assert!(run(&sandbox, "true").await.status.success());
    let unknown = run(&sandbox, "no-such-program-anywhere").await;
    assert_eq!(unknown.status, ExitStatus::Code(127));
    assert!(!unknown.stderr.is_empty());
}

pub async fn output_is_bytes_whatever_they_are(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let result = run(&sandbox, r"printf '\377\376\000\012a'; printf '\300' >&2").await;
    assert_eq!(result.stdout, [0xff, 0xfe, 0, b'\n', b'a']);
    assert_eq!(result.stderr, [0xc0]);
}

pub async fn standard_input_is_what_was_given_or_empty(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let result = run(&sandbox, "wc -c").await;
    assert_eq!(text(&result.stdout).trim(), "0");
    // More than a pipe holds, so that reading and writing must go on together.
    let input: Vec<u8> = (0..300_000_u32)
        .map(|number| number.to_le_bytes()[0])
        .collect();
    let command = Command {
        stdin: Some(input.clone()),
        ..Command::new("cat")
    };
    let result = sandbox.exec(command).await.unwrap();
    assert!(result.stdout == input, "{} bytes", result.stdout.len());
    let command = Command {
        stdin: Some(input),
        ..Command::new("exit 5")
    };
    let unread = sandbox.exec(command).await.unwrap();
    assert_eq!(unread.status, ExitStatus::Code(5));
}

pub async fn a_commands_variables_go_before_the_sandboxs(backend: &dyn SandboxBackend) {
    let variables = [("KEPT", "sandbox's"), ("CHANGED", "sandbox's")];
    let sandbox = backend
        .create(SandboxRequest {
            environment: BTreeMap::from(variables.map(|(name, value)| (name.into(), value.into()))),
            ..SandboxRequest::default()
        })
        .await
        .unwrap();
    let command = Command {
        environment: vec![("CHANGED".into(), "command's, ü and\nlines".into())],
        ..Command::new("echo \"$KEPT\"; echo \"$CHANGED\"")
    };
    let result = sandbox.exec(command).await.unwrap();
    assert_eq!(text(&result.stdout), "sandbox's\ncommand's, ü and\nlines\n");
}

pub async fn a_command_runs_where_it_is_told(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    sandbox
        .write_file("some/where/file", b"found")
        .await
        .unwrap();
    for directory in ["some/where", "/work/some/where"] {
        let command = Command {
            directory: Some(directory.into()),
            ..Command::new("cat file")
        };
        let result = sandbox.exec(command).await.unwrap();
        assert_eq!(text(&result.stdout), "found", "{directory}");
    }
    let command = Command {
        directory: Some("nowhere".into()),
        ..Command::new("true")
    };
    refused!(sandbox.exec(command).await, SandboxError::NotFound { .. });
}

pub async fn a_command_that_a_signal_ends_tells_its_name(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    for signal in ["KILL", "TERM", "SEGV", "INT"] {
        let result = run(&sandbox, &format!("kill -{signal} $$")).await;
        assert_eq!(result.status, ExitStatus::Signal(format!("SIG{signal}")));
    }
}

pub async fn a_command_that_hangs_is_killed_in_time(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let began = Instant::now();
    let command = Command {
        timeout: Some(Duration::from_millis(500)),
        ..Command::new("echo before; trap '' TERM INT HUP; while :; do sleep 5; done")
    };
    let result = sandbox.exec(command).await.unwrap();
    assert_eq!(result.status, ExitStatus::TimedOut);
    assert_eq!(text(&result.stdout), "before\n");
    assert!(
        result.duration >= Duration::from_millis(500),
        "{:?}",
        result.duration
    );
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
}

pub async fn a_killed_command_tells_its_end_and_then_nothing(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let mut execution = sandbox
        .start(Command::new("echo on; exec sleep 30"))
        .await
        .unwrap();
    let first = execution.next().await.unwrap();
    assert_eq!(first, Some(ExecEvent::Stdout(b"on\n".to_vec())));
    execution.kill().await.unwrap();
    let Some(ExecEvent::Completed(result)) = execution.next().await.unwrap() else {
        panic!("the end is told");
    };
    assert_eq!(result.status, ExitStatus::Signal("SIGKILL".into()));
    assert!(
        result.duration < Duration::from_secs(10),
        "{:?}",
        result.duration
    );
    assert_eq!(execution.next().await.unwrap(), None);
    execution.kill().await.unwrap();
}

/// A command that starts another and both go on writing to files.
const WRITERS: &str = "(while :; do echo x >> child; sleep 0.02; done) & \
     while :; do echo x >> parent; sleep 0.02; done";

async fn sizes(sandbox: &Arc<dyn Sandbox>) -> Vec<u64> {
    let files = sandbox.list_files(".").await.unwrap();
    files.iter().map(|file| file.size).collect()
}

/// Waits for both writers to write.
async fn writing(sandbox: &Arc<dyn Sandbox>) {
    let began = Instant::now();
    while sizes(sandbox).await.len() < 2 {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "nothing is written"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub async fn a_dropped_command_is_killed(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let execution = sandbox.start(Command::new(WRITERS)).await.unwrap();
    writing(&sandbox).await;
    drop(execution);
    let began = Instant::now();
    loop {
        let before = sizes(&sandbox).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        if sizes(&sandbox).await == before {
            break;
        }
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "it goes on writing"
        );
    }
}

pub async fn output_comes_while_the_command_runs(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    // It ends only after its first output was seen and answered.
    let line = "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two >&2";
    let mut execution = sandbox.start(Command::new(line)).await.unwrap();
    let first = execution.next().await.unwrap();
    assert_eq!(first, Some(ExecEvent::Stdout(b"one\n".to_vec())));
    // A call that is given up loses nothing.
    let given_up = tokio::time::timeout(Duration::from_millis(50), execution.next()).await;
    assert!(given_up.is_err(), "{given_up:?}");
    sandbox.write_file("go", b"").await.unwrap();
    let second = execution.next().await.unwrap();
    assert_eq!(second, Some(ExecEvent::Stderr(b"two\n".to_vec())));
    let Some(ExecEvent::Completed(result)) = execution.next().await.unwrap() else {
        panic!("the end is told");
    };
    assert!(result.status.success());
    assert_eq!(
        (text(&result.stdout), text(&result.stderr)),
        ("one\n".into(), "two\n".into())
    );
}

pub async fn much_output_is_cut_and_holds_nothing_up(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let line = "head -c 8000000 /dev/zero; head -c 8000000 /dev/zero >&2; echo done >&2; exit 4";
    let result = run(&sandbox, line).await;
    assert_eq!(result.status, ExitStatus::Code(4));
    assert!(result.truncated);
    assert_eq!(result.stdout.len(), EXEC_OUTPUT_BYTES);
    assert_eq!(result.stderr.len(), EXEC_OUTPUT_BYTES);
    let exact = format!("head -c {EXEC_OUTPUT_BYTES} /dev/zero");
    let result = run(&sandbox, &exact).await;
    assert!(!result.truncated);
    assert_eq!(result.stdout.len(), EXEC_OUTPUT_BYTES);
}

pub async fn endless_output_is_stopped(backend: &dyn SandboxBackend) {
    let sandbox = backend
        .create(SandboxRequest {
            limits: SandboxLimits {
                output_bytes: 4_000_000,
                ..SandboxLimits::default()
            },
            ..SandboxRequest::default()
        })
        .await
        .unwrap();
    let result = run(&sandbox, "yes").await;
    assert_eq!(result.status, ExitStatus::Limit("output-bytes".into()));
    assert!(result.truncated);
}

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

pub async fn sandboxes_do_not_share_files(backend: &dyn SandboxBackend) {
    let (one, other) = (sandbox(backend).await, sandbox(backend).await);
    assert_ne!(one.id(), other.id());
    one.write_file("file", b"one's").await.unwrap();
    refused!(other.read_file("file").await, SandboxError::NotFound { .. });
    assert_eq!(run(&other, "cat file").await.status, ExitStatus::Code(1));
    assert_eq!(text(&run(&one, "cat file").await.stdout), "one's");
}

pub async fn a_closed_sandbox_answers_nothing_else(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let id = sandbox.id().to_owned();
    sandbox.close().await.unwrap();
    sandbox.close().await.unwrap();
    refused!(
        sandbox.exec(Command::new("true")).await,
        SandboxError::Closed { .. }
    );
    refused!(sandbox.read_file("x").await, SandboxError::Closed { .. });
    refused!(
        sandbox.write_file("x", b"").await,
        SandboxError::Closed { .. }
    );
    refused!(sandbox.list_files(".").await, SandboxError::Closed { .. });
    refused!(sandbox.remove_file("x").await, SandboxError::Closed { .. });
    refused!(sandbox.checkpoint("x").await, SandboxError::Closed { .. });
    refused!(
        sandbox.fork(None).await.map(|_| ()),
        SandboxError::Closed { .. }
    );
    refused!(sandbox.metrics().await, SandboxError::Closed { .. });
    assert_eq!(sandbox.id(), id);
}

pub async fn closing_kills_what_runs(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let mut execution = sandbox
        .start(Command::new("echo on; exec sleep 30"))
        .await
        .unwrap();
    execution.next().await.unwrap();
    let began = Instant::now();
    sandbox.close().await.unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    let Some(ExecEvent::Completed(result)) = execution.next().await.unwrap() else {
        panic!("the end is told");
    };
    assert!(!result.status.success(), "{:?}", result.status);
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

pub async fn commands_that_break_a_rule_are_refused(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    for line in ["", "echo \0"] {
        refused!(
            sandbox.exec(Command::new(line)).await,
            SandboxError::Invalid { .. }
        );
    }
    let long = format!(": {}", "x".repeat(64 * 1024));
    refused!(
        sandbox.exec(Command::new(long)).await,
        SandboxError::Limit {
            name: "command-line-bytes",
            ..
        }
    );
    for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "\0")] {
        let command = Command {
            environment: vec![(name.into(), value.into())],
            ..Command::new("true")
        };
        refused!(sandbox.exec(command).await, SandboxError::Invalid { .. });
    }
    let command = Command {
        environment: vec![("A".into(), "x".repeat(200_000))],
        ..Command::new("true")
    };
    refused!(
        sandbox.exec(command).await,
        SandboxError::Limit {
            name: "exec-environment-bytes",
            ..
        }
    );
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_rule_of_the_contract_is_a_test() {
        let source = include_str!("contract.rs");
        let (listed, rest) = source.split_once("(@each $backend:expr;").unwrap();
        let rules: Vec<_> = rest
            .lines()
            .filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next())
            .collect();
        assert!(rules.len() > 20, "{rules:?}");
        for rule in rules {
            assert!(
                listed.lines().any(|line| line.trim() == rule),
                "{rule} is not run"
            );
        }
    }
}
