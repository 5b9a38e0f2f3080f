//! The list of attacks is that of the tests.

use std::collections::BTreeSet;

/// Every module with attacks, and its text.
const MODULES: [(&str, &str); 7] = [
    ("agents", include_str!("agents.rs")),
    ("components", include_str!("components.rs")),
    ("floods", include_str!("floods.rs")),
    ("limits", include_str!("limits.rs")),
    ("providers", include_str!("providers.rs")),
    ("raw", include_str!("raw.rs")),
    ("terminals", include_str!("terminals.rs")),
];

#[test]
fn every_attack_is_listed_and_every_listed_one_is_tried() {
    let tried: BTreeSet<String> = MODULES
        .iter()
        .flat_map(|(module, text)| {
            text.split("#[test]\nfn ")
                .skip(1)
                .filter_map(|rest| rest.split('(').next())
                .map(move |name| format!("{module}::{name}"))
        })
        .collect();
    let listed: BTreeSet<String> = include_str!("../../../docs/hostile-plugins.md")
        .lines()
        .filter(|line| line.starts_with("- "))
        .filter_map(|line| line.split('`').nth(1))
        .map(str::to_owned)
        .collect();
    assert_eq!(tried, listed);
    assert!(tried.len() >= 40);
}
