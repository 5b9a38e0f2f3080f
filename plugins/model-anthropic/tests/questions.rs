//! What the server is sent.

mod support;

use keepsake_sdk::ModelProvider;
use keepsake_sdk::model::{Message, Request, ToolCall, ToolDefinition};
use keepsake_sdk::testing::{Host, HttpAnswer};
use model_anthropic::ModelAnthropic;
use serde_json::{Value, json};

use support::{ask, hello, host};

/// The body that a request becomes.
fn sent(host: Host, request: Request) -> Value {
    let answer = json!({
        "type": "message", "content": [{ "type": "text", "text": "Hi" }], "stop_reason": "end_turn",
    });
    let host = host.http_server(move |_| HttpAnswer::json(200, &answer));
    ask(&host, request).unwrap().whole();
    serde_json::from_slice(host.http_requests()[0].body_bytes()).unwrap()
}

fn look(parameters: &str) -> ToolDefinition {
    ToolDefinition {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        parameters: parameters.to_owned(),
    }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[test]
fn a_plain_question_says_its_version_and_bounds_its_answer() {
    let host = host();
    assert_eq!(
        sent(host.clone(), hello()),
        json!({
            "model": "m",
            "max_tokens": 4_096,
            "messages": [{ "role": "user", "content": [text("Hello!")] }],
            "stream": true,
        })
    );
    let request = &host.http_requests()[0];
    assert_eq!(request.uri().to_string(), "https://a.example/v1/messages");
    assert_eq!(request.headers()["anthropic-version"], "2023-06-01");
    assert_eq!(request.headers()["content-type"], "application/json");
    // The host adds the key on the way out.
    assert!(request.headers().get("x-api-key").is_none());
}

#[test]
fn rules_stand_apart_and_what_one_says_in_a_row_is_one_turn() {
    let call = ToolCall::new("c1", "look", &json!({ "x": 1 }));
    let broken = ToolCall {
        arguments: "{\"x\":".to_owned(),
        ..ToolCall::new("c2", "look", &json!({}))
    };
    let body = sent(
        host(),
        Request::new(vec![
            Message::system("Rules."),
            Message::user("Look!"),
            Message::user("Now."),
            Message {
                tool_calls: vec![call.clone(), broken.clone()],
                ..Message::assistant("")
            },
            Message::tool(&call, "seen"),
            Message::tool(&broken, ""),
            Message::user("And?"),
            Message::system("More rules."),
            Message::assistant("I see"),
            Message::assistant("that \n"),
        ])
        .tools(vec![look("{\"type\":\"object\"}")]),
    );
    assert_eq!(body["system"], "Rules.\n\nMore rules.");
    assert_eq!(
        body["messages"],
        json!([
            { "role": "user", "content": [text("Look!"), text("Now.")] },
            { "role": "assistant", "content": [
                { "type": "tool_use", "id": "c1", "name": "look", "input": { "x": 1 } },
                { "type": "tool_use", "id": "c2", "name": "look", "input": { "malformed": "{\"x\":" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c1", "content": "seen" },
                { "type": "tool_result", "tool_use_id": "c2", "content": "" },
                text("And?"),
            ] },
            { "role": "assistant", "content": [text("I see"), text("that")] },
        ])
    );
    assert_eq!(
        body["tools"],
        json!([{ "name": "look", "description": "Looks.", "input_schema": { "type": "object" } }])
    );
    assert!(body.get("tool_choice").is_none());
}

#[test]
fn tools_that_were_called_stay_named_where_none_are_offered_any_more() {
    let call = ToolCall::new("c1", "look", &json!({}));
    let body = sent(
        host(),
        Request::new(vec![
            Message::user("Look!"),
            Message {
                tool_calls: vec![call.clone()],
                ..Message::assistant("")
            },
            Message::tool(&call, "seen"),
        ]),
    );
    assert_eq!(body["tools"][0]["name"], "look");
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
    assert_eq!(body["tool_choice"], json!({ "type": "none" }));
}

#[test]
fn the_operator_bounds_tokens_and_the_request_chooses_below() {
    let host = || {
        host()
            .setting("max-tokens", json!(100))
            .setting("temperature", json!(0.2))
            .setting("stream", json!(false))
    };
    let body = sent(host(), hello());
    assert_eq!(
        (&body["max_tokens"], &body["temperature"], &body["stream"]),
        (&json!(100), &json!(0.2), &json!(false))
    );
    let request = hello().max_tokens(50).temperature(0.7).stop("END").stop("");
    let body = sent(host(), request);
    assert_eq!(
        (&body["max_tokens"], &body["temperature"]),
        (&json!(50), &json!(0.7))
    );
    assert_eq!(body["stop_sequences"], json!(["END"]));
    assert_eq!(sent(host(), hello().max_tokens(5_000))["max_tokens"], 100);
}

#[test]
fn further_fields_are_put_over_the_body_and_null_takes_one_out() {
    let host = host().setting("extra", json!({ "top_k": 5, "service_tier": "auto" }));
    let extras = json!({ "top_k": 6, "service_tier": null });
    let body = sent(host, hello().extras(&extras));
    assert_eq!(body["top_k"], 6);
    assert!(body.get("service_tier").is_none());
}

#[test]
fn a_request_that_breaks_a_rule_is_not_sent() {
    let orphan = Message {
        tool_call_id: None,
        ..Message::tool(&ToolCall::new("c", "look", &json!({})), "seen")
    };
    for (request, words) in [
        (hello().tools(vec![look("{")]), "`look`"),
        (hello().extras(&json!({ "system": "dear" })), "`system`"),
        (hello().extras(&json!({ "max_tokens": 9 })), "`max_tokens`"),
        (Request::new(vec![orphan]), "tool-call-id"),
        (Request::new(vec![Message::user(" ")]), "no text"),
        (Request::new(vec![Message::system("Rules.")]), "no text"),
        (hello().temperature(f32::NAN), "temperature"),
    ] {
        let host = host();
        let error = ask(&host, request).err().unwrap();
        assert_eq!(error.code(), "invalid");
        assert!(error.message().contains(words), "{words}: {error}");
        assert!(host.http_requests().is_empty());
    }
}

#[test]
fn the_model_is_told_without_a_request() {
    let host = host().setting("context-tokens", json!(200_000));
    let info = ModelAnthropic::info(&host.context()).unwrap();
    assert_eq!(
        (info.model.as_str(), info.context_tokens),
        ("m", Some(200_000))
    );
    assert!(host.http_requests().is_empty());
}
