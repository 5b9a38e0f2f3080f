//! Limits as the one sees and sets them who runs the host.

use keepsake_test_artifacts::HOSTILE_AGENT;

use crate::program::{Folder, finish};

#[test]
fn inspecting_a_plugin_tells_every_limit_that_is_in_force() {
    let folder = Folder::configured("[limits]\nhandles = 77\nturn-seconds = 1.5\n");
    let told = folder
        .host(&["inspect", HOSTILE_AGENT, "--json"])
        .succeeded()
        .json();
    let limits = told["limits"].as_object().unwrap();
    assert_eq!(limits["handles"], 77);
    assert_eq!(limits["turn-seconds"], 1.5);
    assert_eq!(limits["turn-fuel"], serde_json::Value::Null);
    let text = folder.host(&["inspect", HOSTILE_AGENT]).succeeded().stdout;
    let documented = include_str!("../../../docs/limits.md");
    for name in limits.keys() {
        assert!(text.contains(&format!("\n  {name} ")), "{name}: {text}");
        assert!(documented.contains(&format!("`limits.{name}`")), "{name}");
    }
    assert!(text.contains("\n  handles 77 "), "{text}");
    let settable = documented.matches("| `limits.").count();
    assert_eq!(settable, limits.len());
}

#[test]
fn a_variable_sets_a_limit_and_a_wrong_one_is_named() {
    let folder = Folder::new();
    let mut command = folder.command(&["inspect", HOSTILE_AGENT, "--json"]);
    command.env("HOST_LIMITS_HOST_CALLS", "9");
    let told = finish(command.spawn().unwrap()).succeeded().json();
    assert_eq!(told["limits"]["host-calls"], 9);
    for (line, said) in [
        ("handles = 0", "limits.handles"),
        ("call-mib = 1.5", "limits.call-mib"),
        ("host-calls = -1", "limits.host-calls"),
        ("session-seconds = inf", "limits.session-seconds"),
        ("handels = 5", "did you mean `limits.handles`?"),
    ] {
        let folder = Folder::configured(&format!("[limits]\n{line}\n"));
        folder.host(&["inspect", HOSTILE_AGENT]).failed(2, &[said]);
    }
}

#[test]
fn a_plugin_for_which_there_is_no_room_is_told_with_the_key() {
    let folder = Folder::configured("[limits]\nconcurrent-plugins = 2\ncompletions = 16\n");
    let ran = folder.say(
        HOSTILE_AGENT,
        "completions",
        &["--resource", "mallory", "--json"],
    );
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert!(told.contains("limits.concurrent-plugins"), "{told}");
}
