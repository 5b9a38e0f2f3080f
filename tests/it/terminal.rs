//! A conversation at a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use keepsake_test_artifacts::UNRULY_AGENT;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::program::Folder;

/// The program at a terminal of its own.
struct Terminal {
    child: Child,
    keys: File,
    screen: mpsc::Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn start(folder: &Folder, arguments: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs: OwnedFd = File::options()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap()
            .into();
        let child = folder
            .command(arguments)
            .env("TERM", "xterm")
            .stdin(Stdio::from(theirs.try_clone().unwrap()))
            .stdout(Stdio::from(theirs.try_clone().unwrap()))
            .stderr(Stdio::from(theirs))
            .spawn()
            .unwrap();
        let keys = File::from(ours);
        let mut reading = keys.try_clone().unwrap();
        let (send, screen) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4_096];
            // The terminal's end is an error on Linux.
            while let Ok(count @ 1..) = reading.read(&mut buffer) {
                if send.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            keys,
            screen,
            seen: String::new(),
        }
    }

    /// Waits until this is on the screen, and forgets what came before it.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        loop {
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return;
            }
            match self.screen.recv_timeout(Duration::from_secs(120)) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("{text:?} never came: {:?}", self.seen),
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn ends(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

#[test]
fn a_conversation_has_line_editing_history_and_an_end() {
    let folder = Folder::new();
    let mut terminal = Terminal::start(&folder, &["run", UNRULY_AGENT, "--resource", "jordan"]);
    terminal.shows("session ");
    terminal.shows("> ");
    // A typing error, taken back.
    terminal.press("emit hellp\u{7f}o there\r");
    terminal.shows("hello there");
    terminal.shows("> ");
    // The line before, once more.
    terminal.press("\u{1b}[A\r");
    terminal.shows("hello there");
    terminal.shows("hello there");
    terminal.shows("> ");
    terminal.press("\u{4}");
    assert_eq!(terminal.ends(), Some(0));
    let turns = folder.entries("turn-started");
    assert_eq!(turns.len(), 2);
    assert!(
        turns
            .iter()
            .all(|turn| turn["payload"]["message"] == "emit hello there")
    );

    // The history outlives the program.
    let mut terminal = Terminal::start(&folder, &["run", UNRULY_AGENT, "--resource", "jordan"]);
    terminal.shows("> ");
    terminal.press("\u{1b}[A\r");
    terminal.shows("hello there");
    terminal.shows("hello there");
    terminal.shows("> ");
    terminal.press("\u{4}");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn ctrl_c_ends_a_turn_and_the_conversation_goes_on() {
    let folder = Folder::new();
    let mut terminal = Terminal::start(
        &folder,
        &["run", UNRULY_AGENT, "--resource", "jordan", "--steps"],
    );
    terminal.shows("> ");
    terminal.press("exec sleep 1000\r");
    while folder
        .host(&["ledger", "show", "--json"])
        .stdout
        .matches("exec-started")
        .count()
        < 1
    {
        thread::sleep(Duration::from_millis(50));
    }
    let id = terminal.child.id().to_string();
    std::process::Command::new("kill")
        .args(["-INT", &id])
        .status()
        .unwrap();
    terminal.shows("interrupted");
    terminal.shows("> ");
    terminal.press("emit still here\r");
    terminal.shows("still here");
    terminal.shows("> ");
    terminal.press("\u{4}");
    // A message that got no reply is told at the end.
    assert_eq!(terminal.ends(), Some(4));
}

#[test]
fn erasing_a_customer_asks_for_the_name() {
    let folder = Folder::new();
    let set = ["memory", "set", "--resource", "jordan", "colour", "green"];
    folder.host(&set).succeeded();
    let erase = ["memory", "erase", "--resource", "jordan"];
    let mut terminal = Terminal::start(&folder, &erase);
    terminal.shows("1 keys of working memory");
    terminal.shows("Type the name to go on: ");
    terminal.press("yes\r");
    terminal.shows("nothing was erased");
    assert_eq!(terminal.ends(), Some(1));
    let working = |folder: &Folder| {
        let list = ["memory", "list", "--resource", "jordan", "--json"];
        folder.host(&list).succeeded().json()["working"].clone()
    };
    assert_eq!(working(&folder)["colour"], "green");

    let mut terminal = Terminal::start(&folder, &erase);
    terminal.shows("Type the name to go on: ");
    terminal.press("jordan\r");
    terminal.shows("erased all of jordan");
    assert_eq!(terminal.ends(), Some(0));
    assert_eq!(working(&folder), serde_json::json!({}));
}

#[test]
fn an_import_shows_how_far_it_is() {
    let folder = Folder::new();
    let facts: String = (0..20_000)
        .map(|number| {
            format!("{{\"content\": \"Jordan bought item {number} of the catalogue\"}}\n")
        })
        .collect();
    folder.write("facts.jsonl", facts);
    let import = [
        "memory",
        "import",
        "--resource",
        "jordan",
        "--file",
        "facts.jsonl",
    ];
    let mut terminal = Terminal::start(&folder, &import);
    terminal.shows("importing facts");
    terminal.shows("/20,000");
    terminal.shows("imported 20000 facts");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn what_was_not_granted_is_asked_for_once_at_a_terminal() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let wasm = std::fs::read(keepsake_test_artifacts::ASKING_AGENT).unwrap();
    let wishing = |server: &str| {
        let manifest = format!(
            "name = \"asking\"\nkind = \"agent\"\nlanguage = \"rust\"\n[wishes]\nhttp = [\"{server}\"]\n"
        );
        folder.write("asking.wasm", keepsake_rights::embed(&wasm, &manifest));
    };
    let run = ["run", "asking.wasm", "--resource", "jordan"];
    let remembered = folder.path().join(".keepsake/grants.toml");
    wishing("http://127.0.0.1:9");
    let mut terminal = Terminal::start(&folder, &run);
    terminal.shows("send requests to http://127.0.0.1:9");
    terminal.shows("n = no: ");
    terminal.press("n\r");
    terminal.shows("was not granted");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(7));
    assert!(!folder.database().exists());

    let mut terminal = Terminal::start(&folder, &run);
    terminal.shows("n = no: ");
    terminal.press("y\r");
    terminal.shows("> ");
    terminal.press("\u{4}");
    terminal.child.wait().unwrap();
    assert!(!remembered.exists());

    let mut terminal = Terminal::start(&folder, &run);
    terminal.shows("n = no: ");
    terminal.press("a\r");
    terminal.shows("> ");
    terminal.press("\u{4}");
    terminal.child.wait().unwrap();
    let mode = std::fs::metadata(&remembered).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // Remembered for this build, at a terminal or not, and for no other one.
    folder
        .say("asking.wasm", "hello", &["--resource", "jordan"])
        .succeeded();
    wishing("https://more.example");
    let mut terminal = Terminal::start(&folder, &run);
    terminal.shows("send requests to https://more.example");
    terminal.shows("n = no: ");
    terminal.press("n\r");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(7));
    // Nobody can have written it but its owner.
    std::fs::set_permissions(&remembered, std::fs::Permissions::from_mode(0o644)).unwrap();
    folder
        .say("asking.wasm", "hello", &["--resource", "jordan"])
        .failed(2, &["chmod 600"]);
}
