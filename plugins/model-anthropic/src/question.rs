//! A request as the server's JSON.

use std::collections::BTreeSet;

use keepsake_sdk::Result;
use keepsake_sdk::http::chat::{ChatSettings, Fields, parameters};
use keepsake_sdk::model::Request;
use serde_json::{Value, json};

use crate::conversation::Conversation;

/// What an agent says by the request's own fields, within the operator's bounds.
const REQUEST_FIELDS: [&str; 3] = ["max_tokens", "stop_sequences", "temperature"];

/// Tokens of an answer where neither agent nor operator bounds them: the server
/// wants a number, and every model takes this one.
const MAX_TOKENS: u32 = 4_096;

/// The body to send.
///
/// # Errors
/// [`Error::Invalid`](keepsake_sdk::Error::Invalid) when the request breaks a rule.
pub(crate) fn body(settings: &ChatSettings, request: &Request) -> Result<Value> {
    let conversation = Conversation::of(&request.messages)?;
    let mut fields = Fields::of(settings);
    fields.set("messages", conversation.messages());
    if let Some(system) = conversation.system() {
        fields.set("system", system.into());
    }
    let tokens = settings.bound_of_tokens(request.max_tokens);
    fields.set("max_tokens", json!(tokens.unwrap_or(MAX_TOKENS)));
    if request.tools.is_empty() {
        offer_what_was_called(request, &mut fields);
    } else {
        let tools = request.tools.iter().map(|tool| {
            Ok(json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": parameters(tool)?,
            }))
        });
        fields.set("tools", tools.collect::<Result<_>>()?);
    }
    fields.set_temperature(settings, request)?;
    fields.set_stop("stop_sequences", request);
    fields.finish(settings, request, &REQUEST_FIELDS)
}

/// Servers refuse a conversation with calls in it where no tools are offered,
/// as in the last round of a loop: those that were called are named, and none
/// may be called.
fn offer_what_was_called(request: &Request, fields: &mut Fields) {
    let calls = request.messages.iter().flat_map(|it| &it.tool_calls);
    let names: BTreeSet<_> = calls.map(|call| call.name.as_str()).collect();
    if names.is_empty() {
        return;
    }
    let tools = names.into_iter().map(|name| {
        json!({
            "name": name,
            "description": "Cannot be called any more.",
            "input_schema": { "type": "object" },
        })
    });
    fields.set("tools", tools.collect());
    fields.set("tool_choice", json!({ "type": "none" }));
}
