//! What a session may ask of models, over all its turns and processes.

use keepsake_test_artifacts::{UNRULY_AGENT, UNRULY_MODEL};
use serde_json::Value;

use crate::http_server::{Server, events};
use crate::program::{Folder, Ran};

const REFUSED_CALLS: &str = "session-model-calls session-model-calls session-model-calls";

/// A message to the agent that asks its model until it is refused three times.
fn chat_on(folder: &Folder, session: &str) -> Ran {
    let more = ["--resource", "jordan", "--session", session];
    folder.say(UNRULY_AGENT, "chat-on Hello, how are you?", &more)
}

fn counted(folder: &Folder) -> Vec<Value> {
    let entries = folder.entries("model-called").into_iter();
    entries.map(|entry| entry["payload"].clone()).collect()
}

#[test]
fn an_agent_that_asks_in_circles_is_stopped_and_the_operator_told_once() {
    let folder = Folder::configured("[limits]\nsession-model-calls = 3\n");
    let ran = chat_on(&folder, "s").succeeded();
    assert_eq!(
        ran.stdout.trim(),
        format!("3 answers, then {REFUSED_CALLS}")
    );
    let told = "no model is asked any more: this session has used 3 questions";
    assert_eq!(ran.stderr.matches(told).count(), 1, "{ran:?}");
    assert!(
        ran.stderr.contains("raise `limits.session-model-calls`"),
        "{ran:?}"
    );
    assert_eq!(counted(&folder).len(), 3);
}

#[test]
fn what_earlier_processes_of_a_session_asked_counts_and_another_session_begins_anew() {
    let folder = Folder::configured("[limits]\nsession-model-calls = 3\n");
    let said = |session: &str, message: &str| {
        let more = ["--resource", "jordan", "--session", session];
        let ran = folder.say(UNRULY_AGENT, message, &more).succeeded();
        ran.stdout.trim().to_owned()
    };
    said("s", "chat Hello!");
    said("s", "chat Hello!");
    let circles = "chat-on Hello!";
    assert_eq!(
        said("s", circles),
        format!("1 answers, then {REFUSED_CALLS}")
    );
    assert_eq!(
        said("s", circles),
        format!("0 answers, then {REFUSED_CALLS}")
    );
    assert_eq!(
        said("other", circles),
        format!("3 answers, then {REFUSED_CALLS}")
    );
}

#[test]
fn tokens_are_those_that_the_provider_counts() {
    let server = Server::start(|_, _| {
        events(
            "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n\
             data: {\"choices\":[],\"usage\":{\"prompt_tokens\":700,\"completion_tokens\":50}}\n\n\
             data: [DONE]\n\n",
        )
    });
    let folder = Folder::configured(&format!(
        "model = \"model-openai\"\n[limits]\nsession-model-tokens = 1600\n\
         [settings.model-openai]\nbase-url = {:?}\nmodel = \"m\"\n",
        server.url()
    ));
    let ran = chat_on(&folder, "s").succeeded();
    // 750 each: the third is asked with 100 left, and is the last.
    assert!(
        ran.stdout
            .starts_with("3 answers, then session-model-tokens"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("2250 tokens"), "{ran:?}");
    let ran = chat_on(&folder, "s").succeeded();
    assert!(ran.stdout.starts_with("0 answers"), "{ran:?}");
    assert_eq!(server.requests().len(), 3);
    assert!(counted(&folder).iter().all(|call| call["tokens"] == 750));
}

#[test]
fn tokens_that_no_provider_counts_are_estimated() {
    let folder = Folder::configured(&format!(
        "model = {UNRULY_MODEL:?}\n[limits]\nsession-model-tokens = 40\n"
    ));
    let ran = chat_on(&folder, "s").succeeded();
    // 19 bytes of question are taken for 5, 21 bytes of answer for 6.
    assert!(
        ran.stdout
            .starts_with("4 answers, then session-model-tokens"),
        "{ran:?}"
    );
    for call in counted(&folder) {
        assert_eq!(
            (&call["tokens"], &call["usage"]),
            (&11.into(), &Value::Null)
        );
    }
}

#[test]
fn an_answer_that_breaks_off_costs_what_came_and_a_refused_question_nothing() {
    for (misbehave, tokens) in [("break-midway", 9), ("refuse", 0)] {
        let folder = Folder::configured(&format!(
            "model = {UNRULY_MODEL:?}\n[limits]\nsession-model-calls = 2\n\
             [settings.unruly-model]\nmisbehave = {misbehave:?}\n"
        ));
        let message = "chat Hello, how are you?";
        let more = ["--resource", "jordan", "--session", "s"];
        for _ in 0..2 {
            assert_eq!(folder.say(UNRULY_AGENT, message, &more).code, Some(4));
        }
        let costs: Vec<_> = counted(&folder)
            .iter()
            .map(|call| call["tokens"].clone())
            .collect();
        assert_eq!(costs, [tokens, tokens], "{misbehave}");
        // A question that failed was asked all the same.
        folder
            .say(UNRULY_AGENT, message, &more)
            .failed(4, &["limit `session-model-calls`"]);
    }
}
