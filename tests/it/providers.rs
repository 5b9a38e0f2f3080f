//! Providers that misbehave: an error to the agent or a clear end, never a
//! trap of the agent or a vector that nobody checked.

use keepsake_test_artifacts::{UNRULY_AGENT, UNRULY_EMBEDDINGS, UNRULY_MODEL};

use crate::program::{Folder, Ran};

fn embeddings(misbehave: &str) -> Folder {
    Folder::configured(&format!(
        "embeddings = {UNRULY_EMBEDDINGS:?}\n[limits]\nturn-cpu-seconds = 0.5\n[settings.unruly-embeddings]\nmisbehave = {misbehave:?}\n"
    ))
}

fn model(misbehave: &str) -> Folder {
    Folder::configured(&format!(
        "model = {UNRULY_MODEL:?}\n[limits]\nturn-cpu-seconds = 0.5\n[settings.unruly-model]\nmisbehave = {misbehave:?}\n"
    ))
}

/// The agent was told of the provider's failure as an error, and handed it on.
#[track_caller]
fn told(ran: &Ran, code: &str, said: &str) {
    assert_eq!(ran.code, Some(4), "{ran:#?}");
    let error = &ran.json()["error"];
    assert_eq!(error["code"], code, "{ran:#?}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(said), "{said:?} is not told: {message}");
}

fn ask(folder: &Folder, message: &str) -> Ran {
    folder.host(&[
        "run",
        UNRULY_AGENT,
        "--resource",
        "jordan",
        "--json",
        "-m",
        message,
    ])
}

#[test]
fn a_sound_provider_is_used() {
    let ran = ask(&embeddings("not at all"), "embed hello").succeeded();
    assert_eq!(ran.json()["reply"], "4 numbers");
}

#[test]
fn a_provider_that_panics_is_an_error_to_the_agent() {
    told(
        &ask(&embeddings("panic"), "embed hello"),
        "unavailable",
        "the provider's own words",
    );
}

#[test]
fn a_provider_that_loops_for_ever_is_interrupted() {
    told(
        &ask(&embeddings("loop"), "embed hello"),
        "unavailable",
        "0.5",
    );
}

#[test]
fn a_providers_own_error_reaches_the_agent() {
    told(
        &ask(&embeddings("unavailable"), "embed hello"),
        "unavailable",
        "try later",
    );
}

#[test]
fn a_wrong_number_of_vectors_is_refused() {
    told(
        &ask(&embeddings("count"), "embed hello"),
        "unavailable",
        "2 vectors for 1 text",
    );
    told(
        &ask(&embeddings("none"), "embed hello"),
        "unavailable",
        "0 vectors for 1 text",
    );
}

#[test]
fn numbers_that_are_none_are_refused() {
    told(
        &ask(&embeddings("nan"), "embed hello"),
        "unavailable",
        "no finite number",
    );
    told(
        &ask(&embeddings("infinite"), "embed hello"),
        "unavailable",
        "no finite number",
    );
}

#[test]
fn vectors_of_the_wrong_width_or_length_are_refused() {
    told(
        &ask(&embeddings("width"), "embed hello"),
        "unavailable",
        "7",
    );
    told(
        &ask(&embeddings("length"), "embed hello"),
        "unavailable",
        "length",
    );
}

#[test]
fn facts_are_not_lost_when_the_provider_fails() {
    let folder = embeddings("not at all");
    ask(&folder, "remember Jordan likes green tea").succeeded();
    folder.write(
        "host.toml",
        format!("embeddings = {UNRULY_EMBEDDINGS:?}\n[settings.unruly-embeddings]\nmisbehave = \"panic\"\n"),
    );
    // What was learned is kept all the same, and its words find it.
    ask(&folder, "remember Jordan likes black tea").succeeded();
    assert_eq!(folder.facts("jordan").len(), 2);
    let found = folder
        .host(&[
            "memory",
            "recall",
            "--resource",
            "jordan",
            "black tea",
            "--mode",
            "words",
            "--json",
        ])
        .succeeded()
        .json();
    assert_eq!(found["facts"][0]["content"], "Jordan likes black tea");
}

#[test]
fn another_dimension_than_yesterday_is_told_before_anything_is_mixed() {
    let folder = embeddings("not at all");
    ask(&folder, "remember Jordan likes green tea").succeeded();
    folder.write(
        "host.toml",
        format!(
            "embeddings = {UNRULY_EMBEDDINGS:?}\n[settings.unruly-embeddings]\ndimensions = 6\n"
        ),
    );
    for message in ["remember Jordan likes black tea", "recall tea"] {
        let ran = ask(&folder, message);
        assert_eq!(ran.code, Some(4), "{message}: {ran:?}");
        assert!(
            ran.stdout.contains("6")
                && ran.stdout.contains("4")
                && ran.stdout.contains("dimensions"),
            "{message}: {ran:?}"
        );
    }
    assert_eq!(folder.facts("jordan").len(), 1);

    // The way out that the error names.
    folder
        .host(&["memory", "reindex", "--resource", "jordan"])
        .succeeded();
    let found = ask(&folder, "recall tea").succeeded();
    assert!(found.stdout.contains("green tea"), "{found:?}");
}

#[test]
fn an_embedding_provider_that_cannot_tell_what_it_is_now_is_done_without() {
    let folder = embeddings("no-info");
    let ran = ask(&folder, "embed hello");
    told(&ran, "unavailable", "my weights are away");
    let note = "note: the plugin \"unruly-embeddings\" cannot say what it is now";
    assert!(ran.stderr.contains(note), "{ran:#?}");
    // Words find what was remembered without it.
    ask(&folder, "remember Jordan likes green tea").succeeded();
    let found = ask(&folder, "recall green tea").succeeded();
    assert!(found.stdout.contains("green tea"), "{found:?}");
    // A command that is for vectors alone has nothing to do.
    folder
        .host(&["memory", "reindex", "--resource", "jordan"])
        .failed(3, &["unruly-embeddings", "my weights are away"]);
}

#[test]
fn a_model_that_streams_is_passed_on_piece_by_piece() {
    let ran = ask(&model("not at all"), "chat hello").succeeded();
    assert_eq!(
        ran.json()["reply"],
        "piece0 piece1 piece2  / piece0 piece1 piece2 "
    );
}

#[test]
fn a_model_that_fails_is_an_error_to_the_agent_whenever_it_fails() {
    told(
        &ask(&model("panic"), "chat hello"),
        "unavailable",
        "the model's own words",
    );
    told(
        &ask(&model("panic-midway"), "chat hello"),
        "unavailable",
        "the model's own words",
    );
    told(
        &ask(&model("break-midway"), "chat hello"),
        "unavailable",
        "the line broke",
    );
    told(&ask(&model("loop"), "chat hello"), "unavailable", "0.5");
    told(&ask(&model("refuse"), "chat hello"), "denied", "no credit");
}

#[test]
fn every_call_of_a_provider_is_an_entry() {
    let folder = model("break-midway");
    ask(&folder, "chat hello");
    let calls = folder.entries("model-called");
    assert_eq!(calls.len(), 1, "{calls:#?}");
    assert!(
        calls[0]["payload"]["error"]
            .as_str()
            .unwrap()
            .contains("the line broke")
    );
    let folder = Folder::new();
    ask(&folder, "embed hello").succeeded();
    assert_eq!(folder.entries("provider-called").len(), 1);
}
