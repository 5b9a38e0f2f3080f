//! What comes of the answers of servers, each scripted after the public
//! documentation.

mod support;

use keepsake_sdk::ModelProvider;
use keepsake_sdk::http::HttpErrorKind;
use keepsake_sdk::model::{Delta, FinishReason, ToolCall, Usage};
use keepsake_sdk::testing::HttpAnswer;
use model_anthropic::ModelAnthropic;
use serde_json::{Value, json};

use support::{
    arguments, begin, block, close, empty_text, ends, hello, host, part, said, stop, stream, text,
    told, written,
};

fn tool(index: u64, id: &str, name: &str) -> Value {
    let call = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
    block(index, call)
}

#[test]
fn an_answer_comes_piece_by_piece_as_the_server_sends_it() {
    let host = host().http_answers(stream(&[
        begin(),
        block(0, empty_text()),
        json!({ "type": "ping" }),
        text(0, "Good "),
        text(0, "day"),
        close(0),
        ends("end_turn"),
        stop(),
    ]));
    let mut answer = ModelAnthropic::chat(&host.context(), hello()).unwrap();
    assert_eq!(host.http_chunks_read(), 0);
    let piece = answer.next_delta().unwrap();
    assert_eq!(piece, Some(Delta::Text("Good ".into())));
    assert_eq!(host.http_chunks_read(), 4, "nothing is read ahead");
    let response = answer.finish().unwrap();
    assert_eq!(response.message.content, "Good day");
    assert_eq!(response.finish_reason, FinishReason::Stop);
    assert_eq!(response.model, "m-1");
    let usage = Usage {
        input_tokens: 7,
        output_tokens: 5,
    };
    assert_eq!(response.usage, Some(usage), "the last count holds");
    assert_eq!(answer.next_delta().unwrap(), None);
}

#[test]
fn a_stream_means_the_same_wherever_it_is_cut_and_however_lines_end() {
    for end in ["\n", "\r\n", "\r"] {
        let mut events = said("Grüße 🎈");
        events.insert(2, json!({ "type": "ping" }));
        let bytes: String = events.iter().map(|event| written(event, end)).collect();
        let bytes = format!(": welcome{end}{end}{bytes}").into_bytes();
        for cut in 0..=bytes.len() {
            let (one, two) = bytes.split_at(cut);
            let stream = HttpAnswer::new(200).chunk(one).chunk(two);
            assert_eq!(told(stream).whole().message.content, "Grüße 🎈", "{cut}");
        }
    }
}

#[test]
fn calls_come_in_pieces_after_text_and_beside_each_other() {
    let told = told(stream(&[
        begin(),
        block(0, empty_text()),
        text(0, "I look."),
        close(0),
        tool(1, "a", "look"),
        arguments(1, ""),
        arguments(1, "{\"x\":"),
        arguments(1, " 1}"),
        close(1),
        tool(2, "b", "find"),
        close(2),
        ends("tool_use"),
        stop(),
    ]));
    let pieces: Vec<_> = told
        .deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::ToolCall(call) => {
                Some((call.index, call.id.as_deref(), call.arguments.as_str()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        pieces,
        [
            (0, Some("a"), ""),
            (0, None, "{\"x\":"),
            (0, None, " 1}"),
            (1, Some("b"), "")
        ]
    );
    let response = told.whole();
    assert_eq!(response.finish_reason, FinishReason::ToolCalls);
    assert_eq!(response.message.content, "I look.");
    let look = ToolCall {
        arguments: "{\"x\": 1}".to_owned(),
        ..ToolCall::new("a", "look", &Value::Null)
    };
    assert_eq!(
        response.message.tool_calls,
        [look, ToolCall::new("b", "find", &json!({}))]
    );
}

#[test]
fn a_call_whose_arguments_come_at_once_is_whole() {
    let call = json!({ "type": "tool_use", "id": "a", "name": "look", "input": { "x": 1 } });
    let events = [begin(), block(0, call), close(0), ends("tool_use"), stop()];
    let response = told(stream(&events)).whole();
    assert_eq!(response.message.tool_calls[0].arguments, "{\"x\":1}");
}

#[test]
fn each_reason_to_end_is_told() {
    for (word, reason) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("tool_use", FinishReason::Stop),
        ("refusal", FinishReason::ContentFilter),
        ("pause_turn", FinishReason::Other("pause_turn".into())),
    ] {
        let mut events = said("x");
        events[4] = ends(word);
        let response = told(stream(&events)).whole();
        assert_eq!(response.finish_reason, reason, "{word}");
    }
    // A call that was cut off is not waited for.
    let events = [
        begin(),
        tool(0, "a", "look"),
        arguments(0, "{\"x\":"),
        ends("max_tokens"),
        stop(),
    ];
    let response = told(stream(&events)).whole();
    assert_eq!(response.finish_reason, FinishReason::Length);
    assert_eq!(response.message.tool_calls[0].arguments, "{\"x\":");
}

#[test]
fn usage_counts_what_was_read_from_a_cache_and_is_none_where_nobody_counts() {
    let usage = |first: Value, last: Value| {
        let mut events = said("x");
        events[0]["message"]["usage"] = first;
        events[4]["usage"] = last;
        told(stream(&events)).whole().usage
    };
    assert_eq!(usage(Value::Null, Value::Null), None);
    let first = json!({
        "input_tokens": 3, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100,
        "output_tokens": 1,
    });
    let counted = Usage {
        input_tokens: 113,
        output_tokens: 9,
    };
    assert_eq!(
        usage(first.clone(), json!({ "output_tokens": 9 })),
        Some(counted)
    );
    // A later count of the question replaces the first.
    let later = usage(first, json!({ "input_tokens": 4, "output_tokens": 9 }));
    assert_eq!(later.map(|usage| usage.input_tokens), Some(114));
    let absurd = json!({ "input_tokens": u64::MAX, "cache_read_input_tokens": 1 });
    let counted = usage(absurd, Value::Null).unwrap();
    assert_eq!(counted.input_tokens, u64::MAX);
}

#[test]
fn odd_pieces_are_taken_for_what_they_mean() {
    let told = told(stream(&[
        json!({ "type": "ping" }),
        begin(),
        block(
            0,
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
        ),
        part(0, json!({ "type": "thinking_delta", "thinking": "Hm." })),
        part(0, json!({ "type": "signature_delta", "signature": "c2ln" })),
        close(0),
        block(1, json!(null)),
        json!({ "type": "content_block_delta", "index": 1, "delta": null }),
        part(1, json!({ "type": "text_delta", "text": null })),
        part(
            1,
            json!({ "type": "citations_delta", "citation": { "cited_text": "x" } }),
        ),
        block(2, json!({ "type": "text", "text": "One" })),
        json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": " two" } }),
        json!({ "type": "something_new", "index": "not even a number" }),
        json!({ "type": "message_delta", "delta": null, "usage": null }),
        ends("end_turn"),
        stop(),
    ]));
    let thought = json!({ "reasoning": "Hm." }).to_string();
    assert_eq!(told.deltas[0], Delta::Other(thought));
    assert_eq!(told.whole().message.content, "One two");
}

#[test]
fn events_are_known_by_their_name_where_they_do_not_say_their_type() {
    let bytes: String = said("Hi")
        .into_iter()
        .map(|mut event| {
            let name = event["type"].as_str().unwrap().to_owned();
            event.as_object_mut().unwrap().remove("type");
            format!("event: {name}\ndata: {event}\n\n")
        })
        .collect();
    let answer = told(HttpAnswer::new(200).chunk(bytes));
    assert_eq!(answer.whole().message.content, "Hi");
}

#[test]
fn a_whole_answer_to_a_streamed_question_is_taken() {
    let answer = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-2",
        "content": [
            { "type": "text", "text": "Hi" },
            { "type": "tool_use", "id": "a", "name": "look", "input": { "x": 1 } },
        ],
        "stop_reason": "tool_use",
        "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let response = told(HttpAnswer::json(200, &answer)).whole();
    assert_eq!(response.message.content, "Hi");
    assert_eq!(response.message.tool_calls[0].arguments, "{\"x\":1}");
    assert_eq!(response.finish_reason, FinishReason::ToolCalls);
    assert!(response.model == "m-2" && response.usage.is_some());
}

#[test]
fn an_answer_that_breaks_off_is_an_error_after_what_came() {
    let begun = || stream(&[begin(), block(0, empty_text()), text(0, "Good ")]);
    for broken in [
        begun(),
        begun().breaks_off(),
        begun().stops_with(HttpErrorKind::TimedOut),
        begun().chunk(written(&close(0), "\n")),
        begun().chunk("event: message_delta\ndata: {\"type\":\"message_del"),
    ] {
        let told = told(broken);
        assert_eq!(told.text(), "Good ");
        let error = told.end.unwrap_err();
        assert_eq!(error.code(), "unavailable");
        assert!(error.message().contains("https://a.example"), "{error}");
    }
    for nothing in [
        HttpAnswer::new(200),
        stream(&[begin()]),
        stream(&[begin(), stop()]),
        stream(&[json!({ "type": "ping" })]),
        HttpAnswer::json(200, &json!({ "type": "message", "content": [] })),
        HttpAnswer::new(200).chunk("{\"type\":\"mess").breaks_off(),
    ] {
        let told = told(nothing);
        let error = told.end.unwrap_err();
        assert_eq!((told.deltas.len(), error.code()), (0, "unavailable"));
    }
}

#[test]
fn an_answer_whose_reason_to_end_came_is_whole_without_the_stop() {
    let until_reason = || stream(&said("Hi")[..5]);
    for ended in [
        until_reason(),
        until_reason().breaks_off(),
        until_reason().chunk("event: message_stop\ndata: {\"type\""),
        // The last event without the empty line behind it.
        stream(&said("Hi")[..4]).chunk(format!("data: {}", ends("end_turn"))),
    ] {
        let response = told(ended).whole();
        assert_eq!(response.message.content, "Hi");
        assert_eq!(response.finish_reason, FinishReason::Stop);
    }
}
