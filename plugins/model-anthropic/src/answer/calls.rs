//! Tool calls while they come in: each is a block, whose arguments come as
//! pieces of JSON after its name.

use keepsake_sdk::http::chat::{CALLS, given, made_up_id, too_many_calls, whole_call};
use keepsake_sdk::model::{ToolCall, ToolCallDelta};
use keepsake_sdk::{Error, Result};
use serde_json::Value;

use crate::wire::Block;

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Partial>);

#[derive(Debug)]
struct Partial {
    /// The block's number among all blocks.
    number: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// The arguments that came with the name, from servers that send no pieces.
    at_once: Option<Value>,
}

impl Calls {
    /// A call begins.
    ///
    /// # Errors
    /// When there are too many.
    pub(super) fn begin(&mut self, number: Option<u64>, block: Block) -> Result<ToolCallDelta> {
        if self.0.len() >= CALLS {
            return Err(too_many_calls());
        }
        let free = |id: &&str| self.0.iter().all(|call| call.id != *id);
        let id = given(&block.id).filter(free);
        let call = Partial {
            number,
            id: id.map_or_else(made_up_id, str::to_owned),
            name: block.name.unwrap_or_default(),
            arguments: String::new(),
            at_once: block
                .input
                .filter(|input| *input != Value::Object(Default::default())),
        };
        let delta = ToolCallDelta {
            index: u32::try_from(self.0.len()).unwrap_or(u32::MAX),
            id: Some(call.id.clone()),
            name: Some(call.name.clone()),
            arguments: String::new(),
        };
        self.0.push(call);
        Ok(delta)
    }

    /// The next piece of a call's arguments.
    ///
    /// # Errors
    /// When no call has begun.
    pub(super) fn go_on(
        &mut self,
        number: Option<u64>,
        arguments: &str,
    ) -> Result<Option<ToolCallDelta>> {
        let place = self.place_of(number).ok_or_else(|| {
            Error::unavailable(
                "the server's answer goes on with a call that has not begun: try again, or use another model",
            )
        })?;
        Ok(self.add(place, arguments))
    }

    /// A block ends. What there is to tell of it then, if it is a call.
    pub(super) fn end(&mut self, number: Option<u64>) -> Option<ToolCallDelta> {
        let place = self.0.iter().rposition(|call| call.number == number)?;
        let at_once = self.0[place].at_once.take()?;
        // The pieces are what the model wrote, where there are some.
        if self.0[place].arguments.is_empty() {
            return self.add(place, &at_once.to_string());
        }
        None
    }

    fn add(&mut self, place: usize, arguments: &str) -> Option<ToolCallDelta> {
        let call = self.0.get_mut(place)?;
        call.arguments.push_str(arguments);
        Some(ToolCallDelta {
            index: u32::try_from(place).unwrap_or(u32::MAX),
            id: None,
            name: None,
            arguments: arguments.to_owned(),
        })
    }

    /// The newest call of that number; of none, the newest.
    fn place_of(&self, number: Option<u64>) -> Option<usize> {
        match number {
            Some(_) => self.0.iter().rposition(|call| call.number == number),
            None => self.0.len().checked_sub(1),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The whole calls.
    ///
    /// # Errors
    /// When one has no name.
    pub(super) fn whole(&self) -> Result<Vec<ToolCall>> {
        let calls = self.0.iter();
        calls
            .map(|call| {
                // A block that never ended, where all came at once.
                let arguments = match &call.at_once {
                    Some(input) if call.arguments.is_empty() => input.to_string(),
                    _ => call.arguments.clone(),
                };
                whole_call(&call.id, &call.name, &arguments)
            })
            .collect()
    }
}
