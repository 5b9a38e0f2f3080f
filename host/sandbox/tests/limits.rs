//! What ends a command that uses too much, and what the host says of it.

mod common;

use std::time::{Duration, Instant};

use common::{isolated_sandbox, limited, output, run, unisolated_sandbox};
use keepsake_sandbox::{
    Command, ExecEvent, ExecResult, ExitStatus, SandboxBackend, SandboxError, SandboxLimits,
};
use keepsake_types::limits::{EXEC_OUTPUT_BYTES, EXEC_STDIN_BYTES, SANDBOX_EXECUTIONS};

const MEBIBYTE: u64 = 1024 * 1024;

/// Runs a command in an isolated sandbox with these limits.
async fn run_with(limits: SandboxLimits, line: &str) -> Option<ExecResult> {
    let (_root, sandbox) = isolated_sandbox(limited(limits)).await?;
    let result = run(&sandbox, line).await;
    // Whatever it did, the next one finds a sandbox that works.
    run(&sandbox, "rm -rf ./*").await;
    assert_eq!(output(&sandbox, "echo works").await, "works\n");
    sandbox.close().await.unwrap();
    Some(result)
}

fn hits(limit: &str) -> ExitStatus {
    ExitStatus::Limit(limit.into())
}

#[tokio::test]
async fn a_command_has_no_more_time_than_its_sandbox_gives() {
    let limits = SandboxLimits {
        wall_time: Duration::from_millis(300),
        ..SandboxLimits::default()
    };
    let Some((_root, sandbox)) = isolated_sandbox(limited(limits)).await else {
        return;
    };
    let command = Command {
        timeout: Some(Duration::from_secs(600)),
        ..Command::new("while :; do :; done")
    };
    let result = sandbox.exec(command).await.unwrap();
    assert_eq!(result.status, ExitStatus::TimedOut);
    assert!(result.duration < Duration::from_secs(60), "{result:?}");
}

#[tokio::test]
async fn memory_without_end_is_told_as_the_limit_on_memory() {
    let limits = SandboxLimits {
        memory_bytes: 64 * MEBIBYTE,
        ..SandboxLimits::default()
    };
    let alone = "tail /dev/zero";
    let together = "for i in 1 2 3 4 5 6 7 8; do \
        sh -c 'head -c 20000000 /dev/zero | tail -c 20000000 | sleep 600' & done; wait";
    for line in [alone, together] {
        let Some(result) = run_with(limits.clone(), line).await else {
            return;
        };
        assert_eq!(result.status, hits("memory-bytes"), "{line}: {result:?}");
    }
    // The control: less than the limit is no reason to end anything.
    let modest = "head -c 20000000 /dev/zero | tail -c 20000000 | wc -c";
    let result = run_with(limits, modest).await.unwrap();
    assert_eq!(result.stdout, b"20000000\n", "{result:?}");
}

#[tokio::test]
async fn the_system_bounds_the_memory_of_one_process_by_itself() {
    let limits = SandboxLimits {
        memory_bytes: 64 * MEBIBYTE,
        address_space_bytes: 512 * MEBIBYTE,
        ..SandboxLimits::default()
    };
    // Wanted but never used, so that there is nothing for the host to see.
    let line = "perl -e '$text = \"\\0\" x 200000000; print \"had it\\n\"' 2>/dev/null; \
                ulimit -d; ulimit -v";
    let Some(result) = run_with(limits, line).await else {
        return;
    };
    if result.status != hits("memory-bytes") {
        assert_eq!(result.stdout, b"131072\n524288\n", "{result:?}");
    }
}

#[tokio::test]
async fn processes_without_end_are_told_as_the_limit_on_processes() {
    let limits = SandboxLimits {
        processes: 40,
        ..SandboxLimits::default()
    };
    let bomb = "perl -e 'fork while 1'";
    let Some(result) = run_with(limits.clone(), bomb).await else {
        return;
    };
    assert_eq!(result.status, hits("processes"));
    // This one gives up where it is refused a process, maybe before the host
    // looks; whatever is told, it ends.
    run_with(limits.clone(), "bomb() { bomb | bomb & }; bomb; wait").await;
    let idle = "perl -e 'for (1 .. 100) { fork or sleep 600 } sleep 600'";
    let result = run_with(limits.clone(), idle).await.unwrap();
    assert_eq!(result.status, hits("processes"));
    let modest = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1 & done; wait; echo done";
    let result = run_with(limits, modest).await.unwrap();
    assert_eq!(result.stdout, b"done\n", "{result:?}");
}

#[tokio::test]
async fn the_system_refuses_processes_before_the_host_looks() {
    let limits = SandboxLimits {
        processes: 40,
        ..SandboxLimits::default()
    };
    // Counted by whoever starts them, and told at once.
    let line = "perl -e '$| = 1; for (1 .. 5000) { \
                  $child = fork; defined $child or last; $child or sleep 600; print \"$_\\n\" }'";
    let Some((_root, sandbox)) = isolated_sandbox(limited(limits)).await else {
        return;
    };
    let said = output(&sandbox, line).await;
    let most: u64 = said.lines().last().unwrap().parse().unwrap();
    assert!((30..60).contains(&most), "{most} processes were started");
}

#[tokio::test]
async fn a_file_that_grows_too_large_is_told_as_that_limit() {
    let limits = SandboxLimits {
        file_size_bytes: MEBIBYTE,
        ..SandboxLimits::default()
    };
    let Some(result) = run_with(limits.clone(), "head -c 2M /dev/zero > file").await else {
        return;
    };
    assert_eq!(result.status, hits("file-size-bytes"));
    let line = "head -c 1M /dev/zero > file && wc -c < file";
    let result = run_with(limits, line).await.unwrap();
    assert_eq!(result.stdout, b"1048576\n", "{result:?}");
}

#[tokio::test]
async fn files_that_take_too_much_room_are_told_as_the_limit_on_disk_bytes() {
    let limits = SandboxLimits {
        disk_bytes: 8 * MEBIBYTE,
        ..SandboxLimits::default()
    };
    let slowly = "i=0; while :; do i=$((i + 1)); head -c 1M /dev/zero > $i; sleep 0.01; done";
    let at_once = "head -c 9M /dev/zero > file";
    // Deleted, but open.
    let hidden = "exec 3> file; rm file; head -c 20M /dev/zero >&3; sleep 600";
    for line in [slowly, at_once, hidden] {
        let Some(result) = run_with(limits.clone(), line).await else {
            return;
        };
        assert_eq!(result.status, hits("disk-bytes"), "{line}: {result:?}");
    }
    let sparse = "truncate -s 200M file && wc -c < file";
    let result = run_with(limits.clone(), sparse).await.unwrap();
    assert_eq!(result.stdout, b"209715200\n", "{result:?}");

    let (_root, sandbox) = isolated_sandbox(limited(limits)).await.unwrap();
    let half = vec![1; 5 << 20];
    sandbox.write_file("one", &half).await.unwrap();
    let refused = sandbox.write_file("two", &half).await;
    assert!(
        matches!(
            refused,
            Err(SandboxError::Limit {
                name: "disk-bytes",
                ..
            })
        ),
        "{refused:?}"
    );
}

#[tokio::test]
async fn too_many_files_are_told_as_the_limit_on_disk_entries() {
    let limits = SandboxLimits {
        disk_entries: 200,
        ..SandboxLimits::default()
    };
    for place in ["/work", "/tmp", "/dev/shm"] {
        let line = format!("cd {place}; i=0; while :; do i=$((i + 1)); : > $i; done");
        let Some(result) = run_with(limits.clone(), &line).await else {
            return;
        };
        assert_eq!(result.status, hits("disk-entries"), "{place}");
    }
    let line = "i=0; while [ $i -lt 150 ]; do i=$((i + 1)); : > $i; : > /tmp/$i; done; ls | wc -l";
    let result = run_with(limits, line).await.unwrap();
    assert_eq!(result.stdout, b"150\n", "{result:?}");
}

#[tokio::test]
async fn directories_too_deep_are_told_as_that_limit() {
    let line = "while :; do mkdir d && cd d || break; done";
    let Some(result) = run_with(SandboxLimits::default(), line).await else {
        return;
    };
    assert_eq!(result.status, hits("sandbox-directory-depth"));
}

#[tokio::test]
async fn temporary_files_have_a_bound_of_the_system() {
    let limits = SandboxLimits {
        temporary_bytes: MEBIBYTE,
        ..SandboxLimits::default()
    };
    let line = "for place in /tmp /dev/shm; do \
                  head -c 2M /dev/zero > $place/file 2>/dev/null; wc -c < $place/file; done";
    let Some(result) = run_with(limits, line).await else {
        return;
    };
    assert_eq!(result.stdout, b"1048576\n1048576\n", "{result:?}");
}

#[tokio::test]
async fn open_files_have_a_bound_of_the_system() {
    let limits = SandboxLimits {
        open_files: 32,
        ..SandboxLimits::default()
    };
    let line = "ulimit -n; ulimit -n 64 || echo refused; \
                perl -e 'while (open(my $f, \"<\", \"/dev/null\")) { push @f, $f } print @f < 32'";
    let Some(result) = run_with(limits, line).await else {
        return;
    };
    assert_eq!(result.stdout, b"32\nrefused\n1", "{result:?}");
}

/// The most memory that this process ever had, in bytes.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kibibytes * 1024
}

#[tokio::test]
async fn a_hundred_megabytes_of_output_take_no_memory_of_the_host() {
    let (_root, sandbox) = match isolated_sandbox(limited(SandboxLimits::default())).await {
        Some(isolated) => isolated,
        None => unisolated_sandbox().await,
    };
    let before = most_memory();
    let result = run(
        &sandbox,
        "head -c 100000000 /dev/zero; echo end >&2; exit 7",
    )
    .await;
    assert_eq!(result.status, ExitStatus::Code(7));
    assert!(result.truncated);
    assert_eq!(result.stdout.len(), EXEC_OUTPUT_BYTES);
    assert_eq!(result.stderr, b"end\n");
    // Other tests of this process take some, too.
    let grown = most_memory() - before;
    assert!(grown < 60_000_000, "{grown} bytes more");
}

#[tokio::test]
async fn a_command_whose_output_nobody_reads_waits_and_is_ended_in_time() {
    let Some((_root, sandbox)) = isolated_sandbox(limited(SandboxLimits::default())).await else {
        return;
    };
    let command = Command {
        timeout: Some(Duration::from_millis(500)),
        ..Command::new("yes; echo never")
    };
    let mut execution = sandbox.start(command).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut bytes = 0;
    let result = loop {
        match execution.next().await.unwrap().unwrap() {
            ExecEvent::Stdout(chunk) => bytes += chunk.len() as u64,
            ExecEvent::Stderr(_) => {}
            ExecEvent::Completed(result) => break result,
        }
    };
    assert_eq!(result.status, ExitStatus::TimedOut);
    assert!(bytes <= 2 * MEBIBYTE, "{bytes}");
}

#[tokio::test]
async fn what_escaped_a_sandbox_without_isolation_is_not_listened_to_for_ever() {
    let (_root, backend) = common::unisolated();
    let limits = SandboxLimits {
        output_bytes: u64::MAX,
        ..SandboxLimits::default()
    };
    let sandbox = backend.create(limited(limits)).await.unwrap();
    // It leaves its group and its variables, and writes on for some seconds.
    let line = "setsid env -i timeout 30 yes & sleep 0.3";
    let began = Instant::now();
    let result = run(&sandbox, line).await;
    assert_eq!(result.status, ExitStatus::Code(0));
    assert!(result.truncated);
    assert!(began.elapsed() < Duration::from_secs(25));
}

#[tokio::test]
async fn the_largest_standard_input_goes_in_whole_and_no_larger_one() {
    let Some((_root, sandbox)) = isolated_sandbox(limited(SandboxLimits::default())).await else {
        return;
    };
    let with = |bytes| Command {
        stdin: Some(vec![b'x'; bytes]),
        ..Command::new("wc -c")
    };
    let result = sandbox.exec(with(EXEC_STDIN_BYTES)).await.unwrap();
    assert_eq!(
        String::from_utf8_lossy(&result.stdout).trim(),
        EXEC_STDIN_BYTES.to_string()
    );
    let refused = sandbox.exec(with(EXEC_STDIN_BYTES + 1)).await;
    assert!(
        matches!(
            refused,
            Err(SandboxError::Limit {
                name: "exec-stdin-bytes",
                ..
            })
        ),
        "{refused:?}"
    );
}

#[tokio::test]
async fn one_sandbox_runs_so_many_commands_at_once_and_no_more() {
    let Some((root, backend)) = (!common::without_bwrap()).then(common::isolated) else {
        return;
    };
    let sandbox = backend
        .create(limited(SandboxLimits::default()))
        .await
        .unwrap();
    let mut running = Vec::new();
    for _ in 0..SANDBOX_EXECUTIONS {
        running.push(sandbox.start(Command::new("sleep 600")).await.unwrap());
    }
    let refused = sandbox.start(Command::new("true")).await.map(|_| ());
    assert!(
        matches!(
            refused,
            Err(SandboxError::Limit {
                name: "sandbox-executions",
                ..
            })
        ),
        "{refused:?}"
    );
    for execution in &mut running {
        execution.kill().await.unwrap();
        while execution.next().await.unwrap().is_some() {}
    }
    sandbox.close().await.unwrap();
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}
