//! What a customer plainly says about themselves. Only plain first-person
//! statements count: no questions, no conditions, no negations, nothing that
//! someone else said. Whatever is not understood is left alone.

use crate::{
    patterns::{self, Matched},
    text::{self, Sentence, Word},
    words::{DOUBTS, FILLERS, HEDGES, OPENERS, QUESTION_WORDS, REPORTS},
};

/// Statements that are kept of one message. No honest message says more.
const MAX_STATEMENTS: usize = 16;
/// Words in the longest sentence that is read. What is longer is pasted text,
/// and the work on a sentence grows with the square of its length.
const MAX_SENTENCE_WORDS: usize = 200;

/// What a statement is about. Of all but [`Attribute::Other`] a customer has
/// one at a time: a new value ends the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    Name,
    Plan,
    Email,
    Phone,
    Language,
    Location,
    ContactPreference,
    Other,
}

impl Attribute {
    /// Its name in profiles and facts.
    pub(crate) const fn key(self) -> Option<&'static str> {
        match self {
            Self::Name => Some("name"),
            Self::Plan => Some("plan"),
            Self::Email => Some("email"),
            Self::Phone => Some("phone"),
            Self::Language => Some("language"),
            Self::Location => Some("location"),
            Self::ContactPreference => Some("contact_preference"),
            Self::Other => None,
        }
    }

    /// It belongs into a profile: short, and of use in every conversation.
    pub(crate) const fn in_profile(self) -> bool {
        matches!(
            self,
            Self::Name | Self::Plan | Self::Email | Self::Phone | Self::Language
        )
    }

    /// It is remembered as a fact even where a profile holds it: a plan has a
    /// history that may be asked for.
    pub(crate) const fn is_fact(self) -> bool {
        matches!(
            self,
            Self::Plan | Self::Location | Self::ContactPreference | Self::Other
        )
    }
}

/// How the statement reads in the third person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Follows the name: "is on the Pro plan".
    Does(String),
    /// Follows the name in the possessive: "order number is A-1042".
    Has(String),
}

/// One thing that the customer stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) attribute: Attribute,
    /// The value as the customer wrote it; none when it ended, as a plan does
    /// that was cancelled.
    pub(crate) value: Option<String>,
    pub(crate) said: Said,
    /// What follows as a sentence of its own: "Upgraded on the 3rd."
    pub(crate) more: Option<String>,
    /// The customer's sentence, to the letter.
    pub(crate) quote: String,
}

impl Statement {
    /// The fact in the third person, for a customer of this name.
    pub(crate) fn content(&self, name: Option<&str>) -> String {
        let name = name.unwrap_or("The customer");
        let mut content = match &self.said {
            Said::Does(what) => format!("{name} {what}."),
            Said::Has(what) => format!("{name}'s {what}."),
        };
        if let Some(more) = &self.more {
            content.push(' ');
            content.push_str(more);
        }
        content
    }
}

/// The statements of a message, in order. Of one attribute the last counts.
pub(crate) fn statements(message: &str) -> Vec<Statement> {
    let plain = text::without_quotations(message);
    let mut found: Vec<Statement> = Vec::new();
    for sentence in text::sentences(message, &plain) {
        for statement in read(&sentence) {
            found.retain(|earlier| {
                earlier.said != statement.said
                    && (earlier.attribute != statement.attribute
                        || earlier.attribute == Attribute::Other)
            });
            if found.len() < MAX_STATEMENTS {
                found.push(statement);
            }
        }
    }
    found
}

/// A part of a sentence between pauses and conjunctions.
struct Segment {
    start: usize,
    end: usize,
    /// The first word that is no filler.
    head: usize,
    /// A pause stands before it, or nothing.
    after_pause: bool,
}

fn segments(words: &[Word<'_>]) -> Vec<Segment> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut after_pause = true;
    for at in 0..words.len() {
        let pause = words[at].pause;
        let joined = words
            .get(at + 1)
            .is_some_and(|next| matches!(next.lower.as_str(), "and" | "but" | "because"));
        if pause || joined || at + 1 == words.len() {
            let end = at + 1;
            let fillers = words[start..end].iter().take_while(|word| {
                FILLERS.contains(&word.lower.as_str()) || word.lower == "because"
            });
            found.push(Segment {
                start,
                end,
                head: start + fillers.count(),
                after_pause,
            });
            (start, after_pause) = (end, pause);
        }
    }
    found
}

fn read(sentence: &Sentence<'_>) -> Vec<Statement> {
    let words = text::words(sentence.plain);
    if words.len() > MAX_SENTENCE_WORDS {
        return Vec::new();
    }
    let segments = segments(&words);
    let Some(assertions) = assertions(sentence, &words, &segments) else {
        return Vec::new();
    };

    let mut found = Vec::new();
    // Whether the speaker of the segment before is the customer.
    let mut first_person = true;
    let mut matched_before = false;
    for (number, segment) in segments[..assertions].iter().enumerate() {
        let rest = &words[segment.head..segment.end];
        let Some(first) = rest.first() else { continue };
        if OPENERS.contains(&first.lower.as_str()) {
            break;
        }
        let run_end = run_end(&words, &segments[number..assertions]);
        let may_speak = segment.after_pause || first_person;
        let found_here = may_speak
            .then(|| {
                patterns::read(&words[segment.head..run_end], rest.len()).or_else(|| {
                    // "I upgraded to Pro but then downgraded to Free": the
                    // subject goes on.
                    (matched_before && !segment.after_pause)
                        .then(|| patterns::read_verb(&words[segment.head..run_end], rest.len()))
                        .flatten()
                })
            })
            .flatten();
        // "My order is late and I moved" goes on with the customer; "My brother
        // and I moved" is about two.
        let is_whole = || {
            rest.iter()
                .any(|word| matches!(word.lower.as_str(), "is" | "was" | "has" | "are"))
        };
        first_person = match first.lower.as_str() {
            "i" | "i'm" | "im" | "i've" | "i'd" => true,
            "my" => is_whole(),
            _ => false,
        };
        matched_before = false;
        match found_here {
            Some(matched) if is_meant(&matched, &words, segment.head) => {
                matched_before = true;
                found.push(Statement {
                    quote: sentence.text.to_owned(),
                    ..matched.statement
                });
            }
            Some(_) => {}
            None if rest
                .iter()
                .any(|word| REPORTS.contains(&word.lower.as_str())) =>
            {
                break;
            }
            None => {}
        }
    }
    found
}

/// How many of the segments assert something; none when the sentence does not.
fn assertions(sentence: &Sentence<'_>, words: &[Word<'_>], segments: &[Segment]) -> Option<usize> {
    let question = segments.iter().position(|segment| {
        words[segment.head..segment.end]
            .first()
            .is_some_and(|word| QUESTION_WORDS.contains(&word.lower.as_str()))
    });
    match question {
        Some(question) => {
            // "I'm on the Pro plan, aren't I?" asserts nothing; "I'm Jordan,
            // which plan am I on?" asserts the name.
            let words = &words[segments[question].head..];
            let tag = words.len() <= 3
                || words
                    .iter()
                    .any(|w| matches!(w.lower.as_str(), "right" | "correct" | "true"));
            (!tag).then_some(question)
        }
        None => (!sentence.asks).then_some(segments.len()),
    }
}

/// Where what this segment begins may go on to: the next segment in which the
/// customer begins anew.
fn run_end(words: &[Word<'_>], segments: &[Segment]) -> usize {
    let next = segments[1..].iter().find(|segment| {
        words[segment.head..segment.end].first().is_none_or(|word| {
            matches!(
                word.lower.as_str(),
                "i" | "i'm"
                    | "im"
                    | "i've"
                    | "i'd"
                    | "my"
                    | "we"
                    | "it"
                    | "he"
                    | "she"
                    | "they"
                    | "you"
            )
        }) || words[segment.start..segment.head]
            .iter()
            .any(|word| matches!(word.lower.as_str(), "but" | "because" | "so"))
    });
    match (next, segments.last()) {
        (Some(next), _) => next.start,
        (None, Some(last)) => last.end,
        (None, None) => words.len(),
    }
}

/// Whether nothing in the sentence takes the statement back or leaves it open.
fn is_meant(matched: &Matched, words: &[Word<'_>], start: usize) -> bool {
    let all = text::flat(&words[start..]);
    let after = text::flat(&words[start + matched.length..]);
    let hedged = HEDGES.iter().any(|hedge| all.contains(hedge));
    let is_change = matches!(
        matched.statement.attribute,
        Attribute::Plan | Attribute::Location
    );
    let doubtful = is_change && DOUBTS.iter().any(|doubt| after.contains(doubt));
    !hedged && !doubtful
}

#[cfg(test)]
mod tests;
