//! The tools of this agent, beside those that the SDK brings.

use keepsake_sdk::memory::NewFact;
use keepsake_sdk::sandbox::{Command, ExecResult, ExitStatus};
use keepsake_sdk::schemars::{self, JsonSchema};
use keepsake_sdk::tool::Tool;
use keepsake_sdk::{Error, RememberFact, Result, Session, Source, remembered_as_json};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::case_file::CaseFile;

/// Bytes of a command's output that the model is given, of each of the two.
const OUTPUT_BYTES: usize = 8 * 1_024;
/// How long a command may run.
const COMMAND_MS: u64 = 30_000;

#[derive(Deserialize, JsonSchema)]
struct UpdateProfile {
    /// The members to set; one with the value null is removed.
    patch: Map<String, Value>,
}

/// Sets values of the profile.
pub(crate) fn update_profile() -> Tool<'static> {
    Tool::new(
        "update_profile",
        "Sets values of the customer's profile: name, plan, email, phone, language, and others \
         of the same kind.",
        |session: &Session, arguments: UpdateProfile| {
            let profile = session.scope()?.update_profile(&arguments.patch)?;
            Ok(json!({ "profile": profile }))
        },
    )
}

/// Remembers a fact. Where the model names no source, the quote is looked up
/// in the customer's message, and the entry of that command is the source.
pub(crate) fn remember_fact(case: Option<&CaseFile>) -> Tool<'_> {
    Tool::new(
        "remember_fact",
        "Remembers a lasting fact about this customer. A fact with a quote of what the customer \
         wrote, or with the entry of a command as its source, is marked as verified.",
        move |session: &Session, mut arguments: RememberFact| {
            if looks_secret(&arguments.content) {
                return Err(Error::invalid(
                    "passwords and card numbers are not remembered: leave it out",
                ));
            }
            if arguments.source.is_none()
                && let Some(quote) = &arguments.quote
            {
                arguments.source = case
                    .map(|case| case.find(quote))
                    .transpose()?
                    .flatten()
                    .map(Source::from);
                // What the customer did not write is no proof of anything.
                if arguments.source.is_none() {
                    arguments.quote = None;
                }
            }
            let remembered = session.scope()?.remember(NewFact::from(arguments))?;
            Ok(remembered_as_json(&remembered))
        },
    )
}

#[derive(Deserialize, JsonSchema)]
struct RunCommand {
    /// The line for `sh -c`.
    command: String,
}

/// Runs a command in the sandbox.
pub(crate) fn run_command() -> Tool<'static> {
    Tool::new(
        "run_command",
        "Runs a shell command in this conversation's sandbox, which has no network. The answer's \
         `entry` can be the source of a fact that the output shows.",
        |session: &Session, arguments: RunCommand| -> Result<Value> {
            let command = Command::new(arguments.command).timeout_ms(COMMAND_MS);
            Ok(answer(&session.sandbox()?.exec(command)?))
        },
    )
}

fn answer(result: &ExecResult) -> Value {
    let mut answer = json!({
        "stdout": cut(&result.stdout_text()),
        "stderr": cut(&result.stderr_text()),
        "entry": Source::from(result.entry.clone()),
    });
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

fn cut(text: &str) -> String {
    if text.len() <= OUTPUT_BYTES {
        return text.to_owned();
    }
    format!(
        "{} … (cut)",
        &text[..text.floor_char_boundary(OUTPUT_BYTES)]
    )
}

/// Whether a text holds what must not be kept: a card number, or a password
/// that is called one.
fn looks_secret(text: &str) -> bool {
    let lower = text.to_lowercase();
    let names_secret = [
        "password is",
        "password:",
        "passcode is",
        "pin is",
        "secret key",
    ]
    .iter()
    .any(|name| lower.contains(name));
    names_secret || has_card_number(text)
}

/// From 13 to 19 digits, with spaces or dashes between them, whose check digit
/// is right (ISO/IEC 7812-1, annex B).
fn has_card_number(text: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_digit() || c == ' ' || c == '-'))
        .map(|part| part.bytes().filter(u8::is_ascii_digit).collect::<Vec<u8>>())
        .any(|digits| (13..=19).contains(&digits.len()) && check_digit_holds(&digits))
}

fn check_digit_holds(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let digit = u32::from(digit - b'0');
            match (place % 2, digit) {
                (0, digit) => digit,
                (_, digit @ 0..=4) => digit * 2,
                (_, digit) => digit * 2 - 9,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_numbers_and_passwords_are_told_from_other_numbers() {
        assert!(looks_secret("Jordan's card is 4111 1111 1111 1111."));
        assert!(looks_secret("Jordan's password is hunter2."));
        assert!(!looks_secret(
            "Jordan's order number is 4111 1111 1111 1112."
        ));
        assert!(!looks_secret("Jordan called on the 3rd, case A-1042."));
    }
}
