//! What was said before in this session. Each turn is a new instance, so it is
//! read back from the record of what happened.

use keepsake_sdk::memory::EpisodeOptions;
use keepsake_sdk::model::Message;
use keepsake_sdk::{Result, Session};
use serde_json::Value;

/// Exchanges that the model is reminded of.
const EXCHANGES: usize = 6;
/// Bytes of one message that the model is reminded of.
const MESSAGE_BYTES: usize = 2_000;
/// An older exchange is another conversation, of which memory holds what lasts.
const AGE_MS: u64 = 24 * 60 * 60 * 1_000;
/// Pages of the record that are read; a bound for a session without end.
const PAGES: usize = 20;

/// The last exchanges, oldest first.
pub(crate) fn of(session: &Session) -> Result<Vec<Message>> {
    let info = session.info();
    if info.turn == 0 {
        return Ok(Vec::new());
    }
    let scope = session.scope()?;
    let mut options = EpisodeOptions::new(1_000);
    options.session = Some(info.session);
    options.since = Some(info.started_at.saturating_sub(AGE_MS));
    let mut exchanges = Vec::new();
    let mut asked: Option<String> = None;
    for _ in 0..PAGES {
        let page = scope.episodes(&options)?;
        for episode in page.episodes {
            let payload: Value = serde_json::from_str(&episode.payload).unwrap_or(Value::Null);
            match episode.kind.as_str() {
                "turn-started" => asked = text(&payload["message"]),
                "turn-completed" => {
                    if let (Some(message), Some(reply)) = (asked.take(), text(&payload["reply"])) {
                        exchanges.push([Message::user(message), Message::assistant(reply)]);
                    }
                }
                _ => {}
            }
        }
        match page.next {
            Some(next) => options.page.after = Some(next),
            None => break,
        }
    }
    let first = exchanges.len().saturating_sub(EXCHANGES);
    Ok(exchanges.drain(first..).flatten().collect())
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    Some(text[..text.floor_char_boundary(MESSAGE_BYTES)].to_owned())
}
