//! What a command in an isolated sandbox has no right to do. Each test shows,
//! too, that the same is possible without the isolation.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command as Program, Stdio};

use common::host::{processes_with, wait_until};
use common::{output, plain_isolated_sandbox, run, unisolated_sandbox};
use keepsake_sandbox::{Command, ExitStatus};
use tempfile::TempDir;

/// One field of `/proc/…/status`.
fn field<'s>(status: &'s str, name: &str) -> &'s str {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .unwrap_or_else(|| panic!("{name} in {status}"))
        .trim()
}

#[tokio::test]
async fn a_command_has_no_account_and_no_capability_of_the_host() {
    let Some((_root, sandbox)) = plain_isolated_sandbox().await else {
        return;
    };
    assert_eq!(output(&sandbox, "id -u; id -g").await, "1000\n1000\n");
    let status = output(&sandbox, "cat /proc/self/status").await;
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(&status, set).trim_start_matches('0'), "", "{status}");
    }
    assert_eq!(field(&status, "NoNewPrivs"), "1");
    assert_eq!(field(&status, "Seccomp"), "2");

    let (_root, unisolated) = unisolated_sandbox().await;
    let status = output(&unisolated, "cat /proc/self/status").await;
    assert_ne!(field(&status, "CapBnd").trim_start_matches('0'), "");
    assert_eq!(field(&status, "NoNewPrivs"), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_not_root_outside_of_its_sandbox_either() {
    let Some((_root, sandbox)) = plain_isolated_sandbox().await else {
        return;
    };
    let mark = format!("mark-{}", sandbox.id());
    let line = format!("sh -c 'sleep 600; exit' {mark}");
    let mut execution = sandbox.start(Command::new(line)).await.unwrap();
    wait_until("the command runs", || !processes_with(&mark).is_empty());
    let mut seen = 0;
    for process in processes_with(&mark) {
        // One may end, or not have changed its account yet.
        let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else {
            continue;
        };
        seen += 1;
        let users: Vec<_> = field(&status, "Uid").split_whitespace().collect();
        assert!(!users.contains(&"0"), "{status}");
    }
    assert!(seen > 0);
    execution.kill().await.unwrap();
    while execution.next().await.unwrap().is_some() {}
}

#[tokio::test]
async fn two_sandboxes_of_a_root_host_have_two_accounts() {
    if !rustix::process::geteuid().is_root() {
        // Another host has its own account to give, and no other.
        return;
    }
    let Some((root, _one)) = plain_isolated_sandbox().await else {
        return;
    };
    let (other_root, _other) = plain_isolated_sandbox().await.unwrap();
    let owner = |root: &TempDir| {
        use std::os::unix::fs::MetadataExt;
        let entries = std::fs::read_dir(root.path()).unwrap().flatten();
        entries
            .filter_map(|entry| std::fs::metadata(entry.path().join("work")).ok())
            .map(|work| work.uid())
            .next()
            .unwrap()
    };
    assert_ne!(owner(&root), 0);
    assert_ne!(owner(&root), owner(&other_root));
}

#[tokio::test]
async fn a_set_user_id_program_gives_nothing() {
    if !rustix::process::geteuid().is_root() {
        // Only root can make one that belongs to root.
        return;
    }
    let make = |directory: &std::path::Path| {
        let path = directory.join("id-as-root");
        std::fs::copy("/usr/bin/id", &path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o4755)).unwrap();
        path
    };
    let directory = TempDir::new().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let outside = Program::new(make(directory.path()))
        .arg("-u")
        .uid(65_534)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&outside.stdout), "0\n");

    let Some((root, sandbox)) = plain_isolated_sandbox().await else {
        return;
    };
    make(&root.path().join(sandbox.id()).join("work"));
    let said = output(&sandbox, "stat -c %a id-as-root; ./id-as-root -u").await;
    assert_eq!(said, "4755\n1000\n");
}

#[tokio::test]
async fn a_command_makes_no_namespace_and_mounts_nothing() {
    let lines = [
        "unshare --user true",
        "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /tmp'",
    ];
    let (_root, unisolated) = unisolated_sandbox().await;
    for line in lines {
        let result = run(&unisolated, line).await;
        assert!(result.status.success(), "{line}: {result:?}");
    }
    let Some((_root, sandbox)) = plain_isolated_sandbox().await else {
        return;
    };
    for line in lines.into_iter().chain([
        "unshare --mount true",
        "unshare --net true",
        "unshare --pid true",
        "mount -t tmpfs none /tmp",
        "mount -o remount,rw /usr",
        "umount /etc",
        "nsenter --target 1 --user true",
        "chroot / true",
        "mknod disk b 8 0",
        "hostname other",
    ]) {
        let result = run(&sandbox, line).await;
        assert!(
            matches!(result.status, ExitStatus::Code(1..)),
            "{line}: {result:?}"
        );
        assert_ne!(result.status, ExitStatus::Code(127), "{line}: {result:?}");
    }
}

#[tokio::test]
async fn only_the_work_directory_and_temporary_ones_are_written_to() {
    let Some((_root, sandbox)) = plain_isolated_sandbox().await else {
        return;
    };
    for place in ["/work", "/tmp", "/dev/shm"] {
        let line = format!("echo x > {place}/new && cat {place}/new");
        assert_eq!(output(&sandbox, &line).await, "x\n", "{place}");
    }
    for place in [
        "/",
        "/usr",
        "/usr/bin",
        "/usr/local",
        "/etc",
        "/run",
        "/run/sandbox",
        "/dev",
        "/proc",
        "/proc/sys/kernel",
    ] {
        let result = run(&sandbox, &format!("echo x > {place}/new")).await;
        assert!(!result.status.success(), "{place}: {result:?}");
    }
    for file in [
        "/etc/passwd",
        "/usr/bin/env",
        "/proc/sys/kernel/hostname",
        "/proc/sysrq-trigger",
    ] {
        let line = format!("[ -e {file} ] && {{ chmod 777 {file} || echo x >> {file}; }}");
        let result = run(&sandbox, &line).await;
        assert!(!result.status.success(), "{file}: {result:?}");
    }
    let devices = output(
        &sandbox,
        "find /dev -type b; find /dev -type c | sort | xargs",
    )
    .await;
    for device in devices.split_whitespace() {
        let known = [
            "full", "null", "ptmx", "pts/ptmx", "random", "tty", "urandom", "zero", "console",
        ];
        assert!(
            known.contains(&device.trim_start_matches("/dev/")),
            "{device} in {devices}"
        );
    }
}

#[tokio::test]
async fn processes_of_the_host_are_neither_seen_nor_ended() {
    let mut bystander = Program::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let seen = format!(
        "kill -0 {0} && echo there; tr '\\0' ' ' < /proc/{0}/cmdline",
        bystander.id()
    );
    let (_root, unisolated) = unisolated_sandbox().await;
    assert_eq!(output(&unisolated, &seen).await, "there\nsleep 600 ");

    if let Some((_root, sandbox)) = plain_isolated_sandbox().await {
        let all = output(&sandbox, "ls /proc | grep -c '^[0-9]'").await;
        let count: u32 = all.trim().parse().unwrap();
        assert!(count < 10, "{count} processes are seen");
        // All that it may end is its own.
        let result = run(&sandbox, "kill -KILL -1; sleep 600").await;
        assert_eq!(result.status, ExitStatus::Signal("SIGKILL".into()));
        // The number may by chance be that of one of its own.
        if bystander.id() > 1000 {
            assert_eq!(output(&sandbox, &seen).await, "");
            run(&sandbox, &format!("kill -KILL {}", bystander.id())).await;
        }
        assert!(bystander.try_wait().unwrap().is_none());
    }
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[tokio::test]
async fn calls_that_escape_the_bounds_are_refused() {
    // By number: perl, which every Debian has, calls whatever it is told.
    let call = |number: libc::c_long, arguments: &str| {
        format!("perl -e '$name = \"name\"; exit(syscall({number}, {arguments}) < 0 ? $! : 0)'")
    };
    let lines = [
        call(libc::SYS_memfd_create, "$name, 0"),
        call(libc::SYS_shmget, "0, 4096, 01600"),
        call(libc::SYS_msgget, "0, 01600"),
        call(libc::SYS_keyctl, "0, -3, 0"),
    ];
    let (_root, unisolated) = unisolated_sandbox().await;
    let result = run(&unisolated, &lines[0]).await;
    assert!(result.status.success(), "{result:?}");
    let Some((_root, sandbox)) = plain_isolated_sandbox().await else {
        return;
    };
    for line in lines {
        let result = run(&sandbox, &line).await;
        assert_eq!(result.status, ExitStatus::Code(libc::EPERM), "{line}");
    }
}
