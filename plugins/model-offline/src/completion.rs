//! An answer in pieces, as a model would stream it.

use crate::conversation::{Answer, Call, Conversation};

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It is complete.
    Stop,
    /// It was cut at the number of tokens that was asked for.
    Length,
    /// It waits for its tools.
    ToolCalls,
}

/// A whole answer with what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Completed {
    /// The text and the calls.
    pub answer: Answer,
    /// Why it ended.
    pub finish: Finish,
    /// Words between white space in all messages.
    pub input_words: u64,
    /// Words between white space in the text and in the calls' arguments.
    pub output_words: u64,
}

impl Completed {
    /// Ends an answer at a stop text or at the number of words that was asked
    /// for, and counts it.
    #[must_use]
    pub fn new(
        conversation: &Conversation,
        mut answer: Answer,
        stop: &[String],
        limit: Option<u32>,
    ) -> Self {
        let cut = stop
            .iter()
            .filter(|stop| !stop.is_empty())
            .filter_map(|stop| answer.text.find(stop.as_str()))
            .min();
        if let Some(cut) = cut {
            answer.text.truncate(cut);
        }
        let mut finish = if answer.calls.is_empty() {
            Finish::Stop
        } else {
            Finish::ToolCalls
        };
        if let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok())
            && answer.text.split_whitespace().nth(limit).is_some()
        {
            answer.text = words(&answer.text)
                .take(limit)
                .collect::<String>()
                .trim_end()
                .to_owned();
            finish = Finish::Length;
        }
        let input = conversation
            .messages
            .iter()
            .map(|message| count(&message.content))
            .sum();
        let arguments: u64 = answer
            .calls
            .iter()
            .map(|call| count(&arguments(call)))
            .sum();
        let output_words = count(&answer.text) + arguments;
        Self {
            answer,
            finish,
            input_words: input,
            output_words,
        }
    }

    /// The text in pieces: each word with the blank behind it.
    #[must_use]
    pub fn pieces(&self) -> Vec<String> {
        words(&self.answer.text).map(str::to_owned).collect()
    }
}

/// A call's arguments as a JSON object.
#[must_use]
pub fn arguments(call: &Call) -> String {
    serde_json::Value::Object(call.arguments.clone()).to_string()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

fn count(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Answer {
        Answer {
            text: text.to_owned(),
            calls: Vec::new(),
        }
    }

    #[test]
    fn the_pieces_of_a_text_are_its_words_and_make_it_up_again() {
        let completed = Completed::new(
            &Conversation::default(),
            text("You are on the Pro plan."),
            &[],
            None,
        );
        let pieces = completed.pieces();
        assert_eq!(pieces.len(), 6);
        assert_eq!(pieces.concat(), "You are on the Pro plan.");
        assert_eq!(
            (completed.output_words, completed.finish),
            (6, Finish::Stop)
        );
    }

    #[test]
    fn an_answer_is_cut_at_stop_texts_and_at_the_words_that_were_asked_for() {
        let conversation = Conversation::default();
        let stop = ["END".to_owned(), "plan".to_owned(), String::new()];
        let stopped = Completed::new(&conversation, text("You are on the Pro plan."), &stop, None);
        assert_eq!(
            (stopped.answer.text.as_str(), stopped.finish),
            ("You are on the Pro ", Finish::Stop)
        );
        let cut = Completed::new(
            &conversation,
            text("You are on the Pro plan."),
            &[],
            Some(3),
        );
        assert_eq!(
            (cut.answer.text.as_str(), cut.finish),
            ("You are on", Finish::Length)
        );
        let whole = Completed::new(&conversation, text("You are on"), &[], Some(3));
        assert_eq!(
            (whole.answer.text.as_str(), whole.finish),
            ("You are on", Finish::Stop)
        );
    }

    #[test]
    fn calls_are_counted_and_never_cut() {
        let arguments = serde_json::json!({"key": "plan", "value": "Pro"});
        let call = Call {
            id: "call_1".to_owned(),
            name: "set_working_memory".to_owned(),
            arguments: arguments.as_object().unwrap().clone(),
        };
        let answer = Answer {
            text: String::new(),
            calls: vec![call.clone()],
        };
        let completed = Completed::new(&Conversation::default(), answer, &[], Some(0));
        assert_eq!(completed.finish, Finish::ToolCalls);
        assert_eq!(completed.answer.calls, [call]);
        assert!(completed.output_words > 0);
        assert!(completed.pieces().is_empty());
    }
}
