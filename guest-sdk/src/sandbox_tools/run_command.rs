//! Running a command in the sandbox.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{OUTPUT_BYTES, readable};
use crate::error::Result;
use crate::memory_tools::Source;
use crate::sandbox::{Command, ExecResult, ExitStatus};
use crate::session::Session;
use crate::tool::Tool;

/// How long a command may run; a customer waits for it.
const COMMAND_MS: u64 = 30_000;

#[derive(Deserialize, JsonSchema)]
struct RunCommand {
    /// The line for `sh -c`.
    command: String,
}

/// Runs a command in the session's sandbox, and tells the entry of its end, which
/// can be a fact's source.
pub fn run_command() -> Tool<'static> {
    Tool::new(
        "run_command",
        "Runs a shell command in this conversation's sandbox, apart from everything else and \
         without a network, for at most 30 seconds. The answer's `entry` can be the `source` of a \
         fact that the output shows.",
        |session: &Session, arguments: RunCommand| -> Result<Value> {
            let command = Command::new(arguments.command).timeout_ms(COMMAND_MS);
            Ok(answer(&session.sandbox()?.exec(command)?))
        },
    )
}

fn answer(result: &ExecResult) -> Value {
    let mut answer = json!({
        "stdout": readable(&result.stdout_text(), OUTPUT_BYTES),
        "stderr": readable(&result.stderr_text(), OUTPUT_BYTES),
        "entry": Source::from(result.entry.clone()),
    });
    if result.truncated {
        answer["truncated"] = json!("there was more output than was kept");
    }
    match &result.status {
        ExitStatus::Code(code) => answer["exit_code"] = json!(code),
        ExitStatus::Signal(signal) => answer["error"] = json!(format!("it was ended by {signal}")),
        ExitStatus::TimedOut => answer["error"] = json!("it took too long and was ended"),
        ExitStatus::Limit(limit) => {
            answer["error"] = json!(format!("it reached the limit {limit} and was ended"));
        }
        ExitStatus::Unknown(reason) => {
            answer["error"] = json!(format!("how it ended is not known: {reason}"));
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_loop::TOOL_ANSWER_BYTES;
    use crate::memory::EntryRef;

    fn result(status: ExitStatus, stdout: &[u8], stderr: &[u8]) -> ExecResult {
        ExecResult {
            status,
            stdout: stdout.to_vec(),
            stderr: stderr.to_vec(),
            truncated: false,
            duration_ms: 1,
            entry: EntryRef {
                session: "s".to_owned(),
                index: 7,
                hash: Some("ab".to_owned()),
            },
        }
    }

    #[test]
    fn a_command_is_answered_with_its_end_its_outputs_and_its_entry() {
        assert_eq!(
            answer(&result(ExitStatus::Code(3), b"out\n", b"err")),
            json!({
                "exit_code": 3,
                "stdout": "out\n",
                "stderr": "err",
                "entry": { "session": "s", "index": 7, "hash": "ab" },
            })
        );
        for (status, wanted) in [
            (ExitStatus::TimedOut, "too long"),
            (ExitStatus::Signal("SIGKILL".to_owned()), "SIGKILL"),
            (ExitStatus::Limit("memory-bytes".to_owned()), "memory-bytes"),
            (ExitStatus::Unknown("it is gone".to_owned()), "it is gone"),
        ] {
            let answer = answer(&result(status, b"", b""));
            assert!(
                answer["error"].as_str().unwrap().contains(wanted),
                "{answer}"
            );
            assert!(answer.get("exit_code").is_none(), "{answer}");
        }
    }

    #[test]
    fn output_that_is_no_text_is_made_readable() {
        let answer = answer(&result(
            ExitStatus::Code(0),
            b"a\xff\xfe\x1b[31mb\0\tc\r\n",
            b"",
        ));
        assert_eq!(
            answer["stdout"],
            "a\u{fffd}\u{fffd}\u{fffd}[31mb\u{fffd}\tc\u{fffd}\n"
        );
    }

    #[test]
    fn a_long_output_is_cut_in_the_middle_and_always_fits_into_an_answer() {
        let numbered: String = (0..10_000)
            .map(|number| format!("line {number}\n"))
            .collect();
        let cut = readable(&numbered, OUTPUT_BYTES);
        assert!(
            cut.starts_with("line 0\n") && cut.ends_with("line 9999\n"),
            "{cut}"
        );
        assert!(cut.contains("bytes are left out"));
        for byte in [b"\"".as_slice(), b"\x01", b"\xff", "é".as_bytes(), b"\n"] {
            let mut result = result(
                ExitStatus::Code(0),
                &byte.repeat(100_000),
                &byte.repeat(100_000),
            );
            result.truncated = true;
            let answer = answer(&result);
            assert!(answer.to_string().len() <= TOOL_ANSWER_BYTES, "{byte:?}");
            assert!(answer["truncated"].is_string());
        }
    }
}
