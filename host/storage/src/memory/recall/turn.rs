//! What the wording of a fact tells about its part in a conversation.
//!
//! A thread's facts are what people said to each other, much of it greetings
//! and questions. Whoever asks about it wants what was answered.

use std::collections::HashSet;

use super::super::words::{folded, joined};

/// Bytes of a fact that are looked at. What is longer is no turn of a
/// conversation, and its beginning shows that.
pub(super) const LOOKED_AT_BYTES: usize = 2_048;
/// Words of a speaker's name, as in "Dr Ana Lopez: Good morning".
const SPEAKER_WORDS: usize = 3;

/// Words that tell when something was, in ascending order.
const TIME_WORDS: &[&str] = &[
    "ago",
    "april",
    "august",
    "autumn",
    "december",
    "evening",
    "fall",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "last",
    "march",
    "monday",
    "month",
    "months",
    "morning",
    "next",
    "november",
    "october",
    "saturday",
    "september",
    "since",
    "spring",
    "summer",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "wednesday",
    "week",
    "weekend",
    "weeks",
    "winter",
    "year",
    "years",
    "yesterday",
];

/// Beginnings of questions that ask for a time.
const WHEN: &[&[&str]] = &[
    &["when"],
    &["since", "when"],
    &["how", "long"],
    &["how", "recently"],
    &["what", "year"],
    &["what", "month"],
    &["what", "day"],
    &["what", "date"],
    &["which", "year"],
    &["which", "month"],
    &["which", "day"],
];

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Turn {
    /// The words of the speaker's name, where the text begins with one.
    speaker: Vec<String>,
    /// How much of it is questions, from 0 to 1.
    pub(super) asking: f64,
    /// How many words it has.
    pub(super) words: u32,
    /// Whether it tells when something was.
    pub(super) tells_time: bool,
}

impl Turn {
    pub(super) fn read(text: &str) -> Self {
        let (speaker, said) = spoken(text).unwrap_or(("", text));
        let ends = said.chars().filter(|c| is_end(*c) || is_question(*c));
        let (mut sentences, mut questions) = (0_u32, 0_u32);
        for end in ends {
            sentences += 1;
            questions += u32::from(is_question(end));
        }
        let said = folded(said);
        let words: Vec<&str> = joined(&said).collect();
        Self {
            speaker: joined(&folded(speaker)).map(str::to_owned).collect(),
            asking: f64::from(questions) / f64::from(sentences.max(1)),
            words: u32::try_from(words.len()).unwrap_or(u32::MAX),
            tells_time: words.iter().any(|word| {
                TIME_WORDS.binary_search(word).is_ok()
                    || word.starts_with(|c: char| c.is_ascii_digit())
            }),
        }
    }

    /// Whether it is a question to whoever speaks next.
    pub(super) fn asks(&self) -> bool {
        self.asking > 0.0
    }
}

/// The speaker's name and what is said, of a text such as "Ana: Good morning".
fn spoken(text: &str) -> Option<(&str, &str)> {
    let (name, said) = text.split_once(':')?;
    let words = name.split_whitespace().count();
    let named = (1..=SPEAKER_WORDS).contains(&words)
        && name
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, ' ' | '.' | '-' | '\'' | '’'))
        && said.starts_with(char::is_whitespace);
    named.then_some((name, said))
}

fn is_question(c: char) -> bool {
    matches!(c, '?' | '？' | '؟' | '\u{37e}')
}

fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '。' | '！' | '।')
}

/// What a question about a conversation tells by its wording.
pub(super) struct Asked {
    words: HashSet<String>,
    /// Whether it asks for a time.
    pub(super) when: bool,
}

impl Asked {
    pub(super) fn read(query: &str) -> Self {
        let query = folded(query);
        let words: Vec<&str> = joined(&query).collect();
        Self {
            when: WHEN.iter().any(|beginning| words.starts_with(beginning)),
            words: words
                .iter()
                // "Nora's" asks about Nora.
                .flat_map(|word| [*word, word.split(['\'', '’']).next().unwrap_or(word)])
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Whether it is about the one who speaks.
    pub(super) fn names(&self, turn: &Turn) -> bool {
        turn.speaker.iter().any(|word| self.words.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_read_by_its_wording() {
        let turn = Turn::read("Dr Ana López: Good morning! Did you sleep? I did, since ten.");
        assert_eq!(turn.speaker, ["dr", "ana", "lopez"]);
        assert_eq!((turn.words, turn.tells_time, turn.asks()), (9, true, true));
        assert!((turn.asking - 1.0 / 3.0).abs() < 1e-9);
        let plain = Turn::read("Jordan drinks tea");
        assert!(plain.speaker.is_empty() && !plain.asks() && !plain.tells_time);
    }

    #[test]
    fn what_stands_before_a_colon_is_not_always_a_speaker() {
        for text in [
            "https://example.com/a is the address",
            "At 10:30 the line went dead",
            "These are the four things that matter: a, b, c and d",
            ": nothing",
            "",
        ] {
            assert!(Turn::read(text).speaker.is_empty(), "{text}");
        }
    }

    #[test]
    fn a_question_names_the_speaker_and_asks_for_a_time() {
        let asked = Asked::read("When did Nora's brother call?");
        assert!(asked.when && asked.names(&Turn::read("Nora: Hello")));
        let other = Asked::read("What did Tom say about whenever?");
        assert!(!other.when && !other.names(&Turn::read("Nora: Hello")));
    }

    #[test]
    fn the_list_of_time_words_is_in_order() {
        // A word out of order would never be found.
        assert!(TIME_WORDS.is_sorted());
    }
}
