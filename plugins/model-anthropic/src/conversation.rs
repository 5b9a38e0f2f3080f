//! A conversation in the server's form: it knows two who speak, in turns, and
//! each says a list of blocks. Rules stand apart from it.

use keepsake_sdk::http::chat::arguments_object;
use keepsake_sdk::model::{Message, Role};
use keepsake_sdk::{Error, Result};
use serde_json::{Value, json};

/// A conversation as it is sent.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    system: Vec<String>,
    turns: Vec<Turn>,
}

#[derive(Debug)]
struct Turn {
    role: &'static str,
    blocks: Vec<Value>,
}

impl Conversation {
    /// These messages in the server's form.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a tool's answer to no call, and where nobody has
    /// said anything.
    pub(crate) fn of(messages: &[Message]) -> Result<Self> {
        let mut conversation = Self::default();
        for message in messages {
            conversation.add(message)?;
        }
        if conversation.turns.is_empty() {
            return Err(Error::invalid(
                "the conversation has no text: the server takes none without",
            ));
        }
        conversation.trim_beginning_of_answer();
        Ok(conversation)
    }

    fn add(&mut self, message: &Message) -> Result<()> {
        match message.role {
            Role::System => {
                if !message.content.trim().is_empty() {
                    self.system.push(message.content.clone());
                }
            }
            Role::User => self.say("user", text(&message.content)),
            Role::Assistant => {
                self.say("assistant", text(&message.content));
                for call in &message.tool_calls {
                    let block = json!({
                        "type": "tool_use",
                        "id": call.id,
                        "name": call.name,
                        "input": arguments_object(&call.arguments),
                    });
                    self.say("assistant", Some(block));
                }
            }
            // All answers to the calls of one turn belong into the next one.
            Role::Tool => {
                let id = message.tool_call_id.as_deref().ok_or_else(|| {
                    Error::invalid(
                        "a tool's message must say which call it answers (`tool-call-id`)",
                    )
                })?;
                let block = json!({
                    "type": "tool_result", "tool_use_id": id, "content": message.content,
                });
                self.say("user", Some(block));
            }
        }
        Ok(())
    }

    /// What one says after another by the same role belongs to one turn.
    fn say(&mut self, role: &'static str, block: Option<Value>) {
        let Some(block) = block else { return };
        match self.turns.last_mut() {
            Some(turn) if turn.role == role => turn.blocks.push(block),
            _ => self.turns.push(Turn {
                role,
                blocks: vec![block],
            }),
        }
    }

    /// Where the model spoke last, it goes on from there; the server refuses
    /// white space at that end.
    fn trim_beginning_of_answer(&mut self) {
        let last = self
            .turns
            .last_mut()
            .filter(|turn| turn.role == "assistant");
        let block = last.and_then(|turn| turn.blocks.last_mut());
        if let Some(Value::String(text)) = block.and_then(|block| block.get_mut("text")) {
            text.truncate(text.trim_end().len());
        }
    }

    /// The rules, where there are some.
    pub(crate) fn system(&self) -> Option<String> {
        (!self.system.is_empty()).then(|| self.system.join("\n\n"))
    }

    /// The turns as JSON.
    pub(crate) fn messages(&self) -> Value {
        let turns = self.turns.iter();
        turns
            .map(|turn| json!({ "role": turn.role, "content": turn.blocks }))
            .collect()
    }
}

/// A block of text. The server refuses empty ones.
fn text(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }))
}
