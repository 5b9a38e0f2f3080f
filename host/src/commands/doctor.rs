//! `host doctor`: whether this machine, the configuration and the data are as
//! they should be.

use std::path::Path;

use serde::Serialize;

use crate::app::App;
use crate::config::PluginChoice;
use crate::failure::{ExitCode, Failure};
use crate::output;

/// One thing that was looked at.
#[derive(Serialize)]
struct Finding {
    what: &'static str,
    ok: bool,
    /// What was found, or what is wrong and what to do.
    text: String,
}

pub(crate) async fn run(app: &App, json: bool) -> Result<(), Failure> {
    let mut findings = vec![configuration(app)];
    findings.push(database(app).await);
    findings.push(sandbox(app).await);
    findings.extend(plugins(app).await);
    let failed = findings.iter().filter(|finding| !finding.ok).count();
    if json {
        output::json(&serde_json::json!({ "ok": failed == 0, "findings": findings }))?;
    } else {
        for finding in &findings {
            let mark = if finding.ok { "ok  " } else { "FAIL" };
            output::line(&format!(
                "{mark}  {:<14} {}",
                finding.what,
                output::printable(&finding.text)
            ))?;
        }
    }
    if failed == 0 {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Other,
        format!("{failed} of {} checks failed", findings.len()),
    ))
}

fn finding(what: &'static str, result: Result<String, String>) -> Finding {
    let ok = result.is_ok();
    let text = result.unwrap_or_else(|text| text);
    Finding { what, ok, text }
}

fn configuration(app: &App) -> Finding {
    let mut text = match &app.config.file {
        Some(file) => file.display().to_string(),
        None => "no host.toml here or above: defaults".into(),
    };
    // No failure: the settings may be of a plugin that is used at other times.
    for note in misspelt(app) {
        text.push_str("; ");
        text.push_str(&note);
    }
    finding("configuration", Ok(text))
}

/// What to say of settings and grants whose plugin's name is misspelt, and of
/// grants that are for another build. Where a plugin cannot
/// be found, its own finding says so.
fn misspelt(app: &App) -> Vec<String> {
    let Ok(plugins) = app.plugins() else {
        return Vec::new();
    };
    let chosen = [&app.config.embeddings, &app.config.model];
    let sources = chosen.map(|choice| plugins.source(choice).ok());
    let used: Vec<_> = sources
        .iter()
        .flatten()
        .map(|source| source.name.as_str())
        .collect();
    let mut notes = app.config.strange_settings(&used);
    let shipped = keepsake_builtin::all().map(|name| {
        plugins.source(&PluginChoice {
            name: name.into(),
            base: app.config.data.clone(),
        })
    });
    let known: Vec<_> = sources
        .into_iter()
        .flatten()
        .chain(shipped.flatten())
        .collect();
    for (name, grant) in &app.config.grants {
        let mut named = known.iter().filter(|source| source.name == *name);
        if let Some(source) = named.find(|source| !grant.is_for(&source.hash())) {
            notes.push(format!(
                "[grants.{name}] is for another build of it and does nothing for this one, whose hash is blake3:{}",
                source.hash()
            ));
        }
    }
    notes
}

async fn database(app: &App) -> Finding {
    let path = app.database_path();
    if let Err(reason) = writable(&path) {
        return finding("memory", Err(reason));
    }
    if !path.exists() {
        return finding(
            "memory",
            Ok(format!(
                "{} is not there yet: the first run makes it",
                path.display()
            )),
        );
    }
    let checked = async {
        let database = app.database().await?;
        let check = database.check().await?;
        let ledger = database.verify(None).await?;
        Ok::<_, Failure>((check, ledger))
    };
    finding(
        "memory",
        match checked.await {
            Err(failure) => Err(failure.to_string()),
            Ok((check, _)) if !check.sound => Err(format!(
                "{} is damaged: {}; stop every host that uses it, keep a copy, and restore a backup",
                path.display(),
                check.damage.join("; ")
            )),
            Ok((_, ledger)) if !ledger.intact => Err(format!(
                "{}: the ledger was altered after it was written; `host ledger verify` names the entries",
                path.display()
            )),
            Ok((check, ledger)) => Ok(format!(
                "{} (schema {}, {} bytes): {} facts, {} sessions, {} ledger entries, intact",
                path.display(),
                check.schema,
                check.bytes,
                check.counts.facts,
                check.counts.sessions,
                ledger.entries
            )),
        },
    )
}

/// Whether a run could write to the database, or make it with its folder.
fn writable(database: &Path) -> Result<(), String> {
    let there = database
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(Path::new("/"));
    if there != database && !there.is_dir() {
        return Err(format!(
            "{} is no folder; name another one with --data",
            there.display()
        ));
    }
    rustix::fs::access(there, rustix::fs::Access::WRITE_OK).map_err(|error| {
        format!(
            "{} cannot be written ({error}); give this user the right, or name another folder with --data",
            there.display()
        )
    })
}

async fn sandbox(app: &App) -> Finding {
    let backend = match app.sandbox_backend() {
        Ok(Some(backend)) => backend,
        Ok(None) => return finding("sandbox", Ok("none: agents are denied one".into())),
        Err(failure) => return finding("sandbox", Err(failure.to_string())),
    };
    finding(
        "sandbox",
        match backend.check().await {
            Ok(report) => {
                let isolation = if report.isolated {
                    "isolated"
                } else {
                    "NOT isolated, as was allowed"
                };
                let notes: String = report
                    .notes
                    .iter()
                    .map(|note| format!("; {note}"))
                    .collect();
                Ok(format!(
                    "{} ({}), a command ran {isolation}{notes}",
                    report.backend, report.engine
                ))
            }
            Err(error) => Err(error.to_string()),
        },
    )
}

async fn plugins(app: &App) -> Vec<Finding> {
    let plugins = match app.plugins() {
        Ok(plugins) => plugins,
        Err(failure) => return vec![finding("engine", Err(failure.to_string()))],
    };
    let agent = plugins
        .agent(&PluginChoice {
            name: "support-agent".into(),
            base: app.config.data.clone(),
        })
        .await
        .map(|permitted| {
            let description = permitted.agent.description();
            format!("{} {}", description.name, description.version)
        });
    let embedder = plugins.embedder().await.map(|embedder| {
        use keepsake_types::embedding::Embedder;
        let info = embedder.info();
        format!(
            "{}: {} with {} dimensions",
            embedder.name(),
            info.model,
            info.dimensions
        )
    });
    let model = plugins
        .model()
        .await
        .map(|model| format!("{}: {}", model.name(), model.info().model));
    vec![
        finding(
            "agent",
            agent.map_err(|failure| failure.message().to_owned()),
        ),
        finding("embeddings", embedder.map_err(|error| error.to_string())),
        finding("model", model.map_err(|error| error.to_string())),
    ]
}
