//! What authors of plugins are told when something is wrong, word for word as
//! it stands in `docs/author-errors.md`. Where the words change on purpose,
//! `KEEPSAKE_WRITE_PAGE=1 cargo test …` writes the new ones there.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use keepsake_test_artifacts::{HASHED_EMBEDDINGS, UNRULY_AGENT};

use crate::not_a_plugin::{exporting, importing};
use crate::program::{Folder, Ran};

/// Tests run side by side, and one page is written at a time.
static PAGE: Mutex<()> = Mutex::new(());

/// Panics unless the page shows these words below the heading.
#[track_caller]
pub(crate) fn shows(title: &str, said: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/author-errors.md");
    let _alone = PAGE.lock();
    let page = fs::read_to_string(&path).unwrap();
    let (before, section) = page
        .split_once(&format!("\n## {title}\n"))
        .unwrap_or_else(|| panic!("the page has no heading {title:?} for:\n{said}"));
    let (prose, rest) = section.split_once("```text\n").unwrap();
    let (shown, after) = rest.split_once("```").unwrap();
    if said != shown && std::env::var_os("KEEPSAKE_WRITE_PAGE").is_some() {
        let page = format!("{before}\n## {title}\n{prose}```text\n{said}```{after}");
        return fs::write(&path, page).unwrap();
    }
    assert_eq!(said, shown, "below {title:?} the page shows other words");
}

/// Runs a component that is no plugin for this host.
#[track_caller]
fn component(title: &str, bytes: &[u8]) {
    let folder = Folder::new();
    folder.write("helper.wasm", bytes);
    shows(title, &folder.say("helper.wasm", "Hello", &[]).stderr);
}

/// Builds a project with another manifest; none where it is empty.
#[track_caller]
fn manifest(title: &str, text: &str) {
    let folder = Folder::new();
    folder.host(&["new", "helper", "--lang", "js"]).succeeded();
    let path = folder.path().join("helper/plugin.toml");
    match text {
        "" => fs::remove_file(path).unwrap(),
        text => fs::write(path, text).unwrap(),
    }
    shows(title, &folder.host(&["build", "helper"]).stderr);
}

/// The error, and what the language itself says of it. The backtrace of the
/// component and what its engine says differ with their versions.
pub(crate) fn without_backtrace(ran: &Ran) -> String {
    let (error, rest) = ran.stderr.split_once("\nbacktrace").unwrap();
    let Some((_, stack)) = rest.split_once("the plugin's standard error, last lines:\n") else {
        return format!("{}\n", error.trim_end());
    };
    let stack = stack.lines();
    let stack: Vec<_> = stack
        .take_while(|line| !line.trim().is_empty() && !line.contains("invalid variant"))
        .collect();
    format!("{}\n…\n{}\n", error.trim_end(), stack.join("\n"))
}

#[test]
fn a_component_that_does_not_fit_is_told_with_what_to_do() {
    let module = wat::parse_str("(module (func (export \"run\")))").unwrap();
    component("A core module", &module);
    component("Another world", &exporting("wasi:cli/run@0.2.3"));
    component(
        "An interface that the host does not have",
        &importing("keepsake:host/telepathy@0.1.0"),
    );
    component(
        "Built for a newer host",
        &importing("keepsake:host/memory@0.2.0"),
    );
    component(
        "Built for an older host",
        &importing("keepsake:host/memory@0.0.7"),
    );
    let folder = Folder::new();
    fs::copy(HASHED_EMBEDDINGS, folder.path().join("helper.wasm")).unwrap();
    let ran = folder.say("helper.wasm", "Hello", &[]);
    shows("Another kind", &ran.stderr);
}

#[test]
fn a_manifest_that_is_wrong_is_told_with_what_to_write() {
    manifest("No manifest", "");
    let right = "name = \"helper\"\nkind = \"agent\"\nlanguage = \"js\"\n";
    manifest("A kind that there is not", &right.replace("agent", "agnet"));
    manifest(
        "A key that there is not",
        &right.replace("language", "langauge"),
    );
}

#[test]
fn a_panic_in_rust_is_told_in_its_own_words() {
    let folder = Folder::new();
    fs::copy(UNRULY_AGENT, folder.path().join("helper.wasm")).unwrap();
    let ran = folder.say("helper.wasm", "panic", &["--resource", "jordan"]);
    shows("A panic in Rust", &without_backtrace(&ran));
}
