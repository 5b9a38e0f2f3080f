//! Providers that lie, flood, wait, and reach for what is not theirs.

use keepsake_test_artifacts::{HOSTILE_MODEL, HOSTILE_PROVIDER};

use super::attacked;
use crate::http_server::{Server, answer};
use crate::program::Folder;

fn model(attack: &str, limits: &str) -> Folder {
    Folder::configured(&format!(
        "model = {HOSTILE_MODEL:?}\n[limits]\n{limits}\n[settings.hostile-model]\nattack = {attack:?}\n"
    ))
}

fn embeddings(attack: &str, limits: &str, settings: &str) -> Folder {
    Folder::configured(&format!(
        "embeddings = {HOSTILE_PROVIDER:?}\n[limits]\n{limits}\n[settings.hostile-provider]\nattack = {attack:?}\n{settings}\n"
    ))
}

#[test]
fn an_answer_without_end_is_cut_off_with_the_turn() {
    let folder = model("endless", "host-calls = 3000");
    attacked(&folder, "questions").ended("host-calls", &["limits.host-calls"]);
    assert_eq!(folder.entries("model-called").len(), 1);
}

#[test]
fn an_answer_of_endless_large_pieces_takes_no_memory_of_the_host() {
    let folder = model("endless-large", "turn-seconds = 3");
    let attacked = attacked(&folder, "questions");
    assert!(
        ["wall-time", "cpu-time"].contains(&attacked.turn["error"]["code"].as_str().unwrap()),
        "{:#?}",
        attacked.ran
    );
}

#[test]
fn an_answer_of_nothing_without_end_is_cut_off_with_the_turn() {
    let folder = model("endless-empty", "host-calls = 3000");
    attacked(&folder, "questions").ended("host-calls", &["limits.host-calls"]);
}

#[test]
fn a_model_that_never_answers_is_cut_off_with_the_turn() {
    let folder = model("sleep", "turn-seconds = 1");
    let attacked = attacked(&folder, "questions");
    // Whichever is cut off first: the agent that waits, or the model.
    let told = attacked.ran.stderr + &attacked.turn.to_string();
    assert!(told.contains("limits.turn-seconds"), "{told}");
}

#[test]
fn a_model_that_loops_when_its_answer_is_dropped_holds_nobody_up() {
    let folder = model("drop", "turn-cpu-seconds = 0.3");
    assert_eq!(attacked(&folder, "questions").replied(), "0 pieces");
}

#[test]
fn a_model_that_counts_absurdly_ends_its_sessions_budget_and_nothing_else() {
    let folder = model("escapes", "");
    let ran = folder.host_with_input(
        &[
            "run",
            keepsake_test_artifacts::UNRULY_AGENT,
            "--resource",
            "mallory",
            "--json",
        ],
        b"chat hello\nchat again\nremember all is well\n",
    );
    let turns: Vec<serde_json::Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(turns[0]["reply"].is_string(), "{ran:#?}");
    assert_eq!(turns[1]["error"]["code"], "limit", "{ran:#?}");
    let message = turns[1]["error"]["message"].as_str().unwrap();
    assert!(message.contains("session-model-tokens"), "{message}");
    assert!(turns[2]["reply"].is_string(), "{ran:#?}");
}

#[test]
fn a_model_whose_answer_is_larger_than_a_call_may_carry_is_an_error_to_the_agent() {
    let folder = model("huge", "call-mib = 8");
    let ran = folder.say(
        keepsake_test_artifacts::UNRULY_AGENT,
        "chat hello",
        &["--resource", "mallory", "--json"],
    );
    let error = &ran.json()["error"];
    assert_eq!(error["code"], "unavailable", "{ran:#?}");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("limits.call-mib"),
        "{ran:#?}"
    );
}

#[test]
fn a_provider_that_hands_over_too_much_is_an_error_to_the_agent() {
    let folder = embeddings("huge", "call-mib = 8", "");
    let attacked = attacked(&folder, "texts");
    assert!(
        attacked.replied().contains("limits.call-mib"),
        "{:#?}",
        attacked.turn
    );
}

#[test]
fn a_provider_that_waits_for_ever_is_cut_off_with_the_turn() {
    let folder = embeddings("sleep", "turn-seconds = 1", "");
    let ran = folder.say(
        keepsake_test_artifacts::UNRULY_AGENT,
        "embed hello",
        &["--resource", "mallory", "--json"],
    );
    let told = ran.stderr + &ran.stdout;
    assert!(told.contains("limits.turn-seconds"), "{told}");
    super::sound(&folder);
}

#[test]
fn a_provider_whose_vectors_change_with_time_is_refused() {
    let folder = embeddings("changing", "", "");
    let attacked = attacked(&folder, "texts");
    assert!(
        attacked.replied().starts_with("stopped at 0"),
        "{:#?}",
        attacked.turn
    );
}

#[test]
fn a_provider_that_ends_itself_is_an_error_to_the_agent() {
    for attack in ["exit", "abort"] {
        let attacked = attacked(&embeddings(attack, "", ""), "texts");
        let replied = attacked.replied();
        assert!(replied.contains("stopped at 0"), "{attack}: {replied}");
    }
}

#[test]
fn a_provider_reaches_no_server_but_its_own() {
    let own = Server::start(|_, _| answer("200 OK", "text/plain", "hello"));
    let other = Server::start(|_, _| answer("200 OK", "text/plain", "secret"));
    let port = own.address().rsplit_once(':').unwrap().1.to_owned();
    let elsewhere = [
        format!("http://{}/", other.address()),
        format!("http://localhost:{port}/"),
        format!("http://0.0.0.0:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("http://own@127.0.0.1:{port}/"),
        format!("http://{}@{}/", own.address(), other.address()),
        "http://127.0.0.1/".into(),
        "http://169.254.169.254/latest/meta-data/".into(),
        "http://metadata.google.internal/".into(),
        "http://[fe80::1]/".into(),
        "file:///etc/passwd".into(),
        "unix:///var/run/docker.sock".into(),
    ];
    let targets = format!("{} http://{}/own", elsewhere.join(" "), own.address());
    let folder = embeddings(
        "elsewhere",
        "embedded-texts = 1000",
        &format!("base-url = {:?}\ntargets = {targets:?}", own.url()),
    );
    let ran = folder
        .say(
            keepsake_test_artifacts::UNRULY_AGENT,
            "embed hello",
            &["--resource", "mallory"],
        )
        .succeeded();
    for target in &elsewhere {
        let told = ran
            .stderr
            .lines()
            .find(|line| line.contains(&format!("{target} gave ")))
            .unwrap_or_else(|| panic!("{target} was not tried: {}", ran.stderr));
        assert!(!told.contains("gave 200"), "{told}");
    }
    assert!(ran.stderr.contains("/own gave 200"), "{}", ran.stderr);
    assert!(other.requests().is_empty(), "{:?}", other.requests());
    assert_eq!(own.requests().len(), 1, "{:?}", own.requests());
}

#[test]
fn a_redirect_leads_a_provider_nowhere() {
    let other = Server::start(|_, _| answer("200 OK", "text/plain", "secret"));
    let target = format!("http://{}/", other.address());
    let own = Server::start(move |_, _| {
        format!(
            "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .into_bytes()
    });
    let folder = embeddings(
        "read",
        "",
        &format!("base-url = {0:?}\ntarget = {0:?}", own.url()),
    );
    let ran = folder
        .say(
            keepsake_test_artifacts::UNRULY_AGENT,
            "embed hello",
            &["--resource", "mallory"],
        )
        .succeeded();
    assert!(ran.stderr.contains("302 with 0 bytes"), "{}", ran.stderr);
    assert!(other.requests().is_empty());
}

#[test]
fn requests_of_a_provider_without_end_are_cut_off_at_their_number() {
    let own = Server::start(|_, _| answer("200 OK", "text/plain", "hello"));
    let folder = embeddings(
        "many",
        "http-requests = 20",
        &format!("base-url = {0:?}\ntarget = {0:?}", own.url()),
    );
    let ran = folder
        .say(
            keepsake_test_artifacts::UNRULY_AGENT,
            "embed hello",
            &["--resource", "mallory"],
        )
        .succeeded();
    assert!(ran.stderr.contains("20 answers, then"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("limits.http-requests"),
        "{}",
        ran.stderr
    );
    assert_eq!(own.requests().len(), 20);
}

#[test]
fn a_server_that_sends_without_end_is_read_to_the_bound() {
    let own = Server::start(|_, _| {
        let mut bytes =
            b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\nConnection: close\r\n\r\n".to_vec();
        bytes.resize(90 << 20, b'x');
        bytes
    });
    let folder = embeddings(
        "read",
        "",
        &format!("base-url = {0:?}\ntarget = {0:?}", own.url()),
    );
    let ran = folder
        .say(
            keepsake_test_artifacts::UNRULY_AGENT,
            "embed hello",
            &["--resource", "mallory"],
        )
        .succeeded();
    let read = ran
        .stderr
        .split("200 with ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok())
        .unwrap_or_else(|| panic!("nothing was read: {}", ran.stderr));
    assert!((1..=64 << 20).contains(&read), "{read} bytes were read");
}
