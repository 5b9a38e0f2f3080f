//! What the register macros expand to: between the generated exports and the
//! traits that authors implement. Each function is the export of its name.
#![allow(missing_docs, reason = "the WIT files document them")]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Once;

use crate::bindings::{agent_plugin, embedding_provider, model_provider, summarizing};
use crate::component::{AgentHost, ProviderHost};
use crate::context::Context;
use crate::embeddings::Kind;
use crate::error::{Error, Result};
use crate::memory::Fact;
use crate::model::{
    Answer, Delta, FinishReason, Message, Request, Response, Role, ToolCall, ToolDefinition,
};
use crate::plugin::{Agent, EmbeddingProvider, ModelProvider, Summarizer, Turn};
use crate::session::Session;
use crate::wit::types;

/// Hands the text of a panic to the host, which would see a bare trap.
fn report_panics() {
    // Once, so that a hook of the plugin's own stays.
    static REPORTING: Once = Once::new();
    REPORTING.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            crate::wit::log::report_panic(&panic.to_string());
        }));
    });
}

type Told<T> = std::result::Result<T, types::Error>;

pub fn describe<A: Agent>() -> agent_plugin::exports::keepsake::host::agent::Description {
    report_panics();
    let description = A::describe();
    agent_plugin::exports::keepsake::host::agent::Description {
        name: description.name,
        version: description.version,
        summary: description.summary,
        profile_schema: description.profile_schema.map(|schema| schema.to_string()),
        extras: None,
    }
}

pub fn handle<A: Agent>(
    turn: agent_plugin::exports::keepsake::host::agent::Turn,
) -> Told<agent_plugin::exports::keepsake::host::agent::Reply> {
    report_panics();
    let turn = Turn {
        message: turn.message,
        extras: turn
            .extras
            .and_then(|extras| serde_json::from_str(&extras).ok()),
    };
    let reply = A::handle(&Session::new(Rc::new(AgentHost)), turn)?;
    Ok(agent_plugin::exports::keepsake::host::agent::Reply {
        text: reply.text,
        data: reply.data.map(|data| data.to_string()),
    })
}

pub fn summarize<S: Summarizer>(
    facts: &[Fact],
    most: u32,
) -> Told<Vec<summarizing::exports::keepsake::host::summarizer::Summary>> {
    report_panics();
    let summaries = S::summarize(&Session::new(Rc::new(AgentHost)), facts, most as usize)?;
    Ok(summaries
        .into_iter()
        .map(
            |summary| summarizing::exports::keepsake::host::summarizer::Summary {
                content: summary.content,
                of: summary.of,
            },
        )
        .collect())
}

fn context() -> Context {
    report_panics();
    Context::new(Rc::new(ProviderHost))
}

use embedding_provider::exports::keepsake::host::embeddings as exported_embeddings;

pub fn embedding_info<P: EmbeddingProvider>() -> Told<exported_embeddings::EmbeddingInfo> {
    let info = P::info(&context())?;
    Ok(exported_embeddings::EmbeddingInfo {
        model: info.model,
        dimensions: info.dimensions,
        normalised: info.normalised,
        max_texts: info.max_texts,
        max_text_bytes: info.max_text_bytes,
        relevance_threshold: info.relevance_threshold,
        extras: info.extras,
    })
}

pub fn embed<P: EmbeddingProvider>(
    texts: Vec<String>,
    kind: exported_embeddings::Kind,
) -> Told<Vec<Vec<f32>>> {
    let kind = match kind {
        exported_embeddings::Kind::Query => Kind::Query,
        exported_embeddings::Kind::Passage => Kind::Passage,
    };
    Ok(P::embed(&context(), &texts, kind)?)
}

use model_provider::exports::keepsake::host::model as exported_model;

pub fn model_info<P: ModelProvider>() -> Told<exported_model::ModelInfo> {
    let info = P::info(&context())?;
    Ok(exported_model::ModelInfo {
        model: info.model,
        context_tokens: info.context_tokens,
        extras: info.extras,
    })
}

pub fn chat<P: ModelProvider>(
    request: exported_model::Request,
) -> Told<exported_model::Completion> {
    let answer = P::chat(&context(), request_from(request))?;
    Ok(exported_model::Completion::new(Running(RefCell::new(
        answer,
    ))))
}

/// An answer while the host asks for its pieces.
pub struct Running(RefCell<Answer>);

impl exported_model::GuestCompletion for Running {
    fn next(&self) -> Told<Option<exported_model::Delta>> {
        let delta = asked(&self.0, Answer::next_delta)?;
        Ok(delta.map(|delta| match delta {
            Delta::Text(text) => exported_model::Delta::Text(text),
            Delta::ToolCall(call) => {
                exported_model::Delta::ToolCall(exported_model::ToolCallDelta {
                    index: call.index,
                    id: call.id,
                    name: call.name,
                    arguments: call.arguments,
                })
            }
            Delta::Other(other) => exported_model::Delta::Other(other),
        }))
    }

    fn finish(&self) -> Told<exported_model::Response> {
        asked(&self.0, Answer::finish).map(response_into)
    }
}

fn asked<T>(answer: &RefCell<Answer>, ask: impl Fn(&mut Answer) -> Result<T>) -> Told<T> {
    match answer.try_borrow_mut() {
        Ok(mut answer) => Ok(ask(&mut answer)?),
        Err(_) => Err(Error::Internal("the answer is being asked already".into()).into()),
    }
}

fn request_from(request: exported_model::Request) -> Request {
    Request {
        messages: request.messages.into_iter().map(message_from).collect(),
        tools: request
            .tools
            .into_iter()
            .map(|tool| ToolDefinition {
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

fn message_from(message: exported_model::Message) -> Message {
    Message {
        role: match message.role {
            exported_model::Role::System => Role::System,
            exported_model::Role::User => Role::User,
            exported_model::Role::Assistant => Role::Assistant,
            exported_model::Role::Tool => Role::Tool,
        },
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
    }
}

fn response_into(response: Response) -> exported_model::Response {
    let message = response.message;
    exported_model::Response {
        message: exported_model::Message {
            role: match message.role {
                Role::System => exported_model::Role::System,
                Role::User => exported_model::Role::User,
                Role::Assistant => exported_model::Role::Assistant,
                Role::Tool => exported_model::Role::Tool,
            },
            content: message.content,
            tool_calls: message
                .tool_calls
                .into_iter()
                .map(|call| exported_model::ToolCall {
                    id: call.id,
                    name: call.name,
                    arguments: call.arguments,
                })
                .collect(),
            tool_call_id: message.tool_call_id,
        },
        finish_reason: match response.finish_reason {
            FinishReason::Stop => exported_model::FinishReason::Stop,
            FinishReason::Length => exported_model::FinishReason::Length,
            FinishReason::ToolCalls => exported_model::FinishReason::ToolCalls,
            FinishReason::ContentFilter => exported_model::FinishReason::ContentFilter,
            FinishReason::Other(other) => exported_model::FinishReason::Other(other),
        },
        usage: response.usage.map(|usage| exported_model::Usage {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
        }),
        model: response.model,
    }
}
