//! That nothing outlives what it belongs to: processes their command, commands
//! their host, files their sandbox.

mod common;

use std::collections::HashSet;
use std::path::Path;

use common::host::{Host, processes_with, wait_until};
use common::{output, plain_isolated_sandbox, run, unisolated_sandbox, without_bwrap};
use keepsake_sandbox::{
    Command, ExitStatus, LocalBackend, LocalOptions, SandboxBackend, SandboxRequest,
};
use tempfile::TempDir;

#[test]
#[ignore = "not a test but a host for tests to start"]
fn a_host_of_its_own() {
    common::host::main();
}

fn entries(root: &Path) -> usize {
    std::fs::read_dir(root).unwrap().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_in_the_background_end_with_their_command() {
    let both = [
        Some(unisolated_sandbox().await),
        plain_isolated_sandbox().await,
    ];
    for (_root, sandbox) in both.into_iter().flatten() {
        let mark = format!("mark-{}", sandbox.id());
        let line = format!(
            "sh -c 'echo on; sleep 600; exit' {mark} & \
             setsid sh -c 'trap \"\" TERM HUP; echo on; sleep 600; exit' {mark} & \
             (setsid nohup sh -c 'echo on; sleep 600; exit' {mark} &); \
             sleep 0.5"
        );
        let result = run(&sandbox, &line).await;
        assert_eq!(result.status, ExitStatus::Code(0), "{result:?}");
        let said = String::from_utf8_lossy(&result.stdout);
        assert_eq!(said.matches("on\n").count(), 3, "{result:?}");
        // Nothing is left once the end is told.
        let left = processes_with(&mark);
        assert!(left.is_empty(), "isolated: {}", sandbox.isolated());
    }
}

#[test]
fn all_ends_with_a_host_that_is_killed() {
    if without_bwrap() {
        return;
    }
    let root = TempDir::new().unwrap();
    let mark = format!("mark-of-{}", root.path().display());
    let line = format!(
        "setsid sh -c 'trap \"\" TERM HUP; sleep 600; exit' {mark} & \
         sh -c 'sleep 600; exit' {mark} & echo begun; wait"
    );
    let mut host = Host::start(root.path(), true, &line);
    host.wait_for("begun");
    wait_until("it all runs", || processes_with(&mark).len() >= 4);
    host.kill();
    wait_until("it all ended", || processes_with(&mark).is_empty());
    assert!(entries(root.path()) > 0, "there is something left to sweep");
}

#[test]
fn a_command_without_isolation_ends_with_a_host_that_is_killed() {
    let root = TempDir::new().unwrap();
    let mark = format!("mark-of-{}", root.path().display());
    let line = format!(": {mark}; echo begun; while :; do sleep 1; done");
    let mut host = Host::start(root.path(), false, &line);
    host.wait_for("begun");
    // The host itself has the mark in its variables, not in its command line.
    assert!(!processes_with(&mark).is_empty());
    host.kill();
    wait_until("it ended", || processes_with(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_host_left_is_swept_and_what_a_running_one_uses_is_not() {
    let root = TempDir::new().unwrap();
    let line = "mkdir d; touch d/file; chmod 000 d; echo begun; while [ ! -e go ]; do sleep 0.1; done; echo alive";
    let isolated = !without_bwrap();
    let mut killed = Host::start(root.path(), isolated, line);
    let mut running = Host::start(root.path(), isolated, line);
    killed.wait_for("begun");
    running.wait_for("begun");
    // A lock file and a directory for each.
    wait_until("both made theirs", || entries(root.path()) == 4);
    let backend = LocalBackend::new(LocalOptions {
        root: Some(root.path().to_owned()),
        allow_unisolated: true,
        ..LocalOptions::default()
    });
    assert_eq!(backend.sweep().await.unwrap(), 0, "both run");
    killed.kill();
    assert_eq!(backend.sweep().await.unwrap(), 1, "one was killed");
    assert_eq!(entries(root.path()), 2);

    let left = std::fs::read_dir(root.path())
        .unwrap()
        .flatten()
        .find(|entry| entry.path().is_dir())
        .unwrap();
    std::fs::write(left.path().join("work/go"), "").unwrap();
    running.wait_for("alive");
    assert_eq!(running.rest(), "");
    assert_eq!(entries(root.path()), 0);
    assert_eq!(backend.sweep().await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_sandbox_of_a_backend_sweeps_what_is_left() {
    let root = TempDir::new().unwrap();
    let mut killed = Host::start(root.path(), !without_bwrap(), "echo begun; sleep 600");
    killed.wait_for("begun");
    killed.kill();
    assert_eq!(entries(root.path()), 2);
    let backend = LocalBackend::new(LocalOptions {
        root: Some(root.path().to_owned()),
        allow_unisolated: true,
        ..LocalOptions::default()
    });
    let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
    wait_until("it is swept", || entries(root.path()) == 2);
    sandbox.close().await.unwrap();
    assert_eq!(entries(root.path()), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_leaves_nothing_however_it_ends() {
    let (root, backend) = common::isolated();
    let closed = backend.create(SandboxRequest::default()).await.unwrap();
    run(
        &closed,
        "mkdir -p a/b; ln -s / link; mkfifo pipe; chmod 000 a",
    )
    .await;
    closed.checkpoint("kept").await.unwrap();
    closed.close().await.unwrap();

    let dropped = backend.create(SandboxRequest::default()).await.unwrap();
    let fork = dropped.fork(None).await.unwrap();
    let line = format!(": {}; sleep 600", root.path().display());
    let mut execution = dropped.start(Command::new(&line)).await.unwrap();
    drop(dropped);
    drop(fork);
    // Its sandbox took it along.
    let mut last = None;
    while let Some(event) = execution.next().await.unwrap() {
        last = Some(event);
    }
    assert!(last.is_some());

    // A caller who gives up in the middle of the start.
    let hasty = backend.create(SandboxRequest::default()).await.unwrap();
    for _ in 0..10 {
        let start = hasty.start(Command::new(&line));
        let _ = tokio::time::timeout(std::time::Duration::from_millis(3), start).await;
    }
    drop(hasty);
    wait_until("all files are gone", || entries(root.path()) == 0);
    let place = root.path().to_str().unwrap();
    wait_until("all processes are gone", || {
        processes_with(place).is_empty()
    });
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(place), "{mounts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sandboxes_at_once_do_not_mix() {
    const COUNT: usize = 16;
    let (root, backend) = common::isolated();
    let backend = std::sync::Arc::new(backend);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..COUNT {
        let backend = std::sync::Arc::clone(&backend);
        tasks.spawn(async move {
            let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
            let mark = format!("text of {number}\n");
            sandbox.write_file("own", mark.as_bytes()).await.unwrap();
            for round in 0..4 {
                let line = format!("cat own; echo {number} {round} >> log; exit {number}");
                let result = run(&sandbox, &line).await;
                assert_eq!(String::from_utf8_lossy(&result.stdout), mark);
                let code = i32::try_from(number).unwrap();
                assert_eq!(result.status, ExitStatus::Code(code));
            }
            let log: String = (0..4).map(|round| format!("{number} {round}\n")).collect();
            assert_eq!(output(&sandbox, "cat log").await, log);
            let id = sandbox.id().to_owned();
            sandbox.close().await.unwrap();
            id
        });
    }
    let ids: HashSet<_> = tasks.join_all().await.into_iter().collect();
    assert_eq!(ids.len(), COUNT, "{ids:?}");
    assert_eq!(entries(root.path()), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_one_sandbox_at_once_share_its_files_only() {
    let Some((_root, sandbox)) = plain_isolated_sandbox().await else {
        return;
    };
    // Each waits for the other, so that both run at once.
    let meet = |own: &str, other: &str| {
        Command::new(format!(
            "touch {own} /tmp/{own}; while [ ! -e {other} ]; do sleep 0.02; done; \
             ls /tmp; ls /proc | grep -c '^[0-9]'"
        ))
    };
    let (one, other) = tokio::join!(
        sandbox.exec(meet("one", "other")),
        sandbox.exec(meet("other", "one"))
    );
    for (result, own) in [(one, "one"), (other, "other")] {
        let result = result.unwrap();
        let said = String::from_utf8_lossy(&result.stdout);
        let (first, count) = said.split_once('\n').unwrap();
        assert_eq!(first, own, "{result:?}");
        assert!(count.trim().parse::<u32>().unwrap() < 10, "{result:?}");
    }
}
