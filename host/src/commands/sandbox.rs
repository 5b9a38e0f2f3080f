//! `host sandbox`: the server that makes sandboxes, and what runs in them.

mod engine;
mod init;
mod server;
mod settings;

use keepsake_sandbox::OpenSandboxBackend;
use serde_json::json;

use crate::app::App;
use crate::cli::SandboxCommand;
use crate::failure::{ExitCode, Failure};
use crate::output;
use server::Place;

pub(crate) async fn run(app: &App, command: SandboxCommand, json: bool) -> Result<(), Failure> {
    let place = Place::new(&app.config.data);
    match command {
        SandboxCommand::Init(arguments) => init::init(app, &place, arguments, json).await,
        SandboxCommand::List => list(&app.opensandbox()?, json).await,
        SandboxCommand::Logs { id: Some(id) } => {
            output::write(&output::printable(&app.opensandbox()?.logs(&id).await?))
        }
        SandboxCommand::Logs { id: None } => server_log(&place),
        SandboxCommand::Down => down(app, &place, json).await,
    }
}

async fn list(backend: &OpenSandboxBackend, json: bool) -> Result<(), Failure> {
    let sandboxes = backend.list().await?;
    if json {
        return output::json(&json!({ "sandboxes": sandboxes }));
    }
    if sandboxes.is_empty() {
        output::note!("no sandbox is there");
    }
    for sandbox in &sandboxes {
        let label = |name: &str| {
            sandbox
                .labels
                .get(name)
                .map_or("-".to_owned(), |value| output::one_line(value, 64))
        };
        output::line(&format!(
            "{}  {:<10}  {:<24}  {}",
            output::one_line(&sandbox.id, 64),
            output::one_line(&sandbox.state, 20),
            label("resource"),
            label("session"),
        ))?;
    }
    Ok(())
}

fn server_log(place: &Place) -> Result<(), Failure> {
    match place.newest_log() {
        Some(log) => output::write(&output::printable(&log)),
        None => Err(Failure::new(
            ExitCode::Other,
            "no server was started from this data folder: `host sandbox init` starts one, and `host sandbox logs ID` shows a sandbox's log",
        )),
    }
}

/// Deletes the sandboxes of this program, and stops the server that `init`
/// started. What `init` wrote stays, so that the next `init` starts the same.
async fn down(app: &App, place: &Place, json: bool) -> Result<(), Failure> {
    let Some(server) = place.running() else {
        if json {
            return output::json(&json!({ "stopped": false, "sandboxes": 0 }));
        }
        output::note!("no server that `host sandbox init` started runs");
        return Ok(());
    };
    let backend = app.opensandbox()?;
    let mut deleted = 0;
    // A server that does not answer is stopped all the same; its sandboxes end
    // with their time to live.
    match backend.list().await {
        Ok(sandboxes) => {
            for sandbox in sandboxes {
                deleted += usize::from(backend.delete(&sandbox.id).await?);
            }
        }
        Err(error) => tracing::warn!("the sandboxes cannot be deleted: {error}"),
    }
    server.stop()?;
    if json {
        return output::json(&json!({ "stopped": true, "sandboxes": deleted }));
    }
    output::note!("deleted {deleted} sandboxes and stopped the server");
    Ok(())
}
