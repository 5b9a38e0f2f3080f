//! Commands that agents run: what they do wrong is told, recorded and bounded.

use serde_json::json;

use crate::program::Folder;

#[test]
fn a_command_that_fails_is_told_and_not_an_error() {
    let folder = Folder::new();
    let ran = folder
        .unruly("exec echo out; echo err >&2; exit 7")
        .succeeded();
    assert!(ran.stdout.contains("Code(7)"), "{ran:?}");
    assert!(
        ran.stdout.contains("4:out") && ran.stdout.contains("4:err"),
        "{ran:?}"
    );
    assert_eq!(
        folder.entries("exec-completed")[0]["payload"]["status"],
        json!({ "code": 7 })
    );
}

#[test]
fn a_command_that_does_not_exist_is_told() {
    let ran = Folder::new()
        .unruly("exec no-such-command-anywhere")
        .succeeded();
    assert!(
        ran.stdout.contains("Code(127)") && ran.stdout.contains("not found"),
        "{ran:?}"
    );
}

#[test]
fn a_command_that_hangs_is_killed_in_time() {
    let folder = Folder::configured("[sandbox]\ncommand-seconds = 1\n");
    let ran = folder.unruly("exec sleep 1000").succeeded();
    assert!(ran.stdout.contains("TimedOut"), "{ran:?}");
    assert_eq!(
        folder.entries("exec-completed")[0]["payload"]["status"],
        "timed-out"
    );
}

#[test]
fn a_command_that_is_killed_is_told_with_its_signal() {
    let ran = Folder::new().unruly("exec kill -9 $$").succeeded();
    assert!(
        ran.stdout.contains("Signal") && ran.stdout.contains("KILL"),
        "{ran:?}"
    );
}

#[test]
fn a_command_that_prints_100_megabytes_is_cut() {
    let folder = Folder::new();
    let ran = folder
        .unruly("exec head -c 104857600 /dev/zero | tr '\\0' x")
        .succeeded();
    assert!(ran.stdout.contains("Code(0)"), "{ran:?}");
    assert!(
        ran.stdout.contains("stdout 1048576:") && ran.stdout.contains("truncated true"),
        "{}",
        ran.stdout
    );
    let size = std::fs::metadata(folder.database()).unwrap().len();
    assert!(size < 20 << 20, "the ledger holds {size} bytes of it");
}

#[test]
fn output_that_is_no_text_arrives_and_is_recorded() {
    let folder = Folder::new();
    let ran = folder.unruly("exec printf '\\377\\376ok'").succeeded();
    assert!(
        ran.stdout.contains("stdout 4:") && ran.stdout.contains("ok"),
        "{ran:?}"
    );
    folder.host(&["ledger", "verify"]).succeeded();
    assert_eq!(folder.entries("exec-completed").len(), 1);
}

#[test]
fn each_session_gets_a_sandbox_of_its_own_that_starts_empty() {
    let folder = Folder::new();
    let first = folder.unruly("exec echo mine > note; cat note").succeeded();
    assert!(first.stdout.contains("mine"));
    let second = folder.unruly("exec cat note").succeeded();
    assert!(second.stdout.contains("Code(1)"), "{second:?}");
    let opened = folder.entries("sandbox-opened");
    assert_eq!(opened.len(), 2);
    assert_ne!(
        opened[0]["payload"]["sandbox"],
        opened[1]["payload"]["sandbox"]
    );
}

#[test]
fn a_sandbox_sees_neither_the_network_nor_the_machines_files() {
    let folder = Folder::new();
    folder.write("secret", "nobody may read this");
    let path = folder.path().join("secret");
    let ran = folder
        .unruly(&format!(
            "exec cat {}; cat /etc/shadow; ls /sys/class/net /root; env",
            path.display()
        ))
        .succeeded();
    assert!(!ran.stdout.contains("nobody may read this"), "{ran:?}");
    assert!(
        !ran.stdout.contains("root:") && !ran.stdout.contains("HOST_CACHE"),
        "{ran:?}"
    );
    let ran = folder
        .unruly("exec cat /proc/net/dev | grep -c :")
        .succeeded();
    assert!(
        ran.stdout.contains("stdout 2:1"),
        "more than a loopback: {ran:?}"
    );
}

#[test]
fn a_session_that_was_granted_no_sandbox_is_denied_one() {
    let folder = Folder::configured("[sandbox]\nbackend = \"none\"\n");
    let ran = folder.host(&[
        "run",
        keepsake_test_artifacts::UNRULY_AGENT,
        "--resource",
        "jordan",
        "--json",
        "-m",
        "exec true",
    ]);
    assert_eq!(ran.json()["error"]["code"], "denied", "{ran:?}");
    assert_eq!(folder.entries("denied").len(), 1);
}

#[test]
fn without_bubblewrap_it_refuses_and_says_what_to_install() {
    let folder = Folder::new();
    let empty = folder.path().join("no-programs");
    std::fs::create_dir(&empty).unwrap();
    let run = |more: &[&str]| {
        let mut arguments = vec![
            "run",
            keepsake_test_artifacts::UNRULY_AGENT,
            "--resource",
            "jordan",
            "-m",
            "exec echo ran",
        ];
        arguments.extend(more);
        let mut command = folder.command(&arguments);
        crate::program::finish(command.env("PATH", &empty).spawn().unwrap())
    };
    run(&[]).failed(4, &["bubblewrap", "install"]);
    let allowed = run(&["--allow-unisolated-sandbox"]);
    // Without a search path there is no `echo` program, but the shell has its own.
    assert!(allowed.stdout.contains("ran"), "{allowed:?}");
    assert!(allowed.stderr.contains("without isolation"), "{allowed:?}");
    assert_eq!(
        folder.entries("sandbox-opened").last().unwrap()["payload"]["isolated"],
        false
    );
}
