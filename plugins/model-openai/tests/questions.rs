//! What the server is sent.

mod support;

use keepsake_sdk::ModelProvider;
use keepsake_sdk::model::{Message, Request, ToolCall, ToolDefinition};
use keepsake_sdk::testing::{Host, HttpAnswer};
use model_openai::ModelOpenai;
use serde_json::{Value, json};

use support::{ask, hello, host};

/// The body that a request becomes.
fn sent(host: Host, request: Request) -> Value {
    let answer =
        json!({ "choices": [{ "message": { "content": "Hi" }, "finish_reason": "stop" }] });
    let host = host.http_server(move |_| HttpAnswer::json(200, &answer));
    ask(&host, request).unwrap().whole();
    serde_json::from_slice(host.http_requests()[0].body_bytes()).unwrap()
}

#[test]
fn a_plain_question_is_streamed_and_counted() {
    let host = host();
    assert_eq!(
        sent(host.clone(), hello()),
        json!({
            "model": "m",
            "messages": [{ "role": "user", "content": "Hello!" }],
            "stream": true,
            "stream_options": { "include_usage": true },
        })
    );
    let request = &host.http_requests()[0];
    assert_eq!(
        request.uri().to_string(),
        "https://a.example/v1/chat/completions"
    );
    assert_eq!(request.headers()["content-type"], "application/json");
    assert!(request.headers().get("authorization").is_none());
}

#[test]
fn messages_tools_and_calls_are_put_into_the_servers_form() {
    let call = ToolCall::new("c1", "look", &json!({ "x": 1 }));
    let broken = ToolCall {
        arguments: "{\"x\":".to_owned(),
        ..ToolCall::new("c2", "look", &json!({}))
    };
    let request = Request::new(vec![
        Message::system("Rules."),
        Message::user("Look!"),
        Message {
            tool_calls: vec![call.clone(), broken],
            ..Message::assistant("")
        },
        Message::tool(&call, "seen"),
        Message::assistant("I see."),
    ])
    .tools(vec![ToolDefinition {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        parameters: "{\"type\":\"object\"}".to_owned(),
    }]);
    let body = sent(host(), request);
    assert_eq!(
        body["messages"],
        json!([
            { "role": "system", "content": "Rules." },
            { "role": "user", "content": "Look!" },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{\"x\":1}" } },
                { "id": "c2", "type": "function", "function": {
                    "name": "look", "arguments": "{\"malformed\":\"{\\\"x\\\":\"}" } },
            ] },
            { "role": "tool", "tool_call_id": "c1", "content": "seen" },
            { "role": "assistant", "content": "I see." },
        ])
    );
    assert_eq!(
        body["tools"],
        json!([{ "type": "function", "function": {
            "name": "look", "description": "Looks.", "parameters": { "type": "object" } } }])
    );
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
        (&body["max_tokens"], &body["temperature"]),
        (&json!(100), &json!(0.2))
    );
    assert_eq!(
        (&body["stream"], &body["stream_options"]),
        (&json!(false), &Value::Null)
    );
    let body = sent(
        host(),
        hello().max_tokens(50).temperature(0.7).stop("END").stop(""),
    );
    assert_eq!(
        (&body["max_tokens"], &body["temperature"]),
        (&json!(50), &json!(0.7))
    );
    assert_eq!(body["stop"], json!(["END"]));
    assert_eq!(sent(host(), hello().max_tokens(5_000))["max_tokens"], 100);
}

#[test]
fn the_bound_of_tokens_is_called_what_the_server_calls_it() {
    let host = host().setting("max-tokens-field", json!("max_completion_tokens"));
    let body = sent(host, hello().max_tokens(50));
    assert_eq!(body["max_completion_tokens"], 50);
    assert!(body.get("max_tokens").is_none());
}

#[test]
fn further_fields_are_put_over_the_body_and_null_takes_one_out() {
    let host = host().setting(
        "extra",
        json!({ "top_p": 0.9, "seed": 1, "stream_options": null }),
    );
    let body = sent(host, hello().extras(&json!({ "seed": 2 })));
    assert_eq!((&body["top_p"], &body["seed"]), (&json!(0.9), &json!(2)));
    assert!(body.get("stream_options").is_none());
}

#[test]
fn a_request_that_breaks_a_rule_is_not_sent() {
    let tool = |parameters: &str| {
        hello().tools(vec![ToolDefinition {
            name: "look".to_owned(),
            description: String::new(),
            parameters: parameters.to_owned(),
        }])
    };
    let mut no_object = hello();
    no_object.extras = Some("[]".to_owned());
    let orphan = Message {
        tool_call_id: None,
        ..Message::tool(&ToolCall::new("c", "look", &json!({})), "seen")
    };
    for (request, words) in [
        (tool("{"), "`look`"),
        (no_object, "no JSON object"),
        (hello().extras(&json!({ "model": "dear" })), "`model`"),
        (hello().extras(&json!({ "max_tokens": 9 })), "`max_tokens`"),
        (Request::new(vec![orphan]), "tool-call-id"),
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
    let host = host().setting("context-tokens", json!(8_192));
    let info = ModelOpenai::info(&host.context()).unwrap();
    assert_eq!(
        (info.model.as_str(), info.context_tokens),
        ("m", Some(8_192))
    );
    assert!(host.http_requests().is_empty());
    assert!(ModelOpenai::info(&Host::new().context()).is_err());
}
