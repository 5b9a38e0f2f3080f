//! The smallest model provider: it says back what the customer said last, and
//! takes each word for a token.

use keepsake_sdk::model::{Answer, FinishReason, ModelInfo, Request, Response, Role, Usage};
use keepsake_sdk::{Context, Error, ModelProvider, Result};

const MODEL: &str = "echo-model";

/// The provider.
pub struct EchoModel;

keepsake_sdk::register_model_provider!(EchoModel);

impl ModelProvider for EchoModel {
    fn info(_: &Context) -> Result<ModelInfo> {
        Ok(ModelInfo::new(MODEL))
    }

    fn chat(_: &Context, request: Request) -> Result<Answer> {
        let messages = request.messages.iter().rev();
        let Some(said) = messages.clone().find(|message| message.role == Role::User) else {
            return Err(Error::invalid("there is no message of a user to answer"));
        };
        let words = pieces(&format!("You said: {}", said.content));
        let room = request.max_tokens.map_or(usize::MAX, |most| most as usize);
        let given: Vec<String> = words.iter().take(room).cloned().collect();
        let asked: usize = messages.map(|message| pieces(&message.content).len()).sum();
        let response = Response {
            finish_reason: match given.len() < words.len() {
                true => FinishReason::Length,
                false => FinishReason::Stop,
            },
            usage: Some(Usage {
                input_tokens: asked as u64,
                output_tokens: given.len() as u64,
            }),
            ..Response::text(MODEL, given.concat())
        };
        Ok(Answer::pieces(given, response))
    }
}

/// The words of a text, each with the space behind it.
fn pieces(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use keepsake_sdk::model::Message;
    use keepsake_sdk::testing::Host;

    use super::*;

    fn ask(request: Request) -> Result<Response> {
        EchoModel::chat(&Host::new().context(), request)?.finish()
    }

    #[test]
    fn the_last_message_of_the_user_is_said_back() {
        let messages = vec![Message::user("Hello!"), Message::user("Where is my order?")];
        let answer = ask(Request::new(messages)).unwrap();
        assert_eq!(answer.message.content, "You said: Where is my order?");
        assert_eq!(answer.finish_reason, FinishReason::Stop);
    }

    #[test]
    fn an_answer_ends_where_it_is_told_to() {
        let request = Request::new(vec![Message::user("Where is my order?")]);
        let answer = ask(request.max_tokens(3)).unwrap();
        assert_eq!(answer.message.content, "You said: Where ");
        assert_eq!(answer.finish_reason, FinishReason::Length);
    }

    #[test]
    fn a_conversation_without_a_user_is_refused() {
        let request = Request::new(vec![Message::system("Be kind.")]);
        assert_eq!(ask(request).unwrap_err().code(), "invalid");
    }
}
