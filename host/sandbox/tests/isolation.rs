//! What a command in an isolated sandbox cannot reach. Each test shows first,
//! or beside, that the same is possible without the isolation.

mod common;

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use common::host::Host;
use common::{Root, isolated_sandbox, output, plain_isolated_sandbox, run, unisolated_sandbox};
use keepsake_sandbox::{Network, SandboxBackend, SandboxRequest};
use tempfile::TempDir;

const SECRET: &str = "a-secret-of-the-host-4711";

#[test]
#[ignore = "not a test but a host for tests to start"]
fn a_host_of_its_own() {
    common::host::main();
}

/// A file that every account of the machine can read.
fn readable_secret() -> (TempDir, String) {
    let directory = TempDir::new().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let path = directory.path().join("secret");
    std::fs::write(&path, SECRET).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (directory, path)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_of_the_host_is_reached_with_a_network_only() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let name = format!("keepsake-test-{port}");
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _unix = UnixListener::bind_addr(&address).unwrap();
    let line = format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' 2>&1 && echo tcp reached; \
         perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die; \
           connect(S, pack_sockaddr_un(\"\\0{name}\")) or die $!' 2>&1 && echo unix reached; \
         cut -d: -f1 -s /proc/net/dev | xargs"
    );
    for (network, reached) in [(Network::Full, true), (Network::None, false)] {
        let request = SandboxRequest {
            network,
            ..SandboxRequest::default()
        };
        let Some((_root, sandbox)) = isolated_sandbox(request).await else {
            return;
        };
        let said = output(&sandbox, &line).await;
        assert_eq!(said.contains("tcp reached"), reached, "{network:?}: {said}");
        assert_eq!(
            said.contains("unix reached"),
            reached,
            "{network:?}: {said}"
        );
        if !reached {
            assert_eq!(said.lines().last(), Some("lo"), "{said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_the_host_are_not_seen() {
    let (_directory, path) = readable_secret();
    let line = format!("cat {path} /proc/self/root{path} /work/../{path}");
    let (_root, unisolated) = unisolated_sandbox().await;
    assert!(output(&unisolated, &line).await.contains(SECRET));

    let Some((root, sandbox)) = plain_isolated_sandbox().await else {
        return;
    };
    let said = output(&sandbox, &line).await;
    assert!(!said.contains(SECRET), "{said}");
    let places = format!(
        "/etc/shadow /root /home /var /boot /sys /mnt /srv /opt /usr/../var {} {}",
        root.path().display(),
        std::env::current_dir().unwrap().display(),
    );
    let seen = output(
        &sandbox,
        &format!("for p in {places}; do [ -e $p ] && echo $p; done"),
    )
    .await;
    assert_eq!(seen, "");
    let top = output(&sandbox, "ls -A /").await;
    let known = [
        "bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "tmp",
        "usr", "work",
    ];
    for name in top.lines() {
        assert!(known.contains(&name), "{name} in {top}");
    }
    assert_eq!(
        output(&sandbox, "ls -A /run /run/sandbox").await,
        "/run:\nsandbox\n\n/run/sandbox:\nstderr\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_another_sandbox_are_not_seen() {
    // The names of the sandboxes' directories are no secret: both are told.
    let find = |root: &Root| {
        format!(
            "find / -name marker-of-one 2>/dev/null; ls -d {}/local-*/work",
            root.path().display()
        )
    };
    let (root, backend) = common::unisolated();
    let one = backend.create(SandboxRequest::default()).await.unwrap();
    let other = backend.create(SandboxRequest::default()).await.unwrap();
    one.write_file("marker-of-one", b"").await.unwrap();
    let line = find(&root).replace("find / ", &format!("find {} ", root.path().display()));
    let said = output(&other, &line).await;
    assert!(said.contains("marker-of-one"), "{said}");

    let Some((_, _)) = plain_isolated_sandbox().await else {
        return;
    };
    let (root, backend) = common::isolated();
    let one = backend.create(SandboxRequest::default()).await.unwrap();
    let other = backend.create(SandboxRequest::default()).await.unwrap();
    one.write_file("marker-of-one", b"").await.unwrap();
    run(&one, "touch /tmp/marker-of-one /dev/shm/marker-of-one").await;
    assert!(
        output(&one, &find(&root))
            .await
            .contains("/work/marker-of-one")
    );
    assert_eq!(output(&other, &find(&root)).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn temporary_files_are_gone_with_their_command() {
    let Some((_root, sandbox)) = plain_isolated_sandbox().await else {
        return;
    };
    let line = "ls -A /tmp /dev/shm; touch /tmp/file /dev/shm/file && echo written";
    for _ in 0..2 {
        assert_eq!(
            output(&sandbox, line).await,
            "/dev/shm:\n\n/tmp:\nwritten\n"
        );
    }
}

#[test]
fn variables_of_the_host_are_not_seen() {
    let root = TempDir::new().unwrap();
    let run = |isolated, line| {
        let variables = [("A_VARIABLE_OF_THE_HOST", SECRET)];
        Host::start_with(root.path(), isolated, line, &variables).rest()
    };
    let from_anywhere = "cat /proc/[0-9]*/environ | tr '\\0' '\\n'; echo read";
    let said = run(false, from_anywhere);
    assert!(said.contains(SECRET), "{said}");
    let said = run(false, "env; echo read");
    assert!(said.contains("read") && !said.contains(SECRET), "{said}");
    if common::without_bwrap() {
        return;
    }
    let said = run(true, &format!("env; {from_anywhere}"));
    assert!(said.contains("read") && !said.contains(SECRET), "{said}");
    for line in said.lines().filter(|line| line.contains('=')) {
        let (name, _) = line.split_once('=').unwrap();
        let known = ["PATH", "HOME", "LANG", "PWD", "OLDPWD", "SHLVL", "_"];
        assert!(known.contains(&name), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_files_of_the_host_are_not_inherited() {
    let (_directory, path) = readable_secret();
    let file = std::fs::File::open(&path).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let line = "ls -l /proc/self/fd";
    let inherited = std::process::Command::new("sh")
        .args(["-c", line])
        .output()
        .unwrap();
    let inherited = String::from_utf8_lossy(&inherited.stdout).into_owned();
    assert!(inherited.contains(&path), "{inherited}");

    let (_root, sandbox) = unisolated_sandbox().await;
    let said = output(&sandbox, line).await;
    assert!(said.contains("pipe:") && !said.contains(&path), "{said}");
    let Some((_root, sandbox)) = plain_isolated_sandbox().await else {
        return;
    };
    // Those of the processes beside the command, too: all belong to one account.
    let line = "for file in /proc/[0-9]*/fd/*; do readlink $file; done | sort -u";
    let said = output(&sandbox, line).await;
    assert!(said.contains("pipe:"), "{said}");
    for file in said.lines() {
        let known = [
            "pipe:",
            "/dev/null",
            "/run/sandbox/stderr",
            "anon_inode:[eventfd]",
        ];
        assert!(known.iter().any(|known| file.starts_with(known)), "{said}");
    }
}
