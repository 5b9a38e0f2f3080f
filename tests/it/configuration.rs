//! `host.toml`, its variables, and what is said about mistakes in them.

use crate::program::{Folder, finish};

#[test]
fn an_unknown_key_is_an_error_that_suggests_the_near_one() {
    for (toml, suggestion) in [
        (
            "embedings = \"embed-static\"\n",
            "did you mean `embeddings`?",
        ),
        (
            "[limits]\nturn-second = 4\n",
            "did you mean `limits.turn-seconds`?",
        ),
        (
            "[sandbox]\nnetwrok = true\n",
            "did you mean `sandbox.network`?",
        ),
    ] {
        let folder = Folder::configured(toml);
        folder
            .host(&["doctor"])
            .failed(2, &["host.toml", "unknown key", suggestion]);
        folder.unruly("emit hello").failed(2, &[suggestion]);
        assert!(!folder.path().join(".keepsake").exists());
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_told_with_its_key() {
    Folder::configured("[limits]\nmemory-mib = \"much\"\n")
        .host(&["doctor"])
        .failed(2, &["memory-mib"]);
    Folder::configured("[limits]\nmemory-mib = 1000000\n")
        .host(&["doctor"])
        .failed(2, &["limits.memory-mib", "from 2 to"]);
    Folder::configured("[sandbox]\nbackend = \"cloud\"\n")
        .host(&["doctor"])
        .failed(2, &["cloud", "local"]);
    Folder::configured("data = \n")
        .host(&["doctor"])
        .failed(2, &["not valid TOML", "host.toml"]);
}

#[test]
fn a_configuration_that_was_named_and_is_not_there_is_an_error() {
    Folder::new()
        .host(&["doctor", "--config", "elsewhere.toml"])
        .failed(2, &["elsewhere.toml", "cannot be read"]);
}

#[test]
fn the_configuration_is_found_from_folders_below_it() {
    let folder = Folder::configured("data = \"kept\"\n");
    let below = folder.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let mut command = folder.command(&["memory", "set", "--resource", "jordan", "colour", "green"]);
    finish(command.current_dir(&below).spawn().unwrap()).succeeded();
    assert!(folder.path().join("kept/keepsake.db").is_file());
}

#[test]
fn an_option_goes_before_a_variable_and_a_variable_before_the_file() {
    let folder = Folder::configured("data = \"of-file\"\n");
    let set = |variable: Option<&str>, option: Option<&str>| {
        let mut arguments = vec!["memory", "set", "--resource", "jordan", "colour", "green"];
        arguments.extend(option.into_iter().flat_map(|folder| ["--data", folder]));
        let mut command = folder.command(&arguments);
        if let Some(variable) = variable {
            command.env("HOST_DATA", variable);
        }
        finish(command.spawn().unwrap()).succeeded();
    };
    set(Some("of-variable"), Some("of-option"));
    let there = |name: &str| folder.path().join(name).exists();
    assert!(there("of-option") && !there("of-variable") && !there("of-file"));
    set(Some("of-variable"), None);
    assert!(there("of-variable") && !there("of-file"));
    set(None, None);
    assert!(there("of-file"));
}

#[test]
fn settings_reach_only_the_plugin_they_are_for() {
    let provider = keepsake_test_artifacts::UNRULY_EMBEDDINGS;
    let folder = Folder::configured(&format!(
        "embeddings = {provider:?}\n[settings.other-plugin]\nmisbehave = \"panic\"\n"
    ));
    folder.unruly("embed hello").succeeded();
}

#[test]
fn the_doctor_finds_a_sound_machine_sound() {
    let folder = Folder::new();
    folder.unruly("remember something").succeeded();
    let report = folder.host(&["doctor", "--json"]).succeeded().json();
    assert_eq!(report["ok"], true);
    let whats: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["what"].as_str().unwrap())
        .collect();
    assert_eq!(
        whats,
        [
            "configuration",
            "memory",
            "sandbox",
            "agent",
            "embeddings",
            "model"
        ]
    );
    let text = folder.host(&["doctor"]).succeeded().stdout;
    assert!(
        text.contains("1 facts") && text.contains("isolated"),
        "{text}"
    );
}

#[test]
fn the_doctor_names_what_is_wrong() {
    let folder = Folder::configured("embeddings = \"nowhere.wasm\"\n");
    let report = folder.host(&["doctor", "--json"]);
    assert_eq!(report.code, Some(1), "{report:?}");
    let report = report.json();
    assert_eq!(report["ok"], false);
    let wrong: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["ok"] == false)
        .collect();
    assert_eq!(wrong.len(), 1, "{report}");
    assert!(wrong[0]["text"].as_str().unwrap().contains("nowhere.wasm"));
}

#[test]
fn usage_errors_end_with_2_and_help_with_0() {
    let folder = Folder::new();
    assert_eq!(folder.host(&["rn"]).code, Some(2));
    assert_eq!(folder.host(&["memory", "list"]).code, Some(2));
    let help = folder.host(&["--help"]).succeeded().stdout;
    assert!(help.contains("Exit codes"), "{help}");
    assert!(
        folder
            .host(&["--version"])
            .succeeded()
            .stdout
            .starts_with("host 0.1.0")
    );
}
