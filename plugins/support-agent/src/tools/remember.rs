//! Remembering a fact together with what shows it.

use keepsake_sdk::memory::{EntryRef, NewFact, Remembered, Scope};
use keepsake_sdk::schemars::{self, JsonSchema};
use keepsake_sdk::tool::Tool;
use keepsake_sdk::{Error, Result, Session, Source, remembered_as_json};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::case_file::CaseFile;
use crate::secrets;

/// Letters and digits in the shortest quote that shows anything.
const SHORTEST_QUOTE: usize = 3;
/// What models call the customer.
const CUSTOMER: [&str; 6] = [
    "customer",
    "the customer",
    "user",
    "the user",
    "client",
    "me",
];

#[derive(Deserialize, JsonSchema)]
struct RememberFact {
    /// The fact as one sentence in the third person, such as "Jordan is on the Pro plan."
    content: String,
    /// Words that show the fact, to the letter: from the customer's message, or from what the
    /// source printed. They make the fact verified.
    quote: Option<String>,
    /// The `entry` of a run_command answer that printed the quote. Leave it out for a quote from
    /// the customer's message.
    source: Option<Source>,
    /// Which property the fact gives, such as `plan` or `location`: a new value then replaces the
    /// old one.
    attribute: Option<String>,
    /// Whose property it is; leave it out for the customer's own.
    subject: Option<String>,
    /// The ids of known facts that this one replaces, because they do not hold any more.
    supersedes: Option<Vec<String>>,
    /// True stores the fact beside known ones that say nearly the same.
    keep: Option<bool>,
}

/// Remembers a fact. Where the model names no source, the quote is looked up
/// in the customer's message, and the entry of that command is the source.
pub(super) fn remember_fact(case: Option<&CaseFile>) -> Tool<'_> {
    Tool::new(
        "remember_fact",
        "Remembers a lasting fact about this customer for later conversations. With a quote of \
         what the customer just wrote, or of what a command printed, it is marked as verified. The \
         answer says whether it is.",
        move |session: &Session, arguments: RememberFact| {
            let (remembered, note) = remember(session, case, arguments)?;
            let mut answer = remembered_as_json(&remembered);
            // What to do about a fact that was not stored comes first.
            if let (Some(note), None) = (note, answer.get("note")) {
                answer["note"] = json!(note);
            }
            Ok::<Value, Error>(answer)
        },
    )
}

/// What became of the fact, and what the model should know besides.
fn remember(
    session: &Session,
    case: Option<&CaseFile>,
    arguments: RememberFact,
) -> Result<(Remembered, Option<&'static str>)> {
    let texts = [
        Some(&arguments.content),
        arguments.quote.as_ref(),
        arguments.subject.as_ref(),
        arguments.attribute.as_ref(),
    ];
    secrets::refuse(texts.into_iter().flatten().map(String::as_str))?;
    let scope = session.scope()?;
    let mut fact = NewFact::new(arguments.content);
    if arguments.keep == Some(true) {
        fact = fact.keep();
    }
    fact.supersedes = arguments.supersedes.unwrap_or_default();
    (fact.subject, fact.attribute) =
        about(session, &scope, arguments.subject, arguments.attribute)?;

    let quote = arguments.quote.filter(|quote| shows_something(quote));
    let Some(quote) = quote else {
        return match arguments.source {
            Some(_) => Err(Error::invalid(
                "a source needs the words that it printed: give them as `quote`, or leave the \
                 source out",
            )),
            None => Ok((scope.remember(fact)?, None)),
        };
    };
    let in_message = || case.and_then(|case| case.find(session, &quote));
    if let Some(source) = arguments.source {
        match scope.remember(shown(&fact, source.into(), &quote)) {
            // The model may have meant the message and made the source up.
            Err(Error::Invalid(reason)) => match in_message() {
                Some(entry) => {
                    let note = "the source was refused; the quote was found in the message instead";
                    let remembered = scope.remember(shown(&fact, entry, &quote))?;
                    Ok((remembered, Some(note)))
                }
                None => Err(Error::Invalid(reason)),
            },
            remembered => Ok((remembered?, None)),
        }
    } else if let Some(entry) = in_message() {
        Ok((scope.remember(shown(&fact, entry, &quote))?, None))
    } else {
        let note = "the quote was not shown to stand in the customer's message, so that the fact \
                    is not verified";
        Ok((scope.remember(fact)?, Some(note)))
    }
}

fn shown(fact: &NewFact, source: EntryRef, quote: &str) -> NewFact {
    NewFact {
        source: Some(source),
        quote: Some(quote.to_owned()),
        ..fact.clone()
    }
}

/// A letter stands in every text and shows nothing.
fn shows_something(quote: &str) -> bool {
    quote.chars().filter(|c| c.is_alphanumeric()).count() >= SHORTEST_QUOTE
}

/// The subject and attribute in one form, so that a new value meets the old
/// one, whatever the model calls the customer in this conversation.
fn about(
    session: &Session,
    scope: &Scope,
    subject: Option<String>,
    attribute: Option<String>,
) -> Result<(Option<String>, Option<String>)> {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let attribute = attribute
        .map(|attribute| words(&attribute).to_lowercase().replace([' ', '-'], "_"))
        .filter(|attribute| !attribute.is_empty());
    let Some(attribute) = attribute else {
        return Ok((None, None));
    };
    let customer = session.info().resource;
    let subject = subject.map(|subject| words(&subject)).unwrap_or_default();
    let subject = if subject.is_empty() || subject == customer || is_customer(scope, &subject)? {
        customer
    } else {
        subject
    };
    Ok((Some(subject), Some(attribute)))
}

fn is_customer(scope: &Scope, subject: &str) -> Result<bool> {
    let subject = subject.to_lowercase();
    if CUSTOMER.contains(&subject.as_str()) {
        return Ok(true);
    }
    let profile = scope.profile()?;
    let name = profile["name"].as_str().unwrap_or_default().to_lowercase();
    let first = name.split_whitespace().next();
    Ok(name == subject || first == Some(&subject))
}
