//! What was said before in this session. Each turn is a new instance, so it is
//! read back from the record of what happened: nothing is kept twice, and what
//! was erased there is not remembered here.

use std::collections::BTreeMap;

use keepsake_sdk::memory::{Episode, EpisodeOptions, Scope};
use keepsake_sdk::model::Message;
use keepsake_sdk::{Result, Session};
use serde_json::Value;

/// Exchanges that the model is reminded of.
const EXCHANGES: usize = 6;
/// Bytes of one message that the model is reminded of.
const MESSAGE_BYTES: usize = 2_000;
/// An older exchange is another conversation, of which memory holds what lasts.
const AGE_MS: u64 = 24 * 60 * 60 * 1_000;
/// The record is given oldest first and holds much beside messages, so it is
/// read backwards in spans of time, each four times as long as the one after it.
const FIRST_SPAN_MS: u64 = 5_000;
/// Episodes of one page. One may hold two outputs of a command, a megabyte
/// each, and an instance's memory is bounded.
const PAGE: u32 = 4;
/// Bytes of the record that are read in one turn.
const READ_BYTES: usize = 32 * 1_024 * 1_024;

/// The last exchanges, oldest first.
pub(crate) fn of(session: &Session) -> Result<Vec<Message>> {
    let info = session.info();
    if info.turn == 0 {
        return Ok(Vec::new());
    }
    let mut record = Record {
        scope: session.scope()?,
        session: info.session,
        turn: info.turn.into(),
        exchanges: BTreeMap::new(),
        bytes_left: READ_BYTES,
    };
    let oldest = info.started_at.saturating_sub(AGE_MS);
    let mut until = None;
    let mut span = FIRST_SPAN_MS;
    loop {
        let since = info.started_at.saturating_sub(span).max(oldest);
        record.read(since, until)?;
        if record.is_enough() || since == oldest {
            return Ok(record.messages());
        }
        until = Some(since);
        span = span.saturating_mul(4);
    }
}

struct Record {
    scope: Scope,
    session: String,
    /// The turn that goes on now.
    turn: u64,
    /// Messages and replies by the turn's number.
    exchanges: BTreeMap<u64, Exchange>,
    bytes_left: usize,
}

#[derive(Default)]
struct Exchange {
    message: Option<String>,
    reply: Option<String>,
}

impl Record {
    fn read(&mut self, since: u64, until: Option<u64>) -> Result<()> {
        let mut options = EpisodeOptions::new(PAGE);
        options.session = Some(self.session.clone());
        options.since = Some(since);
        options.until = until;
        while self.bytes_left > 0 {
            let page = self.scope.episodes(&options)?;
            for episode in &page.episodes {
                self.bytes_left = self.bytes_left.saturating_sub(episode.payload.len());
                self.take(episode);
            }
            match page.next {
                Some(next) => options.page.after = Some(next),
                None => break,
            }
        }
        Ok(())
    }

    fn take(&mut self, episode: &Episode) {
        let member = match episode.kind.as_str() {
            "turn-started" => "message",
            "turn-completed" => "reply",
            _ => return,
        };
        let payload: Value = serde_json::from_str(&episode.payload).unwrap_or(Value::Null);
        let turn = payload["turn"].as_u64().filter(|turn| *turn < self.turn);
        let (Some(turn), Some(text)) = (turn, payload[member].as_str()) else {
            return;
        };
        let exchange = self.exchanges.entry(turn).or_default();
        match member {
            "message" => exchange.message = Some(shortened(text)),
            _ => exchange.reply = Some(shortened(text)),
        }
    }

    /// A turn that failed has no reply and is no exchange.
    fn complete(&self) -> impl DoubleEndedIterator<Item = (&String, &String)> {
        self.exchanges
            .values()
            .filter_map(|exchange| exchange.message.as_ref().zip(exchange.reply.as_ref()))
    }

    fn is_enough(&self) -> bool {
        self.bytes_left == 0 || self.complete().count() >= EXCHANGES
    }

    fn messages(&self) -> Vec<Message> {
        let mut last: Vec<_> = self.complete().rev().take(EXCHANGES).collect();
        last.reverse();
        last.into_iter()
            .flat_map(|(message, reply)| [Message::user(message), Message::assistant(reply)])
            .collect()
    }
}

fn shortened(text: &str) -> String {
    if text.len() <= MESSAGE_BYTES {
        return text.to_owned();
    }
    format!("{} …", &text[..text.floor_char_boundary(MESSAGE_BYTES)])
}
