//! The tools with which a model works in a sandbox, each called as a model
//! calls it.

use keepsake_sdk::model::Message;
use keepsake_sdk::testing::{CommandAnswer, Host};
use keepsake_sdk::tool::Toolbox;
use keepsake_sdk::{
    Agent, AgentLoop, Description, Reply, Result, Session, Turn, memory_tools, sandbox_tools,
};
use serde_json::{Value, json};

struct Worker;

impl Agent for Worker {
    fn describe() -> Description {
        Description::new("worker", "0.1.0", "Has the standard tools.")
    }

    fn handle(session: &Session, turn: Turn) -> Result<Reply> {
        let toolbox = Toolbox::new()
            .with_all(memory_tools())
            .with_all(sandbox_tools());
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
    host.turn::<Worker>("go on").unwrap();
    let requests = host.requests();
    let answer = requests.last().unwrap().messages.last().unwrap();
    serde_json::from_str(&answer.content).unwrap()
}

#[test]
fn a_file_that_was_written_is_read_back() {
    let host = Host::new().commands(|_| CommandAnswer::prints(""));
    let written = json!({ "path": "notes/a.txt", "content": "one\ntwo" });
    assert_eq!(call(&host, "write_file", written), json!({ "bytes": 7 }));
    assert_eq!(
        call(
            &host,
            "read_file",
            json!({ "path": "notes/a.txt", "from_line": 2 })
        ),
        json!({ "content": "two", "lines": 2 })
    );
    let missing = call(&host, "read_file", json!({ "path": "notes/b.txt" }));
    assert_eq!(missing["error"]["code"], "not-found");
}

#[test]
fn what_a_command_printed_makes_a_fact_verified() {
    let host = Host::new().commands(|_| CommandAnswer::prints("plan: Pro\n"));
    let ran = call(&host, "run_command", json!({ "command": "cat plan" }));
    assert_eq!(ran["stdout"], "plan: Pro\n");
    let fact = json!({
        "content": "Jordan is on Pro.", "source": ran["entry"], "quote": "plan: Pro",
    });
    assert_eq!(call(&host, "remember_fact", fact)["fact"]["verified"], true);
}

#[test]
fn without_a_sandbox_the_model_is_told() {
    let answer = call(&Host::new(), "run_command", json!({ "command": "true" }));
    assert_eq!(answer["error"]["code"], "unavailable");
}
