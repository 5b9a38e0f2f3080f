//! An agent that asks whatever address its message says, and replies with all
//! that it was answered. `follow` goes where a redirect leads.
#![cfg(target_arch = "wasm32")]

use keepsake_sdk::http::{HttpError, Request, Response};
use keepsake_sdk::{Agent, Description, Reply, Result, Session, Turn};

/// The longest answer that is repeated.
const ANSWER_BYTES: usize = 64 * 1024;

struct Asking;

keepsake_sdk::register_agent!(Asking);

impl Agent for Asking {
    fn describe() -> Description {
        Description::new("asking-agent", "0.1.0", "Asks whom it is told to ask.")
    }

    fn handle(session: &Session, turn: Turn) -> Result<Reply> {
        let (verb, rest) = turn.message.split_once(' ').unwrap_or(("get", ""));
        let text = match verb {
            "follow" => told(ask(session, rest).and_then(|answer| {
                let to = answer.header("location").unwrap_or_default().to_owned();
                ask(session, &to)
            })),
            "key" => match Request::get(rest).and_then(|request| request.header("x-key", "mine")) {
                Ok(request) => told(session.http().send(&request)),
                Err(error) => format!("{error}"),
            },
            _ => told(ask(session, rest)),
        };
        Ok(Reply::new(text))
    }
}

fn ask(session: &Session, url: &str) -> std::result::Result<Response, HttpError> {
    session.http().send(&Request::get(url)?)
}

fn told(answer: std::result::Result<Response, HttpError>) -> String {
    match answer {
        Ok(answer) => {
            let head = format!("{} {:?}", answer.status(), answer.headers());
            match answer.bytes(ANSWER_BYTES) {
                Ok(body) => format!("{head}\n{}", String::from_utf8_lossy(&body)),
                Err(error) => format!("{head}\n{error}"),
            }
        }
        Err(error) => format!("{:?}: {error}", error.kind),
    }
}
