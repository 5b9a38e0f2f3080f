//! `host inspect`: what a plugin is and whether it would run here, without
//! running it.

mod wishes;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use keepsake_plugin::{Interface, PluginKind, PluginReport};

use crate::app::App;
use crate::config::PluginChoice;
use crate::config::limits::{LIMITS, Limits};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(app: &App, plugin: &str, json: bool) -> Result<(), Failure> {
    let plugins = app.plugins()?;
    let choice = PluginChoice::here(plugin);
    let report = plugins.load(&choice)?.report;
    let permission = plugins.permission(&plugins.source(&choice)?);
    let limits = &app.config.limits;
    if json {
        let limits = LIMITS.iter().map(|limit| (limit.name, limit.json(limits)));
        return output::json(&Inspected {
            report: &report,
            limits: limits.collect(),
            rights: wishes::json(&permission),
        });
    }
    output::write(&format!(
        "{}{}{}",
        text(&report),
        wishes::gets(&permission),
        bounds(limits)
    ))
}

/// The report for a program.
#[derive(Serialize)]
struct Inspected<'a> {
    #[serde(flatten)]
    report: &'a PluginReport,
    /// What it would be held to here, by the limits' names.
    limits: BTreeMap<&'static str, Value>,
    /// What it wishes, and what it gets of that here.
    rights: Value,
}

/// What the plugin would be held to, for a reader.
fn bounds(limits: &Limits) -> String {
    let mut text = "limits    each is a key of [limits] in the configuration\n".to_owned();
    for limit in &LIMITS {
        let value = match limit.json(limits) {
            Value::Null => "none".to_owned(),
            value => value.to_string(),
        };
        text.push_str(&format!("  {} {value} ({})\n", limit.name, limit.what));
    }
    text
}

/// The report for a reader.
pub(crate) fn text(report: &PluginReport) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    let kind = match report.kind {
        PluginKind::Agent => "agent",
        PluginKind::EmbeddingProvider => "embedding provider",
        PluginKind::ModelProvider => "model provider",
        PluginKind::NotOurs => "not a Keepsake plugin",
    };
    let version = report.wit_version.as_deref().unwrap_or("unknown");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "name      {}", output::one_line(&report.name, 200));
    let _ = writeln!(text, "kind      {kind}");
    let _ = writeln!(text, "size      {} bytes", report.size);
    let _ = writeln!(text, "blake3    {}", report.hash);
    let _ = writeln!(
        text,
        "built for keepsake:host {version} (this host: {})",
        report.host_wit_version
    );
    wishes::text(&mut text, report);
    list(&mut text, "imports", &report.imports);
    list(&mut text, "exports", &report.exports);
    if report.runs_here {
        text.push_str("runs here yes\n");
    } else {
        text.push_str("runs here no:\n");
        for problem in &report.problems {
            let _ = writeln!(text, "  - {}", output::printable(problem));
        }
    }
    text
}

fn list(text: &mut String, title: &str, interfaces: &[Interface]) {
    use std::fmt::Write as _;
    if interfaces.is_empty() {
        let _ = writeln!(text, "{title}   nothing");
        return;
    }
    let _ = writeln!(text, "{title}");
    for interface in interfaces {
        let name = output::one_line(&interface.name, 200);
        let functions = interface.functions.len();
        match functions {
            0 => {
                let _ = writeln!(text, "  {name}");
            }
            1 => {
                let _ = writeln!(text, "  {name} (1 function)");
            }
            _ => {
                let _ = writeln!(text, "  {name} ({functions} functions)");
            }
        }
    }
}
