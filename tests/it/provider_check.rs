//! `host provider check`: sound providers pass, and those that break their
//! contract fail in the row that says how.

use keepsake_test_artifacts::{
    ECHO_MODEL, HASHED_EMBEDDINGS, MINIMAL_AGENT, UNRULY_EMBEDDINGS, UNRULY_MODEL,
};
use serde_json::{Value, json};

use crate::anthropic;
use crate::http_providers::embeddings;
use crate::http_server::{Request, Server, events};
use crate::program::{Folder, Ran};

fn check(folder: &Folder, plugin: &str) -> Ran {
    folder.host(&["provider", "check", plugin, "--json"])
}

/// The names of the rows that ended so.
fn rows(ran: &Ran, result: &str) -> Vec<String> {
    let found = ran.json();
    let checks = found["checks"].as_array().unwrap();
    let ended = checks.iter().filter(|check| check["result"] == result);
    ended
        .map(|check| check["check"].as_str().unwrap().to_owned())
        .collect()
}

fn unruly(misbehave: &str) -> Ran {
    let folder = Folder::configured(&format!(
        "[limits]\nturn-cpu-seconds = 0.5\n[settings.unruly-embeddings]\nmisbehave = {misbehave:?}\ndimensions = 512\n"
    ));
    check(&folder, UNRULY_EMBEDDINGS)
}

#[test]
fn each_bundled_and_example_provider_keeps_its_contract() {
    for (plugin, checks) in [
        ("embed-static", 18),
        (HASHED_EMBEDDINGS, 18),
        ("model-offline", 11),
        (ECHO_MODEL, 11),
        (UNRULY_MODEL, 11),
    ] {
        let ran = check(&Folder::new(), plugin);
        assert_eq!(rows(&ran, "failed"), [""; 0], "{ran:#?}");
        assert_eq!(rows(&ran, "skipped"), [""; 0], "{ran:#?}");
        assert_eq!(rows(&ran, "passed").len(), checks, "{ran:#?}");
        assert_eq!(ran.succeeded().json()["ok"], true);
    }
}

/// A server in OpenAI's form, as far as a check goes.
fn openai(request: &Request) -> Vec<u8> {
    if request.path == "/v1/embeddings" {
        return embeddings(request);
    }
    let asked = request.json();
    let answers_a_call = request.body.contains("\"tool_call_id\"");
    let delta = if asked["tools"].is_array() && !answers_a_call {
        json!({ "tool_calls": [{ "index": 0, "id": "a", "function": {
            "name": "find_order", "arguments": "{\"number\":\"A-1017\"}" } }] })
    } else {
        json!({ "content": "Hello there." })
    };
    let piece = |value: Value| format!("data: {value}\n\n");
    events(
        &[
            piece(json!({ "choices": [{ "delta": delta, "finish_reason": null }] })),
            piece(json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] })),
            piece(
                json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 3 } }),
            ),
            "data: [DONE]\n\n".to_owned(),
        ]
        .concat(),
    )
}

#[test]
fn the_providers_that_ask_servers_keep_their_contract() {
    for (plugin, further, checks) in [
        ("model-openai", "", 11),
        ("embed-openai", "dimensions = 256\n", 18),
        ("model-anthropic", "", 11),
    ] {
        let server = Server::start(move |request, _| match request.path.as_str() {
            "/v1/messages" if request.body.contains("\"find_order\"") => {
                match anthropic::answers_a_call(request) {
                    true => anthropic::said("It was sent on Monday."),
                    false => anthropic::calls(&[("find_order", json!({ "number": "A-1017" }))]),
                }
            }
            "/v1/messages" => anthropic::said("Hello there."),
            _ => openai(request),
        });
        let folder = Folder::configured(&format!(
            "[settings.{plugin}]\nbase-url = {:?}\nmodel = \"m\"\n{further}",
            server.url()
        ));
        let ran = check(&folder, plugin);
        assert_eq!(rows(&ran, "failed"), [""; 0], "{ran:#?}");
        assert_eq!(rows(&ran, "skipped"), [""; 0], "{ran:#?}");
        assert_eq!(rows(&ran, "passed").len(), checks, "{ran:#?}");
        assert!(ran.stdout.contains("taken; 1 called") || plugin == "embed-openai");
        assert_eq!(ran.succeeded().json()["ok"], true);
        assert!(server.requests().len() > 8);
    }
}

#[test]
fn a_server_that_breaks_the_contract_shows_in_the_row_that_says_how() {
    for (plugin, failed) in [("model-openai", "answers"), ("model-anthropic", "answers")] {
        let server = Server::start(|_, _| events("data: {\"type\":\"ping\"}\n\n"));
        let folder = Folder::configured(&format!(
            "[settings.{plugin}]\nbase-url = {:?}\nmodel = \"m\"\n",
            server.url()
        ));
        let ran = check(&folder, plugin);
        assert_eq!(rows(&ran, "failed"), [failed], "{ran:#?}");
        ran.failed(3, &[plugin, failed]);
    }
}

#[test]
fn an_embedding_provider_fails_in_the_row_that_says_how() {
    assert_eq!(unruly("sound").succeeded().json()["ok"], true);
    for (misbehave, failed) in [
        ("panic", "answers"),
        ("loop", "answers"),
        ("unavailable", "answers"),
        ("count", "count"),
        ("none", "count"),
        ("nan", "numbers"),
        ("infinite", "numbers"),
        ("width", "dimensions"),
        ("length", "length"),
        ("order", "order"),
        ("random", "determinism"),
        ("empty-list", "empty list"),
        ("empty-text", "empty text"),
        ("long", "long text"),
        ("emoji", "emoji"),
        ("right-to-left", "right-to-left"),
        ("nul", "NUL"),
        ("query", "query and passage"),
        ("tired", "10,000 texts"),
    ] {
        let ran = unruly(misbehave);
        // What is wrong at the root shows elsewhere too: vectors in another
        // order or that drift are those of other texts among many.
        assert_eq!(
            rows(&ran, "failed").first().map(String::as_str),
            Some(failed),
            "{ran:#?}"
        );
        if !["order", "random"].contains(&misbehave) {
            assert_eq!(rows(&ran, "failed").len(), 1, "{ran:#?}");
        }
        ran.failed(3, &["unruly-embeddings", failed, "what to do"]);
    }
}

#[test]
fn a_provider_without_any_meaning_is_told_so() {
    let failed = rows(&unruly("not at all"), "failed");
    assert_eq!(failed, ["query and passage", "similar texts"]);
}

#[test]
fn a_model_provider_fails_in_the_row_that_says_how() {
    for (misbehave, failed) in [
        ("panic", "answers"),
        ("refuse", "answers"),
        ("break-midway", "answers"),
    ] {
        let folder = Folder::configured(&format!(
            "[settings.unruly-model]\nmisbehave = {misbehave:?}\n"
        ));
        let ran = check(&folder, UNRULY_MODEL);
        assert_eq!(rows(&ran, "failed"), [failed], "{ran:#?}");
        ran.failed(3, &["unruly-model", failed]);
    }
}

#[test]
fn the_table_says_what_was_found_and_what_to_do() {
    let folder = Folder::configured("[settings.unruly-embeddings]\nmisbehave = \"count\"\n");
    let ran = folder.host(&["provider", "check", UNRULY_EMBEDDINGS]);
    let table: Vec<&str> = ran.stdout.lines().collect();
    assert!(table[0].starts_with("check"), "{ran:#?}");
    let place = table.iter().position(|row| row.starts_with("count"));
    let place = place.unwrap_or_else(|| panic!("{ran:#?}"));
    assert!(
        table[place].contains("FAIL    2 vectors for 1 texts"),
        "{ran:#?}"
    );
    assert!(
        table[place + 1].contains("to do: answer `embed` with one vector"),
        "{ran:#?}"
    );
    assert!(
        ran.stdout.contains("skipped what failed above comes first"),
        "{ran:#?}"
    );
    ran.failed(3, &["1 of 18 checks (count)"]);
}

#[test]
fn a_provider_that_cannot_be_asked_and_an_agent_are_refused_with_the_way_out() {
    let folder = Folder::new();
    folder
        .host(&["provider", "check", "model-openai"])
        .failed(3, &["[settings.model-openai]", "base-url"]);
    folder
        .host(&["provider", "check", MINIMAL_AGENT])
        .failed(3, &["is an agent", "host inspect"]);
    let ran = folder.host(&["provider", "check", "embed-statik"]);
    ran.failed(3, &["embed-static"]);
    let json: Value = check(&folder, "embed-static").succeeded().json();
    assert_eq!(json["kind"], "embedding-provider");
}
