//! `host`: runs agents that are WebAssembly components, and keeps what they
//! remember.

mod app;
mod cli;
mod commands;
mod config;
mod failure;
mod output;
mod permission;
mod progress;
mod provider_access;
mod session;
mod upkeep;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::app::App;
use crate::cli::{Cli, Command, ImportArguments, MemoryCommand, Parts, RecallArguments};
use crate::config::Config;
use crate::failure::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log_to_standard_error(cli.common.verbose);
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            crate::output::note!("{failure}");
            ExitCode::from(failure.code())
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let none = Parts::default();
    let recall_parts;
    let parts = match &cli.command {
        Command::Run(arguments) => &arguments.parts,
        Command::Memory(MemoryCommand::Compact { parts, .. }) => parts,
        Command::Memory(
            MemoryCommand::Recall(RecallArguments { embeddings, .. })
            | MemoryCommand::Reindex { embeddings, .. }
            | MemoryCommand::Import(ImportArguments { embeddings, .. }),
        ) => {
            recall_parts = Parts {
                embeddings: embeddings.clone(),
                ..Parts::default()
            };
            &recall_parts
        }
        _ => &none,
    };
    let app = App::new(Config::load(&cli.common, parts)?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(2, |cores| cores.get().min(8)))
        .enable_all()
        .build()?;
    let json = cli.common.json;
    let done = runtime.block_on(async {
        match cli.command {
            Command::Run(arguments) => commands::run::run(&app, arguments, json).await,
            Command::New { name, kind, lang } => commands::new::run(&name, kind, lang, json),
            Command::Build { folder } => commands::build::run(&app, &folder, json),
            Command::Inspect { plugin } => commands::inspect::run(&app, &plugin, json),
            Command::Provider(command) => commands::provider::run(&app, command, json).await,
            Command::Memory(command) => commands::memory::run(&app, command, json).await,
            Command::Ledger(command) => commands::ledger::run(&app, command, json).await,
            Command::Sessions {
                resource,
                team,
                limit,
            } => commands::sessions::run(&app, resource, &team, limit, json).await,
            Command::Sandbox(command) => commands::sandbox::run(&app, command, json).await,
            Command::Doctor => commands::doctor::run(&app, json).await,
        }
    });
    // A thread that waits for the terminal or a pipe would hold the program.
    runtime.shutdown_background();
    done
}

/// Logs go to standard error; `RUST_LOG` says more than `-v` can.
fn log_to_standard_error(verbose: u8) {
    let default = match verbose {
        0 => "warn",
        1 => "warn,plugin=info,host=info",
        _ => {
            "warn,plugin=trace,host=debug,keepsake_plugin=debug,keepsake_storage=debug,keepsake_sandbox=debug"
        }
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .log_internal_errors(false)
        .with_target(false)
        .without_time()
        .init();
}
