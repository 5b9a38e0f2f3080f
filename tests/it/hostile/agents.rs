//! Agents that compute, allocate and hold without end.

use super::attacked;
use crate::program::Folder;

#[test]
fn an_endless_loop_is_cut_off_by_its_computing_time() {
    let folder = Folder::configured("[limits]\nturn-cpu-seconds = 0.3\n");
    attacked(&folder, "loop").ended("cpu-time", &["0.3", "limits.turn-cpu-seconds"]);
}

#[test]
fn an_endless_loop_is_cut_off_by_fuel_where_that_is_set() {
    let folder = Folder::configured("[limits]\nturn-fuel = 50000000\n");
    attacked(&folder, "loop").ended("turn-fuel", &["50000000", "limits.turn-fuel"]);
}

#[test]
fn an_endless_sleep_is_cut_off_by_the_time_of_the_turn() {
    let folder = Folder::configured("[limits]\nturn-seconds = 1\n");
    attacked(&folder, "sleep").ended("wall-time", &["limits.turn-seconds"]);
}

#[test]
fn a_session_whose_time_is_over_has_no_further_turn() {
    let folder = Folder::configured("[limits]\nsession-seconds = 1\n");
    let ran = folder.host_with_input(
        &[
            "run",
            keepsake_test_artifacts::HOSTILE_AGENT,
            "--resource",
            "mallory",
            "--json",
        ],
        b"remember a fact\nsleep\nrecall fact\n",
    );
    let turns: Vec<serde_json::Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(turns[0]["reply"], "remembered", "{ran:#?}");
    for turn in &turns[1..] {
        assert_eq!(turn["error"]["code"], "session-seconds", "{ran:#?}");
        let message = turn["error"]["message"].as_str().unwrap();
        assert!(message.contains("limits.session-seconds"), "{message}");
    }
    super::sound(&folder);
    // What was remembered is there for the next session.
    assert_eq!(folder.facts("mallory").len(), 1);
}

#[test]
fn recursion_without_end_ends_the_turn() {
    attacked(&Folder::new(), "recurse").ended("stack-overflow", &["calls itself"]);
}

#[test]
fn memory_that_is_taken_in_steps_ends_at_the_bound() {
    let folder = Folder::configured("[limits]\nmemory-mib = 16\n");
    attacked(&folder, "memory-in-steps").ended("memory", &["16 MiB", "limits.memory-mib"]);
}

#[test]
fn memory_that_is_taken_at_once_ends_at_the_bound() {
    attacked(&Folder::new(), "memory-at-once").ended("memory", &["128 MiB", "limits.memory-mib"]);
}

#[test]
fn an_agent_that_aborts_has_given_no_reply() {
    attacked(&Folder::new(), "abort").ended("trap", &["plugin `hostile-agent` failed"]);
}

#[test]
fn an_agent_that_exits_as_if_all_were_well_has_given_no_reply() {
    attacked(&Folder::new(), "exit").ended("exit", &["ended itself"]);
}

#[test]
fn an_agent_that_says_something_else_each_time_is_recorded_as_it_spoke() {
    let folder = Folder::new();
    let first = attacked(&folder, "time").replied().to_owned();
    let second = attacked(&folder, "time").replied().to_owned();
    assert_ne!(first, second);
    let recorded: Vec<_> = folder
        .entries("turn-completed")
        .iter()
        .map(|entry| entry["payload"]["reply"].clone())
        .collect();
    assert!(recorded.contains(&first.into()) && recorded.contains(&second.into()));
}

#[test]
fn a_million_scopes_end_at_the_bound_of_handles() {
    let attacked = attacked(&Folder::new(), "scopes");
    let replied = attacked.replied();
    assert!(
        replied.starts_with("stopped at ") && replied.ends_with("limit handles"),
        "{replied}"
    );
    attacked.operator_was_told("limits.handles");
}

#[test]
fn handles_may_be_set_to_fewer() {
    let folder = Folder::configured("[limits]\nhandles = 50\n");
    let attacked = attacked(&folder, "scopes 100");
    assert!(attacked.replied().ends_with("limit handles"));
}

#[test]
fn answers_of_a_model_that_are_never_read_end_at_the_bound() {
    let attacked = attacked(&Folder::new(), "completions");
    assert_eq!(attacked.replied(), "stopped at 8: limit completions");
    attacked.operator_was_told("limits.completions");
}

#[test]
fn sandboxes_that_are_never_closed_end_at_the_bound_and_are_closed() {
    let folder = Folder::configured("[limits]\nsession-sandboxes = 3\n");
    let attacked = attacked(&folder, "sandboxes");
    assert_eq!(attacked.replied(), "stopped at 2: limit session-sandboxes");
    attacked.operator_was_told("limits.session-sandboxes");
    assert_eq!(folder.entries("sandbox-closed").len(), 3);
}

#[test]
fn commands_that_do_not_end_are_bounded_and_killed() {
    let folder = Folder::new();
    let attacked = attacked(&folder, "commands");
    assert_eq!(attacked.replied(), "stopped at 8: limit sandbox-executions");
}

#[test]
fn a_panic_with_a_sandbox_in_hand_closes_it_and_kills_what_runs_in_it() {
    let folder = Folder::new();
    attacked(&folder, "panic-with-sandbox").ended("panic", &["with a sandbox in hand"]);
    assert_eq!(folder.entries("sandbox-closed").len(), 2);
}

#[test]
fn a_panic_with_an_answer_in_hand_records_that_it_was_abandoned() {
    let folder = Folder::new();
    attacked(&folder, "panic-with-completion").ended("panic", &["with an answer in hand"]);
    let asked = folder.entries("model-called");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["payload"]["finish"], "abandoned");
}
