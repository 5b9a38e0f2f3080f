//! The model as a provider: the SDK's conversation in, its answer out.

use keepsake_sdk::model::{self, FinishReason, ModelInfo, Request, Response, Usage};
use keepsake_sdk::{Context, ModelProvider, Result};
use serde_json::Value;

use crate::completion::{Completed, Finish, Piece, arguments};
use crate::conversation::{Call, Conversation, Message, Role, Tool};
use crate::turn::answer;

/// What the model is called.
const MODEL: &str = "model-offline";

/// The provider.
pub struct ModelOffline;

keepsake_sdk::register_model_provider!(ModelOffline);

impl ModelProvider for ModelOffline {
    fn info(_: &Context) -> Result<ModelInfo> {
        Ok(ModelInfo::new(MODEL))
    }

    fn chat(_: &Context, request: Request) -> Result<model::Answer> {
        let conversation = Conversation {
            messages: request.messages.iter().map(message).collect(),
            tools: request.tools.iter().map(tool).collect(),
        };
        let answered = answer(&conversation);
        let completed = Completed::new(&conversation, answered, &request.stop, request.max_tokens);
        let texts = completed
            .pieces()
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Text(text) => Some(text),
                Piece::CallStart(..) | Piece::CallArguments(..) => None,
            });
        Ok(model::Answer::pieces(texts.collect(), response(&completed)))
    }
}

fn message(message: &model::Message) -> Message {
    Message {
        role: match message.role {
            model::Role::System => Role::System,
            model::Role::User => Role::User,
            model::Role::Assistant => Role::Assistant,
            model::Role::Tool => Role::Tool,
        },
        content: message.content.clone(),
        calls: message
            .tool_calls
            .iter()
            .map(|call| Call {
                id: call.id.clone(),
                name: call.name.clone(),
                arguments: match serde_json::from_str(&call.arguments) {
                    Ok(Value::Object(arguments)) => arguments,
                    _ => serde_json::Map::new(),
                },
            })
            .collect(),
        answers: message.tool_call_id.clone(),
    }
}

fn tool(tool: &model::ToolDefinition) -> Tool {
    let parameters = serde_json::from_str(&tool.parameters).unwrap_or(Value::Null);
    Tool::new(tool.name.clone(), &parameters)
}

fn response(completed: &Completed) -> Response {
    let calls = completed.answer.calls.iter().map(|call| model::ToolCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: arguments(call),
    });
    Response {
        message: model::Message {
            tool_calls: calls.collect(),
            ..model::Message::assistant(completed.answer.text.clone())
        },
        finish_reason: match completed.finish {
            Finish::Stop => FinishReason::Stop,
            Finish::Length => FinishReason::Length,
            Finish::ToolCalls => FinishReason::ToolCalls,
        },
        usage: Some(Usage {
            input_tokens: completed.input_words,
            output_tokens: completed.output_words,
        }),
        model: MODEL.to_owned(),
    }
}
