//! How commands and sandboxes end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{refused, sandbox, text};
use crate::{Command, ExecEvent, ExitStatus, Sandbox, SandboxBackend, SandboxError};

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
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
}

pub async fn a_killed_command_tells_its_end_and_then_nothing(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let mut execution = sandbox
        .start(Command::new("echo on; exec sleep 600"))
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
        result.duration < Duration::from_secs(30),
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
            began.elapsed() < Duration::from_secs(30),
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
            began.elapsed() < Duration::from_secs(30),
            "it goes on writing"
        );
    }
}

pub async fn closing_kills_what_runs(backend: &dyn SandboxBackend) {
    let sandbox = sandbox(backend).await;
    let mut execution = sandbox
        .start(Command::new("echo on; exec sleep 600"))
        .await
        .unwrap();
    execution.next().await.unwrap();
    let began = Instant::now();
    sandbox.close().await.unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    let Some(ExecEvent::Completed(result)) = execution.next().await.unwrap() else {
        panic!("the end is told");
    };
    assert!(!result.status.success(), "{:?}", result.status);
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
