//! The tools of a turn, round by round: the profile first, then evidence, then
//! facts with that evidence as their source.

use keepsake_sdk::sandbox::shell_word;
use serde_json::{Map, Value, json};

use super::Turn;
use crate::{
    conversation::{Call, Tool},
    memory::Memory,
    question::Asked,
    statements::Statement,
};

/// Facts that one recall asks for.
const RECALLED: u32 = 5;
/// Bytes of a query; the rest of a long message says little more.
const QUERY_BYTES: usize = 4_096;

impl Turn<'_> {
    /// The tools to call now; none when all is done that can be.
    pub(super) fn calls(&self) -> Vec<Call> {
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
        self.message[..self.message.floor_char_boundary(QUERY_BYTES)].trim()
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
