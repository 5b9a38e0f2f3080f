//! What can go wrong with a plugin, told to the one who runs it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Why a plugin could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// There is no such file.
    #[error(
        "there is no plugin file {path:?}: check the path, or give the name of a built-in plugin ({built_in})"
    )]
    NoSuchFile {
        /// What was asked for.
        path: PathBuf,
        /// The built-in names, separated by commas.
        built_in: String,
    },
    /// The path is a directory.
    #[error(
        "{path:?} is a directory: give the component file itself, such as {path:?}/target/wasm32-wasip2/release/NAME.wasm"
    )]
    Directory {
        /// What was asked for.
        path: PathBuf,
    },
    /// The file could not be read.
    #[error("the plugin file {path:?} cannot be read: {reason}")]
    Unreadable {
        /// What was asked for.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file is larger than any plugin may be.
    #[error("the plugin {name:?} has {bytes} bytes, over the limit of {limit} (component-bytes)")]
    TooLarge {
        /// The plugin.
        name: String,
        /// Its size in bytes.
        bytes: u64,
        /// The bound in bytes.
        limit: u64,
    },
    /// The file is empty.
    #[error("the plugin file {name:?} is empty: build it again")]
    Empty {
        /// The plugin.
        name: String,
    },
    /// The bytes are not WebAssembly.
    #[error("{name:?} is not a WebAssembly file{hint}")]
    NotWasm {
        /// The plugin.
        name: String,
        /// What it seems to be instead, beginning with `: `, or nothing.
        hint: &'static str,
    },
    /// The bytes are a core module, not a component.
    #[error(
        "{name:?}: this is a core module; build for wasm32-wasip2 (`cargo build --target wasm32-wasip2`), or wrap it with `wasm-tools component new`"
    )]
    CoreModule {
        /// The plugin.
        name: String,
    },
    /// The bytes begin like a component and then break off or break the format.
    #[error(
        "the component {name:?} is damaged: {reason}; it was probably cut off while being copied: build or copy it again"
    )]
    Damaged {
        /// The plugin.
        name: String,
        /// What the validator said.
        reason: String,
    },
    /// It is a sound component that does not fit this host.
    #[error("the plugin {name:?} does not run on this host:\n{}", bullets(.problems))]
    DoesNotFit {
        /// The plugin.
        name: String,
        /// One sentence for each problem, with what to do.
        problems: Vec<String>,
    },
    /// It is a plugin of another kind than the one that is needed.
    #[error("the plugin {name:?} is {actual}, but {needed} is needed here: {}", instead(.needed))]
    WrongKind {
        /// The plugin.
        name: String,
        /// What it is, with its article.
        actual: &'static str,
        /// What it should be, with its article.
        needed: &'static str,
    },
    /// The plugin answered its first questions wrongly.
    #[error("the plugin {name:?} does not keep its contract: {reason}")]
    BrokenContract {
        /// The plugin.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// The plugin cannot say what it is now: what it depends on does not answer.
    #[error("the plugin {name:?} cannot say what it is now: {reason}")]
    Unready {
        /// The plugin.
        name: String,
        /// What it said.
        reason: String,
        /// Milliseconds to wait before asking again, where known.
        retry_after_ms: Option<u64>,
    },
    /// The plugin failed while it was asked what it is.
    #[error("the plugin {name:?} failed when asked what it is: {failure}")]
    Failed {
        /// The plugin.
        name: String,
        /// How it failed.
        failure: Box<PluginFailure>,
    },
    /// The machine cannot run compiled WebAssembly.
    #[error("the WebAssembly engine cannot start: {reason}")]
    Engine {
        /// What wasmtime said.
        reason: String,
    },
}

/// What to give in the place of a plugin of another kind.
fn instead(needed: &str) -> &'static str {
    match needed {
        "an agent" => {
            "`host run` takes an agent, such as `support-agent`, and providers as `--embeddings` and `--model`"
        }
        "an embedding provider" => "give one, such as `embed-static`",
        _ => "give one, such as `model-offline`",
    }
}

fn bullets(lines: &[String]) -> String {
    lines
        .iter()
        .map(|line| format!("  - {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// How a guest call ended that did not end well. The instance is gone; the
/// session and its memory are not.
#[derive(Debug)]
pub struct PluginFailure {
    /// The plugin's name.
    pub plugin: String,
    /// What happened.
    pub cause: FailureCause,
    /// The guest's call stack, innermost first, one readable line a frame.
    pub backtrace: Vec<String>,
    /// The last lines that the guest wrote to its standard error.
    pub standard_error: String,
}

/// What ended a guest call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureCause {
    /// The guest's code panicked or threw; the text is its own.
    Panic(String),
    /// It computed for longer than it may.
    CpuTime(Duration),
    /// The call took longer than it may, waiting included.
    WallTime(Duration),
    /// It asked for more memory than it may have, and gave up; bytes.
    Memory {
        /// The bound.
        limit: usize,
        /// What it asked for in all.
        wanted: usize,
    },
    /// It asked for more elements of tables than it may have.
    Tables {
        /// The bound.
        limit: usize,
        /// What it asked for in all.
        wanted: usize,
    },
    /// It used up the units of computing that it may.
    Fuel(u64),
    /// It called the host more often than it may.
    HostCalls(u64),
    /// It handed more to the host at once than it may, in bytes.
    CallBytes(usize),
    /// It holds more handles than it may.
    Handles(usize),
    /// It is made of more instances than it may.
    Instances(usize),
    /// It called itself too deeply.
    StackOverflow,
    /// It ended itself instead of answering.
    Exit,
    /// Any other trap, in wasmtime's words.
    Trap(String),
    /// There was no free slot for its instance.
    Busy(String),
}

impl FailureCause {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Panic(_) => "panic",
            Self::CpuTime(_) => "cpu-time",
            Self::WallTime(_) => "wall-time",
            Self::Memory { .. } => "memory",
            Self::Tables { .. } => "table-elements",
            Self::Fuel(_) => "turn-fuel",
            Self::HostCalls(_) => "host-calls",
            Self::CallBytes(_) => "call-mib",
            Self::Handles(_) => "handles",
            Self::Instances(_) => "instances",
            Self::StackOverflow => "stack-overflow",
            Self::Exit => "exit",
            Self::Trap(_) => "trap",
            Self::Busy(_) => "busy",
        }
    }
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(message) => write!(f, "it panicked: {message}"),
            Self::CpuTime(limit) => write!(
                f,
                "it computed for more than {} and was stopped; if it is not an endless loop, raise `limits.turn-cpu-seconds`",
                seconds(*limit)
            ),
            Self::WallTime(limit) => write!(
                f,
                "it took more than {} and was stopped; if it waits for something slow, raise `limits.turn-seconds`",
                seconds(*limit)
            ),
            Self::Memory { limit, wanted } => write!(
                f,
                "it ran out of memory: it may have {} MiB and asked for {} MiB; if it needs that much, raise `limits.memory-mib`",
                limit >> 20,
                wanted.div_ceil(1 << 20)
            ),
            Self::Tables { limit, wanted } => write!(
                f,
                "it may have tables of {limit} elements and asked for {wanted}; if it needs that many, raise `limits.table-elements`"
            ),
            Self::Fuel(limit) => write!(
                f,
                "it computed for more than {limit} units of fuel and was stopped; if it is not an endless loop, raise `limits.turn-fuel`"
            ),
            Self::HostCalls(limit) => write!(
                f,
                "it called the host more than {limit} times and was stopped; if it is not an endless loop, raise `limits.host-calls`"
            ),
            Self::CallBytes(limit) => write!(
                f,
                "it handed over more than {} MiB at once; if it needs that much, raise `limits.call-mib`",
                limit >> 20
            ),
            Self::Handles(limit) => write!(
                f,
                "it holds more than {limit} handles; if it needs that many, raise `limits.handles`"
            ),
            Self::Instances(limit) => write!(
                f,
                "it is made of more than {limit} instances or memories; if it needs that many, raise `limits.instances`"
            ),
            Self::StackOverflow => f.write_str(
                "it used up its stack; a function probably calls itself without end, and if not, raise `limits.stack-kib`"
            ),
            Self::Exit => f.write_str("it ended itself (`exit`) instead of answering"),
            Self::Trap(text) => write!(f, "it trapped: {text}"),
            Self::Busy(text) => write!(f, "there was no room to run it: {text}; if it is sound, raise `limits.concurrent-plugins`"),
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

impl fmt::Display for PluginFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plugin `{}` failed: {}", self.plugin, self.cause)
    }
}

impl std::error::Error for PluginFailure {}

impl PluginFailure {
    /// Everything a plugin author wants to see, over several lines: the guest's
    /// backtrace and the end of its standard error.
    pub fn details(&self) -> String {
        let mut text = String::new();
        if !self.backtrace.is_empty() {
            text.push_str("backtrace in the plugin, innermost call first:\n");
            for line in &self.backtrace {
                text.push_str("  ");
                text.push_str(line);
                text.push('\n');
            }
        }
        if !self.standard_error.trim().is_empty() {
            text.push_str("the plugin's standard error, last lines:\n");
            for line in self.standard_error.trim_end().lines() {
                text.push_str("  ");
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    }
}
