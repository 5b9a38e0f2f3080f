//! Plugins that attack their host, run by the real program. In each case the
//! program neither ends nor hangs, the one who runs it is told what happened, and
//! a session beside it as well as the next turn are undisturbed. What is tried and
//! what holds is listed in `docs/hostile-plugins.md`.

mod agents;
mod components;
mod floods;
mod limits;
mod listed;
mod providers;
mod raw;
mod terminals;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use keepsake_test_artifacts::{HOSTILE_AGENT, UNRULY_AGENT};
use serde_json::Value;

use crate::program::{Folder, Ran};

/// How a turn went that attacked the host, and all that the program said.
struct Attacked {
    /// The turn as the program tells it.
    turn: Value,
    ran: Ran,
}

impl Attacked {
    /// The turn gave this reply.
    #[track_caller]
    fn replied(&self) -> &str {
        self.turn["reply"]
            .as_str()
            .unwrap_or_else(|| panic!("there is no reply: {:#?} {:#?}", self.turn, self.ran))
    }

    /// The turn ended with this error, whose message says each of these.
    #[track_caller]
    fn ended(&self, code: &str, said: &[&str]) {
        assert_eq!(self.turn["error"]["code"], code, "{:#?}", self.ran);
        let message = self.turn["error"]["message"].as_str().unwrap();
        for said in said {
            assert!(message.contains(said), "{said:?} is not told: {message}");
        }
    }

    /// The operator was told this beside the conversation.
    #[track_caller]
    fn operator_was_told(&self, said: &str) {
        assert!(
            self.ran.stderr.contains(said),
            "{said:?} is not told: {}",
            &self.ran.stderr[..self.ran.stderr.len().min(4_000)]
        );
    }
}

/// A session of another customer in the same folder, which has to be undisturbed.
struct Bystander {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Bystander {
    fn start(folder: &Folder) -> Self {
        let mut command = folder.command(&[
            "run",
            UNRULY_AGENT,
            "--resource",
            "robin",
            "--sandbox",
            "none",
            "--model",
            "model-offline",
            "--embeddings",
            "embed-static",
            "--json",
        ]);
        let mut child = command
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut bystander = Self {
            child,
            stdin,
            lines,
        };
        let said = bystander.say("remember robin likes tea");
        assert!(
            said.contains("Stored") || said.contains("Repeated"),
            "{said}"
        );
        bystander
    }

    fn say(&mut self, message: &str) -> String {
        writeln!(self.stdin, "{message}").unwrap();
        // No turn takes so long unless it hangs.
        let line = self.lines.recv_timeout(Duration::from_secs(180));
        let turn: Value = serde_json::from_str(&line.expect("the bystander hangs")).unwrap();
        turn["reply"]
            .as_str()
            .unwrap_or_else(|| panic!("the bystander was disturbed: {turn}"))
            .to_owned()
    }

    fn end(mut self) {
        let recalled = self.say("recall tea");
        assert_eq!(recalled, "found [\"robin likes tea\"]");
        drop(self.stdin);
        assert!(self.child.wait().unwrap().success());
    }
}

/// Has the hostile agent do this between two ordinary turns, beside another
/// session.
#[track_caller]
fn attacked(folder: &Folder, misdeed: &str) -> Attacked {
    attacked_with(folder, misdeed, &[])
}

#[track_caller]
fn attacked_with(folder: &Folder, misdeed: &str, more: &[&str]) -> Attacked {
    let bystander = Bystander::start(folder);
    let input = format!("remember a fact from before\n{misdeed}\nrecall fact before\n");
    let mut arguments = vec!["run", HOSTILE_AGENT, "--resource", "mallory", "--json"];
    arguments.extend(more);
    let ran = folder.host_with_input(&arguments, input.as_bytes());
    bystander.end();
    let turns: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(turns.len(), 3, "{ran:#?}");
    let next = turns[2]["reply"].as_str().unwrap_or_default();
    assert!(
        next.contains("\"a fact from before\""),
        "the next turn was disturbed: {ran:#?}"
    );
    sound(folder);
    Attacked {
        turn: turns[1].clone(),
        ran,
    }
}

/// The record is intact and every sandbox was closed.
#[track_caller]
fn sound(folder: &Folder) {
    let verified = folder.host(&["ledger", "verify", "--json"]).succeeded();
    assert_eq!(verified.json()["intact"], true);
    let count = |kind: &str| folder.entries(kind).len();
    assert_eq!(
        count("sandbox-opened") + count("sandbox-forked"),
        count("sandbox-closed"),
        "a sandbox was left open"
    );
}
