//! What the ledger says of one question to a model, and what it costs the
//! session's budget.

use std::time::Instant;

use keepsake_storage::Kind;
use serde_json::{Value, json};

use crate::bindings::agent::keepsake::host::types::Error;
use crate::bindings::model_provider::exports::keepsake::host::model::{Delta, Response};
use crate::capability::{code, describe};
use crate::ledger::Ledger;
use crate::model_budget::{Spending, estimated};

/// A question whose end is not recorded yet. Dropped before, it is recorded as
/// abandoned: an answer that nobody waited for was asked for all the same.
pub(super) struct Record(Option<Asked>);

struct Asked {
    ledger: Ledger,
    started: Instant,
    payload: Value,
    spending: Spending,
    /// What the question is taken for, as long as nobody has counted.
    question_tokens: u64,
    /// What came of the answer.
    answer_bytes: usize,
}

impl Record {
    /// A question that is about to be asked, as `payload` tells it.
    pub(super) fn new(ledger: Ledger, payload: Value, spending: Spending) -> Self {
        Self(Some(Asked {
            ledger,
            started: Instant::now(),
            payload,
            question_tokens: spending.tokens(),
            spending,
            answer_bytes: 0,
        }))
    }

    /// A piece of the answer came.
    pub(super) fn came(&mut self, delta: &Delta) {
        if let Some(asked) = &mut self.0 {
            let bytes = match delta {
                Delta::Text(text) | Delta::Other(text) => text.len(),
                Delta::ToolCall(call) => call.arguments.len(),
            };
            asked.holds(asked.answer_bytes.saturating_add(bytes));
        }
    }

    /// No answer began: the question has cost nothing.
    pub(super) async fn refused(mut self, error: &Error) -> Result<(), Error> {
        if let Some(asked) = &mut self.0 {
            asked.spending.costs(0);
        }
        self.failed(error).await
    }

    /// The answer broke off.
    pub(super) async fn failed(&mut self, error: &Error) -> Result<(), Error> {
        let members = json!({
            "finish": "error", "error": describe(error), "code": code(error),
        });
        self.write(members).await
    }

    /// The answer is whole.
    pub(super) async fn finished(
        &mut self,
        response: &Response,
        finish: &str,
    ) -> Result<(), Error> {
        let Some(asked) = &mut self.0 else {
            return Ok(());
        };
        match &response.usage {
            Some(usage) => {
                let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
                asked.spending.costs(tokens);
            }
            // What was not read piece by piece has not been counted.
            None => {
                let calls = response.message.tool_calls.iter();
                let bytes = response.message.content.len()
                    + calls.map(|call| call.arguments.len()).sum::<usize>();
                asked.holds(asked.answer_bytes.max(bytes));
            }
        }
        let members = json!({
            "model": response.model,
            "finish": finish,
            "text": response.message.content,
            "tool_calls": response.message.tool_calls.iter().map(|call| json!({
                "id": call.id, "name": call.name, "arguments": call.arguments,
            })).collect::<Vec<_>>(),
            "usage": response.usage.as_ref().map(|usage| json!({
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
            })),
        });
        self.write(members).await
    }

    async fn write(&mut self, members: Value) -> Result<(), Error> {
        if let Some(asked) = self.0.take() {
            let (ledger, payload) = asked.detail(members);
            ledger.append(Kind::ModelCalled, payload).await?;
        }
        Ok(())
    }
}

impl Asked {
    /// The answer has so many bytes by now, and costs accordingly.
    fn holds(&mut self, answer_bytes: usize) {
        self.answer_bytes = answer_bytes;
        let tokens = self.question_tokens.saturating_add(estimated(answer_bytes));
        self.spending.costs(tokens);
    }

    fn detail(mut self, members: Value) -> (Ledger, Value) {
        if let (Some(payload), Value::Object(members)) = (self.payload.as_object_mut(), members) {
            payload.extend(members);
            payload.insert("tokens".into(), json!(self.spending.tokens()));
            payload.insert(
                "milliseconds".into(),
                json!(self.started.elapsed().as_millis() as u64),
            );
        }
        (self.ledger, self.payload)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(asked) = self.0.take() {
            let (ledger, payload) = asked.detail(json!({ "finish": "abandoned" }));
            ledger.append_later(Kind::ModelCalled, payload);
        }
    }
}
