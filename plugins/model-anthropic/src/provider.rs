//! The provider: a conversation to a server, its answer back as it comes.

use keepsake_sdk::http::{Request as HttpRequest, Timeouts, chat};
use keepsake_sdk::model::{Answer, ModelInfo, Request};
use keepsake_sdk::{Context, ModelProvider, Result};

use crate::answer::Message;
use crate::question::body;
use crate::settings::settings;

/// The version of the form that this plugin speaks. Servers keep to it, and
/// only add to it.
const VERSION: &str = "2023-06-01";

/// The provider.
pub struct ModelAnthropic;

keepsake_sdk::register_model_provider!(ModelAnthropic);

impl ModelProvider for ModelAnthropic {
    fn info(context: &Context) -> Result<ModelInfo> {
        let settings = settings(context)?;
        Ok(ModelInfo {
            context_tokens: settings.context_tokens,
            ..ModelInfo::new(settings.service.model)
        })
    }

    fn chat(context: &Context, request: Request) -> Result<Answer> {
        let settings = settings(context)?;
        let service = &settings.service;
        let question = HttpRequest::post(&service.base.join("messages"))?
            .header("anthropic-version", VERSION)?
            .timeouts(Timeouts::of(service.timeout))
            .json(&body(&settings, &request)?)?;
        chat::ask(context, &question, |origin| {
            Message::new(&service.model, origin)
        })
    }
}
