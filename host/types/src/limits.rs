//! Every bound that the host keeps, with its reason. A bound that is reached
//! is told by its name in lower case with dashes: [`WORKING_VALUE_BYTES`] is
//! `working-value-bytes`.

use std::time::Duration;

/// One bound as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The constant's name.
    pub constant: &'static str,
    /// What it bounds, and why it is what it is.
    pub what: String,
    /// Its value, for a reader; a duration in seconds.
    pub value: String,
}

impl Bound {
    /// The name that it is told by.
    pub fn name(&self) -> String {
        self.constant.to_lowercase().replace('_', "-")
    }
}

/// How a bound's value is written.
trait Written {
    fn written(&self) -> String;
}

macro_rules! written_as_numbers {
    ($($number:ty),*) => {
        $(impl Written for $number {
            fn written(&self) -> String {
                self.to_string()
            }
        })*
    };
}

written_as_numbers!(usize, u32, u64);

impl Written for Duration {
    fn written(&self) -> String {
        format!("{} s", self.as_secs_f64())
    }
}

/// Declares the bounds and lists them.
macro_rules! bounds {
    ($($(#[doc = $what:literal])+ pub const $name:ident: $kind:ty = $value:expr;)*) => {
        $($(#[doc = $what])+ pub const $name: $kind = $value;)*

        /// Every bound of this file, in its order.
        pub fn all() -> Vec<Bound> {
            vec![$(Bound {
                constant: stringify!($name),
                what: [$($what),+].map(str::trim).join(" "),
                value: $name.written(),
            }),*]
        }
    };
}

bounds! {
/// A resource's or team's name. Names are shown in lists and logs.
pub const RESOURCE_ID_BYTES: usize = 256;

/// A key of working memory. Keys are names, not content.
pub const WORKING_KEY_BYTES: usize = 256;
/// A value of working memory. It travels into prompts; more belongs into facts.
pub const WORKING_VALUE_BYTES: usize = 64 * 1024;
/// Keys in one scope.
pub const WORKING_KEYS: usize = 10_000;
/// One fact's text. A fact is a sentence or a few; documents belong elsewhere.
pub const FACT_BYTES: usize = 64 * 1024;
/// One fact's metadata.
pub const FACT_METADATA_BYTES: usize = 16 * 1024;
/// Facts in one `remember-many`, which is one transaction and holds the writer.
pub const REMEMBER_MANY_FACTS: usize = 10_000;
/// One line of a file to be imported: the longest fact, even where every byte of
/// it has to be escaped, with its metadata and a vector.
pub const IMPORT_LINE_BYTES: usize = 1024 * 1024;
/// Facts of an import that are embedded and written together. What a kill can
/// undo, and what waits in memory, is a few of these.
pub const IMPORT_BATCH_FACTS: usize = 1_000;
/// The same in bytes of the file, for long facts.
pub const IMPORT_BATCH_BYTES: usize = 4 * 1024 * 1024;
/// One query. Past this the words say nothing more about what is sought.
pub const QUERY_BYTES: usize = 16 * 1024;
/// Items on one page of any list, and facts in one recall.
pub const PAGE_ITEMS: usize = 1_000;
/// The largest snippet. It is put before a prompt.
pub const SNIPPET_BYTES: usize = 64 * 1024;
/// The smallest snippet that can hold a heading and one short fact.
pub const SNIPPET_MINIMUM_BYTES: usize = 64;
/// Bytes that a token of a snippet is taken for, where its room is given in
/// tokens. English text has about four; where the host does not know the model's
/// tokens, an estimate has to do.
pub const SNIPPET_TOKEN_BYTES: usize = 4;
/// A fork's name. It is shown in lists and typed on command lines.
pub const FORK_NAME_BYTES: usize = 64;
/// Forks of one resource, those of forks among them. Each is a copy.
pub const FORKS: usize = 64;
/// Forks within forks. A fact's source is looked for along the whole line.
pub const FORK_DEPTH: usize = 4;
/// Facts that a fork copies or a merge brings, in one transaction that holds
/// the writer.
pub const FORK_FACTS: usize = 100_000;
/// Facts that one difference between a fork and its parent lists. It travels
/// into a guest's memory; merging needs no list.
pub const FORK_DIFFERENCE_FACTS: usize = 10_000;
/// Episodes of one tree. It travels into a guest's memory whole; more is read by
/// pages.
pub const EPISODE_TREE_ENTRIES: usize = 10_000;
/// A vector's width. Wider models do not exist; a lie would cost memory.
pub const VECTOR_DIMENSIONS: usize = 8_192;
/// Memory for the vector indexes of the scopes that were searched last: one
/// scope of a million facts with 256 dimensions, or thousands of usual ones.
pub const VECTOR_INDEX_BYTES: usize = 360 * 1024 * 1024;

/// From the beginning to the end of one call of a plugin, waiting included: a
/// turn waits for models and for sandbox commands.
pub const TURN_SECONDS: u64 = 120;
/// Time in which a plugin itself computes in one call.
pub const TURN_CPU_SECONDS: u64 = 10;
/// All turns of one session in one program, together. A conversation of a day
/// has minutes of turns; one that never ends belongs to an agent in circles.
pub const SESSION_SECONDS: u64 = 8 * 60 * 60;
/// Linear memory of all the instances of one plugin together, in MiB.
pub const MEMORY_MIB: usize = 128;
/// Elements of all the tables of one plugin together.
pub const TABLE_ELEMENTS: usize = 100_000;
/// The stack of compiled code, in KiB. Rust keeps its own within linear memory.
pub const STACK_KIB: usize = 1_024;
/// Core instances within one plugin. Those of Python have about twenty.
pub const INSTANCES: usize = 64;
/// Plugins that are alive at once in one program, which holds one conversation:
/// the agent of the turn, and its providers'. Room for more would be prepared,
/// page by page, at each start.
pub const CONCURRENT_PLUGINS: u32 = 24;
/// Handles that one plugin holds at a time: scopes, sandboxes, commands, answers
/// of a model and what WASI has.
pub const HANDLES: usize = 10_000;
/// Calls of the host in one call of a plugin. Each takes less than a microsecond
/// of its own, but is not the plugin's computing time.
pub const HOST_CALLS: u64 = 1_000_000;
/// What a plugin hands to the host in one call, in MiB; the host holds as much.
pub const CALL_MIB: usize = 128;
/// Facts and values that one turn writes or removes.
pub const MEMORY_WRITES: u64 = 20_000;
/// Texts that one turn has embedded. A provider may be paid by the text.
pub const EMBEDDED_TEXTS: u64 = 20_000;
/// Answers of a model that one turn waits for at a time. Each holds an instance.
pub const COMPLETIONS: usize = 8;
/// Requests over HTTP in one call of a provider, repeated ones among them.
pub const HTTP_REQUESTS: u64 = 100;

/// What an agent may emit in one turn.
pub const EMITTED_BYTES: usize = 1024 * 1024;
/// One message to an agent.
pub const MESSAGE_BYTES: usize = 256 * 1024;
/// One reply of an agent.
pub const REPLY_BYTES: usize = 1024 * 1024;
/// What is read at once of what was said in a session. No prompt has room for more.
pub const EXCHANGES_BYTES: usize = 1024 * 1024;
/// One line of a plugin's log; the rest is cut.
pub const LOG_LINE_BYTES: usize = 8 * 1024;
/// A plugin's log lines in one turn; after that they are only counted.
pub const LOG_LINES: u64 = 1_000;
/// What is kept of a plugin's standard error, the newest bytes.
pub const STANDARD_ERROR_BYTES: usize = 16 * 1024;

/// A sandbox command's line.
pub const COMMAND_LINE_BYTES: usize = 64 * 1024;
/// What is kept of each of a command's two outputs.
pub const EXEC_OUTPUT_BYTES: usize = 1024 * 1024;
/// One file that is read from or written into a sandbox.
pub const FILE_BYTES: usize = 8 * 1024 * 1024;
/// Names in one listing of a sandbox's directory.
pub const DIRECTORY_ENTRIES: usize = 10_000;
/// Sandboxes of one session: its own and its forks.
pub const SESSION_SANDBOXES: usize = 8;

/// A plugin's file. JavaScript and Python agents take up to 20 MB.
pub const COMPONENT_BYTES: u64 = 256 * 1024 * 1024;
/// The texts of one call to an embedding provider, together.
pub const EMBEDDED_BYTES: usize = 64 * 1024 * 1024;
/// Queries whose vectors are kept for when they are asked again.
pub const QUERY_CACHE_ENTRIES: usize = 1_024;
/// Those queries and vectors together: a few thousand short ones of an ordinary
/// model's width.
pub const QUERY_CACHE_BYTES: usize = 8 * 1024 * 1024;
/// The messages of one chat, together.
pub const CHAT_BYTES: usize = 4 * 1024 * 1024;
/// Messages in one chat.
pub const CHAT_MESSAGES: usize = 10_000;
/// Questions to models in one session, all its processes together, unless the
/// operator says otherwise. A long conversation has hundreds of turns of a few
/// questions; an agent that asks in circles is stopped before it is noticed on a bill.
pub const SESSION_MODEL_CALLS: u64 = 2_000;
/// Tokens of those questions and answers together, unless the operator says
/// otherwise: 5,000 a question on average, since each repeats the conversation.
pub const SESSION_MODEL_TOKENS: u64 = 10_000_000;
/// The largest such bounds that can be set. More is none.
pub const SESSION_MODEL_CALLS_MAXIMUM: u64 = 1_000_000_000;
/// The same for tokens.
pub const SESSION_MODEL_TOKENS_MAXIMUM: u64 = 1_000_000_000_000;

/// Agents that may stand below one another, at the most that can be set: each works
/// on a fork of its parent's memory, and forks have this depth.
pub const AGENT_DEPTH_MAXIMUM: u64 = FORK_DEPTH as u64;
/// Agents that one message may start, at the most that can be set: each may be alive
/// with an instance of its plugin, of which one program has few.
pub const AGENT_CHILDREN_MAXIMUM: u64 = 16;

/// How long a sandbox's command runs where nothing else is said.
pub const EXEC_SECONDS: u64 = 60;
/// How long any sandbox's command may run. A turn that waits longer is stuck.
pub const EXEC_SECONDS_MAXIMUM: u64 = 600;
/// What a command may be given as standard input; as large as one file.
pub const EXEC_STDIN_BYTES: usize = FILE_BYTES;
/// What a command may print in all before it is killed. What is past
/// [`EXEC_OUTPUT_BYTES`] is thrown away, but carrying it costs time.
pub const EXEC_STREAM_BYTES: u64 = 256 * 1024 * 1024;
/// Names and values of the variables that a command is given, together.
pub const EXEC_ENVIRONMENT_BYTES: usize = 128 * 1024;
/// Commands that run in one sandbox at once.
pub const SANDBOX_EXECUTIONS: usize = 8;
/// Memory of all processes of one sandbox's command.
pub const SANDBOX_MEMORY_BYTES: u64 = 512 * 1024 * 1024;
/// Address space of one process of a sandbox. Larger than the memory, because
/// runtimes reserve room that they never use.
pub const SANDBOX_ADDRESS_SPACE_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Processes and threads of one sandbox's command.
pub const SANDBOX_PROCESSES: u64 = 128;
/// Open files of one process of a sandbox.
pub const SANDBOX_OPEN_FILES: u64 = 256;
/// One file that a sandbox's command writes.
pub const SANDBOX_FILE_SIZE_BYTES: u64 = 256 * 1024 * 1024;
/// A sandbox's work directory.
pub const SANDBOX_DISK_BYTES: u64 = 512 * 1024 * 1024;
/// Files and directories in a sandbox's work directory. Each costs an inode.
pub const SANDBOX_DISK_ENTRIES: u64 = 100_000;
/// Directories within directories in a sandbox's work directory; every walk
/// over it holds one open file for each.
pub const SANDBOX_DIRECTORY_DEPTH: usize = 64;
/// A sandbox's `/tmp`, and as much again for `/dev/shm`. It is memory.
pub const SANDBOX_TEMPORARY_BYTES: u64 = 64 * 1024 * 1024;
/// A path that is given to a sandbox; what Linux takes.
pub const SANDBOX_PATH_BYTES: usize = 4_095;
/// Checkpoints of one sandbox. Each is a copy of its files.
pub const SANDBOX_CHECKPOINTS: usize = 8;
/// A checkpoint's name. Names are shown in lists and logs.
pub const CHECKPOINT_NAME_BYTES: usize = 256;

/// Levels of nesting in a JSON document that is stored. JSON readers give up at
/// about 128; an entry wraps what it records, so half of that is kept.
pub const JSON_DEPTH: usize = 64;
/// What one ledger entry records. Both outputs of a command fit, even where
/// every byte of them has to be escaped.
pub const LEDGER_PAYLOAD_BYTES: usize = 16 * 1024 * 1024;
/// A fact's subject, attribute or thread. They are names, not content.
pub const FACT_NAME_BYTES: usize = 256;
/// Facts that a turn showed and that are not remembered again in it. More do
/// not fit into any prompt; what is shown past this is no echo.
pub const SHOWN_FACTS: usize = 10_000;
/// Facts that one new fact may replace.
pub const FACT_SUPERSEDES: usize = 1_000;
/// A session's id, so that it fits into a file name and a log line.
pub const SESSION_ID_BYTES: usize = 64;
/// Levels of nesting in what one ledger entry records: more than in any
/// document that it wraps, fewer than a JSON reader takes.
pub const LEDGER_PAYLOAD_DEPTH: usize = 96;
/// Payloads that one entry says were erased; a larger erasure takes several
/// entries, so that reading one stays cheap.
pub const ERASED_ENTRIES: usize = 1_000;
/// Faults that one verification lists. A file that is broken throughout has
/// one for every entry, and nobody reads further.
pub const LEDGER_FAULTS: usize = 1_000;
/// Writes that wait for the database's writer before callers wait too.
pub const WRITE_QUEUE: usize = 1_024;
/// Writes that share one commit, and with it one wait for the disk.
pub const GROUP_COMMIT: usize = 64;

/// A plugin's manifest. One that wishes all that can be wished has a few KiB.
pub const MANIFEST_BYTES: usize = 64 * 1024;
/// Servers, secrets or agents that one manifest wishes. An operator reads them.
pub const MANIFEST_WISHES: usize = 64;

/// Requests of one plugin's instance that are under way at once.
pub const HTTP_REQUESTS_AT_ONCE: usize = 16;
/// What a plugin may send in one request.
pub const HTTP_REQUEST_BYTES: usize = 16 * 1024 * 1024;
/// What a plugin is given of one response. A batch of the largest embeddings
/// as decimal numbers has about 20 MiB.
pub const HTTP_RESPONSE_BYTES: usize = 64 * 1024 * 1024;
/// How long a server may think before its answer begins. Models do.
pub const HTTP_FIRST_BYTE: Duration = Duration::from_secs(300);
/// How long an answer may pause.
pub const HTTP_BETWEEN_BYTES: Duration = Duration::from_secs(120);

/// One JSON answer of a sandbox server. The longest is a full directory listing.
pub const SANDBOX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// What is kept of an error that a sandbox server tells. It is read by people.
pub const SANDBOX_ERROR_BYTES: usize = 512;
/// One event of a sandbox server's command stream. Ours are short; others' can
/// hold a whole line of output.
pub const SANDBOX_EVENT_BYTES: usize = 4 * 1024 * 1024;
/// What one short command of the host's own prints in a remote sandbox.
pub const SANDBOX_PROBE_BYTES: usize = 64 * 1024;
/// The headers that a sandbox server asks to be sent to an endpoint.
pub const SANDBOX_ENDPOINT_HEADERS: usize = 16;
/// Sandboxes that one listing of a server tells.
pub const SANDBOX_LISTING: usize = 2_000;
/// What is kept of a remote sandbox's log, the newest bytes.
pub const SANDBOX_LOG_BYTES: usize = 1024 * 1024;

/// Facts that one transaction of a compaction lets go. It holds the writer.
pub const COMPACTED_FACTS: usize = 10_000;
/// Facts that a summariser is given at once; more than fit into one prompt of
/// most models.
pub const SUMMARISED_FACTS: usize = 200;
/// Bytes of the texts that a summariser is given at once, for the same reason.
pub const SUMMARISED_BYTES: usize = 256 * 1024;
}
