//! `host provider check`: whether a provider keeps its contract.

use keepsake_plugin::{Check, PluginKind, Verdict, check_embeddings, check_model};

use crate::app::App;
use crate::cli::ProviderCommand;
use crate::config::PluginChoice;
use crate::failure::{ExitCode, Failure};
use crate::output;

/// Characters of a detail that are shown in the table.
const DETAIL: usize = 300;

pub(crate) async fn run(app: &App, command: ProviderCommand, json: bool) -> Result<(), Failure> {
    let ProviderCommand::Check { plugin } = command;
    check(app, plugin, json).await
}

async fn check(app: &App, plugin: String, json: bool) -> Result<(), Failure> {
    let choice = PluginChoice::here(plugin);
    let plugins = app.plugins()?;
    let loaded = plugins.load(&choice)?;
    let (name, kind) = (loaded.name().to_owned(), loaded.report.kind);
    let shown = crate::progress::after_a_moment(&format!("checking {name}"));
    let checks = match kind {
        PluginKind::EmbeddingProvider => {
            check_embeddings(&*plugins.embedder_of(&choice, loaded).await?).await
        }
        PluginKind::ModelProvider => check_model(&plugins.model_of(&choice, loaded).await?).await,
        PluginKind::Agent | PluginKind::NotOurs => {
            return Err(Failure::new(
                ExitCode::Plugin,
                format!(
                    "`{name}` is {}: `host provider check` takes an embedding provider or a model provider; `host inspect` shows what any plugin is",
                    kind.with_article()
                ),
            ));
        }
    };
    drop(shown);
    let failed: Vec<_> = checks
        .iter()
        .filter(|check| check.result == Verdict::Failed)
        .map(|check| check.check)
        .collect();
    if json {
        output::json(&serde_json::json!({
            "plugin": name, "kind": kind, "ok": failed.is_empty(), "checks": checks,
        }))?;
    } else {
        output::write(&table(&checks))?;
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Plugin,
        format!(
            "`{name}` breaks the contract of {} in {} of {} checks ({}): what to do stands with each",
            kind.with_article(),
            failed.len(),
            checks.len(),
            failed.join(", ")
        ),
    ))
}

fn table(checks: &[Check]) -> String {
    use std::fmt::Write as _;
    let mut text = format!("{:<18} {:<7} detail\n", "check", "result");
    for check in checks {
        let result = match check.result {
            Verdict::Passed => "ok",
            Verdict::Failed => "FAIL",
            Verdict::Skipped => "skipped",
        };
        let detail = output::one_line(&check.detail, DETAIL);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<18} {result:<7} {detail}", check.check);
        if let Some(advice) = check.advice {
            let _ = writeln!(text, "{:<26} to do: {advice}", "");
        }
    }
    text
}
