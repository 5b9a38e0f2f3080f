//! What is given as a plugin and is none: each is told apart, with what to do.

use std::fs;

use keepsake_test_artifacts::{HASHED_EMBEDDINGS, MINIMAL_AGENT, UNRULY_AGENT};

use crate::program::Folder;

/// A component that imports one instance under this name.
pub(crate) fn importing(name: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(component
             (import "{name}" (instance (export "act" (func))))
             (instance $agent)
             (export "keepsake:host/agent@0.1.0" (instance $agent)))"#
    ))
    .unwrap()
}

/// A component that exports an empty instance under this name.
pub(crate) fn exporting(name: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(component (instance $a) (export "{name}" (instance $a)))"#
    ))
    .unwrap()
}

/// Runs and inspects what was written to `plugin.wasm`; both must fail, or the
/// inspection must tell why it would not run.
#[track_caller]
fn refused(bytes: &[u8], said: &[&str]) {
    let folder = Folder::new();
    folder.write("plugin.wasm", bytes);
    folder.say("plugin.wasm", "hello", &[]).failed(3, said);
    assert!(
        !folder.path().join(".keepsake").exists(),
        "data was written"
    );
    let inspected = folder.host(&["inspect", "plugin.wasm"]);
    let told = format!("{}{}", inspected.stdout, inspected.stderr);
    for said in said
        .iter()
        .filter(|said| **said != "does not run on this host")
    {
        assert!(told.contains(said), "{said:?} is not told: {told}");
    }
}

#[test]
fn a_file_that_is_not_there() {
    let folder = Folder::new();
    folder.say("nothing.wasm", "hello", &[]).failed(
        3,
        &["there is no plugin file", "nothing.wasm", "support-agent"],
    );
    folder.host(&["inspect", "suport-agent"]).failed(
        3,
        &[
            "there is no plugin file",
            "embed-openai, embed-static, model-anthropic, model-offline, model-openai, support-agent",
        ],
    );
    assert!(!folder.path().join(".keepsake").exists());
}

#[test]
fn a_directory() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("plugin")).unwrap();
    folder
        .say("./plugin", "hello", &[])
        .failed(3, &["is a directory", "give the component file"]);
}

#[test]
fn an_empty_file() {
    refused(b"", &["is empty", "build it again"]);
}

#[test]
fn a_file_that_is_no_webassembly() {
    refused(
        b"#!/bin/sh\necho hello\n",
        &["not a WebAssembly file", "text file"],
    );
    refused(
        &[0x7f, b'E', b'L', b'F', 2, 1, 1, 0],
        &["not a WebAssembly file", "program"],
    );
}

#[test]
fn a_component_that_was_cut_off_anywhere() {
    let whole = fs::read(MINIMAL_AGENT).unwrap();
    for part in [5, 9, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        refused(&whole[..part], &["damaged", "copy it again"]);
    }
}

#[test]
fn a_core_module() {
    let module = wat::parse_str("(module (func (export \"run\")))").unwrap();
    refused(&module, &["this is a core module; build for wasm32-wasip2"]);
}

#[test]
fn a_component_of_another_world() {
    refused(
        &exporting("wasi:cli/run@0.2.3"),
        &[
            "does not run on this host",
            "it exports none of `keepsake:host/agent`",
            "wasi:cli/run@0.2.3",
        ],
    );
}

#[test]
fn a_plugin_of_another_kind() {
    let folder = Folder::new();
    folder.say(HASHED_EMBEDDINGS, "hello", &[]).failed(
        3,
        &["is an embedding provider, but an agent is needed here"],
    );
    folder
        .say("support-agent", "hello", &["--embeddings", MINIMAL_AGENT])
        .failed(
            3,
            &["is an agent, but an embedding provider is needed here"],
        );
    folder
        .say("support-agent", "hello", &["--model", "embed-static"])
        .failed(
            3,
            &["is an embedding provider, but a model provider is needed here"],
        );
}

#[test]
fn an_interface_that_the_host_does_not_have() {
    refused(
        &importing("keepsake:host/telepathy@0.1.0"),
        &[
            "keepsake:host/telepathy@0.1.0",
            "does not have",
            "update the host",
        ],
    );
    refused(
        &importing("acme:billing/invoices@1.2.0"),
        &[
            "acme:billing/invoices@1.2.0",
            "does not offer",
            "compose it",
        ],
    );
    refused(
        &importing("keepsake:host/memory@0.1.0"),
        &["it calls `act`", "does not have yet", "update the host"],
    );
}

#[test]
fn a_newer_version_is_told_from_an_older_one() {
    refused(
        &importing("keepsake:host/memory@0.2.0"),
        &[
            "built for keepsake:host 0.2.0",
            "newer than this host's 0.1.0",
            "update the host",
        ],
    );
    refused(
        &exporting("keepsake:host/agent@9.0.0"),
        &["built for keepsake:host 9.0.0", "newer", "update the host"],
    );
    refused(
        &importing("keepsake:host/memory@0.0.7"),
        &[
            "built for keepsake:host 0.0.7",
            "older than this host's 0.1.0",
            "build it again",
        ],
    );
}

#[test]
fn inspecting_tells_what_a_plugin_is() {
    let folder = Folder::new();
    let inspected = |plugin: &str| {
        folder
            .host(&["inspect", plugin, "--json"])
            .succeeded()
            .json()
    };
    let agent = inspected("support-agent");
    assert_eq!(agent["kind"], "agent");
    assert_eq!(agent["runs_here"], true);
    assert_eq!(agent["wit_version"], "0.1.0");
    assert!(agent["size"].as_u64().unwrap() > 10_000);
    let names = |list: &str| -> Vec<String> {
        agent[list]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(names("exports").contains(&"keepsake:host/agent@0.1.0".to_owned()));
    assert!(names("imports").contains(&"keepsake:host/memory@0.1.0".to_owned()));
    assert_eq!(inspected("embed-static")["kind"], "embedding-provider");
    assert_eq!(inspected("model-offline")["kind"], "model-provider");
    assert_eq!(inspected(MINIMAL_AGENT)["kind"], "agent");
    let foreign = folder.write("foreign.wasm", exporting("wasi:cli/run@0.2.3"));
    let foreign = inspected(foreign.to_str().unwrap());
    assert_eq!(
        (foreign["kind"].as_str(), foreign["runs_here"].as_bool()),
        (Some("not-ours"), Some(false))
    );
    assert!(!foreign["problems"].as_array().unwrap().is_empty());
    let text = folder
        .host(&["inspect", "support-agent"])
        .succeeded()
        .stdout;
    assert!(
        text.contains("runs here yes") && text.contains("keepsake:host/memory@0.1.0"),
        "{text}"
    );
}

#[test]
fn what_a_plugin_wishes_is_in_the_component_and_is_shown() {
    let folder = Folder::new();
    let inspected = |plugin: &str| {
        folder
            .host(&["inspect", plugin, "--json"])
            .succeeded()
            .json()
    };
    let provider = inspected("embed-openai");
    assert_eq!(provider["manifest"]["wishes"]["http"][0], "base-url");
    let text = folder.host(&["inspect", "embed-openai"]).succeeded().stdout;
    assert!(
        text.contains("requests to the server of its setting `base-url`"),
        "{text}"
    );
    assert_eq!(
        inspected(MINIMAL_AGENT)["manifest"]["name"],
        "minimal-agent"
    );
    assert!(inspected(UNRULY_AGENT)["manifest"].is_null());

    // A manifest that does not wish what the component imports.
    let wasm = fs::read(MINIMAL_AGENT).unwrap();
    let with = |wishes: &str| {
        let manifest = format!(
            "manifest = 1\nname = \"narrow\"\nkind = \"agent\"\nlanguage = \"rust\"\n{wishes}"
        );
        folder.write("narrow.wasm", keepsake_rights::embed(&wasm, &manifest))
    };
    with("[wishes]\ninterfaces = [\"memory\"]");
    folder
        .say("narrow.wasm", "hello", &["--resource", "jordan"])
        .failed(
            3,
            &[
                "`keepsake:host/sandbox`",
                "add \"sandbox\" to `interfaces`",
                "plugin.toml",
            ],
        );
    assert!(!folder.database().exists());
    with("[wishes]\nhtpt = []");
    folder
        .say("narrow.wasm", "hello", &["--resource", "jordan"])
        .failed(3, &["manifest", "did you mean `wishes.http`?"]);
    assert!(!folder.database().exists());
}
