//! What comes of servers that refuse, fail or never end, each scripted after
//! the public documentation.

mod support;

use std::time::Duration;

use keepsake_sdk::http::HttpErrorKind;
use keepsake_sdk::http::chat::{ANSWER_BYTES, CALLS, EVENT_BYTES};
use keepsake_sdk::testing::HttpAnswer;
use serde_json::{Value, json};

use support::{arguments, ask, begin, block, empty_text, hello, host, said, stream, text, told};

fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" })
}

#[test]
fn an_error_within_a_stream_ends_it() {
    for (event, code, words) in [
        (
            error("overloaded_error", "Overloaded"),
            "unavailable",
            "Overloaded",
        ),
        (
            error("api_error", "Internal server error"),
            "unavailable",
            "Internal server error",
        ),
        (
            error("rate_limit_error", "slow down"),
            "unavailable",
            "slow down",
        ),
        (
            error(
                "invalid_request_error",
                "prompt is too long: 9 tokens > 8 maximum",
            ),
            "limit",
            "begin a new session",
        ),
        (
            error("something_newer", "an unknown fault"),
            "unavailable",
            "an unknown fault",
        ),
        (
            json!({ "choices": [{ "delta": { "content": "Hi" } }] }),
            "unavailable",
            "form that is not Anthropic's",
        ),
        (json!("odd"), "unavailable", "form that is not Anthropic's"),
        (
            json!({ "type": "content_block_delta", "index": [], "delta": {} }),
            "unavailable",
            "form that is not Anthropic's",
        ),
        (
            arguments(3, "{}"),
            "unavailable",
            "a call that has not begun",
        ),
    ] {
        let told = told(stream(&[
            begin(),
            block(0, empty_text()),
            text(0, "Good "),
            event.clone(),
        ]));
        assert_eq!(told.text(), "Good ");
        let error = told.end.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(words), "{words}: {error}");
    }
    let page = HttpAnswer::new(200).chunk("<html><title>Sign in</title></html>");
    assert!(told(page).end.unwrap_err().message().contains("Sign in"));
    let text = HttpAnswer::events(&["not JSON"]);
    assert!(told(text).end.unwrap_err().message().contains("not JSON"));
    let whole = HttpAnswer::json(200, &error("overloaded_error", "Overloaded"));
    assert!(
        told(whole)
            .end
            .unwrap_err()
            .message()
            .contains("Overloaded")
    );
}

#[test]
fn a_refusal_is_told_for_what_it_is() {
    for (status, kind, message, code, words) in [
        (
            400,
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "limit",
            "begin a new session",
        ),
        (
            400,
            "invalid_request_error",
            "max_tokens: Field required",
            "invalid",
            "Field required",
        ),
        (
            401,
            "authentication_error",
            "invalid x-api-key sk-ant-0123456789abcdef",
            "denied",
            "check the credential",
        ),
        (
            404,
            "not_found_error",
            "model: m",
            "not-found",
            "name of the model",
        ),
        (
            413,
            "request_too_large",
            "Request exceeds the maximum size",
            "limit",
            "send less",
        ),
        (
            429,
            "rate_limit_error",
            "slow down",
            "unavailable",
            "slow down",
        ),
        (
            529,
            "overloaded_error",
            "Overloaded",
            "unavailable",
            "Overloaded",
        ),
    ] {
        let body = error(kind, message);
        let host = host().http_server(move |_| HttpAnswer::json(status, &body));
        let error = ask(&host, hello()).err().unwrap();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(words), "{words}: {error}");
        assert!(!error.message().contains("0123456789"), "{error}");
    }
}

#[test]
fn an_overloaded_server_is_asked_again_after_growing_waits_until_its_answer_begins() {
    let overloaded = || HttpAnswer::json(529, &error("overloaded_error", "Overloaded"));
    let busy = host()
        .http_answers(overloaded())
        .http_answers(overloaded())
        .http_answers(stream(&said("Hi")));
    assert_eq!(ask(&busy, hello()).unwrap().whole().message.content, "Hi");
    let waits = [500, 1_000].map(Duration::from_millis);
    assert_eq!(busy.waits(), waits);
    let patient = host()
        .http_answers(overloaded().header("retry-after", "3"))
        .http_answers(stream(&said("Hi")));
    ask(&patient, hello()).unwrap().whole();
    assert_eq!(patient.waits(), [Duration::from_secs(3)]);
    let broken = host()
        .http_answers(stream(&said("Good ")[..3]).stops_with(HttpErrorKind::BrokenOff))
        .http_answers(stream(&said("Hi")));
    assert!(ask(&broken, hello()).unwrap().end.is_err());
    assert_eq!(broken.http_requests().len(), 1);
}

#[test]
fn an_answer_without_end_is_ended() {
    let event = HttpAnswer::new(200)
        .chunk("data: ")
        .chunk("x".repeat(EVENT_BYTES));
    assert_eq!(told(event).end.unwrap_err().code(), "limit");
    let piece = text(0, &"x".repeat(EVENT_BYTES / 2));
    let mut many = vec![piece; ANSWER_BYTES / (EVENT_BYTES / 2) + 1];
    many.insert(0, begin());
    let told_much = told(stream(&many));
    assert_eq!(told_much.end.as_ref().unwrap_err().code(), "limit");
    assert_eq!(told_much.text().len(), ANSWER_BYTES);
    let call = |index| {
        let id = format!("c-{index}");
        block(
            index,
            json!({ "type": "tool_use", "id": id, "name": "look", "input": {} }),
        )
    };
    let calls: Vec<_> = (0..=CALLS as u64).map(call).collect();
    assert_eq!(told(stream(&calls)).end.unwrap_err().code(), "limit");
    let nameless = block(0, json!({ "type": "tool_use", "id": "a" }));
    let error = told(stream(&[nameless, support::ends("tool_use")])).end;
    assert!(error.unwrap_err().message().contains("without naming it"));
}
