//! A provider's answer as a test looks at it.

use crate::error::Result;
use crate::model::{Answer, Delta, Response};

/// What a provider told piece by piece, and how its answer ended.
#[derive(Debug)]
pub struct Told {
    /// Every piece, up to the end or to what broke it.
    pub deltas: Vec<Delta>,
    /// The whole answer, or what broke it.
    pub end: Result<Response>,
}

impl Told {
    /// Reads an answer to its end.
    ///
    /// # Panics
    /// When an answer that broke off does not tell the same error again.
    pub fn read(mut answer: Answer) -> Self {
        let mut deltas = Vec::new();
        let broken = loop {
            match answer.next_delta() {
                Ok(Some(delta)) => deltas.push(delta),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        let end = answer.finish();
        if let Some(error) = broken {
            assert_eq!(end.as_ref().err(), Some(&error), "an error stays");
        }
        Self { deltas, end }
    }

    /// All text that was told.
    pub fn text(&self) -> String {
        let texts = self.deltas.iter().map(|delta| match delta {
            Delta::Text(text) => text.as_str(),
            _ => "",
        });
        texts.collect()
    }

    /// The whole answer.
    ///
    /// # Panics
    /// When it broke off, and when its pieces are not the whole.
    pub fn whole(self) -> Response {
        let text = self.text();
        let response = match self.end {
            Ok(response) => response,
            Err(error) => panic!("the answer broke off after {text:?}: {error}"),
        };
        assert_eq!(response.message.content, text, "the pieces are the whole");
        for (place, call) in response.message.tool_calls.iter().enumerate() {
            let pieces = self.deltas.iter().filter_map(|delta| match delta {
                Delta::ToolCall(piece) if piece.index as usize == place => {
                    Some(piece.arguments.as_str())
                }
                _ => None,
            });
            let pieces: String = pieces.collect();
            let left_out = pieces.trim().is_empty() && call.arguments == "{}";
            assert!(
                left_out || pieces == call.arguments,
                "the pieces {pieces:?} are the whole {:?}",
                call.arguments
            );
        }
        response
    }
}
