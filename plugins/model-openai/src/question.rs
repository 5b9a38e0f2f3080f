//! A request as the server's JSON.

use keepsake_sdk::http::chat::{Fields, arguments_text, parameters};
use keepsake_sdk::model::{Message, Request, Role, ToolCall};
use keepsake_sdk::{Error, Result};
use serde_json::{Value, json};

use crate::settings::Settings;

/// What an agent says by the request's own fields, within the operator's bounds.
const REQUEST_FIELDS: [&str; 3] = ["max_completion_tokens", "max_tokens", "stream_options"];

/// The body to send.
///
/// # Errors
/// [`Error::Invalid`] when the request breaks a rule.
pub(crate) fn body(settings: &Settings, request: &Request) -> Result<Value> {
    let messages: Vec<_> = request
        .messages
        .iter()
        .map(message)
        .collect::<Result<_>>()?;
    let chat = &settings.chat;
    let mut fields = Fields::of(chat);
    fields.set("messages", messages.into());
    if chat.stream {
        // Without it, most servers do not count the tokens of a stream.
        fields.set("stream_options", json!({ "include_usage": true }));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            Ok(json!({
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": parameters(tool)?,
                },
            }))
        });
        fields.set("tools", tools.collect::<Result<_>>()?);
    }
    fields.set_temperature(chat, request)?;
    if let Some(tokens) = chat.bound_of_tokens(request.max_tokens) {
        fields.set(settings.max_tokens_field.name(), json!(tokens));
    }
    fields.set_stop("stop", request);
    fields.finish(chat, request, &REQUEST_FIELDS)
}

fn message(message: &Message) -> Result<Value> {
    Ok(match message.role {
        Role::System => json!({ "role": "system", "content": message.content }),
        Role::User => json!({ "role": "user", "content": message.content }),
        Role::Assistant if message.tool_calls.is_empty() => {
            json!({ "role": "assistant", "content": message.content })
        }
        Role::Assistant => {
            let content = Some(&message.content).filter(|content| !content.is_empty());
            let calls: Vec<_> = message.tool_calls.iter().map(call).collect();
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
        Role::Tool => {
            let id = message.tool_call_id.as_deref().ok_or_else(|| {
                Error::invalid("a tool's message must say which call it answers (`tool-call-id`)")
            })?;
            json!({ "role": "tool", "tool_call_id": id, "content": message.content })
        }
    })
}

fn call(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": arguments_text(&call.arguments) },
    })
}
