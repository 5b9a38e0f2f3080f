//! `keepsake:host/model` as agents see it: the provider that the host was
//! configured with, with each answer recorded.

use std::sync::Arc;
use std::time::Instant;

use keepsake_storage::Kind as EntryKind;
use keepsake_types::limits;
use serde_json::{Value, json};
use wasmtime::component::{HasData, Resource, ResourceTable};

use crate::bindings::agent::keepsake::host::model::{
    self, Delta, FinishReason, Message, ModelInfo, Request, Response, Role, ToolCall,
    ToolCallDelta, Usage,
};
use crate::bindings::agent::keepsake::host::types::{Error, LimitReached};
use crate::bindings::model_provider::exports::keepsake::host::model as provider;
use crate::capability::session::TurnState;
use crate::capability::{code, describe, unavailable};
use crate::ledger::Ledger;
use crate::model_provider::{Chat, ModelPlugin};
use crate::state::State;

/// An answer that an agent waits for.
#[expect(unreachable_pub, reason = "the generated code exports it")]
pub struct Completion {
    chat: Chat,
    record: Option<Record>,
}

/// What the ledger will say of an answer once its end is known.
struct Record {
    ledger: Ledger,
    started: Instant,
    payload: Value,
}

impl Record {
    fn detail(mut self, members: Value) -> (Ledger, Value) {
        if let (Some(payload), Value::Object(members)) = (self.payload.as_object_mut(), members) {
            payload.extend(members);
            payload.insert(
                "milliseconds".into(),
                json!(self.started.elapsed().as_millis() as u64),
            );
        }
        (self.ledger, self.payload)
    }

    async fn write(self, members: Value) -> Result<(), Error> {
        let (ledger, payload) = self.detail(members);
        ledger.append(EntryKind::ModelCalled, payload).await?;
        Ok(())
    }

    async fn failed(self, error: &Error) -> Result<(), Error> {
        self.write(json!({ "finish": "error", "error": describe(error), "code": code(error) }))
            .await
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        // An answer that nobody waited for was asked for all the same.
        if let Some(record) = self.record.take() {
            let (ledger, payload) = record.detail(json!({ "finish": "abandoned" }));
            ledger.append_later(EntryKind::ModelCalled, payload);
        }
    }
}

impl Completion {
    async fn next(&mut self) -> Result<Option<Delta>, Error> {
        match self.chat.next().await {
            Ok(delta) => Ok(delta.map(Delta::from)),
            Err(error) => self.failed(error).await,
        }
    }

    async fn finish(&mut self) -> Result<Response, Error> {
        let response = match self.chat.finish().await {
            Ok(response) => response,
            Err(error) => return self.failed(error).await,
        };
        if let Some(record) = self.record.take() {
            record
                .write(json!({
                    "model": response.model,
                    "finish": finish_name(&response.finish_reason),
                    "text": response.message.content,
                    "tool_calls": response.message.tool_calls.iter().map(|call| json!({
                        "id": call.id, "name": call.name, "arguments": call.arguments,
                    })).collect::<Vec<_>>(),
                    "usage": response.usage.as_ref().map(|usage| json!({
                        "input_tokens": usage.input_tokens,
                        "output_tokens": usage.output_tokens,
                    })),
                }))
                .await?;
        }
        Ok(response.into())
    }

    async fn failed<T>(&mut self, error: Error) -> Result<T, Error> {
        if let Some(record) = self.record.take() {
            record.failed(&error).await?;
        }
        Err(error)
    }
}

fn finish_name(reason: &provider::FinishReason) -> &str {
    match reason {
        provider::FinishReason::Stop => "stop",
        provider::FinishReason::Length => "length",
        provider::FinishReason::ToolCalls => "tool-calls",
        provider::FinishReason::ContentFilter => "content-filter",
        provider::FinishReason::Other(name) => name,
    }
}

pub(crate) struct ModelView<'a> {
    table: &'a mut ResourceTable,
    turn: Option<&'a TurnState>,
}

impl<'a> ModelView<'a> {
    pub(crate) fn new(state: &'a mut State) -> Self {
        Self {
            table: &mut state.table,
            turn: state.turn.as_ref(),
        }
    }
}

/// The provider, which may have to be loaded first.
async fn loaded(turn: Option<&TurnState>) -> Result<(&Arc<ModelPlugin>, &Ledger), Error> {
    let turn = turn.ok_or_else(|| Error::Denied("a model answers within a turn only".into()))?;
    let model = turn
        .context
        .model
        .as_ref()
        .ok_or_else(|| unavailable("this host was started without a model provider"))?;
    Ok((model.get().await?, &turn.context.ledger))
}

/// Asks the provider, and records what comes of it.
async fn begin(
    model: Arc<ModelPlugin>,
    ledger: Ledger,
    request: Request,
) -> Result<Completion, Error> {
    check(&request)?;
    let record = Record {
        ledger,
        started: Instant::now(),
        payload: json!({
            "provider": model.name(),
            "model": model.info().model,
            "messages": request.messages.len(),
            "tools": request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        }),
    };
    match model.chat(&request.into()).await {
        Ok(chat) => Ok(Completion {
            chat,
            record: Some(record),
        }),
        Err(error) => {
            record.failed(&error).await?;
            Err(error)
        }
    }
}

/// A request that no provider could answer is refused before one is asked.
fn check(request: &Request) -> Result<(), Error> {
    if request.messages.is_empty() {
        return Err(Error::Invalid("a chat needs at least one message".into()));
    }
    let bytes: usize = request
        .messages
        .iter()
        .map(|message| message.content.len())
        .sum();
    if bytes > limits::CHAT_BYTES || request.messages.len() > limits::CHAT_MESSAGES {
        return Err(Error::Limit(LimitReached {
            name: "chat-bytes".into(),
            message: format!(
                "the chat has {} messages with {bytes} bytes; at most {} messages with {} bytes are sent",
                request.messages.len(),
                limits::CHAT_MESSAGES,
                limits::CHAT_BYTES
            ),
        }));
    }
    for tool in &request.tools {
        let named = !tool.name.is_empty()
            && tool.name.len() <= 64
            && tool
                .name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if !named {
            return Err(Error::Invalid(format!(
                "the tool name {:?} must have from 1 to 64 of A-Z a-z 0-9 _ -",
                tool.name
            )));
        }
        let schema = serde_json::from_str::<Value>(&tool.parameters);
        if !schema.is_ok_and(|schema| schema.is_object()) {
            return Err(Error::Invalid(format!(
                "the parameters of the tool `{}` are no JSON Schema object",
                tool.name
            )));
        }
    }
    Ok(())
}

pub(crate) struct HasModel;

impl HasData for HasModel {
    type Data<'a> = ModelView<'a>;
}

impl model::Host for ModelView<'_> {
    async fn info(&mut self) -> wasmtime::Result<Result<ModelInfo, Error>> {
        Ok(loaded(self.turn).await.map(|(model, _)| ModelInfo {
            model: model.info().model.clone(),
            context_tokens: model.info().context_tokens,
            extras: None,
        }))
    }

    async fn chat(
        &mut self,
        request: Request,
    ) -> wasmtime::Result<Result<Resource<Completion>, Error>> {
        let (model, ledger) = match loaded(self.turn).await {
            Ok((model, ledger)) => (Arc::clone(model), ledger.clone()),
            Err(error) => return Ok(Err(error)),
        };
        match begin(model, ledger, request).await {
            Ok(completion) => Ok(Ok(self.table.push(completion)?)),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl model::HostCompletion for ModelView<'_> {
    async fn next(
        &mut self,
        completion: Resource<Completion>,
    ) -> wasmtime::Result<Result<Option<Delta>, Error>> {
        Ok(self.table.get_mut(&completion)?.next().await)
    }

    async fn finish(
        &mut self,
        completion: Resource<Completion>,
    ) -> wasmtime::Result<Result<Response, Error>> {
        Ok(self.table.get_mut(&completion)?.finish().await)
    }

    async fn drop(&mut self, completion: Resource<Completion>) -> wasmtime::Result<()> {
        self.table.delete(completion)?;
        Ok(())
    }
}

// The same WIT types, generated twice: once as an agent's imports, once as a
// provider's exports.

impl From<Role> for provider::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::System => Self::System,
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
            Role::Tool => Self::Tool,
        }
    }
}

impl From<provider::Role> for Role {
    fn from(role: provider::Role) -> Self {
        match role {
            provider::Role::System => Self::System,
            provider::Role::User => Self::User,
            provider::Role::Assistant => Self::Assistant,
            provider::Role::Tool => Self::Tool,
        }
    }
}

impl From<Request> for provider::Request {
    fn from(request: Request) -> Self {
        let tool_call = |call: ToolCall| provider::ToolCall {
            id: call.id,
            name: call.name,
            arguments: call.arguments,
        };
        Self {
            messages: request
                .messages
                .into_iter()
                .map(|message| provider::Message {
                    role: message.role.into(),
                    content: message.content,
                    tool_calls: message.tool_calls.into_iter().map(tool_call).collect(),
                    tool_call_id: message.tool_call_id,
                })
                .collect(),
            tools: request
                .tools
                .into_iter()
                .map(|tool| provider::ToolDefinition {
                    name: tool.name,
                    description: tool.description,
                    parameters: tool.parameters,
                })
                .collect(),
            temperature: request.temperature,
            max_tokens: request.max_tokens,
            stop: request.stop,
            extras: request.extras,
        }
    }
}

impl From<provider::Delta> for Delta {
    fn from(delta: provider::Delta) -> Self {
        match delta {
            provider::Delta::Text(text) => Self::Text(text),
            provider::Delta::ToolCall(call) => Self::ToolCall(ToolCallDelta {
                index: call.index,
                id: call.id,
                name: call.name,
                arguments: call.arguments,
            }),
            provider::Delta::Other(other) => Self::Other(other),
        }
    }
}

impl From<provider::Response> for Response {
    fn from(response: provider::Response) -> Self {
        let message = response.message;
        Self {
            message: Message {
                role: message.role.into(),
                content: message.content,
                tool_calls: message
                    .tool_calls
                    .into_iter()
                    .map(|call| ToolCall {
                        id: call.id,
                        name: call.name,
                        arguments: call.arguments,
                    })
                    .collect(),
                tool_call_id: message.tool_call_id,
            },
            finish_reason: match response.finish_reason {
                provider::FinishReason::Stop => FinishReason::Stop,
                provider::FinishReason::Length => FinishReason::Length,
                provider::FinishReason::ToolCalls => FinishReason::ToolCalls,
                provider::FinishReason::ContentFilter => FinishReason::ContentFilter,
                provider::FinishReason::Other(name) => FinishReason::Other(name),
            },
            usage: response.usage.map(|usage| Usage {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
            }),
            model: response.model,
        }
    }
}
