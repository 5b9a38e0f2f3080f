//! Builds the shipped plugins and puts them into the host.

use std::fmt::Write as _;

use keepsake_guest_build::{build_guests, write_generated};

/// The shipped plugins, by the name that `host run` knows them under.
const PLUGINS: [&str; 6] = [
    "embed-openai",
    "embed-static",
    "model-anthropic",
    "model-offline",
    "model-openai",
    "support-agent",
];

fn main() {
    let components = build_guests(&PLUGINS, &["plugins"]);
    let mut code = String::from(
        "/// Every shipped plugin: its name, its component and the component's BLAKE3.\npub static PLUGINS: &[(&str, &[u8], [u8; 32])] = &[\n",
    );
    for (name, component) in PLUGINS.iter().zip(components) {
        let bytes = std::fs::read(&component)
            .unwrap_or_else(|error| panic!("{} cannot be read: {error}", component.display()));
        let hash = blake3::hash(&bytes);
        let _ = writeln!(
            code,
            "    ({name:?}, include_bytes!({component:?}), {:?}),",
            hash.as_bytes()
        );
    }
    code.push_str("];\n");
    write_generated("plugins.rs", &code);
}
