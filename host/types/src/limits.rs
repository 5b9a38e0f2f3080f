//! Every bound that the host keeps, with its reason. A bound that is reached
//! is told by its name in lower case with dashes: [`WORKING_VALUE_BYTES`] is
//! `working-value-bytes`.

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
/// One query. Past this the words say nothing more about what is sought.
pub const QUERY_BYTES: usize = 16 * 1024;
/// Items on one page of any list, and facts in one recall.
pub const PAGE_ITEMS: usize = 1_000;
/// The largest snippet. It is put before a prompt.
pub const SNIPPET_BYTES: usize = 64 * 1024;
/// The smallest snippet that can hold a heading and one short fact.
pub const SNIPPET_MINIMUM_BYTES: usize = 64;
/// A vector's width. Wider models do not exist; a lie would cost memory.
pub const VECTOR_DIMENSIONS: usize = 8_192;

/// What an agent may emit in one turn.
pub const EMITTED_BYTES: usize = 1024 * 1024;
/// One message to an agent.
pub const MESSAGE_BYTES: usize = 256 * 1024;
/// One reply of an agent.
pub const REPLY_BYTES: usize = 1024 * 1024;
/// One line of a plugin's log; the rest is cut.
pub const LOG_LINE_BYTES: usize = 8 * 1024;
/// A plugin's log lines in one turn; after that they are only counted.
pub const LOG_LINES: usize = 1_000;
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
