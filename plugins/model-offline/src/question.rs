//! What is asked, and the quotations that answer it.

use crate::{
    memory::{Known, Memory},
    text::{self, Word},
    words::{FILLERS, NO_TOPICS, QUESTION_WORDS},
};

/// Facts that one answer quotes.
const MAX_QUOTED: usize = 3;
/// Topics that are taken of one text; no honest question has more.
const MAX_TOPICS: usize = 64;

/// Words that mean the same to a support agent; the first stands for all.
const SAME: &[&[&str]] = &[
    &["plan", "tier", "subscription", "package"],
    &["email", "mail"],
    &["phone", "telephone", "mobile"],
    &["contact", "reach", "prefer"],
    &[
        "location",
        "live",
        "address",
        "moved",
        "relocated",
        "city",
        "country",
        "town",
    ],
    &["cancel", "cancelled", "canceled", "cancellation"],
    &["language", "speak"],
];

/// What a message asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// What it is talking to.
    Identity,
    /// All that is known.
    Everything,
    /// Something about these topics.
    About(Vec<String>),
}

/// What a sentence asks for, where it asks at all.
pub(crate) fn asked(sentence: &text::Sentence<'_>) -> Option<Asked> {
    let words = text::words(sentence.plain);
    let first = words
        .iter()
        .find(|word| !FILLERS.contains(&word.lower.as_str()))?;
    let flat = text::flat(&words);
    let requests = [
        " tell me ",
        " remind me ",
        " do you ",
        " i wonder ",
        " show me ",
    ];
    let asks = sentence.asks
        || QUESTION_WORDS.contains(&first.lower.as_str())
        || requests.iter().any(|request| flat.contains(request));
    asks.then(|| {
        if asks_who(&flat) {
            Asked::Identity
        } else if asks_all(&flat) {
            Asked::Everything
        } else {
            Asked::About(topics(&words))
        }
    })
}

fn asks_who(flat: &str) -> bool {
    let kinds = [
        " bot ",
        " robot ",
        " human ",
        " ai ",
        " a person ",
        " real person ",
        " machine ",
        " computer ",
        " chatgpt ",
        " chatbot ",
        " llm ",
        " language model ",
        " a model ",
    ];
    [
        " what are you ",
        " who are you ",
        " who am i talking ",
        " what model ",
        " which model ",
    ]
    .iter()
    .any(|phrase| flat.contains(phrase))
        || ([" are you ", " is this ", " am i talking ", " talking to "]
            .iter()
            .any(|phrase| flat.contains(phrase))
            && kinds.iter().any(|kind| flat.contains(kind)))
}

fn asks_all(flat: &str) -> bool {
    let ends = [" about me ", " remember me ", " know me ", " of me "];
    let knows = [
        " know ",
        " remember ",
        " record ",
        " recall ",
        " tell ",
        " have ",
    ];
    ends.iter().any(|end| flat.contains(end)) && knows.iter().any(|word| flat.contains(word))
}

/// The words that say what a text is about, each in one form.
pub(crate) fn topics(words: &[Word<'_>]) -> Vec<String> {
    let flat = text::flat(words);
    let mut found = Vec::new();
    if [" who am i ", " my name ", " what's my name ", " call me "]
        .iter()
        .any(|p| flat.contains(p))
    {
        found.push(canonical("name"));
    }
    for (number, word) in words.iter().enumerate() {
        // An e-mail address is no place to live at.
        let before = number
            .checked_sub(1)
            .map(|before| canonical(&words[before].lower));
        if word.lower == "address" && before.is_some_and(|before| before == canonical("email")) {
            continue;
        }
        for part in word
            .lower
            .split(['-', '/', '\'', '_'])
            .chain([word.lower.as_str()])
        {
            let topic = canonical(part);
            let counts = topic.len() > 1 && !NO_TOPICS.contains(&part);
            if found.len() < MAX_TOPICS && counts && !found.contains(&topic) {
                found.push(topic);
            }
        }
    }
    found
}

fn canonical(word: &str) -> String {
    let word = word.trim_end_matches("'s").replace('-', "");
    let root = stem(&word);
    let same = SAME.iter().find(|group| {
        group
            .iter()
            .any(|other| *other == word || stem(other) == root)
    });
    same.map_or(root, |group| stem(group[0])).to_owned()
}

/// A crude root: "orders", "ordered" and "ordering" become one.
fn stem(word: &str) -> &str {
    ["ing", "ed", "es", "s", "e"]
        .iter()
        .find_map(|end| word.strip_suffix(end).filter(|root| root.len() >= 3))
        .unwrap_or(word)
}

/// Everything that memory holds, in sentences.
pub(crate) fn everything(memory: &Memory) -> Option<String> {
    let mut parts: Vec<String> = memory
        .profile
        .iter()
        .map(|(key, value)| profile_sentence(key, value))
        .collect();
    parts.extend(quoted(&memory.facts.iter().collect::<Vec<_>>()));
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// What memory holds on these topics, in sentences; none when it holds nothing.
pub(crate) fn about(topics: &[String], memory: &Memory) -> Option<String> {
    // The customer's own name is in most facts and says nothing about them.
    let own: Vec<String> = memory
        .profile("name")
        .map(|name| self::topics(&text::words(name)))
        .unwrap_or_default();
    let wanted: Vec<&String> = topics.iter().filter(|topic| !own.contains(topic)).collect();

    let mut parts: Vec<String> = memory
        .profile
        .iter()
        .filter(|(key, _)| {
            let key = key.replace('_', " ");
            let key = self::topics(&text::words(&key));
            key.iter().any(|word| wanted.contains(&word))
        })
        .map(|(key, value)| profile_sentence(key, value))
        .collect();

    let overlaps: Vec<usize> = memory
        .facts
        .iter()
        .map(|fact| {
            let held = self::topics(&text::words(&fact.content));
            wanted.iter().filter(|topic| held.contains(topic)).count()
        })
        .collect();
    let best = overlaps.iter().copied().max().unwrap_or(0);
    if best > 0 {
        let fitting: Vec<&Known> = memory
            .facts
            .iter()
            .zip(&overlaps)
            .filter_map(|(fact, overlap)| (*overlap == best).then_some(fact))
            .take(MAX_QUOTED)
            .collect();
        parts.extend(quoted(&fitting));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn profile_sentence(key: &str, value: &str) -> String {
    match key {
        "plan" => format!("You are on the {value} plan."),
        _ => format!("Your {} is {value}.", key.replace(['_', '-'], " ")),
    }
}

fn quoted(facts: &[&Known]) -> Option<String> {
    let quotes: Vec<String> = facts
        .iter()
        .map(|fact| quotation(&fact.content, fact.verified))
        .collect();
    (!quotes.is_empty()).then(|| format!("I have it on record: {}.", quotes.join("; ")))
}

/// A fact as it is quoted to the customer.
pub(crate) fn quotation(content: &str, verified: bool) -> String {
    let mark = if verified { "verified" } else { "not verified" };
    format!(
        "\"{}\" ({mark})",
        content.split_whitespace().collect::<Vec<_>>().join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(message: &str) -> Option<Asked> {
        asked(&text::sentences(message, message)[0])
    }

    fn memory() -> Memory {
        let fact = |content: &str, verified| Known {
            content: content.to_owned(),
            verified,
        };
        Memory {
            profile: vec![
                ("name".to_owned(), "Jordan".to_owned()),
                ("plan".to_owned(), "Pro".to_owned()),
                ("email".to_owned(), "jo@example.com".to_owned()),
            ],
            facts: vec![
                fact("Jordan is on the Pro plan. Upgraded on the 3rd.", true),
                fact("Jordan's order number is A-1042.", true),
                fact("Jordan prefers to be called in the morning.", false),
                fact("Jordan moved to Canada.", false),
            ],
        }
    }

    #[test]
    fn what_is_asked_is_told_from_what_is_said() {
        for message in ["I'm Jordan.", "Thanks!", "The app crashes."] {
            assert_eq!(ask(message), None, "{message}");
        }
        for message in [
            "What are you?",
            "Are you a bot?",
            "are you a real person",
            "Am I talking to a human?",
        ] {
            assert_eq!(ask(message), Some(Asked::Identity), "{message}");
        }
        for message in [
            "What do you know about me?",
            "Do you remember me?",
            "tell me what you have on record about me",
        ] {
            assert_eq!(ask(message), Some(Asked::Everything), "{message}");
        }
        assert_eq!(
            ask("which plan am i on"),
            Some(Asked::About(vec!["plan".to_owned()]))
        );
        assert_eq!(
            ask("Please remind me of my tier"),
            Some(Asked::About(vec!["plan".to_owned()]))
        );
    }

    #[test]
    fn answers_are_quotations_of_what_memory_holds() {
        let table = [
            (
                "Which plan am I on?",
                "You are on the Pro plan. I have it on record: \"Jordan is on the Pro plan. \
                 Upgraded on the 3rd.\" (verified).",
            ),
            ("What's my name?", "Your name is Jordan."),
            ("Who am I?", "Your name is Jordan."),
            ("what is my e-mail address", "Your email is jo@example.com."),
            (
                "What was my order number?",
                "I have it on record: \"Jordan's order number is A-1042.\" (verified).",
            ),
            (
                "Where do I live?",
                "I have it on record: \"Jordan moved to Canada.\" (not verified).",
            ),
            (
                "How should you contact me?",
                "I have it on record: \"Jordan prefers to be called in the morning.\" (not verified).",
            ),
        ];
        for (question, wanted) in table {
            let Some(Asked::About(topics)) = ask(question) else {
                panic!("{question}")
            };
            assert_eq!(
                about(&topics, &memory()).as_deref(),
                Some(wanted),
                "{question}"
            );
        }
    }

    #[test]
    fn what_memory_does_not_hold_is_not_answered() {
        for question in [
            "What is the capital of France?",
            "Is Jordan happy?",
            "When does the shop open?",
        ] {
            let Some(Asked::About(topics)) = ask(question) else {
                panic!("{question}")
            };
            assert_eq!(about(&topics, &memory()), None, "{question}");
        }
        assert_eq!(everything(&Memory::default()), None);
        assert!(everything(&memory()).unwrap().contains("jo@example.com"));
    }
}
