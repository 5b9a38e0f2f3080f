//! The loop of an agent, with models that go wrong.

use std::cell::Cell;

use keepsake_sdk::model::{FinishReason, Message, Response, ToolCall};
use keepsake_sdk::testing::Host;
use keepsake_sdk::tool::{Tool, Toolbox};
use keepsake_sdk::{AgentLoop, CALLS_PER_ROUND, Error, Outcome, Result, SAME_ANSWERS, Session};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Where a parcel is.
#[derive(Deserialize, JsonSchema)]
struct Track {
    /// The number on the label.
    parcel: u32,
}

fn track<'a>() -> Tool<'a> {
    Tool::new(
        "track",
        "Says where a parcel is.",
        |_: &Session, track: Track| Ok(format!("{} is in Oslo", track.parcel)),
    )
}

/// Runs a loop on a scripted model.
fn run(host: &Host, toolbox: &Toolbox<'_>, rounds: u32) -> Result<Outcome> {
    let agent_loop = AgentLoop::new(toolbox).rounds(rounds);
    agent_loop.run(&host.session(), vec![Message::user("Where is it?")])
}

/// What the model was told last, of a loop that it ended after one call.
fn told(toolbox: &Toolbox<'_>, name: &str, arguments: &str) -> Value {
    let call = ToolCall {
        arguments: arguments.to_owned(),
        ..ToolCall::new("c", name, &Value::Null)
    };
    let host = Host::new()
        .model_answers(Ok(Response::calls("m", vec![call])))
        .model_says("done");
    let outcome = run(&host, toolbox, 8).unwrap();
    assert_eq!(outcome.text, "done");
    let message = &host.requests()[1].messages[2];
    assert_eq!(message.tool_call_id.as_deref(), Some("c"));
    serde_json::from_str(&message.content).unwrap()
}

#[test]
fn arguments_that_do_not_fit_are_answered_with_the_fault_and_the_schema() {
    let toolbox = Toolbox::new().with(track());
    for (arguments, fault) in [
        ("{\"parcel\": \"seven\"}", "expected u32"),
        ("{}", "missing field `parcel`"),
        ("{\"parcel\":", "they are not JSON"),
        ("[]", "`track` do not fit"),
    ] {
        let error = &told(&toolbox, "track", arguments)["error"];
        assert_eq!(error["code"], "invalid");
        assert!(
            error["message"].as_str().unwrap().contains(fault),
            "{error}"
        );
        let described = &error["parameters"]["properties"]["parcel"]["description"];
        assert_eq!(described, "The number on the label.");
    }
    assert_eq!(told(&toolbox, "track", "{\"parcel\":7}"), "7 is in Oslo");
}

#[test]
fn a_tool_with_a_schema_of_its_own_is_not_run_with_arguments_that_break_it() {
    let run = Cell::new(0);
    let schema = json!({
        "type": "object", "properties": { "plan": { "enum": ["Free", "Pro"] } }, "required": ["plan"],
    });
    let toolbox = Toolbox::new().with(Tool::with_schema("change", "", &schema, |_, _| {
        run.set(run.get() + 1);
        Ok(json!("changed"))
    }));
    let error = &told(&toolbox, "change", "{\"plan\":\"Gold\"}")["error"];
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("`plan` must be one of")
    );
    assert_eq!(error["parameters"], schema);
    assert_eq!(run.get(), 0);
    assert_eq!(told(&toolbox, "change", "{\"plan\":\"Pro\"}"), "changed");
    assert_eq!(run.get(), 1);
}

#[test]
fn a_tool_that_is_not_there_or_fails_is_told_to_the_model_without_a_schema() {
    let toolbox =
        Toolbox::new()
            .with(track())
            .with(Tool::with_schema("fail", "", &json!({}), |_, _| {
                Err(Error::invalid("the parcel is lost"))
            }));
    let error = &told(&toolbox, "trak", "{}")["error"];
    assert_eq!(error["code"], "not-found");
    assert!(error["message"].as_str().unwrap().contains("track, fail"));
    let error = &told(&toolbox, "fail", "{}")["error"];
    assert_eq!(error["message"], "the parcel is lost");
    assert!(error.get("parameters").is_none());
}

#[test]
fn a_call_that_tells_nothing_new_is_stopped_and_the_model_has_to_answer() {
    let mut host = Host::new();
    for _ in 0..=SAME_ANSWERS {
        host = host.model_calls(&[("track", json!({ "parcel": 7 }))]);
    }
    let host = host.model_says("It is in Oslo.");
    let toolbox = Toolbox::new().with(track());
    let outcome = run(&host, &toolbox, 20).unwrap();
    assert_eq!(outcome.text, "It is in Oslo.");
    assert_eq!(outcome.calls.len() as u32, SAME_ANSWERS);
    let requests = host.requests();
    let last = requests.last().unwrap();
    assert!(last.tools.is_empty(), "no tools are offered any more");
    let refusal = &last.messages.last().unwrap().content;
    assert!(refusal.contains("not run again"), "{refusal}");
    assert!(!requests[requests.len() - 2].tools.is_empty());
}

#[test]
fn a_repeated_call_beside_a_new_one_leaves_the_model_its_tools() {
    let mut host = Host::new();
    for _ in 0..SAME_ANSWERS {
        host = host.model_calls(&[("track", json!({ "parcel": 7 }))]);
    }
    let host = host
        .model_calls(&[
            ("track", json!({ "parcel": 7 })),
            ("track", json!({ "parcel": 8 })),
        ])
        // Something new was learned meanwhile, so that it may have changed.
        .model_calls(&[("track", json!({ "parcel": 7 }))])
        .model_says("done");
    let toolbox = Toolbox::new().with(track());
    let outcome = run(&host, &toolbox, 20).unwrap();
    assert_eq!(outcome.calls.len() as u32, SAME_ANSWERS + 2);
    assert!(!host.requests().last().unwrap().tools.is_empty());
}

#[test]
fn a_model_that_calls_without_end_is_stopped_by_the_rounds() {
    let mut host = Host::new();
    for parcel in 0..20 {
        host = host.model_calls(&[("track", json!({ "parcel": parcel }))]);
    }
    let toolbox = Toolbox::new().with(track());
    let error = run(&host, &toolbox, 4).unwrap_err();
    assert!(matches!(error, Error::Limit { name, .. } if name == "agent-rounds"));
    let requests = host.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[3].tools.is_empty() && !requests[2].tools.is_empty());
}

#[test]
fn every_call_of_an_answer_is_answered_and_only_so_many_are_run() {
    let calls: Vec<_> = (0..CALLS_PER_ROUND + 3)
        .map(|parcel| ("track", json!({ "parcel": parcel })))
        .collect();
    let host = Host::new().model_calls(&calls).model_says("done");
    let toolbox = Toolbox::new().with(track());
    let outcome = run(&host, &toolbox, 8).unwrap();
    assert_eq!(outcome.calls.len(), CALLS_PER_ROUND);
    let told = &host.requests()[1].messages[2..];
    assert_eq!(told.len(), calls.len());
    assert!(told.last().unwrap().content.contains("call it again"));
}

#[test]
fn a_call_that_was_cut_off_is_told_so_and_an_answer_that_was_held_back_runs_nothing() {
    let cut = ToolCall {
        arguments: "{\"parcel\":".to_owned(),
        ..ToolCall::new("c", "track", &Value::Null)
    };
    let answer = |reason| Response {
        finish_reason: reason,
        ..Response::calls("m", vec![cut.clone()])
    };
    let toolbox = Toolbox::new().with(track());
    let host = Host::new()
        .model_answers(Ok(answer(FinishReason::Length)))
        .model_says("done");
    run(&host, &toolbox, 8).unwrap();
    let told = &host.requests()[1].messages[2].content;
    assert!(told.contains("cut off within this call"), "{told}");
    let host = Host::new().model_answers(Ok(answer(FinishReason::ContentFilter)));
    let outcome = run(&host, &toolbox, 8).unwrap();
    assert!(outcome.calls.is_empty() && !outcome.is_complete());
}
