//! The provider: a conversation to a server, its answer back as it comes.

use keepsake_sdk::http::{Refusal, Request as HttpRequest, Retry, Timeouts};
use keepsake_sdk::model::{Answer, ModelInfo, Request};
use keepsake_sdk::{Context, ModelProvider, Result};

use crate::question::body;
use crate::refused::refused;
use crate::settings::Settings;
use crate::stream::Stream;

/// The provider.
pub struct ModelOpenai;

keepsake_sdk::register_model_provider!(ModelOpenai);

impl ModelProvider for ModelOpenai {
    fn info(context: &Context) -> Result<ModelInfo> {
        let settings = Settings::read(context)?;
        Ok(ModelInfo {
            context_tokens: settings.context_tokens,
            ..ModelInfo::new(settings.service.model)
        })
    }

    fn chat(context: &Context, request: Request) -> Result<Answer> {
        let settings = Settings::read(context)?;
        let question = HttpRequest::post(&settings.service.base.join("chat/completions"))?
            .timeouts(Timeouts::of(settings.service.timeout))
            .json(&body(&settings, &request)?)?;
        // Only until the answer begins: what has been read by then may have been
        // shown to the customer.
        let response = context.http().send_retrying(&question, &Retry::default())?;
        if !response.status().is_success() {
            return Err(refused(Refusal::read(response)));
        }
        Ok(Answer::stream(Stream::new(
            &settings.service.model,
            response.into_body(),
        )))
    }
}
