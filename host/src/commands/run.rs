//! `host run`: an agent, a customer, and messages from wherever they come.

mod conversation;
mod interrupts;
mod show;
mod watch;

use std::path::Path;

use keepsake_plugin::{EmbeddingPlugin, ModelPlugin, Needs, Provider};
use keepsake_storage::Database;
use keepsake_types::ResourceRef;
use keepsake_types::embedding::Embedder;
use tokio::sync::mpsc;

use crate::app::{App, Chosen, Permitted};
use crate::cli::RunArguments;
use crate::commands::build;
use crate::commands::ledger::steps;
use crate::commands::memory::reindex::{note_embedded, note_unembedded};
use crate::config::PluginChoice;
use crate::failure::{ExitCode, Failure};
use crate::output;
use crate::session::{Lineage, Parts, Session, TurnFailure, TurnReport};
use conversation::{Message, Messages};
use interrupts::Interrupts;
use show::Show;
use watch::Watch;

pub(crate) async fn run(app: &App, arguments: RunArguments, json: bool) -> Result<(), Failure> {
    // What a project is built to is found by the folder's name.
    let built = build::if_project(Path::new(&arguments.plugin))?;
    let mut plugins = app.plugins()?;
    let folder = arguments.plugin.clone();
    let plugin = built.map_or(arguments.plugin, |file| file.to_string_lossy().into_owned());
    let choice = PluginChoice::here(plugin);
    if !json {
        plugins.ask_for(&choice)?;
    }
    let mut watch = match arguments.watch {
        true => Some(Watch::new(&plugins, Path::new(&folder))?),
        false => None,
    };
    let opening = app.opening_database();
    // Plugins are checked before anything is written: a mistyped name leaves
    // no data folder behind.
    let embedder = plugins.embedding_provider()?;
    let model = plugins.model_provider()?;
    let Permitted { agent, rights } = plugins.agent(&choice).await?;
    prepare(agent.needs(), &embedder, &model).await?;
    let used = [
        agent.name(),
        embedder.provider.name(),
        model.provider.name(),
    ];
    for note in app.config.strange_settings(&used) {
        output::note!("note: {note}");
    }
    let resource = match arguments.resource {
        Some(resource) => arguments.team.member(&app.config, &resource)?,
        None => arguments
            .team
            .member(&app.config, &agent.description().name)?,
    };
    let mut sandbox = app.config.sandbox.clone();
    sandbox.network |= rights.sandbox_network;
    let database = opening.finish().await?;
    let with_vectors = agent.needs().embeddings;
    let parts = Parts {
        database: database.clone(),
        agent,
        rights,
        embedder: embedder.provider.clone(),
        model: model.provider,
        backend: app.sandbox_backend()?,
        sandbox,
        limits: app.config.limits.clone(),
        upkeep: app.config.memory,
        plugins: plugins.clone(),
    };
    let unembedded = match with_vectors {
        true => unembedded(&database, &resource, &embedder.provider).await?,
        false => 0,
    };
    let messages = Messages::new(arguments.message, app.history_path())?;
    let account = arguments.account.filter(|account| !account.is_empty());
    let mut interrupts = Interrupts::new();
    let mut session = Session::open(
        parts,
        resource,
        account,
        arguments.session,
        Lineage::first(),
    )
    .await?;
    let show = Show::new(json, messages.interactive(), arguments.steps);
    show.beginning(&session)?;
    let talked = talk(
        &mut session,
        messages,
        &show,
        &database,
        arguments.steps,
        &mut watch,
        &mut interrupts,
    )
    .await;
    // The sandboxes are closed and the end is recorded, however it went.
    let ended = session.end(talked.is_err()).await;
    let failed_turns = talked?;
    note_embedded(unembedded, ended?);
    match failed_turns {
        0 => Ok(()),
        1 => Err(Failure::new(ExitCode::Turn, "a message got no reply")),
        several => Err(Failure::new(
            ExitCode::Turn,
            format!("{several} messages got no reply"),
        )),
    }
}

/// Makes the providers that the agent can come to need. One that fails is told
/// before the first turn; an embedding provider whose server does not answer is
/// done without, since words find facts too.
async fn prepare(
    needs: Needs,
    embedder: &Chosen<EmbeddingPlugin>,
    model: &Chosen<ModelPlugin>,
) -> Result<(), Failure> {
    let embedder = async {
        match needs.embeddings {
            true => embedder.prepare().await,
            false => Ok(()),
        }
    };
    let model = async {
        match needs.model {
            true => model.prepare().await,
            false => Ok(()),
        }
    };
    let (embedder, model) = tokio::join!(embedder, model);
    match embedder {
        Err(unready) if unready.may_pass() => output::note!(
            "note: {unready}; until it answers, facts are remembered and recalled by their words only (it is asked again later)"
        ),
        Err(unready) => return Err(unready.into()),
        Ok(()) => {}
    }
    Ok(model?)
}

/// How many facts have no vector of the provider, which is told. Where there are
/// no facts, nobody waits for the provider.
async fn unembedded(
    database: &Database,
    resource: &ResourceRef,
    provider: &Provider<EmbeddingPlugin>,
) -> Result<u64, Failure> {
    if database.view(resource)?.count_facts().await? == 0 {
        return Ok(0);
    }
    match provider.get().await {
        Ok(embedder) => note_unembedded(database, resource, &embedder.info().model).await,
        // Told already, or by the first who needs it.
        Err(_) => Ok(0),
    }
}

/// Handles messages until there are no more, and counts those without a reply.
async fn talk(
    session: &mut Session,
    mut messages: Messages,
    show: &Show,
    database: &Database,
    with_steps: bool,
    watch: &mut Option<Watch>,
    interrupts: &mut Interrupts,
) -> Result<u32, Failure> {
    let mut failed = 0;
    loop {
        let message = next(session, &mut messages, watch, interrupts).await?;
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
        let report = one_turn(session, message, show, interrupts).await?;
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

/// The next message. What is changed while it is waited for is built, and what
/// was changed just before it as well.
async fn next(
    session: &mut Session,
    messages: &mut Messages,
    watch: &mut Option<Watch>,
    interrupts: &mut Interrupts,
) -> Result<Option<Result<Message, Failure>>, Failure> {
    let next = messages.next();
    tokio::pin!(next);
    loop {
        let changed = async {
            match watch {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        let message = tokio::select! {
            message = &mut next => Some(message),
            () = changed => None,
            () = interrupts.next() => return Err(interruption()),
        };
        if let Some(watch) = watch {
            watch.refresh(session).await?;
        }
        if let Some(message) = message {
            return Ok(message);
        }
    }
}

/// Handles one message and shows what is emitted as it comes.
async fn one_turn(
    session: &mut Session,
    message: String,
    show: &Show,
    interrupts: &mut Interrupts,
) -> Result<TurnReport, Failure> {
    let (emit, mut emitted) = mpsc::unbounded_channel();
    show.new_turn();
    let turn = session.turn(message, emit, interrupts.next());
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

fn interruption() -> Failure {
    Failure::new(ExitCode::Interrupted, "interrupted")
}
