//! Presets: `preset = "nvidia"` in a provider's settings stands for what an
//! operator would otherwise look up: the server's address, the variable that its
//! key is kept in, and what its servers want to be asked with.
//!
//! A preset only fills in settings, before anything reads them. What a provider
//! may reach, and where its key goes, follows from the settings as ever.

use std::collections::BTreeMap;

use keepsake_client::Origin;
use serde_json::{Map, Value, json};

use super::file::nearest;
use super::wrong;
use crate::failure::Failure;

/// The settings of each plugin by its name.
type Settings = BTreeMap<String, Map<String, Value>>;

struct Preset {
    name: &'static str,
    base_url: &'static str,
    /// The variable that the key is kept in; none where servers ask for none.
    key_variable: Option<&'static str>,
    /// The header that keys travel in; none where they are bearer tokens.
    key_header: Option<&'static str>,
    /// The plugins that it is for, each with what it sets besides.
    plugins: &'static [(&'static str, Besides)],
}

/// Settings besides the server and its key.
type Besides = fn() -> Value;

const CHAT: &str = "model-openai";
const EMBED: &str = "embed-openai";
const ANTHROPIC: &str = "model-anthropic";

/// How long a server on this machine may take for the first word: it may have
/// to read the model from the disk first. As long as the host waits at most.
const LOADING_SECONDS: u64 = 300;

/// Every preset, in the order in which they are told.
const PRESETS: [Preset; 7] = [
    Preset {
        name: "nvidia",
        base_url: "https://integrate.api.nvidia.com/v1",
        key_variable: Some("NVIDIA_API_KEY"),
        key_header: None,
        plugins: &[
            (CHAT, nothing_else),
            // Its embedding models take 512 tokens, and refuse more unless they
            // are told which part to drop.
            (EMBED, || json!({ "input-type": true, "truncate": "END" })),
        ],
    },
    Preset {
        name: "openai",
        base_url: "https://api.openai.com/v1",
        key_variable: Some("OPENAI_API_KEY"),
        key_header: None,
        plugins: &[
            // Its newer models refuse the field's older name.
            (
                CHAT,
                || json!({ "max-tokens-field": "max_completion_tokens" }),
            ),
            (EMBED, nothing_else),
        ],
    },
    Preset {
        name: "ollama",
        base_url: "http://127.0.0.1:11434/v1",
        key_variable: None,
        key_header: None,
        plugins: &[
            // Unless it is told otherwise, it keeps no more of a conversation than
            // this, and drops the beginning without a word.
            (
                CHAT,
                || json!({ "context-tokens": 4_096, "timeout-seconds": LOADING_SECONDS }),
            ),
            (EMBED, || json!({ "timeout-seconds": LOADING_SECONDS })),
        ],
    },
    Preset {
        name: "llama-cpp",
        base_url: "http://127.0.0.1:8080/v1",
        key_variable: None,
        key_header: None,
        plugins: &[
            // It serves the one model that it was started with, whatever the name.
            // For embeddings that is no default: vectors are told apart by it.
            (
                CHAT,
                || json!({ "model": "default", "timeout-seconds": LOADING_SECONDS }),
            ),
            (EMBED, || json!({ "timeout-seconds": LOADING_SECONDS })),
        ],
    },
    Preset {
        name: "vllm",
        base_url: "http://127.0.0.1:8000/v1",
        key_variable: None,
        key_header: None,
        plugins: &[(CHAT, nothing_else), (EMBED, nothing_else)],
    },
    Preset {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        key_variable: Some("OPENROUTER_API_KEY"),
        key_header: None,
        plugins: &[(CHAT, nothing_else), (EMBED, nothing_else)],
    },
    Preset {
        name: "anthropic",
        base_url: "https://api.anthropic.com/v1",
        key_variable: Some("ANTHROPIC_API_KEY"),
        key_header: Some("x-api-key"),
        plugins: &[(ANTHROPIC, nothing_else)],
    },
];

fn nothing_else() -> Value {
    Value::Null
}

impl Preset {
    /// What it sets for a plugin besides address and key; none where it is for
    /// others.
    fn further(&self, plugin: &str) -> Option<Value> {
        let mut plugins = self.plugins.iter();
        let (_, further) = plugins.find(|(name, _)| *name == plugin)?;
        Some(further())
    }

    /// Fills in what the operator left out. Answers what to tell of it, if anything.
    fn fill(&self, plugin: &str, settings: &mut Map<String, Value>) -> Option<String> {
        if let Some(Value::Object(further)) = self.further(plugin) {
            for (key, value) in further {
                settings.entry(key).or_insert(value);
            }
        }
        // Whichever server it is, it takes keys where this kind does.
        if let Some(header) = self.key_header {
            settings.entry("key-header").or_insert(header.into());
        }
        let url = settings
            .entry("base-url")
            .or_insert_with(|| self.base_url.into());
        // A key is for the one server that it was given out by.
        let elsewhere = match (url.as_str().map(Origin::of), Origin::of(self.base_url)) {
            (Some(Ok(origin)), Ok(own)) if origin == own => None,
            (Some(Ok(origin)), _) => Some(origin.to_string()),
            // What is wrong with the address is told where it is used.
            _ => return None,
        };
        let variable = self.key_variable?;
        if settings.contains_key("key-variable") {
            return None;
        }
        match elsewhere {
            None => {
                settings.insert("key-variable".into(), variable.into());
                None
            }
            Some(origin) => Some(format!(
                "[settings.{plugin}]: the key in {variable} is for {}, and is not sent to {origin}; name `key-variable` for a key that is, or set it to \"\" where none is needed",
                self.base_url
            )),
        }
    }
}

/// Fills in what the presets stand for; explicit settings win. Answers what to
/// tell the operator.
pub(super) fn apply(settings: &mut Settings) -> Result<Vec<String>, Failure> {
    let mut notes = Vec::new();
    for (plugin, settings) in settings {
        // Other plugins may have a setting of this name with a sense of their own.
        let known = || {
            PRESETS
                .iter()
                .filter(|preset| preset.further(plugin).is_some())
        };
        if known().next().is_none() {
            continue;
        }
        let name = match settings.get("preset") {
            None => continue,
            Some(Value::String(name)) => name.clone(),
            Some(_) => {
                return Err(wrong(format!(
                    "`preset` in [settings.{plugin}]: it must be a text in quotes"
                )));
            }
        };
        let Some(preset) = known().find(|preset| preset.name == name) else {
            let names: Vec<_> = known().map(|preset| preset.name).collect();
            let meant = nearest(&name, names.iter().copied());
            let meant = meant.map_or(String::new(), |meant| format!("did you mean {meant:?}? "));
            return Err(wrong(format!(
                "`preset` in [settings.{plugin}]: there is none called {name:?}; {meant}There are {}; for other servers, set `base-url` instead",
                names.join(", ")
            )));
        };
        notes.extend(preset.fill(plugin, settings));
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(plugin: &str, settings: Value) -> (Map<String, Value>, Vec<String>) {
        let own = settings.as_object().unwrap().clone();
        let mut all = BTreeMap::from([(plugin.to_owned(), own)]);
        let notes = apply(&mut all).unwrap();
        (all.remove(plugin).unwrap(), notes)
    }

    fn problem(settings: Value) -> String {
        let own = settings.as_object().unwrap().clone();
        let mut all = BTreeMap::from([(CHAT.to_owned(), own)]);
        apply(&mut all).unwrap_err().to_string()
    }

    #[test]
    fn each_preset_names_its_server_and_the_variable_of_its_key() {
        for (name, url, variable) in [
            (
                "nvidia",
                "https://integrate.api.nvidia.com/v1",
                Some("NVIDIA_API_KEY"),
            ),
            (
                "openai",
                "https://api.openai.com/v1",
                Some("OPENAI_API_KEY"),
            ),
            ("ollama", "http://127.0.0.1:11434/v1", None),
            ("llama-cpp", "http://127.0.0.1:8080/v1", None),
            ("vllm", "http://127.0.0.1:8000/v1", None),
            (
                "openrouter",
                "https://openrouter.ai/api/v1",
                Some("OPENROUTER_API_KEY"),
            ),
        ] {
            for plugin in [CHAT, EMBED] {
                let (settings, notes) = filled(plugin, json!({ "preset": name }));
                assert_eq!(settings["base-url"], url, "{name}");
                let key = settings.get("key-variable").and_then(Value::as_str);
                assert_eq!(key, variable, "{name}");
                assert!(notes.is_empty(), "{notes:?}");
            }
        }
    }

    #[test]
    fn every_address_is_one_that_a_key_may_go_to() {
        for preset in &PRESETS {
            let origin = Origin::of(preset.base_url).unwrap();
            assert!(
                origin.is_encrypted() || origin.is_this_machine() && preset.key_variable.is_none(),
                "{}",
                preset.name
            );
        }
    }

    #[test]
    fn what_a_preset_knows_of_its_servers_is_filled_in() {
        let (settings, _) = filled(EMBED, json!({ "preset": "nvidia" }));
        assert_eq!(settings["truncate"], "END");
        assert_eq!(settings["input-type"], true);
        let (settings, _) = filled(CHAT, json!({ "preset": "openai" }));
        assert_eq!(settings["max-tokens-field"], "max_completion_tokens");
        let (settings, _) = filled(CHAT, json!({ "preset": "llama-cpp" }));
        assert_eq!(settings["model"], "default");
        let (settings, _) = filled(EMBED, json!({ "preset": "llama-cpp" }));
        assert!(!settings.contains_key("model"), "{settings:?}");
    }

    #[test]
    fn explicit_settings_win() {
        let (settings, notes) = filled(
            CHAT,
            json!({
                "preset": "ollama", "base-url": "http://10.0.0.7:11434/v1",
                "context-tokens": 32_768, "timeout-seconds": 20, "model": "llama3.2",
            }),
        );
        assert_eq!(settings["base-url"], "http://10.0.0.7:11434/v1");
        assert_eq!(settings["context-tokens"], 32_768);
        assert_eq!(settings["timeout-seconds"], 20);
        assert!(notes.is_empty(), "{notes:?}");
        let own = json!({ "preset": "openai", "key-variable": "TEAM_KEY" });
        assert_eq!(filled(CHAT, own).0["key-variable"], "TEAM_KEY");
    }

    #[test]
    fn the_key_of_a_preset_goes_to_no_other_server() {
        for (url, told) in [
            ("https://gateway.example/v1", "https://gateway.example"),
            (
                "https://api.openai.com:8443/v1",
                "https://api.openai.com:8443",
            ),
            ("http://api.openai.com/v1", "http://api.openai.com"),
        ] {
            let (settings, notes) = filled(CHAT, json!({ "preset": "openai", "base-url": url }));
            assert!(!settings.contains_key("key-variable"), "{settings:?}");
            assert!(
                notes[0].contains(&format!("is not sent to {told};")),
                "{notes:?}"
            );
        }
        // Another path of the same server is still that server.
        let same = json!({ "preset": "openai", "base-url": "https://API.openai.com/v2" });
        assert_eq!(filled(CHAT, same).0["key-variable"], "OPENAI_API_KEY");
        // The header says nothing; it is the same for a key of one's own.
        let own = json!({ "preset": "anthropic", "base-url": "https://gateway.example/v1" });
        let (settings, notes) = filled(ANTHROPIC, own);
        assert!(!settings.contains_key("key-variable"), "{settings:?}");
        assert_eq!(settings["key-header"], "x-api-key");
        assert!(notes[0].contains("ANTHROPIC_API_KEY"), "{notes:?}");
        // Who said that none is needed is not told again.
        let none = json!({
            "preset": "openai", "base-url": "https://gateway.example/v1", "key-variable": "",
        });
        assert!(filled(CHAT, none).1.is_empty());
    }

    #[test]
    fn an_unknown_preset_is_told_with_the_list() {
        let text = problem(json!({ "preset": "azure" }));
        assert!(
            text.contains("nvidia, openai, ollama, llama-cpp, vllm, openrouter"),
            "{text}"
        );
        assert!(text.contains("[settings.model-openai]"), "{text}");
        assert!(!text.contains("did you mean"), "{text}");
        let text = problem(json!({ "preset": "olama" }));
        assert!(text.contains("did you mean \"ollama\"?"), "{text}");
        assert!(problem(json!({ "preset": 3 })).contains("in quotes"));
    }

    #[test]
    fn a_preset_for_another_form_is_none_for_a_plugin() {
        let (settings, _) = filled(ANTHROPIC, json!({ "preset": "anthropic" }));
        assert_eq!(settings["base-url"], "https://api.anthropic.com/v1");
        assert_eq!(settings["key-variable"], "ANTHROPIC_API_KEY");
        assert_eq!(settings["key-header"], "x-api-key");
        assert!(problem(json!({ "preset": "anthropic" })).contains("There are nvidia"));
    }

    #[test]
    fn a_plugin_without_presets_may_mean_something_else_by_the_word() {
        let own = json!({ "preset": "loud" });
        assert_eq!(&filled("my-agent", own.clone()).0, own.as_object().unwrap());
    }
}
