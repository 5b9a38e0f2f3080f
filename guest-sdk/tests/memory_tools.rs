//! The tools with which a model uses memory, each called as a model calls it.

use keepsake_sdk::memory::NewFact;
use keepsake_sdk::model::Message;
use keepsake_sdk::testing::Host;
use keepsake_sdk::tool::Toolbox;
use keepsake_sdk::{Agent, AgentLoop, Description, Reply, Result, Session, Turn, memory_tools};
use serde_json::{Value, json};

struct Helper;

impl Agent for Helper {
    fn describe() -> Description {
        Description::new("helper", "0.1.0", "Has the tools of memory.")
    }

    fn handle(session: &Session, turn: Turn) -> Result<Reply> {
        let toolbox = Toolbox::new().with_all(memory_tools());
        let outcome = AgentLoop::new(&toolbox).run(session, vec![Message::user(turn.message)])?;
        Ok(Reply::new(outcome.text))
    }
}

/// What a tool answers.
fn call(host: &Host, tool: &str, arguments: Value) -> Value {
    let host = host
        .clone()
        .model_calls(&[(tool, arguments)])
        .model_says("done");
    host.turn::<Helper>("go on").unwrap();
    let requests = host.requests();
    let answer = requests.last().unwrap().messages.last().unwrap();
    serde_json::from_str(&answer.content).unwrap_or_else(|_| json!(answer.content))
}

#[test]
fn each_tool_has_a_name_a_description_and_a_schema_of_its_arguments() {
    let host = Host::new().model_says("done");
    host.turn::<Helper>("hello").unwrap();
    let tools = &host.requests()[0].tools;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "set_working_memory",
            "get_working_memory",
            "remember_fact",
            "recall_facts"
        ]
    );
    for tool in tools {
        assert!(!tool.description.is_empty());
        let schema: Value = serde_json::from_str(&tool.parameters).unwrap();
        assert_eq!(schema["type"], "object", "{}", tool.name);
    }
}

#[test]
fn a_value_that_a_model_sets_is_read_back_and_null_deletes_it() {
    let host = Host::new();
    let set = |value: Value| {
        call(
            &host,
            "set_working_memory",
            json!({ "key": "case", "value": value }),
        )
    };
    set(json!({ "open": true }));
    assert_eq!(host.working("case"), Some(json!({ "open": true })));
    let one = call(&host, "get_working_memory", json!({ "key": "case" }));
    assert_eq!(one, json!({ "value": { "open": true } }));
    let all = call(&host, "get_working_memory", json!({}));
    assert_eq!(
        all,
        json!({ "profile": {}, "values": { "case": { "open": true } } })
    );
    set(Value::Null);
    assert_eq!(host.working("case"), None);
}

#[test]
fn a_fact_that_a_model_remembers_with_a_source_is_verified_and_recalled_so() {
    let host = Host::new();
    let scope = host.session().scope().unwrap();
    scope.remember(NewFact::new("Jordan has a cat.")).unwrap();
    // The first entry of the session is the beginning of its first turn.
    let remembered = call(
        &host,
        "remember_fact",
        json!({
            "content": "Jordan is on the Pro plan.",
            "source": { "session": host.session().info().session, "index": 0 },
        }),
    );
    assert_eq!(remembered["outcome"], "stored");
    assert_eq!(remembered["fact"]["verified"], true);
    let found = call(
        &host,
        "recall_facts",
        json!({ "query": "which plan", "limit": 1 }),
    );
    assert_eq!(found["facts"][0]["content"], "Jordan is on the Pro plan.");
    assert_eq!(found["facts"][0]["verified"], true);
    assert!(found["facts"][0]["score"].is_number());
    let other = call(&host, "recall_facts", json!({ "query": "cat" }));
    assert_eq!(other["facts"][0]["verification"], "unverified");
}

#[test]
fn arguments_that_make_no_sense_are_told_to_the_model_and_change_nothing() {
    let host = Host::new();
    for (tool, arguments) in [
        ("remember_fact", json!({})),
        ("remember_fact", json!({ "content": "x", "quote": "y" })),
        ("recall_facts", json!({ "query": 7 })),
        ("set_working_memory", json!({ "key": "a" })),
        (
            "remember_fact",
            json!({ "content": "x", "source": { "session": "nowhere", "index": 3 } }),
        ),
    ] {
        let answer = call(&host, tool, arguments).to_string();
        assert!(
            answer.contains("error") || answer.contains("invalid"),
            "{answer}"
        );
    }
    assert!(host.facts().is_empty());
}
