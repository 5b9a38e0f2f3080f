//! What comes of servers that refuse, fail or never end, each scripted.

mod support;

use keepsake_sdk::http::HttpErrorKind;
use keepsake_sdk::http::chat::{ANSWER_BYTES, EVENT_BYTES};
use keepsake_sdk::testing::HttpAnswer;
use serde_json::{Value, json};

use support::{DONE, ask, finish, hello, host, text, told};

#[test]
fn an_error_within_a_stream_ends_it() {
    for (event, code, words) in [
        (
            json!({ "error": { "message": "overloaded", "code": 503 } }),
            "unavailable",
            "overloaded",
        ),
        (
            json!({ "error": "it fell over" }),
            "unavailable",
            "it fell over",
        ),
        (
            json!({ "object": "error", "message": "bad tool", "code": 400 }),
            "invalid",
            "bad tool",
        ),
        (
            json!({ "detail": "no such model" }),
            "unavailable",
            "no such model",
        ),
        (
            json!({ "error": { "message": "too much", "code": "context_length_exceeded" } }),
            "limit",
            "begin a new session",
        ),
        (json!("odd"), "unavailable", "form that is not OpenAI's"),
    ] {
        let told = told(HttpAnswer::events(&[text("Good "), event.to_string()]));
        assert_eq!(told.text(), "Good ");
        let error = told.end.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(words), "{words}: {error}");
    }
    let named = HttpAnswer::new(200).chunk("event: error\ndata: {\"message\":\"quota\"}\n\n");
    assert!(told(named).end.unwrap_err().message().contains("quota"));
    let page = HttpAnswer::new(200).chunk("<html><title>Sign in</title></html>");
    assert!(told(page).end.unwrap_err().message().contains("Sign in"));
    let text = HttpAnswer::events(&["not JSON"]);
    assert!(told(text).end.unwrap_err().message().contains("not JSON"));
}

#[test]
fn a_refusal_is_told_for_what_it_is() {
    let error =
        |message: &str, code: Value| json!({ "error": { "message": message, "code": code } });
    for (status, body, code, words) in [
        (
            400,
            error(
                "This model's maximum context length is 8192 tokens",
                Value::Null,
            ),
            "limit",
            "begin a new session",
        ),
        (
            400,
            json!({ "error": { "message": "no room", "type": "exceed_context_size_error" } }),
            "limit",
            "begin a new session",
        ),
        (
            400,
            error("flagged", json!("content_filter")),
            "content-filter",
            "flagged",
        ),
        (
            400,
            error("unknown field", Value::Null),
            "invalid",
            "unknown field",
        ),
        (
            401,
            error("Incorrect API key provided: sk-0123456789", Value::Null),
            "denied",
            "[redacted]",
        ),
        (
            404,
            error("no model `m`", json!("model_not_found")),
            "not-found",
            "no model `m`",
        ),
        (
            429,
            error("slow down", Value::Null),
            "unavailable",
            "slow down",
        ),
        (500, json!({ "detail": "fault" }), "unavailable", "fault"),
    ] {
        let host = host().http_server(move |_| HttpAnswer::json(status, &body));
        let error = ask(&host, hello()).err().unwrap();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(words), "{words}: {error}");
    }
}

#[test]
fn a_question_is_asked_again_only_until_its_answer_begins() {
    let whole = || HttpAnswer::events(&[text("Hi"), finish("stop"), DONE.to_owned()]);
    let busy = host()
        .http_answers(HttpAnswer::new(503))
        .http_answers(HttpAnswer::fails(HttpErrorKind::BrokenOff))
        .http_answers(whole());
    assert_eq!(ask(&busy, hello()).unwrap().whole().message.content, "Hi");
    assert_eq!(busy.http_requests().len(), 3);
    let broken = host()
        .http_answers(HttpAnswer::events(&[text("Good ")]).breaks_off())
        .http_answers(whole());
    assert!(ask(&broken, hello()).unwrap().end.is_err());
    assert_eq!(broken.http_requests().len(), 1);
}

#[test]
fn an_answer_without_end_is_ended() {
    let event = HttpAnswer::new(200)
        .chunk("data: ")
        .chunk("x".repeat(EVENT_BYTES));
    assert_eq!(told(event).end.unwrap_err().code(), "limit");
    let piece = text(&"x".repeat(EVENT_BYTES / 2));
    let many = vec![piece; ANSWER_BYTES / (EVENT_BYTES / 2) + 1];
    let told_much = told(HttpAnswer::events(&many));
    assert_eq!(told_much.end.as_ref().unwrap_err().code(), "limit");
    assert_eq!(told_much.text().len(), ANSWER_BYTES);
    let spaces = HttpAnswer::new(200).chunk(" ".repeat(EVENT_BYTES + 1));
    assert!(told(spaces).end.is_err());
}
