//! The tools with which a model works in the session's sandbox.

mod files;
mod run_command;

pub use files::{read_file, write_file};
pub use run_command::run_command;

use crate::tool::Tool;

/// Bytes of each of a command's two outputs that the model is given: both,
/// escaped as JSON, fit into one answer.
const OUTPUT_BYTES: usize = 7 * 1_024;
/// Of these, bytes of the end: errors stand there.
const END_BYTES: usize = 2 * 1_024;

/// `run_command`, `read_file` and `write_file`, in the session's sandbox, which
/// the first call of one of them starts.
///
/// ```
/// use keepsake_sdk::{memory_tools, sandbox_tools, tool::Toolbox};
///
/// let toolbox = Toolbox::new().with_all(memory_tools()).with_all(sandbox_tools());
/// assert_eq!(toolbox.definitions().len(), 7);
/// ```
pub fn sandbox_tools() -> Vec<Tool<'static>> {
    vec![run_command(), read_file(), write_file()]
}

/// The beginning and the end of an output, without what drives terminals.
fn readable(text: &str, most: usize) -> String {
    let plain = |text: &str| -> String {
        text.chars()
            .map(|c| match c {
                '\n' | '\t' => c,
                c if c.is_control() => char::REPLACEMENT_CHARACTER,
                c => c,
            })
            .collect()
    };
    let text = plain(text);
    if text.len() <= most {
        return text;
    }
    let head = text.floor_char_boundary(most - END_BYTES);
    let tail = text.ceil_char_boundary(text.len() - END_BYTES);
    format!(
        "{}\n… ({} bytes are left out here) …\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}
