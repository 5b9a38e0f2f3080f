//! What the user typed. No input or output happens here.

mod recall;
mod whose;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::recall::RecallArguments;
pub(crate) use self::whose::{Team, Whose};
use crate::config::time::{milliseconds, moment};

const EXIT_CODES: &str = "\
Exit codes:
  0    all went well
  1    something failed that has no code of its own
  2    the command line or the configuration is wrong
  3    a plugin cannot be loaded or does not fit this host
  4    a turn gave no reply
  5    the memory cannot be opened, read or written
  6    the ledger does not verify
  7    the plugin wishes more than it was granted
  130  interrupted

Settings come from host.toml, found in this folder or one above it; HOST_*
variables override it, and options override both.";

/// Runs support agents that remember their customers.
#[derive(Debug, Parser)]
#[command(name = "host", version, about, after_long_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The configuration file, instead of the host.toml found upwards from here
    #[arg(long, value_name = "FILE", global = true, env = "HOST_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// The folder that holds memory and ledger [default: .keepsake]
    #[arg(long, value_name = "FOLDER", global = true)]
    pub(crate) data: Option<PathBuf>,
    /// Print JSON on standard output, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Show more of what happens, on standard error; twice for every step
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an agent: one message, a conversation, or a message a line from a pipe
    Run(RunArguments),
    /// Begin a plugin: a folder with source, a test and all that it needs to build
    New {
        /// What the plugin is called, and the folder that is made: from 1 to 64
        /// of a-z, 0-9 and -
        name: String,
        /// What it is for
        #[arg(long, value_enum, default_value_t = NewKind::Agent)]
        kind: NewKind,
        /// What it is written in
        #[arg(long, value_enum, default_value_t = NewLanguage::Rust)]
        lang: NewLanguage,
    },
    /// Build a plugin's project, and show what came of it
    Build {
        /// The project's folder
        #[arg(default_value = ".")]
        folder: PathBuf,
    },
    /// Show what a plugin is and whether it would run here
    Inspect {
        /// A component's file, or the name of a built-in plugin
        plugin: String,
    },
    /// Check providers of embeddings and models
    #[command(subcommand)]
    Provider(ProviderCommand),
    /// Look into the memory of a customer, or change it
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Show or verify the record of what happened
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// List the sessions
    Sessions {
        /// Only sessions of this customer
        #[arg(long, value_name = "NAME")]
        resource: Option<String>,
        #[command(flatten)]
        team: Team,
        /// At most so many, newest first
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        limit: u32,
    },
    /// Set up a server that makes sandboxes, and look after them
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Check this machine, the configuration and the data
    Doctor,
}

/// Which parts an agent runs with.
#[derive(Debug, Args, Default)]
pub(crate) struct Parts {
    /// The embedding provider: a component's file or a built-in's name
    #[arg(long, value_name = "PLUGIN")]
    pub(crate) embeddings: Option<String>,
    /// The model provider: a component's file or a built-in's name
    #[arg(long, value_name = "PLUGIN")]
    pub(crate) model: Option<String>,
    /// Where commands of agents run
    #[arg(long, value_name = "BACKEND")]
    pub(crate) sandbox: Option<SandboxChoice>,
    /// Run sandbox commands without isolation where there is none
    #[arg(long)]
    pub(crate) allow_unisolated_sandbox: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SandboxChoice {
    /// An isolated process on this machine
    Local,
    /// A container that an OpenSandbox server makes
    #[value(name = "opensandbox")]
    #[serde(rename = "opensandbox")]
    OpenSandbox,
    /// None: agents are denied one
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewKind {
    /// It answers customers
    Agent,
    /// It turns texts into vectors
    EmbeddingProvider,
    /// It answers chats; in Rust only
    ModelProvider,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewLanguage {
    /// Built by cargo for wasm32-wasip2
    Rust,
    /// JavaScript, built with Node.js and npm
    Js,
    /// TypeScript, built with Node.js and npm
    Ts,
    /// Python, built with componentize-py
    Python,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// A component's file, a project's folder, or the name of a built-in plugin
    pub(crate) plugin: String,
    /// The customer whose memory the agent works on [default: the agent's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) resource: Option<String>,
    /// The account that the customer belongs to, such as a company: the session
    /// is granted what its customers have in common
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    #[command(flatten)]
    pub(crate) team: Team,
    /// One message; without it, messages come from the terminal or a pipe
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Continue this session, or begin it under this id
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Show what the agent did in each turn, from the ledger, on standard error;
    /// the reply comes after that, in one piece
    #[arg(long)]
    pub(crate) steps: bool,
    /// Build a project again when its source changes, and go on in the same
    /// session with what was built
    #[arg(long)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) parts: Parts,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Show the profile, the working memory and the facts
    List {
        #[command(flatten)]
        whose: Whose,
    },
    /// Ask for the facts that answer a question
    Recall(RecallArguments),
    /// Set a key of working memory
    Set {
        #[command(flatten)]
        whose: Whose,
        /// The key
        key: String,
        /// The value as JSON; what is not JSON is taken as text
        value: String,
    },
    /// Delete facts, or keys of working memory, for good
    Forget {
        #[command(flatten)]
        whose: Whose,
        /// Ids of facts
        #[arg(required_unless_present = "key")]
        facts: Vec<String>,
        /// Keys of working memory
        #[arg(long, value_name = "KEY")]
        key: Vec<String>,
        /// Erase as well what other entries of the ledger say that hold a fact's text
        #[arg(long)]
        mentions: bool,
    },
    /// Remember the facts of a file, a fact a line; what is there already is not
    /// imported twice
    Import(ImportArguments),
    /// Let old facts go for good: what does not hold any more first, verified ones last
    Compact {
        #[command(flatten)]
        whose: Whose,
        /// Facts that were last remembered or changed longer ago, such as 90d
        /// [default: max-age of [memory] in host.toml]
        #[arg(long, value_name = "AGE", value_parser = milliseconds)]
        max_age: Option<u64>,
        /// The oldest facts beyond this number, history and summaries counted
        /// [default: max-facts of [memory] in host.toml]
        #[arg(long, value_name = "N")]
        max_facts: Option<u32>,
        /// An agent that summarises what goes: a component's file or a built-in's name
        #[arg(long, value_name = "PLUGIN")]
        agent: Option<String>,
        #[command(flatten)]
        parts: Parts,
    },
    /// Set when facts cease to hold; they stay as history
    Expire {
        #[command(flatten)]
        whose: Whose,
        /// Ids of facts
        #[arg(required = true)]
        facts: Vec<String>,
        /// When, such as 2026-12-31 or 2026-12-31T18:00:00Z [default: now]
        #[arg(long, value_name = "TIME", value_parser = moment)]
        at: Option<u64>,
    },
    /// List the forks of a memory: copies that agents try things out in
    Forks {
        #[command(flatten)]
        whose: Whose,
    },
    /// Copy a memory under a name, to go its own way
    Fork {
        #[command(flatten)]
        whose: Whose,
    },
    /// Show what a fork changed, and what its parent changed as well
    Diff {
        #[command(flatten)]
        whose: Whose,
    },
    /// Bring what a fork changed into its parent; what both changed stays as it is
    Merge {
        #[command(flatten)]
        whose: Whose,
    },
    /// Delete a fork and all that it learned, for good
    Discard {
        #[command(flatten)]
        whose: Whose,
    },
    /// Write all that is known of a customer, a JSON object a line
    Export(ExportArguments),
    /// Erase all that is known of a customer, for good: memory, and what the
    /// ledger's entries say
    Erase(EraseArguments),
    /// Copy the whole database into one file, while it may be in use
    Backup {
        /// The file to write; one that is there is left as it is
        file: PathBuf,
    },
    /// Make the database out of a backup, once it was found sound and its ledger intact
    Restore {
        /// The backup
        file: PathBuf,
        /// Put it in the place of the database that is there, which is kept beside
        #[arg(long)]
        replace: bool,
    },
    /// Explain what of memory reached a prompt, and why
    Why(WhyArguments),
    /// Give facts the vectors of the embedding provider that is in use now
    Reindex {
        #[command(flatten)]
        whose: Whose,
        /// The embedding provider: a component's file or a built-in's name
        #[arg(long, value_name = "PLUGIN")]
        embeddings: Option<String>,
    },
}

/// What to import, and whose it is.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The customer whose facts those lines are that name no `resource`
    #[arg(long, value_name = "NAME")]
    pub(crate) resource: Option<String>,
    #[command(flatten)]
    pub(crate) team: Team,
    /// The file, with a JSON object a line; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Pass over lines that cannot be imported, instead of importing nothing
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// The embedding provider: a component's file or a built-in's name
    #[arg(long, value_name = "PLUGIN")]
    pub(crate) embeddings: Option<String>,
}

/// What to export.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// With the facts' vectors, which an import elsewhere need not make again
    #[arg(long)]
    pub(crate) vectors: bool,
}

/// What to erase.
#[derive(Debug, Args)]
pub(crate) struct EraseArguments {
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

/// What to explain.
#[derive(Debug, Args)]
pub(crate) struct WhyArguments {
    /// The entry's number in its session: a recall, a snippet, or what came after
    /// them in a turn, such as the model's call or the reply
    pub(crate) entry: u64,
    /// The session [default: the newest]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Show the entries of a session, or of all of them
    Show {
        /// Only this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Check that no entry was edited, removed, inserted or reordered
    Verify {
        /// Only this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// Check whether a provider keeps its contract: it is asked as agents ask it,
    /// for some 10,000 short texts or ten short answers, with its settings in
    /// host.toml
    Check {
        /// A component's file, or the name of a built-in plugin
        plugin: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Start an OpenSandbox server on this machine and use it from now on
    Init(InitArguments),
    /// List the sandboxes that this program made at the server
    List,
    /// Show what a sandbox printed, or the server that `init` started
    Logs {
        /// The sandbox's id; without one, the server
        id: Option<String>,
    },
    /// Delete the sandboxes and stop the server that `init` started
    Down,
}

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The port of 127.0.0.1 that the server listens on
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    pub(crate) port: u16,
    /// What runs the containers [default: Docker, else podman]
    #[arg(long, value_enum)]
    pub(crate) engine: Option<EngineChoice>,
    /// The image of sandboxes
    #[arg(long, value_name = "IMAGE", default_value = crate::config::opensandbox::DEFAULT_IMAGE)]
    pub(crate) image: String,
    /// The image that the server takes its daemon for sandboxes from
    #[arg(long, value_name = "IMAGE", default_value = "opensandbox/execd:v1.1.0")]
    pub(crate) execd_image: String,
    /// The image that keeps sandboxes from the network
    #[arg(
        long,
        value_name = "IMAGE",
        default_value = "opensandbox/egress:v1.1.7"
    )]
    pub(crate) egress_image: String,
    /// Do without that image: sandboxes reach what their containers reach
    #[arg(long)]
    pub(crate) no_egress: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    /// A Docker engine
    Docker,
    /// podman, for which a socket is served
    Podman,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
