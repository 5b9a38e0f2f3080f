//! A request as the server's JSON.

use keepsake_sdk::model::{Message, Request, Role, ToolCall};
use keepsake_sdk::{Error, Result};
use serde_json::{Map, Value, json};

use crate::settings::{Settings, own_field};

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
    let mut body = json!({
        "model": settings.service.model,
        "messages": messages,
        "stream": settings.stream,
    });
    if settings.stream {
        // Without it, most servers do not count the tokens of a stream.
        body["stream_options"] = json!({ "include_usage": true });
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let parameters: Value = serde_json::from_str(&tool.parameters).map_err(|error| {
                Error::invalid(format!(
                    "the parameters of the tool `{}`: {error}",
                    tool.name
                ))
            })?;
            Ok(json!({
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": parameters,
                },
            }))
        });
        body["tools"] = tools.collect::<Result<_>>()?;
    }
    if let Some(temperature) = request.temperature.or(settings.temperature) {
        body["temperature"] = decimal(temperature)?;
    }
    let bounds = request.max_tokens.into_iter().chain(settings.max_tokens);
    if let Some(tokens) = bounds.min() {
        body[settings.max_tokens_field.name()] = json!(tokens);
    }
    let stop: Vec<_> = request
        .stop
        .iter()
        .filter(|text| !text.is_empty())
        .collect();
    if !stop.is_empty() {
        body["stop"] = json!(stop);
    }
    merge(&mut body, &settings.extra);
    merge(&mut body, &extras(request)?);
    Ok(body)
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
    // Servers read the arguments of earlier calls and fail on what a model got
    // wrong. It is kept as text, so that the model sees what it wrote.
    let arguments = match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(_)) => call.arguments.clone(),
        _ => json!({ "malformed": call.arguments }).to_string(),
    };
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": arguments },
    })
}

/// A number as it was written: 0.7, not 0.699999988079071.
fn decimal(number: f32) -> Result<Value> {
    number
        .to_string()
        .parse::<serde_json::Number>()
        .map(Value::Number)
        .map_err(|_| Error::invalid(format!("the temperature cannot be {number}")))
}

fn extras(request: &Request) -> Result<Map<String, Value>> {
    let Some(text) = &request.extras else {
        return Ok(Map::new());
    };
    let extras: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        Error::invalid(format!("the request's extras are no JSON object: {error}"))
    })?;
    let field = own_field(&extras).or_else(|| {
        REQUEST_FIELDS
            .into_iter()
            .find(|field| extras.contains_key(*field))
    });
    match field {
        Some(field) => Err(Error::invalid(format!(
            "the request's extras may not hold `{field}`: the provider sets it"
        ))),
        None => Ok(extras),
    }
}

/// Puts fields over those of the body. Null takes one out, for servers that
/// refuse a field which the plugin sends by itself.
fn merge(body: &mut Value, fields: &Map<String, Value>) {
    let Some(body) = body.as_object_mut() else {
        return;
    };
    for (name, value) in fields {
        if value.is_null() {
            body.remove(name);
        } else {
            body.insert(name.clone(), value.clone());
        }
    }
}
