//! Reading and writing files of the sandbox.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::readable;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::tool::Tool;

/// Bytes of a file that the model is given at a time: escaped as JSON they fit
/// into one answer.
const FILE_BYTES: usize = 14 * 1_024;

#[derive(Deserialize, JsonSchema)]
struct ReadFile {
    /// The file, from the work directory, such as `report/summary.txt`.
    path: String,
    /// The line to begin with, counted from 1; the first unless given.
    from_line: Option<usize>,
}

/// Gives a text file of the sandbox, as many lines at a time as fit.
pub fn read_file() -> Tool<'static> {
    Tool::new(
        "read_file",
        "Gives the text of a file in this conversation's sandbox. Of a long file it gives the \
         beginning, and in `next_line` where to go on.",
        |session: &Session, arguments: ReadFile| -> Result<Value> {
            let text = session.sandbox()?.read_text(&arguments.path)?;
            page(&text, arguments.from_line.unwrap_or(1))
        },
    )
}

/// The lines from that one on that fit.
fn page(text: &str, from_line: usize) -> Result<Value> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = from_line.saturating_sub(1);
    if first > 0 && first >= lines.len() {
        return Err(Error::invalid(format!(
            "the file has {} lines, and no line {from_line}",
            lines.len()
        )));
    }
    let mut bytes = 0;
    let rest = &lines[first..];
    let fits = rest.iter().take_while(|line| {
        bytes += line.len();
        bytes <= FILE_BYTES
    });
    // A line that is too long by itself is cut; or the model could never go on.
    let count = fits.count().max(1).min(rest.len());
    let content = readable(&rest[..count].concat(), FILE_BYTES);
    let mut answer = json!({ "content": content, "lines": lines.len() });
    if count < rest.len() {
        answer["next_line"] = json!(from_line.max(1) + count);
    }
    Ok(answer)
}

#[derive(Deserialize, JsonSchema)]
struct WriteFile {
    /// The file, from the work directory; folders that are missing are made.
    path: String,
    /// All that is to stand in it.
    content: String,
}

/// Writes a file of the sandbox.
pub fn write_file() -> Tool<'static> {
    Tool::new(
        "write_file",
        "Writes a text file in this conversation's sandbox, in place of one that is there.",
        |session: &Session, arguments: WriteFile| -> Result<Value> {
            session
                .sandbox()?
                .write_file(&arguments.path, &arguments.content)?;
            Ok(json!({ "bytes": arguments.content.len() }))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_loop::TOOL_ANSWER_BYTES;

    #[test]
    fn a_long_file_is_read_by_pages_and_no_line_is_lost() {
        let text: String = (1..=5_000)
            .map(|number| format!("line {number}\n"))
            .collect();
        let (mut read, mut from, mut pages) = (String::new(), 1, 0);
        loop {
            let answer = page(&text, from).unwrap();
            assert!(answer.to_string().len() <= TOOL_ANSWER_BYTES);
            assert_eq!(answer["lines"], 5_000);
            read.push_str(answer["content"].as_str().unwrap());
            pages += 1;
            match answer["next_line"].as_u64() {
                Some(next) => from = usize::try_from(next).unwrap(),
                None => break,
            }
        }
        assert_eq!(read, text);
        assert!(pages > 1);
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_the_next_one_can_be_read() {
        let text = format!("{}\nsecond", "\"".repeat(100_000));
        let answer = page(&text, 1).unwrap();
        assert!(answer.to_string().len() <= TOOL_ANSWER_BYTES);
        assert!(
            answer["content"]
                .as_str()
                .unwrap()
                .contains("bytes are left out")
        );
        assert_eq!(answer["next_line"], 2);
        assert_eq!(
            page(&text, 2).unwrap(),
            json!({ "content": "second", "lines": 2 })
        );
    }

    #[test]
    fn a_line_behind_the_end_is_told_and_an_empty_file_is_empty() {
        assert_eq!(page("", 1).unwrap(), json!({ "content": "", "lines": 0 }));
        assert_eq!(page("a", 0).unwrap(), json!({ "content": "a", "lines": 1 }));
        let error = page("a\nb", 3).unwrap_err();
        assert!(
            error.to_string().contains("has 2 lines, and no line 3"),
            "{error}"
        );
    }
}
