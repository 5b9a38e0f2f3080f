//! The text at the end of a turn: what became of what the customer told, and
//! quotations that answer what they asked.

use serde_json::Value;

use super::{IDENTITY, Turn, UNKNOWN};
use crate::{
    conversation::Done,
    memory::is_verified,
    question::{self, Asked},
    text,
    words::FILLERS,
};

impl Turn<'_> {
    /// The text at the end of the turn.
    pub(super) fn text(&self) -> String {
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
    pub(super) fn answer_about(&self, topics: &[String]) -> Option<String> {
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
    let answer = serde_json::from_str::<Value>(done.success()?).unwrap_or_default();
    let fact = &answer["fact"];
    let asked = done.call.arguments.get("content")?.as_str()?;
    // Where memory knew a fact that says as much, that one is what it remembers.
    let content = match answer["outcome"].as_str() {
        Some("merged" | "near-duplicate" | "echo") => fact["content"].as_str().unwrap_or(asked),
        _ => asked,
    };
    let verified = is_verified(&answer) || is_verified(fact);
    Some(question::quotation(content, verified))
}

fn enumeration(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
