//! A database that cannot be used: a clear error, the next step, nothing lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rusqlite::Connection;

use crate::program::{Folder, Ran, executable, finish};

fn with_memory() -> Folder {
    let folder = Folder::new();
    set(&folder, "colour", "green").succeeded();
    folder
}

fn set(folder: &Folder, key: &str, value: &str) -> Ran {
    folder.host(&["memory", "set", "--resource", "jordan", key, value])
}

#[track_caller]
fn still_there(folder: &Folder) {
    let list = folder
        .host(&["memory", "list", "--resource", "jordan", "--json"])
        .succeeded()
        .json();
    assert_eq!(list["working"]["colour"], "green");
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn a_locked_database_is_told_after_a_while() {
    let folder = with_memory();
    let other = Connection::open(folder.database()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    set(&folder, "colour", "red").failed(5, &["locked", "another"]);
    drop(other);
    still_there(&folder);
}

#[test]
fn a_read_only_database_is_told() {
    let folder = with_memory();
    let read_only = fs::Permissions::from_mode(0o444);
    let data = folder.path().join(".keepsake");
    for entry in fs::read_dir(&data).unwrap().flatten() {
        fs::set_permissions(entry.path(), read_only.clone()).unwrap();
    }
    fs::set_permissions(&data, fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let ran = as_somebody(
        &folder,
        &["memory", "set", "--resource", "jordan", "colour", "red"],
    );
    ran.failed(5, &["cannot be written", "keepsake.db", "right to write"]);
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(&data).unwrap().flatten() {
        fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o644)).unwrap();
    }
    still_there(&folder);
}

/// Runs the program under an account without rights: permissions do not bind
/// the superuser, whom tests often run as.
fn as_somebody(folder: &Folder, arguments: &[&str]) -> Ran {
    use std::os::unix::process::CommandExt;
    let program = folder.path().join("host");
    fs::copy(executable(), &program).unwrap();
    let mut other = std::process::Command::new(&program);
    other
        .args(arguments)
        .current_dir(folder.path())
        .env("HOST_CACHE", "")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if fs::metadata("/proc/self").unwrap().uid_is_root() {
        other.uid(65_534).gid(65_534);
    }
    finish(other.spawn().unwrap())
}

trait Owner {
    fn uid_is_root(&self) -> bool;
}

impl Owner for fs::Metadata {
    fn uid_is_root(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        self.uid() == 0
    }
}

#[test]
fn a_full_disk_is_told_and_nothing_that_was_acknowledged_is_lost() {
    // A file system of 2 MiB, filled by writing until it is full. The number
    // of acknowledged writes is what must be there afterwards.
    let script = r#"
        cd "$0"
        set=0
        text=$(head -c 30000 /dev/zero | tr '\0' x)
        while [ $set -lt 500 ]; do
          if "$1" memory set --resource jordan "key-$set" "$text" 2>../err; then
            set=$((set + 1))
          else
            echo "code $?"
            break
          fi
        done
        echo "acknowledged $set"
        cat ../err
        "$1" memory list --resource jordan --json | grep -o '"key-[0-9]*":' | sort -u | wc -l
        "$1" ledger verify >/dev/null && echo intact
    "#;
    let folder = Folder::new();
    let place = folder.path().join("small");
    fs::create_dir(&place).unwrap();
    let ran = std::process::Command::new("bwrap")
        .args(["--dev-bind", "/", "/", "--size", "2097152", "--tmpfs"])
        .arg(&place)
        .args(["sh", "-c", script])
        .arg(&place)
        .arg(executable())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ran = finish(ran);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "code 5", "{ran:#?}");
    let acknowledged = lines[1].strip_prefix("acknowledged ").unwrap();
    assert!(acknowledged.parse::<u32>().unwrap() > 5, "{ran:#?}");
    assert!(
        lines[2].contains("full") && ran.stdout.contains("free"),
        "{ran:#?}"
    );
    assert!(lines.contains(&acknowledged), "{ran:#?}");
    assert_eq!(lines.last(), Some(&"intact"), "{ran:#?}");
}

#[test]
fn a_corrupt_database_is_told_and_left_alone() {
    let folder = with_memory();
    // All of it in the one file that is then damaged.
    let other = Connection::open(folder.database()).unwrap();
    other
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    drop(other);
    let whole = fs::read(folder.database()).unwrap();
    // The schema's page is unreadable: nothing can be opened.
    let mut broken = whole.clone();
    broken[100..2_000].fill(0xa5);
    fs::write(folder.database(), &broken).unwrap();
    set(&folder, "colour", "red").failed(5, &["damaged", "backup"]);
    assert_eq!(
        fs::read(folder.database()).unwrap(),
        broken,
        "the evidence was changed"
    );
    let doctor = folder.host(&["doctor"]);
    assert_eq!(doctor.code, Some(1));
    assert!(doctor.stdout.contains("FAIL  memory"), "{doctor:?}");
}

#[test]
fn a_file_that_is_no_database_is_told_and_left_alone() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join(".keepsake")).unwrap();
    folder.write(
        ".keepsake/keepsake.db",
        "a shopping list, which nobody wants to lose\n".repeat(50),
    );
    set(&folder, "colour", "red").failed(5, &["not a database", "keepsake.db"]);
    assert!(
        fs::read_to_string(folder.database())
            .unwrap()
            .starts_with("a shopping list")
    );
}

#[test]
fn a_database_of_another_program_is_told_and_left_alone() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join(".keepsake")).unwrap();
    let other = Connection::open(folder.database()).unwrap();
    other
        .execute_batch("CREATE TABLE shopping (item TEXT); INSERT INTO shopping VALUES ('tea')")
        .unwrap();
    drop(other);
    set(&folder, "colour", "red").failed(5, &["keepsake.db"]);
    let other = Connection::open(folder.database()).unwrap();
    let tables: u32 = other
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
}

#[test]
fn a_newer_schema_is_told_and_left_alone() {
    let folder = with_memory();
    let other = Connection::open(folder.database()).unwrap();
    let version: u32 = other
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    other
        .pragma_update(None, "user_version", version + 40)
        .unwrap();
    drop(other);
    set(&folder, "colour", "red").failed(5, &["newer", "use that version"]);
    let other = Connection::open(folder.database()).unwrap();
    other.pragma_update(None, "user_version", version).unwrap();
    drop(other);
    still_there(&folder);
}

#[test]
fn a_data_folder_that_is_a_file_is_told() {
    let folder = Folder::new();
    folder.write(".keepsake", "a file");
    set(&folder, "colour", "red").failed(5, &[".keepsake"]);
}

#[test]
fn a_host_that_is_killed_loses_nothing_that_it_acknowledged() {
    use std::io::{BufRead, BufReader, Write};
    let folder = Folder::new();
    let mut child = folder
        .command(&[
            "run",
            keepsake_test_artifacts::UNRULY_AGENT,
            "--resource",
            "jordan",
            "--json",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for number in 0..5 {
        writeln!(stdin, "remember fact number {number}").unwrap();
        line.clear();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("Stored"), "{line}");
    }
    writeln!(stdin, "fill 5000").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(folder.facts("jordan").len(), 5);
    folder.host(&["ledger", "verify"]).succeeded();
    // The next host goes on, and tells that the killed one never ended.
    folder.unruly("remember one more").succeeded();
    assert_eq!(folder.facts("jordan").len(), 6);
}

#[test]
fn doctor_tells_of_a_data_folder_that_no_run_could_use() {
    let folder = Folder::new();
    folder.write("file", "");
    for data in ["file", "file/below"] {
        let doctor = folder.host(&["doctor", "--data", data]);
        assert_eq!(doctor.code, Some(1), "{data}: {doctor:?}");
        let told = format!("{}{}", doctor.stdout, doctor.stderr);
        assert!(told.contains("--data"), "{data}: {told}");
        let ran = folder.say("support-agent", "Hello", &["--data", data]);
        assert_eq!(ran.code, Some(5), "{data}: {ran:?}");
    }
}
