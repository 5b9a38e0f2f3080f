//! Builds the shipped plugins and puts them into the host.

use std::fmt::Write as _;

use keepsake_guest_build::{build_guests, write_generated};

/// The shipped plugins, by the name that `host run` knows them under.
const PLUGINS: [&str; 5] = [
    "embed-openai",
    "embed-static",
    "model-offline",
    "model-openai",
    "support-agent",
];

fn main() {
    let components = build_guests(&PLUGINS, &["plugins"]);
    let mut code = String::from(
        "/// Every shipped plugin: its name and its component.\npub static PLUGINS: &[(&str, &[u8])] = &[\n",
    );
    for (name, component) in PLUGINS.iter().zip(components) {
        let _ = writeln!(code, "    ({name:?}, include_bytes!({component:?})),");
    }
    code.push_str("];\n");
    write_generated("plugins.rs", &code);
}
