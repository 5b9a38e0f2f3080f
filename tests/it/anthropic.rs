//! `model-anthropic` over real HTTP. What the server of these tests answers was
//! written after the public documentation of the form; no exchange with
//! Anthropic's own servers was recorded.

use serde_json::{Value, json};

use crate::http_providers::KEY;
use crate::http_server::{Request, Server, answer, events};
use crate::program::{Folder, Ran, finish, finish_with_input};

const UPGRADE: &str = "Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd.";

/// How a server answers badly.
type BadDay = fn() -> Vec<u8>;

/// Events as they are written, each named by its type.
fn written(all: &[Value]) -> String {
    let written = all.iter().map(|event| {
        let name = event["type"].as_str().unwrap();
        format!("event: {name}\ndata: {event}\n\n")
    });
    written.collect()
}

fn begin() -> Value {
    json!({ "type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test",
        "content": [], "stop_reason": null, "usage": { "input_tokens": 25, "output_tokens": 1 },
    }})
}

fn ends(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason },
                "usage": { "output_tokens": 9 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn said_events(text: &str) -> Vec<Value> {
    let (first, last) = text.split_at(text.len() / 2);
    let part = |text: &str| {
        json!({ "type": "content_block_delta", "index": 0,
                "delta": { "type": "text_delta", "text": text } })
    };
    let mut all = vec![
        begin(),
        json!({ "type": "content_block_start", "index": 0,
                "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "ping" }),
        part(first),
        part(last),
        json!({ "type": "content_block_stop", "index": 0 }),
    ];
    all.extend(ends("end_turn"));
    all
}

/// A whole answer with this text.
pub(crate) fn said(text: &str) -> Vec<u8> {
    events(&written(&said_events(text)))
}

/// A whole answer that calls for these tools.
pub(crate) fn calls(calls: &[(&str, Value)]) -> Vec<u8> {
    let mut all = vec![begin()];
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let arguments = arguments.to_string();
        let (first, last) = arguments.split_at(arguments.len() / 2);
        let part = |json: &str| {
            json!({ "type": "content_block_delta", "index": index,
                    "delta": { "type": "input_json_delta", "partial_json": json } })
        };
        all.extend([
            json!({ "type": "content_block_start", "index": index, "content_block": {
                "type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": {} } }),
            part(""),
            part(first),
            part(last),
            json!({ "type": "content_block_stop", "index": index }),
        ]);
    }
    all.extend(ends("tool_use"));
    events(&written(&all))
}

/// Whether a question holds a tool's answer.
pub(crate) fn answers_a_call(request: &Request) -> bool {
    request.body.contains("\"tool_result\"")
}

fn configured(server: &Server) -> Folder {
    Folder::configured(&format!(
        "model = \"model-anthropic\"\n\
         [settings.model-anthropic]\npreset = \"anthropic\"\nbase-url = {:?}\n\
         key-variable = \"TEST_PROVIDER_KEY\"\nmodel = \"claude-test\"\ntimeout-seconds = 5\n",
        server.url()
    ))
}

fn ask(folder: &Folder, message: &str) -> Ran {
    let mut command = folder.support(&["-m", message]);
    command.env("TEST_PROVIDER_KEY", KEY);
    finish(command.spawn().unwrap())
}

#[test]
fn an_answer_reaches_the_customer_with_the_key_in_its_own_header_and_nowhere_else() {
    let server = Server::start(|_, _| said("Good day, how can I help?"));
    let folder = configured(&server);
    let ran = ask(&folder, "Hello").succeeded();
    assert_eq!(ran.stdout.trim(), "Good day, how can I help?");

    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].path, "/v1/messages");
    assert_eq!(requests[0].header("x-api-key"), Some(KEY));
    assert_eq!(requests[0].header("authorization"), None);
    assert_eq!(requests[0].header("anthropic-version"), Some("2023-06-01"));
    let asked = requests[0].json();
    assert!(asked["system"].is_string() && asked["tools"].is_array());
    assert_eq!(asked["messages"].as_array().unwrap().len(), 1);

    let called = &folder.entries("model-called")[0]["payload"];
    assert_eq!(called["model"], "claude-test");
    assert_eq!(called["tokens"], 34);
    let ledger = folder.host(&["ledger", "show", "--json"]).stdout;
    for text in [ran.stdout, ran.stderr, ledger] {
        assert!(!text.contains("hunter2"), "the key was left in {text}");
    }
}

#[test]
fn tools_that_are_called_for_are_run_and_answered_in_one_turn() {
    let server = Server::start(|request, _| {
        if answers_a_call(request) {
            return said("Noted: you are on the Pro plan.");
        }
        calls(&[
            ("update_profile", json!({ "patch": { "plan": "Pro" } })),
            (
                "remember_fact",
                json!({ "content": "Jordan is on the Pro plan." }),
            ),
        ])
    });
    let folder = configured(&server);
    let ran = ask(&folder, UPGRADE).succeeded();
    assert!(ran.stdout.contains("Noted: you are on the Pro plan."));
    assert_eq!(
        folder.facts("jordan")[0]["content"],
        "Jordan is on the Pro plan."
    );
    let asked = server.requests()[1].json();
    let results = asked["messages"][2]["content"].as_array().unwrap().clone();
    let ids: Vec<_> = results.iter().map(|it| it["tool_use_id"].clone()).collect();
    assert_eq!(ids, ["toolu_0", "toolu_1"]);
    assert_eq!(asked["messages"][2]["role"], "user");
}

#[test]
fn strange_streams_are_read_as_they_are_meant() {
    let whole = written(&said_events("Here I am."));
    let cut = whole.find("event: message_stop").unwrap();
    for (strange, body) in [
        ("lines that end as on Windows", whole.replace('\n', "\r\n")),
        ("no stop after the reason to end", whole[..cut].to_owned()),
        (
            "null where something may stand",
            format!(
                "event: ping\ndata: {{\"type\":\"ping\"}}\n\n\
                 event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":null}}\n\n{whole}"
            ),
        ),
        (
            "events of a later version",
            format!("event: news\ndata: {{\"type\":\"news\",\"index\":\"?\"}}\n\n{whole}"),
        ),
    ] {
        let server = Server::start(move |_, _| events(&body));
        let ran = ask(&configured(&server), "Hello");
        assert_eq!(ran.code, Some(0), "{strange}: {ran:?}");
        assert_eq!(ran.stdout.trim(), "Here I am.", "{strange}");
    }
}

#[test]
fn a_bad_day_of_the_server_costs_a_reply_and_not_the_conversation() {
    fn error(kind: &str, message: &str) -> Value {
        json!({ "type": "error", "error": { "type": kind, "message": message } })
    }
    let days: [(&str, &str, BadDay); 4] = [
        ("a wrong key", "401", || {
            let body = error("authentication_error", "invalid x-api-key").to_string();
            answer("401 Unauthorized", "application/json", &body)
        }),
        ("too much to do, again and again", "Overloaded", || {
            let body = error("overloaded_error", "Overloaded").to_string();
            answer("529 Overloaded", "application/json", &body)
        }),
        ("too much to do within a stream", "Overloaded", || {
            events(&written(&[
                begin(),
                error("overloaded_error", "Overloaded"),
            ]))
        }),
        ("a stream that is cut", "before it was complete", || {
            events(&written(&said_events("I was saying")[..5]))
        }),
    ];
    for (day, told, badly) in days {
        let server = Server::start(move |request, _| {
            if request.body.contains("again") {
                said("Here I am.")
            } else {
                badly()
            }
        });
        let folder = configured(&server);
        let mut command = folder.support(&[]);
        command.env("TEST_PROVIDER_KEY", KEY);
        let ran = finish_with_input(command, b"Hello\nHello again\n");
        assert_eq!(ran.code, Some(4), "{day}: {ran:?}");
        assert!(ran.stdout.contains("Here I am."), "{day}: {ran:?}");
        assert!(ran.stderr.contains(told), "{day}: {ran:?}");
    }
}

#[test]
fn an_overloaded_server_is_asked_again() {
    let server = Server::start(|_, number| {
        if number == 0 {
            let body = json!({ "type": "error", "error": { "type": "overloaded_error",
                               "message": "Overloaded" } });
            return answer("529 Overloaded", "application/json", &body.to_string());
        }
        said("Now I have time.")
    });
    let ran = ask(&configured(&server), "Hello").succeeded();
    assert!(ran.stdout.contains("Now I have time."));
    assert_eq!(server.requests().len(), 2);
}
