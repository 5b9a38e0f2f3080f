//! The walk through a memory, as its README shows it.

use crate::program::Folder;

const README: &str = include_str!("../../examples/memory-tour/README.md");

/// The output that the README shows for each section, in order.
fn shown() -> Vec<(&'static str, String)> {
    let mut blocks = README.split("```text\n# ").skip(1);
    let mut shown = Vec::new();
    for block in blocks.by_ref() {
        let block = block.split("```").next().unwrap();
        let (section, text) = block.split_once('\n').unwrap();
        shown.push((section, dateless(text)));
    }
    shown
}

/// The day of a fact is the day on which the tour is run.
fn dateless(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(" (20") {
        Some((fact, day)) if day.ends_with(", today)") => format!("{fact} (today)"),
        _ => line.to_owned(),
    };
    text.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_tour_gives_what_its_readme_shows() {
    let folder = Folder::new();
    let sections = shown();
    assert!(sections.len() >= 10, "{sections:?}");
    for (section, shown) in sections {
        let grants = [
            "--resource",
            "jordan",
            "--account",
            "initech",
            "--team",
            "acme",
        ];
        let ran = folder.say(keepsake_test_artifacts::MEMORY_TOUR, section, &grants);
        let told = ran.succeeded().stdout;
        let told = told.strip_prefix(&format!("# {section}\n")).unwrap();
        assert_eq!(dateless(told), shown, "section {section}");
    }
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn without_grants_the_tour_says_what_it_was_not_granted() {
    let folder = Folder::new();
    let ran = folder.say(keepsake_test_artifacts::MEMORY_TOUR, "layers", &[]);
    assert!(ran.succeeded().stdout.contains("not granted"));
}
