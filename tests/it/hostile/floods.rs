//! Agents that say, write and ask for too much.

use super::attacked;
use crate::program::Folder;

#[test]
fn calls_of_the_host_without_end_are_cut_off_at_their_number() {
    let folder = Folder::configured("[limits]\nhost-calls = 5000\n");
    attacked(&folder, "calls").ended("host-calls", &["5000", "limits.host-calls"]);
}

#[test]
fn calls_of_wasi_without_end_are_cut_off_at_their_number() {
    let folder = Folder::configured("[limits]\nhost-calls = 5000\n");
    attacked(&folder, "wasi-calls").ended("host-calls", &["limits.host-calls"]);
}

#[test]
fn a_flood_of_log_lines_is_cut_and_commands_no_terminal() {
    let attacked = attacked(&Folder::configured("[limits]\nlog-lines = 20\n"), "log");
    assert_eq!(attacked.replied(), "logged");
    attacked.operator_was_told("limits.log-lines");
    assert!(attacked.ran.stderr.len() < 10_000);
    super::terminals::no_escapes(&attacked.ran);
}

#[test]
fn a_flood_of_emitted_output_is_cut_at_its_bound() {
    let attacked = attacked(&Folder::new(), "emit");
    assert_eq!(attacked.replied(), "limit emitted-bytes");
    attacked.operator_was_told("limits.emitted-bytes");
    super::terminals::no_escapes(&attacked.ran);
}

#[test]
fn a_flood_on_standard_output_and_error_is_kept_from_the_terminal() {
    let attacked = attacked(&Folder::new(), "print");
    assert_eq!(attacked.replied(), "printed");
    assert!(attacked.ran.stderr.len() < 10_000);
    super::terminals::no_escapes(&attacked.ran);
}

#[test]
fn a_hundred_thousand_tiny_facts_in_lists_end_at_the_bound_of_writes() {
    let folder = Folder::new();
    let attacked = attacked(&folder, "facts-in-lists");
    assert_eq!(attacked.replied(), "stopped in list 2: limit memory-writes");
    attacked.operator_was_told("limits.memory-writes");
}

#[test]
fn facts_that_come_one_by_one_end_at_the_bound_of_writes() {
    let folder = Folder::configured("[limits]\nmemory-writes = 50\n");
    let attacked = attacked(&folder, "facts-one-by-one 100");
    assert_eq!(attacked.replied(), "stopped at 50: limit memory-writes");
    // What fitted was kept, and the two of the ordinary turns.
    assert_eq!(folder.facts("mallory").len(), 51);
}

#[test]
fn texts_to_be_embedded_without_end_are_cut_off_at_their_number() {
    let folder = Folder::configured("[limits]\nembedded-texts = 100\n");
    let attacked = attacked(&folder, "texts");
    assert_eq!(attacked.replied(), "stopped at 10: limit embedded-texts");
    attacked.operator_was_told("limits.embedded-texts");
}

#[test]
fn questions_to_memory_without_end_are_cut_off_at_their_number() {
    let folder = Folder::configured("[limits]\nembedded-texts = 20\n");
    let attacked = attacked(&folder, "queries");
    assert_eq!(attacked.replied(), "stopped at 20: limit embedded-texts");
}

#[test]
fn a_list_of_a_million_texts_is_refused() {
    let attacked = attacked(&Folder::new(), "huge-list");
    assert_eq!(attacked.replied(), "limit embedded-texts");
}

#[test]
fn a_fact_of_many_megabytes_is_refused() {
    let attacked = attacked(&Folder::new(), "huge-string");
    assert_eq!(attacked.replied(), "limit fact-bytes");
}

#[test]
fn more_than_a_call_may_carry_ends_the_turn() {
    let folder = Folder::configured("[limits]\ncall-mib = 8\n");
    attacked(&folder, "huge-call").ended("call-mib", &["8 MiB", "limits.call-mib"]);
}

#[test]
fn a_value_of_many_megabytes_is_refused() {
    let attacked = attacked(&Folder::new(), "huge-value");
    assert_eq!(attacked.replied(), "limit working-value-bytes");
}

#[test]
fn a_value_that_nests_without_end_is_refused() {
    let attacked = attacked(&Folder::new(), "deep-value");
    assert!(
        ["invalid", "limit json-depth"].contains(&attacked.replied()),
        "{}",
        attacked.replied()
    );
}

#[test]
fn a_reply_that_nests_without_end_is_refused() {
    attacked(&Folder::new(), "deep-reply").ended("bad-reply", &["JSON"]);
}
