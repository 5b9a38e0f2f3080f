//! Holds the stand-in to the recorded exchanges with the real daemon.
//!
//! Each recorded request is sent again, over a real connection to the real
//! program, in the order of the recording. Status, headers and body of the
//! answer must be the recorded ones, save for what differs from run to run.

#[path = "recorded/exchange.rs"]
mod exchange;
#[path = "recorded/http.rs"]
mod http;
#[path = "recorded/normal.rs"]
mod normal;
#[path = "recorded/program.rs"]
mod program;

use exchange::{Exchange, load};
use normal::Names;
use program::Program;
use std::time::Duration;

/// Exchanges that are not sent again, with the reasons.
///
/// Of the other recordings none is: `execd-code.json` needs Jupyter,
/// `execd-pty.json` a terminal over a WebSocket, and `execd-session.json` bash;
/// the stand-in serves none of the three, for the host uses none of them.
const LEFT_OUT: [(&str, &str); 1] = [(
    "execd-fg-interrupted",
    "holds no request; its stream is compared where execd-fg-interrupt is sent",
)];

/// Sends exchanges one after the other and gathers what differs.
struct Replay<'a> {
    program: &'a Program,
    names: Names,
    recorded: Vec<Exchange>,
    held: usize,
    differences: Vec<String>,
}

impl<'a> Replay<'a> {
    fn of(capture: &str, program: &'a Program) -> Self {
        Self {
            program,
            names: Names::new(program),
            recorded: load(capture)
                .into_iter()
                .filter(|exchange| LEFT_OUT.iter().all(|(name, _)| *name != exchange.name))
                .collect(),
            held: 0,
            differences: Vec::new(),
        }
    }

    /// Takes an exchange out of those that are left.
    fn take(&mut self, name: &str) -> Exchange {
        let at = self
            .recorded
            .iter()
            .position(|exchange| exchange.name == name)
            .unwrap_or_else(|| panic!("{name} is not recorded, or was sent already"));
        self.recorded.remove(at)
    }

    async fn send(&mut self, name: &str) {
        let exchange = self.take(name);
        let answer = self.program.send(&self.names.request(&exchange)).await;
        self.compare(&exchange, &answer);
    }

    async fn send_all(&mut self, names: &[&str]) {
        for name in names {
            self.send(name).await;
        }
    }

    fn compare(&mut self, exchange: &Exchange, answer: &http::Answer) {
        self.held += 1;
        if let Some(id) = normal::stream_id(answer.body()) {
            self.names.learn(exchange, id);
        }
        let differences = self.names.differences(exchange, answer);
        for difference in differences {
            self.differences
                .push(format!("{}: {difference}", exchange.name));
        }
    }

    /// Fails if an answer differed, or an exchange was not sent.
    fn close(self, expected: usize) {
        let left: Vec<_> = self.recorded.iter().map(|left| &left.name).collect();
        assert!(left.is_empty(), "recorded, but not sent: {left:?}");
        assert!(
            self.differences.is_empty(),
            "{} of {} exchanges differ:\n{}",
            self.differences.len(),
            self.held,
            self.differences.join("\n")
        );
        assert_eq!(self.held, expected, "exchanges held to");
        println!("held to {expected} recorded exchanges");
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[tokio::test]
async fn commands_are_answered_as_recorded() {
    let program = Program::start(&[]);
    let mut replay = Replay::of("execd-command.json", &program);
    replay
        .send_all(&[
            "execd-cmd-ok",
            "execd-cmd-exit3",
            "execd-cmd-blank-and-cr",
            "execd-cmd-binary",
            "execd-cmd-utf8-split",
            "execd-cmd-partial-line-slow",
            "execd-cmd-signal",
            "execd-cmd-timeout",
            "execd-cmd-notfound",
            "execd-cmd-cwd-env",
            "execd-cmd-cwd-missing",
            "execd-cmd-badjson",
            "execd-cmd-empty",
            "execd-cmd-gid-only",
            "execd-cmd-neg-timeout",
            "execd-cmd-zero-timeout",
            "execd-cmd-unknown-field",
            "execd-cmd-stdin",
            "execd-cmd-bgchild",
            "execd-cmd-cwd-tilde",
            "execd-cmd-cwd-default",
            "execd-cmd-env-persist-file",
            "execd-cmd-env-persist-read",
            "execd-interrupt-noid",
            "execd-interrupt-unknown",
            "execd-logs-unknown",
            "execd-status-unknown",
            "execd-bg-cwd-missing",
        ])
        .await;
    let mut expected = 52;
    for name in ["execd-cmd-uid", "execd-cmd-uid-gid"] {
        if is_root() {
            replay.send(name).await;
        } else {
            println!("{name} is not sent: only root may run a command as another user");
            replay.take(name);
            expected -= 1;
        }
    }
    in_the_background(&mut replay).await;
    interrupted(&mut replay).await;
    left_by_its_caller(&mut replay).await;
    replay.close(expected);
}

async fn in_the_background(replay: &mut Replay<'_>) {
    // The answer to a start takes a second, in which the command writes three
    // lines; the wait is for two more and its end.
    replay.send("execd-bg-start").await;
    replay
        .send_all(&["execd-bg-logs-1", "execd-bg-status-running"])
        .await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    replay
        .send_all(&[
            "execd-bg-logs-2-cursor",
            "execd-bg-interrupt-finished",
            "execd-bg-logs-badcursor",
            "execd-bg-logs-full",
            "execd-bg-logs-past-end",
            "execd-bg-status-done",
            "execd-bg2-start",
            "execd-bg2-interrupt",
            "execd-bg2-status",
            "execd-bg3-timeout-start",
            "execd-bg3-timeout-status",
        ])
        .await;
}

async fn interrupted(replay: &mut Replay<'_>) {
    let command = r#"{"command":"echo start; sleep 30"}"#;
    let mut running = replay.program.open_command(command).await;
    // Without its output the interrupt could come before the first line.
    let mut seen = running.until("\"start\"").await;
    let id = normal::stream_id(&seen).expect("an init event");
    replay.names.same("ef3c9539c74a4ab3b2961d845d89c0c5", id);
    replay
        .send_all(&["execd-fg-status-running", "execd-fg-interrupt"])
        .await;
    seen.extend(running.rest().await);
    let recorded = load("execd-command.json")
        .into_iter()
        .find(|exchange| exchange.name == LEFT_OUT[0].0)
        .expect("the stream of the interrupted command");
    assert_eq!(
        normal::events(&seen),
        normal::events(&recorded.response.bytes()),
        "the stream of an interrupted command"
    );
    replay.held += 1;
    replay
        .send_all(&["execd-fg-status-after", "execd-fg-logs"])
        .await;
}

async fn left_by_its_caller(replay: &mut Replay<'_>) {
    let survived = replay.names.scratch("/tmp/survived");
    // Status tells the command, so it must be the recorded one in all but the path.
    let command = serde_json::json!({ "command": format!("sleep 3; echo survived > {survived}") });
    let mut running = replay.program.open_command(&command.to_string()).await;
    let seen = running.until("pong").await;
    drop(running);
    let id = normal::stream_id(&seen).expect("an init event");
    replay.names.same("3340d26d5f5d47f0a5b69ec8e6836776", id);
    replay.send("execd-fg-after-disconnect-status").await;
    tokio::time::sleep(Duration::from_millis(3500)).await;
    replay
        .send_all(&["execd-fg-after-disconnect-status2", "execd-fg-survived"])
        .await;
}

#[tokio::test]
async fn files_are_answered_as_recorded() {
    let program = Program::start(&[]);
    let mut replay = Replay::of("execd-files.json", &program);
    if !is_root() {
        println!("recorded exchanges about files are not sent: only root may give files away");
        return;
    }
    replay
        .send_all(&[
            "execd-upload-ok",
            "execd-upload-nomode",
            "execd-upload-two",
            "execd-upload-metadata-as-field",
            "execd-upload-nofile",
            "execd-upload-json",
            "execd-upload-mode-string",
            "execd-upload-mode-493",
            "execd-upload-owner-unknown",
            "execd-info-one",
            "execd-info-two",
            "execd-info-partial",
            "execd-info-missing",
            "execd-info-none",
            "execd-info-dir",
            "execd-download",
            "execd-download-binary",
            "execd-download-range",
            "execd-download-range-suffix",
            "execd-download-range-past",
            "execd-download-range-bad",
            "execd-download-missing",
            "execd-download-nopath",
            "execd-download-dir",
            "execd-replace",
            "execd-replace-verbose",
            "execd-replace-missing",
            "execd-replace-empty-old",
            "execd-chmod",
            "execd-chmod-missing",
            "execd-info-after-chmod",
            "execd-mv",
            "execd-mv-missing",
            "execd-mv-dest-exists",
        ])
        .await;
    program.shell("mkdir -p t/u && touch t/y.py t/u/z.py && ln -s /tmp link");
    replay
        .send_all(&[
            "execd-list",
            "execd-list-depth2",
            "execd-list-depth0",
            "execd-list-baddepth",
            "execd-list-file",
            "execd-list-missing",
            "execd-list-symlink",
            "execd-search-py",
            "execd-search-starstar-py",
            "execd-search-path-pattern",
            "execd-search-all",
            "execd-search-badpattern",
            "execd-search-missing",
            "execd-search-nopath",
            "execd-mkdirs",
            "execd-mkdirs-empty-perm",
            "execd-rm-dir",
            "execd-rm",
            "execd-rm-none",
            "execd-rmdirs",
        ])
        .await;
    program.shell("seq 10 > lines && printf noeol >> lines");
    replay
        .send_all(&[
            "execd-download-lines",
            "execd-download-lines-tail",
            "execd-download-lines-bad",
            "execd-download-lines-and-range",
        ])
        .await;
    replay.close(58);
    assert!(
        !program.data().join("d1").exists() && program.data().join("d3").exists(),
        "a directory was removed, another left"
    );
}

#[tokio::test]
async fn other_routes_are_answered_as_recorded() {
    let open = Program::start(&[]);
    let mut replay = Replay::of("execd-misc.json", &open);
    replay
        .send_all(&[
            "execd-ping",
            "execd-no-such-route",
            "execd-method-not-allowed",
            "execd-metrics",
        ])
        .await;
    // Never ends: what came in eight seconds was recorded.
    let watch = replay.take("execd-metrics-watch");
    let answer = open
        .send_for(&replay.names.request(&watch), Duration::from_millis(4500))
        .await;
    replay.compare(&watch, &answer);

    let guarded = Program::start(&["--access-token", "good"]);
    for name in ["execd-auth-missing", "execd-auth-wrong"] {
        let exchange = replay.take(name);
        let answer = guarded.send(&replay.names.request(&exchange)).await;
        replay.compare(&exchange, &answer);
    }
    replay.close(7);
}

#[tokio::test]
async fn the_right_token_opens_every_route() {
    let guarded = Program::start(&["--access-token", "good"]);
    let token = [("X-EXECD-ACCESS-TOKEN", "good")];
    for path in ["/ping", "/proxy/44772/ping"] {
        assert_eq!(guarded.get(path, &token).await, 200);
        assert_eq!(guarded.get(path, &[]).await, 401);
    }
}
