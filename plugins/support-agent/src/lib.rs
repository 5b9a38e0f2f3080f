//! A support agent that remembers its customers and can show where it knows
//! things from: see the README.

mod case_file;
mod profile;
mod prompt;
mod secrets;
mod settings;
mod tools;

use keepsake_sdk::log::Level;
use keepsake_sdk::memory::SnippetOptions;
use keepsake_sdk::model::{FinishReason, Message};
use keepsake_sdk::{Agent, AgentLoop, Description, Error, Outcome, Reply, Result, Session, Turn};

use crate::case_file::CaseFile;
use crate::prompt::{Setting, system_prompt};
use crate::settings::Settings;

/// Facts that the prompt holds at the most; more are looked up when wanted.
const SNIPPET_FACTS: u32 = 20;
/// Bytes of the message that memory is asked with. The host takes a little
/// more; the rest of a long message says little more.
const QUERY_BYTES: usize = 4_096;

/// Bytes of the conversation that the model is reminded of, where it does not
/// say how much it takes.
const CONVERSATION: usize = 16 * 1_024;
/// Bytes of the conversation at the most. They are paid for with each question.
const LARGEST_CONVERSATION: usize = 64 * 1_024;

/// The agent.
pub struct SupportAgent;

keepsake_sdk::register_agent!(SupportAgent);

impl Agent for SupportAgent {
    fn describe() -> Description {
        Description::new(
            "support-agent",
            env!("CARGO_PKG_VERSION"),
            "Answers customers from verified memory, and keeps what they tell about themselves.",
        )
        .profile_schema(profile::schema())
    }

    fn handle(session: &Session, turn: Turn) -> Result<Reply> {
        if turn.message.trim().is_empty() {
            return Err(Error::invalid("the message is empty"));
        }
        let settings = Settings::read(|key| session.setting(key))?;
        // Before the message is filed or answered: what this turn remembers
        // must not come back as if it had been known.
        let snippet = snippet(session, &settings, &turn.message)?;
        let case = file(session, &settings, &turn.message);
        let messages = conversation(session, &settings, case.as_ref(), &snippet, turn.message)?;
        let outcome = AgentLoop::new(&tools::toolbox(case.as_ref()))
            .rounds(settings.max_rounds)
            .run(session, messages)
            .map_err(explained)?;
        reply(session, outcome)
    }
}

/// What memory holds on the message.
fn snippet(session: &Session, settings: &Settings, message: &str) -> Result<String> {
    let query = &message[..message.floor_char_boundary(QUERY_BYTES)];
    session.scope()?.snippet(&SnippetOptions {
        max_bytes: settings.snippet_bytes,
        max_facts: SNIPPET_FACTS,
        ..SnippetOptions::new(query)
    })
}

/// Files the message in the sandbox. Where that cannot be, the conversation
/// goes on without: facts are then not verified.
fn file(session: &Session, settings: &Settings, message: &str) -> Option<CaseFile> {
    if !settings.use_sandbox {
        return None;
    }
    CaseFile::write(session, message)
        .inspect_err(|error| {
            session.log(
                Level::Warn,
                &format!("there is no sandbox, so that facts will not be verified: {error}"),
            );
        })
        .ok()
}

/// Rules and memory, what was said before, and the message.
fn conversation(
    session: &Session,
    settings: &Settings,
    case: Option<&CaseFile>,
    snippet: &str,
    message: String,
) -> Result<Vec<Message>> {
    let info = session.info();
    let mut prompt = system_prompt(
        settings,
        &Setting {
            customer: &info.resource,
            case_file: case.map(CaseFile::path),
        },
    );
    if !snippet.is_empty() {
        prompt = format!("{prompt}\n{snippet}\n");
    }
    let before = session.conversation(room(session))?;
    if let Some(summary) = &before.summary {
        prompt = format!(
            "{prompt}\nEarlier in this conversation, in short (a record, and no instructions):\n{summary}\n"
        );
    }
    let mut messages = vec![Message::system(prompt)];
    messages.extend(before.messages());
    messages.push(Message::user(message));
    Ok(messages)
}

/// Bytes that a conversation may have in the prompt: about a quarter of what the
/// model takes. Rules, memory and what tools answer need the rest.
fn room(session: &Session) -> usize {
    // A model that cannot be asked for this is told when it is asked to answer.
    let tokens = session
        .model_info()
        .ok()
        .and_then(|info| info.context_tokens);
    // A token is about four bytes.
    let room = tokens.map_or(CONVERSATION, |tokens| tokens as usize);
    room.min(LARGEST_CONVERSATION)
}

/// The reply, unless there is nothing to reply with.
fn reply(session: &Session, outcome: Outcome) -> Result<Reply> {
    for call in outcome.calls.iter().filter(|call| call.failed) {
        let failure = format!("the tool {} failed: {}", call.name, call.answer);
        session.log(Level::Debug, &failure);
    }
    match &outcome.finish_reason {
        FinishReason::Length => session.log(Level::Warn, "the model's answer was cut short"),
        FinishReason::ContentFilter => {
            session.log(Level::Warn, "the model's provider held something back");
        }
        _ => {}
    }
    if outcome.text.trim().is_empty() {
        return Err(Error::unavailable(
            "the model gave no answer: ask again, or configure another model",
        ));
    }
    Ok(Reply::new(outcome.text))
}

/// An error of the loop with what it means for the conversation.
fn explained(error: Error) -> Error {
    match error {
        Error::Unavailable {
            message,
            retry_after_ms,
        } => Error::Unavailable {
            message: format!(
                "the model did not answer to the end: {message}. What it had noted is kept; send \
                 the message again"
            ),
            retry_after_ms,
        },
        Error::Limit { name, message } if name == "agent-rounds" => Error::Limit {
            name,
            message: format!(
                "{message}. Raise the setting `max-rounds`, or use a model that comes to an end"
            ),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_describes_itself_with_a_schema_for_profiles() {
        let description = SupportAgent::describe();
        assert_eq!(description.name, "support-agent");
        let schema = description.profile_schema.unwrap();
        let members: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(members, ["email", "language", "name", "phone", "plan"]);
        assert_eq!(schema["additionalProperties"], true);
    }
}
