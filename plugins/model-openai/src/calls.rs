//! Tool calls while they come in, in the many ways in which servers send them.

use keepsake_sdk::Result;
use keepsake_sdk::http::chat::{CALLS, given, made_up_id, too_many_calls, whole_call};
use keepsake_sdk::model::{ToolCall, ToolCallDelta};

use crate::wire;

/// The calls of one answer.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: Vec<Partial>,
}

#[derive(Debug)]
struct Partial {
    /// The number that the server counts it by.
    number: Option<u64>,
    /// The server's id, or one that was made up.
    id: String,
    /// The server gave it no id so far.
    made_up: bool,
    /// Empty as long as it has not come.
    name: String,
    arguments: String,
    /// Its name and id were passed on.
    told: bool,
}

impl Calls {
    /// Takes a piece and gives what there is to tell of it.
    ///
    /// # Errors
    /// When there are too many calls.
    pub(crate) fn take(&mut self, piece: &wire::Call) -> Result<Option<ToolCallDelta>> {
        let place = self.place_of(piece)?;
        let taken = |id: &str, calls: &[Partial]| {
            calls
                .iter()
                .enumerate()
                .any(|(other, call)| other != place && call.id == id)
        };
        let id = given(&piece.id).filter(|id| !taken(id, &self.calls));
        let Some(call) = self.calls.get_mut(place) else {
            return Ok(None);
        };
        if let Some(id) = id
            && call.made_up
            && !call.told
        {
            id.clone_into(&mut call.id);
            call.made_up = false;
        }
        let mut arguments = String::new();
        if let Some(function) = &piece.function {
            arguments = function.arguments_text();
            call.arguments.push_str(&arguments);
            if let Some(name) = given(&function.name).filter(|_| call.name.is_empty()) {
                name.clone_into(&mut call.name);
            }
        }
        // Until the name is there, nobody could make anything of it.
        if call.name.is_empty() || call.told && arguments.is_empty() {
            return Ok(None);
        }
        let first = !std::mem::replace(&mut call.told, true);
        Ok(Some(ToolCallDelta {
            index: u32::try_from(place).unwrap_or(u32::MAX),
            id: first.then(|| call.id.clone()),
            name: first.then(|| call.name.clone()),
            arguments: if first {
                call.arguments.clone()
            } else {
                arguments
            },
        }))
    }

    /// Which call a piece belongs to; makes a new one where it begins one.
    fn place_of(&mut self, piece: &wire::Call) -> Result<usize> {
        let id = given(&piece.id);
        let name = piece.function.as_ref().and_then(|f| given(&f.name));
        let known = match piece.index {
            // Some servers count every call as 0, but begin each with its own id
            // and name; others give each piece an id of its own, but no name.
            Some(number) => self
                .calls
                .iter()
                .rposition(|call| call.number == Some(number))
                .filter(|place| {
                    let call = &self.calls[*place];
                    let another = id.is_some_and(|id| !call.made_up && call.id != id);
                    !(another && name.is_some() && !call.name.is_empty())
                }),
            None => match id {
                Some(id) => self.calls.iter().rposition(|call| call.id == id),
                None if name.is_some() => None,
                None => self.calls.len().checked_sub(1),
            },
        };
        if let Some(place) = known {
            return Ok(place);
        }
        if self.calls.len() >= CALLS {
            return Err(too_many_calls());
        }
        self.calls.push(Partial {
            number: piece.index,
            id: made_up_id(),
            made_up: true,
            name: String::new(),
            arguments: String::new(),
            told: false,
        });
        Ok(self.calls.len() - 1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The whole calls.
    ///
    /// # Errors
    /// When one has no name.
    pub(crate) fn whole(&self) -> Result<Vec<ToolCall>> {
        let whole = self.calls.iter();
        let whole = whole.map(|call| whole_call(&call.id, &call.name, &call.arguments));
        whole.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The whole calls, after a check that the pieces told make them up.
    fn assembled(pieces: Value) -> Vec<(String, String, String)> {
        let mut calls = Calls::default();
        let mut told: Vec<(String, String, String)> = Vec::new();
        for piece in pieces.as_array().unwrap() {
            let piece: wire::Call = serde_json::from_value(piece.clone()).unwrap();
            let Some(delta) = calls.take(&piece).unwrap() else {
                continue;
            };
            let place = delta.index as usize;
            if let (Some(id), Some(name)) = (delta.id, delta.name) {
                assert_eq!(place, told.len());
                told.push((id, name, String::new()));
            }
            told[place].2.push_str(&delta.arguments);
        }
        let whole: Vec<_> = calls
            .whole()
            .unwrap()
            .into_iter()
            .map(|call| (call.id, call.name, call.arguments))
            .collect();
        for (told, whole) in told.iter_mut().zip(&whole) {
            if told.2.trim().is_empty() {
                "{}".clone_into(&mut told.2);
            }
            assert_eq!(told, whole);
        }
        assert_eq!(told.len(), whole.len());
        whole
    }

    fn named(calls: &[(String, String, String)]) -> Vec<(&str, &str)> {
        calls
            .iter()
            .map(|(_, name, arguments)| (name.as_str(), arguments.as_str()))
            .collect()
    }

    #[test]
    fn parallel_calls_in_interleaved_pieces_are_told_apart() {
        let calls = assembled(json!([
            { "index": 0, "id": "a", "type": "function", "function": { "name": "look", "arguments": "" } },
            { "index": 1, "id": "b", "function": { "name": "find", "arguments": "{\"q\":" } },
            { "index": 0, "function": { "arguments": "{\"x\"" } },
            { "index": 1, "function": { "arguments": "2}" } },
            { "index": 0, "id": null, "function": { "name": null, "arguments": ":1}" } },
        ]));
        assert_eq!(
            named(&calls),
            [("look", "{\"x\":1}"), ("find", "{\"q\":2}")]
        );
        assert_eq!((calls[0].0.as_str(), calls[1].0.as_str()), ("a", "b"));
    }

    #[test]
    fn calls_without_numbers_are_told_apart_by_id_or_name() {
        let calls = assembled(json!([
            { "id": "a", "function": { "name": "look", "arguments": "{\"x\":" } },
            { "function": { "arguments": "1}" } },
            { "id": "b", "function": { "name": "look", "arguments": { "x": 2 } } },
            { "id": "", "function": { "name": "find", "arguments": null } },
        ]));
        assert_eq!(
            named(&calls),
            [("look", "{\"x\":1}"), ("look", "{\"x\":2}"), ("find", "{}")]
        );
        assert!(calls[2].0.starts_with("call-"), "{}", calls[2].0);
    }

    #[test]
    fn calls_that_are_all_numbered_0_are_told_apart() {
        let calls = assembled(json!([
            { "index": 0, "id": "a", "function": { "name": "look", "arguments": "{}" } },
            { "index": 0, "id": "b", "function": { "name": "look", "arguments": "{}" } },
        ]));
        assert_eq!((calls[0].0.as_str(), calls[1].0.as_str()), ("a", "b"));
    }

    #[test]
    fn pieces_with_ids_of_their_own_belong_to_one_call() {
        let calls = assembled(json!([
            { "index": 0, "id": "x1", "function": { "name": "look", "arguments": "{" } },
            { "index": 0, "id": "x2", "function": { "arguments": "}" } },
        ]));
        assert_eq!(
            (calls[0].0.as_str(), named(&calls)),
            ("x1", vec![("look", "{}")])
        );
    }

    #[test]
    fn a_name_that_comes_late_and_one_that_is_repeated_do_no_harm() {
        let calls = assembled(json!([
            { "index": 3, "id": "a" },
            { "index": 3, "function": { "arguments": "{\"x\"" } },
            { "index": 3, "function": { "name": "look", "arguments": ":" } },
            { "index": 3, "id": "a", "function": { "name": "look", "arguments": "1}" } },
        ]));
        assert_eq!(named(&calls), [("look", "{\"x\":1}")]);
    }

    #[test]
    fn an_id_that_the_server_uses_twice_is_replaced() {
        let calls = assembled(json!([
            { "index": 0, "id": "same", "function": { "name": "look", "arguments": "{}" } },
            { "index": 1, "id": "same", "function": { "name": "find", "arguments": "{}" } },
        ]));
        assert_eq!(named(&calls), [("look", "{}"), ("find", "{}")]);
        assert_ne!(calls[0].0, calls[1].0);
    }

    #[test]
    fn a_call_without_a_name_and_too_many_calls_are_errors() {
        let mut calls = Calls::default();
        let piece = |index| wire::Call {
            index: Some(index),
            ..wire::Call::default()
        };
        calls.take(&piece(0)).unwrap();
        assert_eq!(calls.whole().unwrap_err().code(), "unavailable");
        let refused = (1..1_000).find_map(|index| calls.take(&piece(index)).err());
        assert_eq!(refused.unwrap().code(), "limit");
    }
}
