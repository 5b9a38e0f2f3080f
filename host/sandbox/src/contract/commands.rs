//! How commands are started and told.

use std::collections::BTreeMap;

use super::{refused, run, sandbox, text};
use crate::{Command, ExitStatus, SandboxBackend, SandboxError, SandboxRequest};

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
    // Not INT: what a shell starts in the background ignores it, and so does all
    // that is started from there, such as the commands of a daemon in a container.
    for signal in ["KILL", "TERM", "SEGV", "USR1"] {
        let result = run(&sandbox, &format!("kill -{signal} $$")).await;
        assert_eq!(result.status, ExitStatus::Signal(format!("SIG{signal}")));
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
