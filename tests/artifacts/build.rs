//! Builds the guests that tests run, and the examples.

use std::fmt::Write as _;

use keepsake_guest_build::{build_guests, write_generated};

const GUESTS: [&str; 16] = [
    "asking-agent",
    "bench-agent",
    "forking-agent",
    "hostile-agent",
    "hostile-model",
    "hostile-provider",
    "summarising-agent",
    "unruly-agent",
    "unruly-embeddings",
    "unruly-model",
    "echo-model",
    "memory-tour",
    "minimal-agent",
    "billing-agent",
    "triage-agent",
    "hashed-embeddings",
];

fn main() {
    let components = build_guests(&GUESTS, &["tests/guests", "examples"]);
    let mut code = String::new();
    for (name, component) in GUESTS.iter().zip(components) {
        let constant = name.replace('-', "_").to_uppercase();
        let _ = writeln!(
            code,
            "/// The component of `{name}`.\npub const {constant}: &str = {component:?};"
        );
    }
    write_generated("components.rs", &code);
}
