//! `keepsake:host/model` as agents see it: the provider that the host was
//! configured with, with each answer recorded.

mod record;

use std::sync::Arc;

use keepsake_types::limits;
use serde_json::{Value, json};
use wasmtime::component::{HasData, Resource};

use crate::bindings::agent::keepsake::host::model::{
    self, Delta, FinishReason, Message, ModelInfo, Request, Response, Role, ToolCall,
    ToolCallDelta, Usage,
};
use crate::bindings::agent::keepsake::host::types::{Error, LimitReached};
use crate::bindings::model_provider::exports::keepsake::host::model as provider;
use crate::capability::session::{TurnContext, TurnState};
use crate::capability::unavailable;
use crate::model_provider::{Chat, ModelPlugin};
use crate::state::State;
use crate::used::Handles;
use record::Record;

/// An answer that an agent waits for.
#[expect(unreachable_pub, reason = "the generated code exports it")]
pub struct Completion {
    chat: Chat,
    record: Record,
}

impl Completion {
    async fn next(&mut self) -> Result<Option<Delta>, Error> {
        match self.chat.next().await {
            Ok(delta) => {
                if let Some(delta) = &delta {
                    self.record.came(delta);
                }
                Ok(delta.map(Delta::from))
            }
            Err(error) => self.failed(error).await,
        }
    }

    async fn finish(&mut self) -> Result<Response, Error> {
        let response = match self.chat.finish().await {
            Ok(response) => response,
            Err(error) => return self.failed(error).await,
        };
        let finish = finish_name(&response.finish_reason);
        self.record.finished(&response, finish).await?;
        Ok(response.into())
    }

    async fn failed<T>(&mut self, error: Error) -> Result<T, Error> {
        self.record.failed(&error).await?;
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
    handles: Handles<'a>,
    turn: Option<&'a TurnState>,
}

impl<'a> ModelView<'a> {
    pub(crate) fn new(state: &'a mut State) -> Self {
        Self {
            handles: Handles::new(&mut state.table, &mut state.used),
            turn: state.turn.as_ref(),
        }
    }
}

/// The provider, which may have to be loaded first, and the turn that asks it.
async fn loaded(turn: Option<&TurnState>) -> Result<(&Arc<ModelPlugin>, &TurnContext), Error> {
    let turn = turn.ok_or_else(|| Error::Denied("a model answers within a turn only".into()))?;
    let model = turn
        .context
        .model
        .as_ref()
        .ok_or_else(|| unavailable("this host was started without a model provider"))?;
    Ok((model.get().await?, &turn.context))
}

/// Asks the provider where the session may, and records what comes of it.
async fn begin(
    model: Arc<ModelPlugin>,
    turn: &TurnContext,
    request: Request,
) -> Result<Completion, Error> {
    check(&request)?;
    let spending = turn.model_budget.take(bytes(&request))?;
    let payload = json!({
        "provider": model.name(),
        "model": model.info().model,
        "messages": request.messages.len(),
        "tools": request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
    });
    let record = Record::new(turn.ledger.clone(), payload, spending);
    match model.chat(&request.into()).await {
        Ok(chat) => Ok(Completion { chat, record }),
        Err(error) => {
            record.refused(&error).await?;
            Err(error)
        }
    }
}

/// All that a model has to read of a request.
fn bytes(request: &Request) -> usize {
    let messages = request.messages.iter().map(|message| {
        let calls = message.tool_calls.iter();
        message.content.len() + calls.map(|call| call.arguments.len()).sum::<usize>()
    });
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.len());
    messages.chain(tools).sum()
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
            extras: model.info().extras.clone(),
        }))
    }

    async fn chat(
        &mut self,
        request: Request,
    ) -> wasmtime::Result<Result<Resource<Completion>, Error>> {
        if let Err(error) = self.handles.used.completes() {
            return Ok(Err(error));
        }
        let asked = self.ask(request).await;
        if !matches!(asked, Ok(Ok(_))) {
            self.handles.used.completed();
        }
        asked
    }
}

impl ModelView<'_> {
    async fn ask(
        &mut self,
        request: Request,
    ) -> wasmtime::Result<Result<Resource<Completion>, Error>> {
        let (model, turn) = match loaded(self.turn).await {
            Ok((model, turn)) => (Arc::clone(model), turn),
            Err(error) => return Ok(Err(error)),
        };
        match begin(model, turn, request).await {
            Ok(completion) => self.handles.push(completion),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl model::HostCompletion for ModelView<'_> {
    async fn next(
        &mut self,
        completion: Resource<Completion>,
    ) -> wasmtime::Result<Result<Option<Delta>, Error>> {
        Ok(self.handles.get_mut(&completion)?.next().await)
    }

    async fn finish(
        &mut self,
        completion: Resource<Completion>,
    ) -> wasmtime::Result<Result<Response, Error>> {
        Ok(self.handles.get_mut(&completion)?.finish().await)
    }

    async fn drop(&mut self, completion: Resource<Completion>) -> wasmtime::Result<()> {
        self.handles.delete(completion)?;
        self.handles.used.completed();
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
