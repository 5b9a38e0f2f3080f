//! What a plugin wishes, for a reader.

use std::fmt::Write as _;

use keepsake_plugin::PluginReport;
use keepsake_rights::{Rights, Wishes};
use serde_json::{Value, json};

use crate::output::printable;
use crate::permission::Permission;

/// Adds what the plugin's manifest wishes.
pub(super) fn text(text: &mut String, report: &PluginReport) {
    // Writing to a string cannot fail.
    let Some(manifest) = &report.manifest else {
        let _ = writeln!(text, "wishes    nothing of its own: it has no manifest");
        return;
    };
    let wishes = in_words(&manifest.wishes);
    if wishes.is_empty() {
        let _ = writeln!(text, "wishes    nothing beyond what every plugin has");
        return;
    }
    let _ = writeln!(text, "wishes");
    for wish in wishes {
        let _ = writeln!(text, "  {wish}");
    }
}

/// What the plugin gets here, and what is missing with the lines to add.
pub(super) fn gets(permission: &Permission) -> String {
    let mut text = String::new();
    let rights = in_words_of_rights(&permission.rights);
    match rights.is_empty() {
        true => text.push_str("gets here what every plugin has\n"),
        false => text.push_str("gets here what every plugin has, and\n"),
    }
    for right in rights {
        let _ = writeln!(text, "  {}", printable(&right));
    }
    let Some(lines) = permission.lines() else {
        text.push_str("missing   nothing\n");
        return text;
    };
    text.push_str("missing\n");
    for words in permission.missing.words() {
        let _ = writeln!(text, "  to {}", printable(&words));
    }
    let _ = write!(text, "{}:\n\n{lines}", permission.advice());
    text
}

/// The same for programs.
pub(super) fn json(permission: &Permission) -> Value {
    json!({
        "gets": permission.rights,
        "missing": permission.missing.grant(),
        "add": permission.lines(),
    })
}

fn in_words_of_rights(rights: &Rights) -> Vec<String> {
    let mut words: Vec<String> = rights
        .http
        .iter()
        .map(|server| format!("requests to {server}"))
        .collect();
    for secret in &rights.secrets {
        words.push(format!("the secret {}, for {}", secret.name, secret.server));
    }
    if rights.sandbox_network {
        words.push("a network for its sandbox".to_owned());
    }
    for interface in &rights.withheld {
        words.push(format!(
            "no {}, which host.toml leaves out",
            interface.name()
        ));
    }
    words
}

/// Each wish in a few words.
fn in_words(wishes: &Wishes) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(interfaces) = &wishes.interfaces {
        let names: Vec<_> = interfaces.iter().map(|of| of.name()).collect();
        words.push(match names.is_empty() {
            true => "no interface that gives reach".to_owned(),
            false => format!("interfaces {}", names.join(", ")),
        });
    }
    for place in &wishes.http {
        words.push(match place {
            keepsake_rights::Place::BaseUrl => {
                "requests to the server of its setting `base-url`".to_owned()
            }
            keepsake_rights::Place::Server(server) => format!("requests to {server}"),
        });
    }
    for (name, secret) in &wishes.secrets {
        words.push(format!("the secret {name}, for {}", secret.server));
    }
    if wishes.sandbox_network {
        words.push("a network for its sandbox".to_owned());
    }
    words
}
