//! What to answer: which tools to call, round by round, and the text at the end.
//!
//! Tools are called for what the customer's last message says, and for nothing
//! else. Memory, tool answers and system prompts can give a call its arguments
//! (a name, a source) but never cause one.

mod calls;
mod reply;

use crate::{
    conversation::{Answer, Conversation, Done, done},
    memory::Memory,
    question::{self, Asked},
    statements::{Attribute, Statement, statements},
    text,
};

/// What it says about itself.
pub const IDENTITY: &str = "I am model-offline, a small program and no language model: \
     I answer only by quoting what is in memory, and I note what you plainly tell me.";
/// What it says when memory holds nothing on the question.
pub const UNKNOWN: &str =
    "I know nothing of that. I am an offline model, which only quotes what memory holds.";

/// Questions of one message that are answered.
const MAX_QUESTIONS: usize = 8;

/// Answers a conversation. The same conversation gives the same answer.
#[must_use]
pub fn answer(conversation: &Conversation) -> Answer {
    let turn = Turn::new(conversation);
    let calls = turn.calls();
    if calls.is_empty() {
        Answer {
            text: turn.text(),
            calls,
        }
    } else {
        Answer {
            text: String::new(),
            calls,
        }
    }
}

struct Turn<'a> {
    conversation: &'a Conversation,
    message: &'a str,
    done: Vec<Done<'a>>,
    memory: Memory,
    statements: Vec<Statement>,
    asked: Vec<Asked>,
    /// The customer's name, from this message or from memory.
    name: Option<String>,
    /// What facts are about: the customer's id, where the agent gave it.
    subject: String,
}

impl<'a> Turn<'a> {
    fn new(conversation: &'a Conversation) -> Self {
        let (message, since) = conversation.last_turn();
        let done = done(since);
        let mut memory = Memory::default();
        for system in conversation.system() {
            memory.read_snippet(system);
        }
        for done in &done {
            match (done.call.name.as_str(), done.success()) {
                ("recall_facts", Some(answer)) => memory.read_facts(answer),
                ("get_working_memory", Some(answer)) => memory.read_values(answer),
                _ => {}
            }
        }
        let statements = statements(message);
        let stated = |attribute| {
            let of = statements
                .iter()
                .find(|statement| statement.attribute == attribute);
            of.and_then(|statement| statement.value.clone())
        };
        let name = stated(Attribute::Name).or_else(|| memory.profile("name").map(str::to_owned));
        let plain = text::without_quotations(message);
        let asked = text::sentences(message, &plain)
            .iter()
            .filter_map(question::asked)
            .take(MAX_QUESTIONS)
            .collect();
        let subject = conversation
            .system()
            .flat_map(str::lines)
            .find_map(|line| line.strip_prefix("Customer id: "))
            .map_or_else(|| "customer".to_owned(), |id| id.trim().to_owned());
        Self {
            conversation,
            message,
            done,
            memory,
            statements,
            asked,
            name,
            subject,
        }
    }

    fn of<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b Done<'a>> + 'b {
        self.done.iter().filter(move |done| done.call.name == name)
    }

    fn was_called(&self, name: &str) -> bool {
        self.of(name).next().is_some()
    }
}
