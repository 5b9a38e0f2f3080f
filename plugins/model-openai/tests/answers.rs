//! What comes of the answers of servers of all kinds, each scripted.

mod support;

use keepsake_sdk::ModelProvider;
use keepsake_sdk::http::HttpErrorKind;
use keepsake_sdk::model::{Delta, FinishReason, ToolCall, Usage};
use keepsake_sdk::testing::HttpAnswer;
use model_openai::ModelOpenai;
use serde_json::{Value, json};

use support::{DONE, delta, finish, hello, host, text, told};

#[test]
fn an_answer_comes_piece_by_piece_as_the_server_sends_it() {
    let stream = HttpAnswer::events(&[
        delta(json!({ "role": "assistant", "content": "" })),
        text("Good "),
        text("day"),
        finish("stop"),
        json!({ "choices": [], "usage": { "prompt_tokens": 7, "completion_tokens": 2 } })
            .to_string(),
        DONE.to_owned(),
    ]);
    let host = host().http_answers(stream);
    let mut answer = ModelOpenai::chat(&host.context(), hello()).unwrap();
    assert_eq!(host.http_chunks_read(), 0);
    assert_eq!(
        answer.next_delta().unwrap(),
        Some(Delta::Text("Good ".into()))
    );
    assert_eq!(host.http_chunks_read(), 2, "nothing is read ahead");
    assert_eq!(
        answer.next_delta().unwrap(),
        Some(Delta::Text("day".into()))
    );
    assert_eq!(host.http_chunks_read(), 3);
    let response = answer.finish().unwrap();
    assert_eq!(response.message.content, "Good day");
    assert_eq!(response.finish_reason, FinishReason::Stop);
    assert_eq!(response.model, "m-1");
    let usage = Usage {
        input_tokens: 7,
        output_tokens: 2,
    };
    assert_eq!(response.usage, Some(usage));
    assert_eq!(answer.next_delta().unwrap(), None);
}

#[test]
fn a_stream_means_the_same_wherever_it_is_cut_and_however_lines_end() {
    for end in ["\n", "\r\n", "\r"] {
        let lines = [
            ": OPENROUTER PROCESSING",
            "",
            &format!("data: {}", text("Grüße ")),
            "",
            "event: message",
            &format!("data:{}", text("🎈")),
            "",
            ":",
            &format!("data: {}", finish("stop")),
            "",
            "data: [DONE]",
            "",
            "",
        ];
        let bytes = lines.join(end).into_bytes();
        for cut in 0..=bytes.len() {
            let (one, two) = bytes.split_at(cut);
            let stream = HttpAnswer::new(200).chunk(one).chunk(two);
            assert_eq!(told(stream).whole().message.content, "Grüße 🎈", "{cut}");
        }
    }
}

#[test]
fn parallel_calls_are_told_in_pieces_and_as_a_whole() {
    let calls = |calls: Value| delta(json!({ "content": null, "tool_calls": calls }));
    let told = told(HttpAnswer::events(&[
        calls(
            json!([{ "index": 0, "id": "a", "type": "function", "function": { "name": "look", "arguments": "" } }]),
        ),
        calls(json!([{ "index": 0, "function": { "arguments": "{\"x\":" } }])),
        calls(
            json!([{ "index": 1, "id": "b", "function": { "name": "find", "arguments": "{}" } },
                     { "index": 0, "function": { "arguments": "1}" } }]),
        ),
        finish("tool_calls"),
        DONE.to_owned(),
    ]));
    let pieces: Vec<_> = told
        .deltas
        .iter()
        .map(|delta| match delta {
            Delta::ToolCall(call) => (call.index, call.id.as_deref(), call.arguments.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        pieces,
        [
            (0, Some("a"), ""),
            (0, None, "{\"x\":"),
            (1, Some("b"), "{}"),
            (0, None, "1}")
        ]
    );
    let response = told.whole();
    assert_eq!(response.finish_reason, FinishReason::ToolCalls);
    assert_eq!(
        response.message.tool_calls,
        [
            ToolCall::new("a", "look", &json!({ "x": 1 })),
            ToolCall::new("b", "find", &json!({}))
        ]
    );
}

#[test]
fn a_call_in_the_older_form_is_a_call() {
    let response = told(HttpAnswer::events(&[
        delta(json!({ "function_call": { "name": "look", "arguments": "{" } })),
        delta(json!({ "function_call": { "arguments": "}" } })),
        finish("function_call"),
        DONE.to_owned(),
    ]))
    .whole();
    assert_eq!(response.finish_reason, FinishReason::ToolCalls);
    assert_eq!(response.message.tool_calls[0].arguments, "{}");
}

#[test]
fn each_reason_to_end_is_told() {
    for (word, reason) in [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
        ("tool_calls", FinishReason::Stop),
        ("eos", FinishReason::Other("eos".into())),
    ] {
        let stream = HttpAnswer::events(&[text("x"), finish(word), DONE.to_owned()]);
        assert_eq!(told(stream).whole().finish_reason, reason, "{word}");
    }
    // The model waits for a tool, whatever the server calls that.
    let call =
        json!({ "tool_calls": [{ "id": "a", "function": { "name": "look", "arguments": "{}" } }] });
    let stream = HttpAnswer::events(&[delta(call), finish("stop"), DONE.to_owned()]);
    assert_eq!(told(stream).whole().finish_reason, FinishReason::ToolCalls);
    // No reason at all, but the end was said.
    let stream = HttpAnswer::events(&[text("x"), DONE.to_owned()]);
    assert_eq!(told(stream).whole().finish_reason, FinishReason::Stop);
}

#[test]
fn usage_is_the_last_count_or_none() {
    let counted = |tokens: Value| json!({ "choices": [], "usage": tokens }).to_string();
    let usage = |events: Vec<String>| {
        let mut all = vec![text("x"), finish("stop")];
        all.extend(events);
        told(HttpAnswer::events(&all)).whole().usage
    };
    assert_eq!(usage(vec![]), None);
    assert_eq!(usage(vec![counted(Value::Null), counted(json!({}))]), None);
    let last = vec![
        counted(json!({ "prompt_tokens": 3, "completion_tokens": 1 })),
        counted(json!({ "prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5 })),
    ];
    assert_eq!(
        usage(last),
        Some(Usage {
            input_tokens: 3,
            output_tokens: 2
        })
    );
}

#[test]
fn odd_pieces_are_taken_for_what_they_mean() {
    let told = told(HttpAnswer::events(&[
        json!({ "choices": [], "prompt_filter_results": [] }).to_string(),
        json!({ "type": "ping" }).to_string(),
        String::new(),
        json!({ "choices": [{ "delta": null }, { "index": 1, "delta": { "content": "not this" } }] }).to_string(),
        delta(json!({ "content": null, "tool_calls": null, "reasoning_content": "Hm." })),
        delta(json!({ "content": [{ "type": "text", "text": "One" }, { "type": "image" }] })),
        delta(json!({ "refusal": " No." })),
        json!({ "choices": [{ "delta": { "content": "" }, "finish_reason": "stop" }], "usage": null }).to_string(),
        DONE.to_owned(),
    ]));
    let thought = json!({ "reasoning": "Hm." }).to_string();
    assert_eq!(told.deltas[0], Delta::Other(thought));
    assert_eq!(told.whole().message.content, "One No.");
}

#[test]
fn a_whole_answer_to_a_streamed_question_is_taken() {
    let answer = json!({
        "model": "m-2",
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": "Hi", "tool_calls": [
                { "id": "a", "type": "function", "function": { "name": "look", "arguments": "{}" } }] },
            "finish_reason": "tool_calls",
        }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1 },
    });
    // Whatever the server calls it, and with white space before it.
    for kind in ["application/json", "text/event-stream"] {
        let whole = HttpAnswer::new(200)
            .header("content-type", kind)
            .chunk("\n ")
            .chunk(answer.to_string());
        let response = told(whole).whole();
        assert_eq!(
            (response.model.as_str(), response.message.tool_calls.len()),
            ("m-2", 1)
        );
        assert!(response.usage.is_some());
    }
}

#[test]
fn an_answer_that_breaks_off_is_an_error_after_what_came() {
    for broken in [
        HttpAnswer::events(&[text("Good ")]),
        HttpAnswer::events(&[text("Good ")]).breaks_off(),
        HttpAnswer::events(&[text("Good ")]).stops_with(HttpErrorKind::TimedOut),
        HttpAnswer::events(&[text("Good ")]).chunk("data: {\"choices\":[{\"del"),
        HttpAnswer::events(&[text("Good ")]).chunk("data: [DO"),
    ] {
        let told = told(broken);
        assert_eq!(told.text(), "Good ");
        let error = told.end.unwrap_err();
        assert_eq!(error.code(), "unavailable");
        assert!(error.message().contains("https://a.example"), "{error}");
    }
    for nothing in [
        HttpAnswer::new(200),
        HttpAnswer::events(&[DONE]),
        HttpAnswer::events(&[delta(json!({ "role": "assistant" })), DONE.to_owned()]),
        HttpAnswer::new(200).chunk("upstream fault"),
        HttpAnswer::json(200, &json!({ "choices": [] })),
        HttpAnswer::new(200).chunk("{\"choices\":[{\"mess"),
        HttpAnswer::new(200)
            .chunk("{\"choices\":[{\"mess")
            .breaks_off(),
    ] {
        let told = told(nothing);
        assert_eq!(
            (told.deltas.len(), told.end.unwrap_err().code()),
            (0, "unavailable")
        );
    }
}

#[test]
fn an_answer_whose_end_was_said_is_whole_without_the_done() {
    for ended in [
        HttpAnswer::events(&[text("Hi"), finish("stop")]),
        HttpAnswer::events(&[text("Hi"), finish("stop")]).breaks_off(),
        HttpAnswer::events(&[text("Hi"), finish("stop")]).chunk("data: [DONE]"),
        HttpAnswer::events(&[text("Hi")]).chunk(format!("data: {}", finish("stop"))),
    ] {
        assert_eq!(told(ended).whole().message.content, "Hi");
    }
}
