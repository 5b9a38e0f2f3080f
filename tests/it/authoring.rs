//! From nothing to an agent that answers: `host new`, `host build`, `host run`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;

use crate::program::Folder;

/// What cargo builds is kept from run to run: most of it are dependencies.
fn target() -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("authoring")
}

fn host(folder: &Folder, arguments: &[&str]) -> crate::program::Ran {
    let mut command = folder.command(arguments);
    command.env("CARGO_TARGET_DIR", target());
    crate::program::finish(command.spawn().unwrap())
}

#[test]
fn a_new_agent_builds_answers_and_is_built_again_only_when_it_changed() {
    let folder = Folder::new();
    host(&folder, &["new", "billing-helper"]).succeeded();
    let built = host(&folder, &["build", "billing-helper", "--json"])
        .succeeded()
        .json();
    assert_eq!(
        built["component"],
        "billing-helper/dist/billing-helper.wasm"
    );
    assert_eq!(built["report"]["kind"], "agent");
    assert_eq!(built["report"]["runs_here"], true);

    let say = |message: &str| {
        let words = [
            "run",
            "billing-helper",
            "--resource",
            "jordan",
            "-m",
            message,
        ];
        host(&folder, &words).succeeded()
    };
    let told = say("My cat is called Miso.");
    assert_eq!(told.stdout.trim(), "I will remember that.");
    assert!(!told.stderr.contains("building"), "{}", told.stderr);
    assert_eq!(
        say("What is my cat called?").stdout.trim(),
        "You told me: My cat is called Miso."
    );

    let source = folder.path().join("billing-helper/src/lib.rs");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text.replace("You told me:", "I know:")).unwrap();
    let asked = say("What is my cat called?");
    assert!(
        asked.stderr.contains("building billing-helper"),
        "{asked:?}"
    );
    assert_eq!(asked.stdout.trim(), "I know: My cat is called Miso.");
}

#[test]
fn a_watched_project_is_built_again_within_the_session() {
    let folder = Folder::new();
    host(&folder, &["new", "watched-helper"]).succeeded();
    host(&folder, &["build", "watched-helper"]).succeeded();
    let mut command = folder.command(&[
        "run",
        "watched-helper",
        "--watch",
        "--resource",
        "jordan",
        "--session",
        "one",
    ]);
    command.env("CARGO_TARGET_DIR", target());
    let mut running = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    let mut output = BufReader::new(running.stdout.take().unwrap());
    let mut say = |message: &str| {
        writeln!(input, "{message}").unwrap();
        let mut reply = String::new();
        output.read_line(&mut reply).unwrap();
        reply.trim().to_owned()
    };
    assert_eq!(say("My cat is called Miso."), "I will remember that.");

    let source = folder.path().join("watched-helper/src/lib.rs");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text.replace("You told me:", "I know")).unwrap();
    let known = "My cat is called Miso.";
    let question = "What is my cat called?";
    assert_eq!(say(question), format!("I know {known}"));

    // What does not build leaves the plugin that runs.
    fs::write(&source, "this is no Rust").unwrap();
    assert_eq!(say(question), format!("I know {known}"));

    fs::write(&source, text.replace("You told me:", "Of course:")).unwrap();
    assert_eq!(say(question), format!("Of course: {known}"));
    drop(input);
    let ran = crate::program::finish(running).succeeded();
    assert!(ran.stderr.contains("does not build"), "{}", ran.stderr);
    assert!(ran.stderr.contains("goes on"), "{}", ran.stderr);
    // One session, which tells of each plugin that it went on with.
    assert_eq!(folder.entries("session-started").len(), 1);
    assert_eq!(folder.entries("session-resumed").len(), 2);
    assert_eq!(folder.entries("turn-completed").len(), 4);
}

#[test]
fn a_new_model_provider_keeps_its_contract() {
    let folder = Folder::new();
    let kind = ["--kind", "model-provider"];
    host(&folder, &["new", "parrot-model", kind[0], kind[1]]).succeeded();
    let built = host(&folder, &["build", "parrot-model", "--json"]).succeeded();
    assert_eq!(built.json()["report"]["kind"], "model-provider");
    let component = "parrot-model/dist/parrot-model.wasm";
    let checked = host(&folder, &["provider", "check", component, "--json"]).succeeded();
    assert_eq!(checked.json()["ok"], true);
}

#[test]
fn only_a_project_can_be_watched() {
    Folder::new()
        .host(&["run", "support-agent", "--watch", "-m", "x"])
        .failed(2, &["`support-agent` is no project", "host new"]);
}

#[test]
fn a_new_projects_own_tests_pass_without_the_host() {
    let folder = Folder::new();
    host(
        &folder,
        &["new", "word-vectors", "--kind", "embedding-provider"],
    )
    .succeeded();
    let tested = Command::new("cargo")
        .arg("test")
        .current_dir(folder.path().join("word-vectors"))
        .env("CARGO_TARGET_DIR", target())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tested.stdout);
    assert!(
        tested.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&tested.stderr)
    );
    assert!(
        said.contains("texts_that_are_spelled_alike_are_near ... ok"),
        "{said}"
    );
}

#[test]
fn a_name_that_cannot_be_one_is_told_with_one_that_can() {
    let folder = Folder::new();
    for name in [
        "Billing",
        "billing_helper",
        "../up",
        "1st",
        "end-",
        "std",
        "",
    ] {
        folder
            .host(&["new", "--", name])
            .failed(2, &["cannot be a plugin's name", "billing-helper"]);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_lies_there_is_never_overwritten() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("mine")).unwrap();
    folder.write("mine/plugin.toml", "mine");
    folder
        .host(&["new", "mine"])
        .failed(2, &["`mine` exists", "choose another name"]);
    let kept = fs::read_to_string(folder.path().join("mine/plugin.toml")).unwrap();
    assert_eq!(kept, "mine");
}

#[test]
fn what_is_no_project_is_told_with_how_to_make_one() {
    let folder = Folder::new();
    folder
        .host(&["build"])
        .failed(2, &["is no plugin's project", "host new NAME"]);
    folder.write(
        "plugin.toml",
        "name = \"x\"\nkind = \"agnet\"\nlanguage = \"rust\"\n",
    );
    folder
        .host(&["build"])
        .failed(2, &["plugin.toml` is wrong", "agnet", "agent"]);
}

#[test]
fn a_missing_cargo_is_named_with_how_to_get_it() {
    let folder = Folder::new();
    folder.host(&["new", "helper"]).succeeded();
    let mut command = folder.command(&["build", "helper"]);
    command.env("PATH", folder.path());
    crate::program::finish(command.spawn().unwrap())
        .failed(1, &["cargo is missing", "https://rustup.rs"]);
}
