//! What a command prints.

use std::time::Duration;

use keepsake_types::limits::EXEC_OUTPUT_BYTES;

use super::{run, sandbox, text};
use crate::{Command, ExecEvent, ExitStatus, SandboxBackend, SandboxLimits, SandboxRequest};

pub async fn output_is_bytes_whatever_they_are(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let result = run(&sandbox, r"printf '\377\376\000\012a'; printf '\300' >&2").await;
    assert_eq!(result.stdout, [0xff, 0xfe, 0, b'\n', b'a']);
    assert_eq!(result.stderr, [0xc0]);
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
