//! A model provider that attacks its host in the way that its setting `attack`
//! names.
#![cfg(target_arch = "wasm32")]

wit_bindgen::generate!({
    path: "../../../wit",
    world: "model-provider",
});

use exports::keepsake::host::model::{
    Completion, Delta, FinishReason, Guest, GuestCompletion, Message, ModelInfo, Request, Response,
    Role, ToolCallDelta, Usage,
};
use keepsake::host::settings;
use keepsake::host::types::Error;

struct Hostile;

export!(Hostile);

fn attack() -> String {
    let attack = settings::get("attack").ok().flatten().unwrap_or_default();
    attack.trim_matches('"').to_owned()
}

struct Answer;

impl GuestCompletion for Answer {
    fn next(&self) -> Result<Option<Delta>, Error> {
        Ok(match attack().as_str() {
            "endless" => Some(Delta::Text("more and more".into())),
            "endless-large" => Some(Delta::Text("x".repeat(8 << 20))),
            "endless-empty" => Some(Delta::Text(String::new())),
            "sleep" => {
                std::thread::sleep(std::time::Duration::from_secs(100_000));
                None
            }
            "index" => Some(Delta::ToolCall(ToolCallDelta {
                index: u32::MAX,
                id: None,
                name: Some("\0\u{1b}[31m".into()),
                arguments: "{".into(),
            })),
            _ => None,
        })
    }

    fn finish(&self) -> Result<Response, Error> {
        let content = match attack().as_str() {
            "huge" => "x".repeat(40 << 20),
            "escapes" => "\u{1b}]0;owned\u{7}\u{1b}[2J".into(),
            _ => "hello".into(),
        };
        Ok(Response {
            message: Message {
                role: Role::Assistant,
                content,
                tool_calls: Vec::new(),
                tool_call_id: None,
            },
            finish_reason: FinishReason::Other("\u{1b}[31m".into()),
            usage: Some(Usage {
                input_tokens: u64::MAX,
                output_tokens: u64::MAX,
            }),
            model: "\u{1b}[31m".into(),
        })
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if attack() == "drop" {
            loop {
                std::hint::black_box(());
            }
        }
    }
}

impl Guest for Hostile {
    type Completion = Answer;

    fn info() -> Result<ModelInfo, Error> {
        Ok(ModelInfo {
            model: "hostile".into(),
            context_tokens: Some(u32::MAX),
            extras: Some("not JSON".into()),
        })
    }

    fn chat(_request: Request) -> Result<Completion, Error> {
        Ok(Completion::new(Answer))
    }
}
