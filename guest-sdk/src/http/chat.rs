//! What model providers that ask a server have in common, whatever the form of
//! its API: the settings that operators make, the fields of a question, an
//! answer that is read as it comes, and what a server's no means.
//!
//! A provider says how its server's form differs in an [`AnswerForm`]; [`ask`]
//! does the rest.

mod answer;
mod calls;
mod fields;
mod refused;
mod settings;

pub use answer::{ANSWER_BYTES, AnswerForm, AnswerRoom, Deltas, EVENT_BYTES, cut_off};
pub use calls::{CALLS, given, made_up_id, too_many_calls, whole_call};
pub use fields::{Fields, arguments_object, arguments_text, parameters};
pub use settings::{ChatKind, ChatSettings};

use super::{Refusal, Request, Retry};
use crate::context::Context;
use crate::error::Result;
use crate::model::Answer;

/// Sends a question and gives the answer as it comes. `form` is made for the
/// origin that answers. The question is sent again where that may help, but only
/// until its answer begins: what has been read by then may have been shown.
///
/// # Errors
/// When there was no answer, or a refusal.
pub fn ask<F: AnswerForm + 'static>(
    context: &Context,
    question: &Request,
    form: impl FnOnce(&str) -> F,
) -> Result<Answer> {
    let response = context.http().send_retrying(question, &Retry::default())?;
    if !response.status().is_success() {
        return Err(Refusal::read(response).of_chat());
    }
    let body = response.into_body();
    let form = form(body.origin());
    Ok(Answer::stream(answer::Streamed::new(body, form)))
}
