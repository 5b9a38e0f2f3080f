//! What the user typed. No input or output happens here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

const EXIT_CODES: &str = "\
Exit codes:
  0    all went well
  1    something failed that has no code of its own
  2    the command line or the configuration is wrong
  3    a plugin cannot be loaded or does not fit this host
  4    a turn gave no reply
  5    the memory cannot be opened, read or written
  6    the ledger does not verify
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
    /// Show what a plugin is and whether it would run here
    Inspect {
        /// A component's file, or the name of a built-in plugin
        plugin: String,
    },
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

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// A component's file, or the name of a built-in plugin
    pub(crate) plugin: String,
    /// The customer whose memory the agent works on [default: the agent's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) resource: Option<String>,
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
    Recall {
        #[command(flatten)]
        whose: Whose,
        /// The question
        query: String,
        /// At most so many facts
        #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
        top_k: u32,
        /// Which rankings to use
        #[arg(long, value_enum, default_value_t = Mode::Hybrid)]
        mode: Mode,
        /// Leave out facts that score lower
        #[arg(long, value_name = "S")]
        min_score: Option<f64>,
        /// Show why each fact was recalled
        #[arg(long)]
        explain: bool,
        /// The embedding provider: a component's file or a built-in's name
        #[arg(long, value_name = "PLUGIN")]
        embeddings: Option<String>,
    },
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
    },
    /// Give facts the vectors of the embedding provider that is in use now
    Reindex {
        #[command(flatten)]
        whose: Whose,
        /// The embedding provider: a component's file or a built-in's name
        #[arg(long, value_name = "PLUGIN")]
        embeddings: Option<String>,
    },
}

/// Whose memory.
#[derive(Debug, Args)]
pub(crate) struct Whose {
    /// The customer
    #[arg(long, value_name = "NAME")]
    pub(crate) resource: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Words and vectors together
    Hybrid,
    /// Exact words only
    Words,
    /// Vectors only
    Vectors,
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
