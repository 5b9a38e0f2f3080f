//! `host run`: an agent, a customer, and messages from wherever they come.

mod conversation;
mod show;

use std::path::PathBuf;

use keepsake_storage::Database;
use keepsake_types::ResourceRef;
use keepsake_types::embedding::Embedder;
use tokio::sync::mpsc;
use tokio::task::JoinError;

use crate::app::App;
use crate::cli::RunArguments;
use crate::commands::ledger::steps;
use crate::commands::memory::reindex::warn_of_unembedded;
use crate::config::PluginChoice;
use crate::failure::{ExitCode, Failure};
use crate::session::{Parts, Session, TurnFailure, TurnReport};
use conversation::{Message, Messages};
use show::Show;

pub(crate) async fn run(app: &App, arguments: RunArguments, json: bool) -> Result<(), Failure> {
    let plugins = app.plugins()?;
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    // Plugins are checked before anything is written: a mistyped name leaves
    // no data folder behind.
    let choice = PluginChoice {
        name: arguments.plugin.clone(),
        base: here,
    };
    let embedder = plugins.beside(async |plugins| plugins.embedder().await);
    let model = plugins.beside(async |plugins| plugins.model().await);
    let agent = plugins.agent(&choice).await?;
    let embedder = embedder.await.map_err(broken_off)??;
    let model = model.await.map_err(broken_off)??;
    let resource = match arguments.resource {
        Some(resource) => ResourceRef::new(resource)?,
        None => ResourceRef::new(agent.description().name.clone())?,
    };
    let database = app.database().await?;
    let embedder_model = embedder.info().model.clone();
    let parts = Parts {
        database: database.clone(),
        agent,
        embedder,
        model,
        backend: app.sandbox_backend()?,
        sandbox: app.config.sandbox.clone(),
    };
    warn_of_unembedded(&database, &resource, &embedder_model).await?;
    let messages = Messages::new(arguments.message, app.history_path())?;
    let mut session = Session::open(parts, resource, arguments.session).await?;
    let show = Show::new(json, messages.interactive(), arguments.steps);
    show.beginning(&session)?;
    let talked = talk(&mut session, messages, &show, &database, arguments.steps).await;
    // The sandboxes are closed and the end is recorded, however it went.
    let ended = session.end().await;
    let failed_turns = talked?;
    ended?;
    match failed_turns {
        0 => Ok(()),
        1 => Err(Failure::new(ExitCode::Turn, "a message got no reply")),
        several => Err(Failure::new(
            ExitCode::Turn,
            format!("{several} messages got no reply"),
        )),
    }
}

fn broken_off(error: JoinError) -> Failure {
    Failure::new(
        ExitCode::Other,
        format!("a plugin could not be loaded: {error}"),
    )
}

/// Handles messages until there are no more, and counts those without a reply.
async fn talk(
    session: &mut Session,
    mut messages: Messages,
    show: &Show,
    database: &Database,
    with_steps: bool,
) -> Result<u32, Failure> {
    let mut failed = 0;
    loop {
        let message = tokio::select! {
            message = messages.next() => message,
            () = interrupted() => return Err(interruption()),
        };
        let Some(message) = message else {
            return Ok(failed);
        };
        let message = match message? {
            Message::Text(text) => text,
            Message::Unfit(failure) => {
                show.unfit(session, &failure)?;
                failed += 1;
                continue;
            }
        };
        let report = one_turn(session, message, show).await?;
        if with_steps {
            steps(database, &session.id, &session.resource, report.first_entry).await?;
        }
        show.turn(session, &report)?;
        match &report.outcome {
            Ok(_) => {}
            // At a terminal Ctrl-C ends the turn and the conversation goes on;
            // elsewhere there is nobody to go on with.
            Err(TurnFailure::Interrupted) if !messages.interactive() => {
                return Err(interruption());
            }
            Err(_) => failed += 1,
        }
    }
}

/// Handles one message and shows what is emitted as it comes.
async fn one_turn(
    session: &mut Session,
    message: String,
    show: &Show,
) -> Result<TurnReport, Failure> {
    let (emit, mut emitted) = mpsc::unbounded_channel();
    show.new_turn();
    let turn = session.turn(message, emit, interrupted());
    tokio::pin!(turn);
    let report = loop {
        tokio::select! {
            // What was emitted is shown before the reply that follows it.
            biased;
            Some(chunk) = emitted.recv() => show.chunk(&chunk)?,
            report = &mut turn => break report?,
        }
    };
    while let Ok(chunk) = emitted.try_recv() {
        show.chunk(&chunk)?;
    }
    Ok(report)
}

/// Waits for Ctrl-C, for a request to end, or for the terminal to go away.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) =
        (signal(kinds[0]), signal(kinds[1]), signal(kinds[2]))
    else {
        // What cannot be listened for ends the program by itself.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

fn interruption() -> Failure {
    Failure::new(ExitCode::Interrupted, "interrupted")
}
