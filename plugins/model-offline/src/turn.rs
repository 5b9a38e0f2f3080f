//! What to answer: which tools to call, round by round, and the text at the end.
//!
//! Tools are called for what the customer's last message says, and for nothing
//! else. Memory, tool answers and system prompts can give a call its arguments
//! (a name, a source) but never cause one.

use serde_json::{Map, Value, json};

use crate::{
    conversation::{Answer, Call, Conversation, Done, Tool, done},
    memory::{Memory, is_verified},
    question::{self, Asked},
    statements::{Attribute, Statement, statements},
    text,
    words::FILLERS,
};

/// What it says about itself.
pub const IDENTITY: &str = "I am model-offline, a small program and no language model: \
     I answer only by quoting what is in memory, and I note what you plainly tell me.";
/// What it says when memory holds nothing on the question.
pub const UNKNOWN: &str =
    "I know nothing of that. I am an offline model, which only quotes what memory holds.";

/// Questions of one message that are answered.
const MAX_QUESTIONS: usize = 8;
/// Facts that one recall asks for.
const RECALLED: u32 = 5;

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

    /// The tools to call now; none when all is done that can be.
    fn calls(&self) -> Vec<Call> {
        let mut calls = Vec::new();
        self.set_profile(&mut calls);
        self.remember(&mut calls);
        self.look_up(&mut calls);
        for (number, call) in calls.iter_mut().enumerate() {
            call.id = format!("call_{}", self.done.len() + number + 1);
        }
        calls
    }

    fn set_profile(&self, calls: &mut Vec<Call>) {
        let values: Map<String, Value> = self
            .statements
            .iter()
            .filter(|statement| statement.attribute.in_profile())
            .filter_map(|statement| {
                let key = statement.attribute.key()?;
                // Null ends a value in a merge patch.
                Some((
                    key.to_owned(),
                    statement.value.as_ref().map_or(Value::Null, |v| json!(v)),
                ))
            })
            .collect();
        if values.is_empty()
            || self.was_called("update_profile")
            || self.was_called("set_working_memory")
        {
            return;
        }
        if let Some(tool) = self.conversation.tool("update_profile") {
            let wrapper = ["patch", "profile", "values"]
                .into_iter()
                .find(|name| tool.takes(name));
            let arguments = match wrapper {
                Some(wrapper) => Map::from_iter([(wrapper.to_owned(), Value::Object(values))]),
                None => values,
            };
            calls.push(call("update_profile", arguments));
        } else if self.conversation.tool("set_working_memory").is_some() {
            for (key, value) in values {
                let arguments =
                    Map::from_iter([("key".to_owned(), json!(key)), ("value".to_owned(), value)]);
                calls.push(call("set_working_memory", arguments));
            }
        }
    }

    /// What of this message is to be remembered as facts.
    fn facts(&self) -> impl Iterator<Item = &Statement> {
        let no_profile = self.conversation.tool("update_profile").is_none()
            && self.conversation.tool("set_working_memory").is_none();
        self.statements
            .iter()
            .filter(move |statement| statement.attribute.is_fact() || no_profile)
    }

    fn remember(&self, calls: &mut Vec<Call>) {
        let Some(tool) = self.conversation.tool("remember_fact") else {
            return;
        };
        let facts: Vec<&Statement> = self.facts().collect();
        if facts.is_empty() {
            return;
        }
        if let Some(run) = self.conversation.tool("run_command")
            && tool.takes("source")
            && !self.was_called("run_command")
        {
            calls.push(self.evidence(run, &facts));
            return;
        }
        for statement in facts {
            let content = statement.content(self.name.as_deref());
            let mut earlier = self.of("remember_fact").filter(|done| {
                done.call.arguments.get("content").and_then(Value::as_str) == Some(&content)
            });
            let source = match (earlier.next(), earlier.next()) {
                (None, _) => self.source(statement),
                // The source was not taken: the fact is still worth keeping.
                (Some(first), None)
                    if first.failed() && first.call.arguments.contains_key("source") =>
                {
                    None
                }
                _ => continue,
            };
            calls.push(self.fact(tool, statement, content, source));
        }
    }

    fn fact(
        &self,
        tool: &Tool,
        statement: &Statement,
        content: String,
        source: Option<Value>,
    ) -> Call {
        let mut arguments = Map::from_iter([("content".to_owned(), json!(content))]);
        if let Some(attribute) = statement.attribute.key()
            && tool.takes("subject")
            && tool.takes("attribute")
        {
            arguments.insert("subject".to_owned(), json!(self.subject));
            arguments.insert("attribute".to_owned(), json!(attribute));
        }
        if let Some(source) = source {
            arguments.insert("source".to_owned(), source);
            if tool.takes("quote") {
                arguments.insert("quote".to_owned(), json!(statement.quote));
            }
        }
        call("remember_fact", arguments)
    }

    /// A command that puts the customer's words on record. Where the agent
    /// keeps the message in a case file, they are looked up there; otherwise
    /// they are filed now.
    fn evidence(&self, tool: &Tool, facts: &[&Statement]) -> Call {
        let mut quotes: Vec<String> = Vec::new();
        for statement in facts {
            let quote = shell_word(&statement.quote);
            if !quotes.contains(&quote) {
                quotes.push(quote);
            }
        }
        let file = self
            .conversation
            .system()
            .flat_map(str::lines)
            .find_map(|line| line.strip_prefix("Case file: "))
            .map(str::trim)
            .filter(|path| !path.is_empty());
        let line = match file {
            Some(path) => format!(
                "grep -n -F -e {} -- {}",
                quotes.join(" -e "),
                shell_word(path)
            ),
            None => format!(
                "mkdir -p case && printf '%s\\n' {} >> case/statements.txt && \
                 cat -n case/statements.txt && sha256sum case/statements.txt",
                quotes.join(" ")
            ),
        };
        let name = ["command", "line", "cmd"]
            .into_iter()
            .find(|name| tool.takes(name))
            .unwrap_or("command");
        call(
            "run_command",
            Map::from_iter([(name.to_owned(), json!(line))]),
        )
    }

    /// The ledger entry of a command that succeeded and printed these words.
    fn source(&self, statement: &Statement) -> Option<Value> {
        self.of("run_command").find_map(|done| {
            let answer: Value = serde_json::from_str(done.success()?).ok()?;
            let output = ["stdout", "output"]
                .iter()
                .find_map(|key| answer.get(key)?.as_str());
            let shown = output.is_none_or(|output| output.contains(&statement.quote));
            let succeeded = ["exit_code", "code", "exit"]
                .iter()
                .find_map(|key| answer.get(key))
                .is_none_or(|code| *code == json!(0));
            (shown && succeeded)
                .then(|| answer.get("entry").cloned())
                .flatten()
        })
    }

    /// Looks beyond the snippet for what it does not answer.
    fn look_up(&self, calls: &mut Vec<Call>) {
        let unanswered = self.asked.iter().any(|asked| match asked {
            Asked::Everything => self.memory == Memory::default(),
            Asked::About(topics) => self.answer_about(topics).is_none(),
            Asked::Identity => false,
        });
        if !unanswered {
            return;
        }
        for (name, arguments) in [
            ("get_working_memory", Map::new()),
            (
                "recall_facts",
                Map::from_iter([("query".to_owned(), json!(self.query()))]),
            ),
        ] {
            let Some(tool) = self
                .conversation
                .tool(name)
                .filter(|_| !self.was_called(name))
            else {
                continue;
            };
            let mut arguments = arguments;
            if let Some(limit) = ["limit", "top_k", "topK"]
                .into_iter()
                .find(|limit| tool.takes(limit))
            {
                arguments.insert(limit.to_owned(), json!(RECALLED));
            }
            // One that wants a key cannot be asked for everything.
            if !(name == "get_working_memory" && tool.takes("key")) {
                calls.push(call(name, arguments));
            }
        }
    }

    /// What to recall: the message, as far as a query may be long.
    fn query(&self) -> &str {
        self.message[..self.message.floor_char_boundary(4_096)].trim()
    }

    /// The text at the end of the turn.
    fn text(&self) -> String {
        let mut parts = Vec::new();
        if !self.statements.is_empty() {
            parts.push(self.confirmation());
        }
        for asked in &self.asked {
            let part = match asked {
                Asked::Identity => IDENTITY.to_owned(),
                Asked::Everything => question::everything(&self.memory).unwrap_or_else(|| {
                    "Memory holds nothing about you yet. I am an offline model, which only quotes \
                     what memory holds."
                        .to_owned()
                }),
                Asked::About(topics) => self
                    .answer_about(topics)
                    .unwrap_or_else(|| UNKNOWN.to_owned()),
            };
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        if parts.is_empty() {
            parts.push(self.small_talk());
        }
        parts.join(" ")
    }

    /// The answer on some topics, with what the message itself states on top of
    /// what was remembered before it.
    fn answer_about(&self, topics: &[String]) -> Option<String> {
        let mut memory = self.memory.clone();
        for statement in &self.statements {
            let (Some(key), Some(value)) = (statement.attribute.key(), &statement.value) else {
                continue;
            };
            let key_topics = question::topics(&text::words(key));
            memory.facts.retain(|fact| {
                let held = question::topics(&text::words(&fact.content));
                !key_topics.iter().any(|topic| held.contains(topic))
            });
            memory.set_profile(key, value.clone());
        }
        question::about(topics, &memory)
    }

    /// What became of what the customer told.
    fn confirmation(&self) -> String {
        let thanks = match &self.name {
            Some(name) => format!("Thank you, {name}."),
            None => "Thank you.".to_owned(),
        };
        let mut parts = vec![thanks];
        let noted: Vec<&str> = self
            .statements
            .iter()
            .filter(|statement| statement.attribute.in_profile())
            .filter_map(|statement| statement.attribute.key())
            .collect();
        let set = self
            .of("update_profile")
            .chain(self.of("set_working_memory"));
        if !noted.is_empty() && set.filter(|done| done.success().is_some()).count() > 0 {
            parts.push(format!("I have noted your {}.", enumeration(&noted)));
        }
        let kept: Vec<String> = self.of("remember_fact").filter_map(kept).collect();
        if !kept.is_empty() {
            parts.push(format!("I will remember: {}.", kept.join("; ")));
        }
        if parts.len() == 1 {
            parts.push("I could not keep that: no memory took it.".to_owned());
        }
        parts.join(" ")
    }

    fn small_talk(&self) -> String {
        let plain = text::without_quotations(self.message);
        let words = text::words(&plain);
        let greets = words
            .iter()
            .all(|word| FILLERS.contains(&word.lower.as_str()));
        if !greets {
            let topics = question::topics(&words);
            return self
                .answer_about(&topics)
                .unwrap_or_else(|| UNKNOWN.to_owned());
        }
        let address = self
            .name
            .as_ref()
            .map(|name| format!(", {name}"))
            .unwrap_or_default();
        if words
            .iter()
            .any(|word| matches!(word.lower.as_str(), "thanks" | "thank"))
        {
            format!("You are welcome{address}.")
        } else {
            format!("Hello{address}. {IDENTITY}")
        }
    }
}

/// A fact that memory took, as it is confirmed.
fn kept(done: &Done<'_>) -> Option<String> {
    let answer = done.success()?;
    let content = done.call.arguments.get("content")?.as_str()?;
    let verified = serde_json::from_str::<Value>(answer)
        .is_ok_and(|answer| is_verified(&answer) || answer.get("fact").is_some_and(is_verified));
    Some(question::quotation(content, verified))
}

fn enumeration(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// A call whose id is given when all calls of the round are known.
fn call(name: &str, arguments: Map<String, Value>) -> Call {
    Call {
        id: String::new(),
        name: name.to_owned(),
        arguments,
    }
}

/// A text as one word of a shell command, whatever is in it.
fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
