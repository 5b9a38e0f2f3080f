//! The contract of model providers (`wit/model.wit`), as far as any model can
//! be held to it: what an answer is made of, not how good it is.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::{Check, Fault, Found, Table};
use crate::bindings::agent::keepsake::host::types::Error;
use crate::bindings::model_provider::exports::keepsake::host::model::{
    Delta, FinishReason, Message, Request, Response, Role, ToolCall, ToolDefinition,
};
use crate::capability::describe;
use crate::model_provider::ModelPlugin;

/// Chats that are asked for at the same time.
const AT_ONCE: usize = 4;
/// Enough for any model to say something.
const FEW_TOKENS: u32 = 16;
/// The tool that is offered.
const TOOL: &str = "find_order";

/// The rows that say nothing where no answer came.
const LATER: [&str; 9] = [
    "pieces",
    "finish reason",
    "usage",
    "tools",
    "tool results",
    "max-tokens",
    "odd characters",
    "dropped answer",
    "several at once",
];

/// Checks a model provider, which is asked for about ten short answers.
pub async fn check_model(provider: &Arc<ModelPlugin>) -> Vec<Check> {
    let contract = Contract { provider };
    let mut table = Table::default();
    let info = provider.info();
    let named = match info.model.trim() {
        "" => Err(Fault::Failed("its model has no name".to_owned())),
        name => Ok(match info.context_tokens {
            Some(tokens) => format!("{name}, {tokens} tokens of context"),
            None => format!("{name}; how long a conversation may be is not said"),
        }),
    };
    table.row("description", "give `info` the model's name", named);

    let began = Instant::now();
    let answer = contract.ask(hello()).await;
    let answered = match &answer {
        Ok(answer) if answer.response.message.content.trim().is_empty() => {
            Err("the answer to a greeting has no text".into())
        }
        Ok(answer) => Ok(format!(
            "{} bytes of text in {:.0} ms",
            answer.response.message.content.len(),
            began.elapsed().as_secs_f64() * 1_000.0
        )),
        Err(error) => Err(describe(error).into()),
    };
    let advice = "look at the provider's log with -v, and at its settings in [settings.NAME]";
    table.row("answers", advice, answered);
    let Ok(answer) = answer else {
        table.skip(&LATER);
        return table.0;
    };
    table.row(
        "pieces",
        "give by `next` exactly the text that `finish` gives as a whole",
        answer.pieces(),
    );
    table.row(
        "finish reason",
        "say `stop` for an answer that is complete and `tool-calls` only where there are some",
        answer.reason(),
    );
    table.row(
        "usage",
        "count tokens, or give no usage where the provider does not count",
        answer.usage(),
    );
    contract.tools_and_bounds(&mut table).await;
    table.0
}

/// An answer, and the pieces that it came in.
struct Answer {
    deltas: Vec<Delta>,
    response: Response,
}

impl Answer {
    fn pieces(&self) -> Found {
        let texts = self.deltas.iter().filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let (count, text) = (texts.clone().count(), texts.collect::<String>());
        let whole = &self.response.message.content;
        match text == *whole {
            true => Ok(format!("the text came in {count}")),
            false => Err(format!(
                "{count} pieces with {} bytes are not the whole of {} bytes",
                text.len(),
                whole.len()
            )
            .into()),
        }
    }

    fn reason(&self) -> Found {
        match &self.response.finish_reason {
            FinishReason::Stop => Ok("stop".to_owned()),
            FinishReason::Length => Ok("length: the model's own bound was reached".to_owned()),
            FinishReason::ContentFilter => Ok("content-filter".to_owned()),
            FinishReason::Other(word) if !word.trim().is_empty() => {
                Ok(format!("the provider's own word `{word}`"))
            }
            FinishReason::Other(_) => Err("a reason without a word".into()),
            FinishReason::ToolCalls => Err("it waits for tools, and none were offered".into()),
        }
    }

    fn usage(&self) -> Found {
        match &self.response.usage {
            None => Ok("not counted".to_owned()),
            Some(usage) if usage.input_tokens == 0 && usage.output_tokens == 0 => {
                Err("it counts no tokens, but there was an answer".into())
            }
            Some(usage) => Ok(format!(
                "{} tokens in, {} out",
                usage.input_tokens, usage.output_tokens
            )),
        }
    }

    /// The calls, where an agent could run them.
    fn calls(&self) -> Result<&[ToolCall], Fault> {
        let calls = &self.response.message.tool_calls;
        let mut ids = BTreeSet::new();
        for call in calls {
            if call.name != TOOL {
                return Err(format!("it calls {:?}, which was not offered", call.name).into());
            }
            if call.id.is_empty() || !ids.insert(&call.id) {
                return Err(format!("the call id {:?} ties no answer to it", call.id).into());
            }
            let arguments = serde_json::from_str::<Value>(&call.arguments);
            if !arguments.is_ok_and(|arguments| arguments.is_object()) {
                return Err(
                    format!("the arguments {:?} are no JSON object", call.arguments).into(),
                );
            }
        }
        let told = |place: usize| {
            let own = self.deltas.iter().filter_map(|delta| match delta {
                Delta::ToolCall(piece) if piece.index as usize == place => {
                    Some(piece.arguments.as_str())
                }
                _ => None,
            });
            own.collect::<String>()
        };
        for (place, call) in calls.iter().enumerate() {
            let pieces = told(place);
            // Arguments that are left out are an empty object as a whole.
            if pieces != call.arguments && !(pieces.trim().is_empty() && call.arguments == "{}") {
                return Err(format!(
                    "the pieces of call {place} are {pieces:?}, the whole is {:?}",
                    call.arguments
                )
                .into());
            }
        }
        let waits = matches!(self.response.finish_reason, FinishReason::ToolCalls);
        if waits == calls.is_empty() {
            return Err(format!(
                "{} calls, and the finish reason says otherwise",
                calls.len()
            )
            .into());
        }
        Ok(calls)
    }
}

struct Contract<'a> {
    provider: &'a Arc<ModelPlugin>,
}

impl Contract<'_> {
    async fn tools_and_bounds(&self, table: &mut Table) {
        let (found, taken) = self.tools().await;
        table.row(
            "tools",
            "pass tools on, or refuse them with `unsupported`; give each call an id and a JSON object",
            found,
        );
        let advice = "take messages of the role `tool`, which answer an earlier call by its id";
        if taken {
            table.row("tool results", advice, self.tool_results().await);
        } else {
            let reason = "tools are not taken".to_owned();
            table.row("tool results", advice, Err(Fault::Skipped(reason)));
        }
        table.row(
            "max-tokens",
            "end the answer at `max-tokens`, with the finish reason `length`",
            self.max_tokens().await,
        );
        table.row(
            "odd characters",
            "take any text, or refuse it with `invalid`; never panic",
            self.odd_characters().await,
        );
        table.row(
            "dropped answer",
            "let go of all that belongs to an answer when it is dropped",
            self.dropped().await,
        );
        table.row(
            "several at once",
            "keep what belongs to one answer in its `completion`",
            self.at_once().await,
        );
    }

    /// What comes of a request with a tool, and whether it was taken.
    async fn tools(&self) -> (Found, bool) {
        let request = Request {
            tools: vec![tool()],
            ..request(vec![message(Role::User, "Where is my order A-1017?")])
        };
        match self.ask(request).await {
            Ok(answer) => {
                let found = answer.calls().map(|calls| match calls.len() {
                    0 => "taken; the model answered without them".to_owned(),
                    calls => format!("taken; {calls} called"),
                });
                (found, true)
            }
            Err(error) => (refused(&error), false),
        }
    }

    async fn tool_results(&self) -> Found {
        let call = ToolCall {
            id: "call-1".to_owned(),
            name: TOOL.to_owned(),
            arguments: "{\"number\":\"A-1017\"}".to_owned(),
        };
        let messages = vec![
            message(Role::User, "Where is my order A-1017?"),
            Message {
                tool_calls: vec![call.clone()],
                ..message(Role::Assistant, "")
            },
            Message {
                tool_call_id: Some(call.id),
                ..message(Role::Tool, "{\"state\":\"sent on Monday\"}")
            },
        ];
        let request = Request {
            tools: vec![tool()],
            ..request(messages)
        };
        let answer = self.ask(request).await.map_err(|error| describe(&error))?;
        let calls = answer.calls()?.len();
        match answer.response.message.content.trim() {
            "" if calls == 0 => Err("neither text nor a call came back".into()),
            _ => Ok("answered".to_owned()),
        }
    }

    async fn max_tokens(&self) -> Found {
        let asked = Request {
            max_tokens: Some(FEW_TOKENS),
            ..hello()
        };
        let answer = match self.ask(asked).await {
            Ok(answer) => answer,
            Err(error) => return refused(&error),
        };
        match &answer.response.usage {
            Some(usage) if usage.output_tokens > u64::from(FEW_TOKENS) => Err(format!(
                "{} tokens where {FEW_TOKENS} were the most",
                usage.output_tokens
            )
            .into()),
            Some(usage) => Ok(format!("{} of {FEW_TOKENS}", usage.output_tokens)),
            None => Ok("taken; tokens are not counted".to_owned()),
        }
    }

    async fn odd_characters(&self) -> Found {
        for text in [
            "🎈👩‍👩‍👧‍👦 e\u{301}",
            "مرحبا שלום \u{202e}abc",
            "before\0after",
            "",
        ] {
            if let Err(error) = self.ask(request(vec![message(Role::User, text)])).await {
                refused(&error).map_err(|fault| fault.about(format!("{text:?}")))?;
            }
        }
        Ok("answered, or refused plainly".to_owned())
    }

    async fn dropped(&self) -> Found {
        let begun = self.provider.chat(&hello()).await;
        let mut chat = begun.map_err(|error| describe(&error))?;
        chat.next().await.map_err(|error| describe(&error))?;
        drop(chat);
        self.ask(hello()).await.map_err(|error| describe(&error))?;
        Ok("the next one is answered".to_owned())
    }

    async fn at_once(&self) -> Found {
        let chats: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                let provider = Arc::clone(self.provider);
                tokio::spawn(async move { whole(&provider, hello()).await })
            })
            .collect();
        for chat in chats {
            let answer = chat.await.map_err(|error| error.to_string())?;
            let answer = answer.map_err(|error| describe(&error))?;
            answer.pieces()?;
        }
        Ok(format!("{AT_ONCE} answers"))
    }

    async fn ask(&self, request: Request) -> Result<Answer, Error> {
        whole(self.provider, request).await
    }
}

async fn whole(provider: &Arc<ModelPlugin>, request: Request) -> Result<Answer, Error> {
    let mut chat = provider.chat(&request).await?;
    let mut deltas = Vec::new();
    while let Some(delta) = chat.next().await? {
        deltas.push(delta);
    }
    let response = chat.finish().await?;
    Ok(Answer { deltas, response })
}

/// Whether an error is a plain refusal of what was asked.
fn refused(error: &Error) -> Found {
    match error {
        Error::Unsupported(_) | Error::Invalid(_) | Error::Limit(_) => {
            Ok(format!("refused plainly: {}", describe(error)))
        }
        _ => Err(describe(error).into()),
    }
}

fn hello() -> Request {
    request(vec![message(
        Role::User,
        "Hello! Say hello in one sentence.",
    )])
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        messages,
        tools: Vec::new(),
        temperature: None,
        max_tokens: None,
        stop: Vec::new(),
        extras: None,
    }
}

fn message(role: Role, content: &str) -> Message {
    Message {
        role,
        content: content.to_owned(),
        tool_calls: Vec::new(),
        tool_call_id: None,
    }
}

fn tool() -> ToolDefinition {
    ToolDefinition {
        name: TOOL.to_owned(),
        description: "Looks up where an order is.".to_owned(),
        parameters:
            r#"{"type":"object","properties":{"number":{"type":"string"}},"required":["number"]}"#
                .to_owned(),
    }
}
