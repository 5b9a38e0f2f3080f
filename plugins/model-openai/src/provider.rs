//! The provider: a conversation to a server, its answer back as it comes.

use keepsake_sdk::http::{Request as HttpRequest, Timeouts, chat};
use keepsake_sdk::model::{Answer, ModelInfo, Request};
use keepsake_sdk::{Context, ModelProvider, Result};

use crate::question::body;
use crate::settings::Settings;
use crate::stream::Completion;

/// The provider.
pub struct ModelOpenai;

keepsake_sdk::register_model_provider!(ModelOpenai);

impl ModelProvider for ModelOpenai {
    fn info(context: &Context) -> Result<ModelInfo> {
        let settings = Settings::read(context)?.chat;
        Ok(ModelInfo {
            context_tokens: settings.context_tokens,
            ..ModelInfo::new(settings.service.model)
        })
    }

    fn chat(context: &Context, request: Request) -> Result<Answer> {
        let settings = Settings::read(context)?;
        let service = &settings.chat.service;
        let question = HttpRequest::post(&service.base.join("chat/completions"))?
            .timeouts(Timeouts::of(service.timeout))
            .json(&body(&settings, &request)?)?;
        chat::ask(context, &question, |origin| {
            Completion::new(&service.model, origin)
        })
    }
}
