//! The plugins that the host ships with, inside the program itself, so that
//! they are found from any folder.

include!(concat!(env!("OUT_DIR"), "/plugins.rs"));

/// The component of a shipped plugin and its BLAKE3; none when there is none of
/// that name.
pub fn find(name: &str) -> Option<(&'static [u8], [u8; 32])> {
    PLUGINS
        .iter()
        .find(|(known, _, _)| *known == name)
        .map(|(_, component, hash)| (*component, *hash))
}

/// The names of the shipped plugins, separated by commas.
pub fn names() -> String {
    let names: Vec<_> = PLUGINS.iter().map(|(name, _, _)| *name).collect();
    names.join(", ")
}

/// The names of the shipped plugins.
pub fn all() -> impl Iterator<Item = &'static str> {
    PLUGINS.iter().map(|(name, _, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shipped_plugin_is_a_component() {
        for (name, _, _) in PLUGINS {
            let (component, hash) = find(name).unwrap();
            assert!(component.starts_with(b"\0asm\x0d\0\x01\0"), "{name}");
            assert_eq!(blake3::hash(component), hash, "{name}");
        }
        assert!(find("support").is_none());
        assert_eq!(
            names(),
            "embed-openai, embed-static, model-anthropic, model-offline, model-openai, support-agent"
        );
    }

    #[test]
    fn only_the_providers_that_ask_servers_import_http() {
        let name_of = |(name, component, _): &(&'static str, &[u8], [u8; 32])| {
            let import = b"wasi:http/outgoing-handler@0.2";
            component
                .windows(import.len())
                .any(|bytes| bytes == import)
                .then_some(*name)
        };
        let asking: Vec<_> = PLUGINS.iter().filter_map(name_of).collect();
        assert_eq!(asking, ["embed-openai", "model-anthropic", "model-openai"]);
    }
}
