//! A support agent that remembers its customers and can show where it knows
//! things from: see the README.

mod case_file;
mod history;
mod profile;
mod prompt;
mod settings;
mod tools;

use keepsake_sdk::log::Level;
use keepsake_sdk::memory::SnippetOptions;
use keepsake_sdk::model::Message;
use keepsake_sdk::tool::Toolbox;
use keepsake_sdk::{
    Agent, AgentLoop, Description, Error, Reply, Result, Session, Turn, get_working_memory,
    recall_facts, set_working_memory,
};

use crate::case_file::CaseFile;
use crate::prompt::{Setting, system_prompt};
use crate::settings::Settings;

/// Facts that the prompt holds at the most; more are looked up when wanted.
const SNIPPET_FACTS: u32 = 20;

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
        let info = session.info();
        let snippet = session.scope()?.snippet(&SnippetOptions {
            max_bytes: settings.snippet_bytes,
            max_facts: SNIPPET_FACTS,
            ..SnippetOptions::new(query(&turn.message))
        })?;
        let case = file(session, &settings, &turn.message)?;
        let prompt = system_prompt(
            &settings,
            &Setting {
                customer: &info.resource,
                case_file: case.as_ref().map(CaseFile::path),
            },
        );
        let prompt = if snippet.is_empty() {
            prompt
        } else {
            format!("{prompt}\n{snippet}\n")
        };

        let mut messages = vec![Message::system(prompt)];
        messages.extend(history::of(session)?);
        messages.push(Message::user(turn.message));
        let mut toolbox = Toolbox::new()
            .with(tools::update_profile())
            .with(set_working_memory())
            .with(get_working_memory())
            .with(recall_facts())
            .with(tools::remember_fact(case.as_ref()));
        if case.is_some() {
            toolbox = toolbox.with(tools::run_command());
        }
        let outcome = AgentLoop::new(&toolbox)
            .rounds(settings.max_rounds)
            .run(session, messages)?;
        if outcome.text.trim().is_empty() {
            return Err(Error::unavailable(
                "the model gave no answer: ask again, or configure another model",
            ));
        }
        Ok(Reply::new(outcome.text))
    }
}

/// What memory is asked for: the message, as far as a query may be long.
fn query(message: &str) -> &str {
    const QUERY_BYTES: usize = 4_096;
    &message[..message.floor_char_boundary(QUERY_BYTES)]
}

/// Files the message in the sandbox. Where there is none, the conversation
/// goes on without: facts are then not verified.
fn file(session: &Session, settings: &Settings, message: &str) -> Result<Option<CaseFile>> {
    if !settings.use_sandbox {
        return Ok(None);
    }
    match CaseFile::write(session, message) {
        Ok(case) => Ok(Some(case)),
        Err(error @ (Error::Denied(_) | Error::Unavailable { .. } | Error::Unsupported(_))) => {
            session.log(
                Level::Warn,
                &format!("there is no sandbox, so that facts will not be verified: {error}"),
            );
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
