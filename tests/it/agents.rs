//! Agents that hand work to other agents.

use std::fs;

use keepsake_test_artifacts::{ASKING_AGENT, BILLING_AGENT, TRIAGE_AGENT, UNRULY_AGENT};
use serde_json::json;

use crate::http_server::{Server, answer};
use crate::program::Folder;

fn triage() -> Folder {
    Folder::configured(&format!(
        "[limits]\nagent-depth = 1\nagent-children = 2\n\n[agents.billing]\nplugin = {BILLING_AGENT:?}\nparents = [\"triage-agent\"]\n"
    ))
}

/// A host where an unruly agent may start its like.
fn unruly(depth: u32, children: u32, further: &str) -> Folder {
    Folder::configured(&format!(
        "[limits]\nagent-depth = {depth}\nagent-children = {children}\n{further}\n[agents.like]\nplugin = {UNRULY_AGENT:?}\nparents = [\"unruly-agent\"]\n"
    ))
}

fn said(folder: &Folder, agent: &str, message: &str) -> String {
    let ran = folder.say(agent, message, &["--resource", "jordan"]);
    ran.succeeded().stdout.trim().to_owned()
}

/// Nothing that was started is left.
#[track_caller]
fn is_tidy(folder: &Folder) {
    let sessions = folder.host(&["sessions", "--json"]).succeeded().json();
    for session in sessions["sessions"].as_array().unwrap() {
        assert_eq!(session["status"], "ended", "{session}");
    }
    let spawned = folder.entries("agent-spawned").len();
    assert_eq!(folder.entries("agent-ended").len(), spawned);
    let forks = folder.host(&["memory", "forks", "--resource", "jordan", "--json"]);
    assert_eq!(forks.succeeded().json()["forks"], json!([]));
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn what_a_child_learned_is_known_to_a_later_process_once_it_was_merged() {
    let folder = triage();
    assert_eq!(
        said(&folder, TRIAGE_AGENT, "Why was I charged twice?"),
        "I am noting this for the billing team. They answer within a day. Facts kept: 1."
    );
    assert_eq!(
        said(&folder, TRIAGE_AGENT, "What was asked twice?"),
        "Billing was asked: Why was I charged twice?"
    );
    let spawned = &folder.entries("agent-spawned")[0];
    let sessions = folder.host(&["sessions", "--json"]).succeeded().json();
    let sessions = sessions["sessions"].as_array().unwrap();
    let child = sessions.iter().find(|s| s["agent"] == "billing-agent");
    let child = child.unwrap();
    assert_eq!(child["id"], spawned["payload"]["session"]);
    assert_eq!(child["parent"], spawned["session"]);
    assert_eq!(folder.entries("memory-merged").len(), 1);
    is_tidy(&folder);
}

#[test]
fn what_was_discarded_is_not_known() {
    let folder = triage();
    let reply = said(&folder, TRIAGE_AGENT, "Off the record: a refund?");
    assert!(reply.ends_with("Nothing is kept."), "{reply}");
    assert!(folder.facts("jordan").is_empty());
    assert_eq!(folder.entries("fork-discarded").len(), 1);
    is_tidy(&folder);
}

#[test]
fn what_is_not_granted_is_denied_alike_whether_or_not_it_is_there() {
    let folder = triage();
    let denied = |name: &str| {
        let message = format!("spawn {name}");
        let ran = folder.say(UNRULY_AGENT, &message, &["--resource", "jordan", "--json"]);
        assert!(ran.stderr.contains("[agents."), "{ran:?}");
        let error = ran.json()["error"].clone();
        assert_eq!(error["code"], "denied");
        error["message"].as_str().unwrap().to_owned()
    };
    let there = denied("billing");
    assert_eq!(there, denied("nobody"));
    let entries = folder.entries("denied");
    let allow = |entry: usize| entries[entry]["payload"]["allow"].as_str().unwrap();
    assert_eq!(
        allow(0).replace("billing", "nobody"),
        allow(1),
        "{entries:?}"
    );
    assert!(folder.entries("agent-spawned").is_empty());
}

#[test]
fn agents_stand_only_so_deep_below_the_first() {
    let folder = unruly(1, 5, "");
    assert_eq!(
        said(&folder, UNRULY_AGENT, "child like emit a b"),
        "emitted a , emitted b, reply a b"
    );
    assert_eq!(
        said(&folder, UNRULY_AGENT, "child like child like emit a"),
        "failed limit"
    );
    is_tidy(&folder);
    let folder = unruly(2, 5, "");
    assert_eq!(
        said(&folder, UNRULY_AGENT, "child like child like emit a"),
        "reply emitted a, reply a"
    );
    is_tidy(&folder);
}

#[test]
fn one_message_starts_only_so_many_agents_and_they_end_with_its_turn() {
    let folder = unruly(1, 2, "");
    for _ in 0..2 {
        assert_eq!(
            said(&folder, UNRULY_AGENT, "children like many"),
            "2 of many, then agent-children"
        );
    }
    is_tidy(&folder);
}

#[test]
fn unless_the_operator_sets_bounds_no_agent_is_started() {
    let folder = Folder::configured(&format!(
        "[agents.like]\nplugin = {UNRULY_AGENT:?}\nparents = [\"unruly-agent\"]\n"
    ));
    assert_eq!(
        said(&folder, UNRULY_AGENT, "children like many"),
        "0 of many, then agent-depth"
    );
}

#[test]
fn a_child_that_traps_is_an_error_to_its_parent_which_goes_on() {
    let folder = unruly(1, 2, "");
    assert_eq!(
        said(&folder, UNRULY_AGENT, "child like panic"),
        "failed panic"
    );
    is_tidy(&folder);
}

#[test]
fn a_parent_that_runs_out_of_time_ends_its_children() {
    let folder = unruly(1, 2, "turn-seconds = 3.0\n");
    let message = "child like exec sleep 1000";
    let ran = folder.say(UNRULY_AGENT, message, &["--resource", "jordan", "--json"]);
    let error = ran.json()["error"].clone();
    assert!(error["code"].is_string(), "{ran:?}");
    assert_eq!(
        folder.entries("sandbox-opened").len(),
        folder.entries("sandbox-closed").len()
    );
    is_tidy(&folder);
}

#[test]
fn what_children_ask_of_a_model_counts_for_the_first_session() {
    let folder = unruly(1, 2, "session-model-calls = 1\n");
    let say = |message: &str| {
        let more = ["--resource", "jordan", "--session", "s"];
        let ran = folder.say(UNRULY_AGENT, message, &more).succeeded();
        ran.stdout.trim().to_owned()
    };
    say("child like chat Hello!");
    assert_eq!(
        say("chat-on Hello!"),
        "0 answers, then session-model-calls session-model-calls session-model-calls"
    );
}

#[test]
fn an_agent_that_was_started_reaches_no_server_that_its_starter_may_not() {
    let server = Server::start(|_, _| answer("200 OK", "text/plain", "good day"));
    let url = format!("http://{}", server.address());
    let folder = unruly(
        1,
        2,
        &format!(
            "[agents.asking]\nplugin = \"asking.wasm\"\nparents = [\"unruly-agent\", \"starter\"]\n[grants.asking]\nhttp = [\"{url}\"]\n[grants.starter]\nhttp = [\"{url}\"]\n"
        ),
    );
    let wishing = |name: &str, wasm: &str| {
        let manifest = format!(
            "manifest = 1\nname = \"{name}\"\nkind = \"agent\"\nlanguage = \"rust\"\n\n[wishes]\nhttp = [\"{url}\"]\n"
        );
        let wasm = keepsake_rights::embed(&fs::read(wasm).unwrap(), &manifest);
        folder.write(&format!("{name}.wasm"), wasm);
    };
    wishing("asking", ASKING_AGENT);
    wishing("starter", UNRULY_AGENT);
    let message = format!("child asking get {url}/");
    let reply = said(&folder, UNRULY_AGENT, &message);
    assert!(reply.contains("Denied"), "{reply}");
    assert!(server.requests().is_empty());
    let reply = said(&folder, "starter.wasm", &message);
    assert!(reply.contains("good day"), "{reply}");
    is_tidy(&folder);
}
