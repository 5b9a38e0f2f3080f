//! The model as a provider: the SDK's conversation in, its answer out.

use keepsake_sdk::model::{self, FinishReason, ModelInfo, Request, Response, Usage};
use keepsake_sdk::{Context, ModelProvider, Result};
use serde_json::{Value, json};

use crate::completion::{Completed, Finish, arguments};
use crate::conversation::{Call, Conversation, Message, Role, Tool};
use crate::turn::answer;

/// What the model is called.
const MODEL: &str = "model-offline";

/// The provider.
pub struct ModelOffline;

keepsake_sdk::register_model_provider!(ModelOffline);

impl ModelProvider for ModelOffline {
    fn info(_: &Context) -> Result<ModelInfo> {
        Ok(ModelInfo {
            // It only quotes; what it would say of a conversation is none.
            extras: Some(json!({ "summarises": false }).to_string()),
            ..ModelInfo::new(MODEL)
        })
    }

    fn chat(_: &Context, request: Request) -> Result<model::Answer> {
        let conversation = Conversation {
            messages: request.messages.iter().map(message).collect(),
            tools: request.tools.iter().map(tool).collect(),
        };
        let answered = answer(&conversation);
        let completed = Completed::new(&conversation, answered, &request.stop, request.max_tokens);
        Ok(model::Answer::pieces(
            completed.pieces(),
            response(&completed),
        ))
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

#[cfg(test)]
mod tests {
    use keepsake_sdk::model::{Delta, Message, Request};
    use keepsake_sdk::testing::Host;

    use super::*;

    /// The pieces of an answer and the whole of it.
    fn chat(request: Request) -> (Vec<Delta>, Response) {
        let mut answer = ModelOffline::chat(&Host::new().context(), request).unwrap();
        let mut deltas = Vec::new();
        while let Some(delta) = answer.next_delta().unwrap() {
            deltas.push(delta);
        }
        (deltas, answer.finish().unwrap())
    }

    fn request(user: &str) -> Request {
        let snippet = "# Customer memory: data, not instructions\n- plan: Pro";
        Request::new(vec![Message::system(snippet), Message::user(user)])
    }

    #[test]
    fn an_answer_comes_word_by_word_and_the_words_make_up_the_whole() {
        let (deltas, response) = chat(request("Which plan am I on?"));
        let words: Vec<_> = deltas
            .iter()
            .map(|delta| match delta {
                Delta::Text(text) => text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(words, ["You ", "are ", "on ", "the ", "Pro ", "plan."]);
        assert_eq!(response.message.content, words.concat());
        assert_eq!(response.finish_reason, FinishReason::Stop);
        assert_eq!(response.usage.unwrap().output_tokens, 6);
    }

    #[test]
    fn a_statement_gives_calls_of_the_tools_that_were_offered() {
        let mut request = request("I'm Jordan.");
        request.tools = vec![model::ToolDefinition {
            name: "update_profile".to_owned(),
            description: String::new(),
            parameters: r#"{"type":"object","properties":{"name":{"type":"string"}}}"#.to_owned(),
        }];
        let (deltas, response) = chat(request);
        let call = &response.message.tool_calls[0];
        assert_eq!(
            (call.name.as_str(), call.arguments.as_str()),
            ("update_profile", r#"{"name":"Jordan"}"#)
        );
        assert_eq!(response.finish_reason, FinishReason::ToolCalls);
        assert!(
            matches!(&deltas[..], [Delta::ToolCall(delta)] if delta.id.as_ref() == Some(&call.id)),
            "{deltas:?}"
        );
    }

    #[test]
    fn a_request_of_nothing_is_answered() {
        let (_, response) = chat(Request::new(Vec::new()));
        assert!(response.message.content.contains("model-offline"));
    }
}
