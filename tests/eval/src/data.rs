//! The data: facts, and questions whose answers are known.

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// Facts of one customer and questions about them.
#[derive(Clone, Debug)]
pub struct Set {
    /// A name that serves as the resource.
    pub name: String,
    /// Lines for `host memory import`; each has its id in the metadata.
    pub facts: Vec<Value>,
    /// What is asked.
    pub questions: Vec<Question>,
}

/// A question and the ids of the facts that answer it; none where no fact does.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its name.
    pub id: String,
    /// Its words.
    pub text: String,
    /// The facts that answer it.
    pub answers: Vec<String>,
}

/// 60 facts of support customers and 60 questions, one for each, that share
/// hardly a word with it.
///
/// # Errors
/// When the data is not well formed.
pub fn support() -> Result<Set> {
    facts_and_questions(
        "support",
        include_str!("../../../plugins/embed-static/tests/data/support-facts.json"),
    )
}

/// Facts that hold an order number, a code or an address, most of them beside
/// near misses, and questions that name one.
///
/// # Errors
/// When the data is not well formed.
pub fn identifiers() -> Result<Set> {
    facts_and_questions("identifiers", include_str!("../data/identifiers.json"))
}

/// The facts of [`support`] and questions that none of them answers.
///
/// # Errors
/// When the data is not well formed.
pub fn unrelated() -> Result<Set> {
    let file: File = serde_json::from_str(include_str!("../data/unrelated.json"))?;
    Ok(Set {
        name: "unrelated".to_owned(),
        questions: file.questions.into_iter().map(Into::into).collect(),
        ..support()?
    })
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    facts: Vec<FileFact>,
    questions: Vec<FileQuestion>,
}

#[derive(Deserialize)]
struct FileFact {
    id: String,
    text: String,
}

#[derive(Deserialize)]
struct FileQuestion {
    id: String,
    text: String,
    gold: Option<String>,
}

impl From<FileQuestion> for Question {
    fn from(question: FileQuestion) -> Self {
        Self {
            id: question.id,
            text: question.text,
            answers: question.gold.into_iter().collect(),
        }
    }
}

fn facts_and_questions(name: &str, text: &str) -> Result<Set> {
    let file: File = serde_json::from_str(text).with_context(|| name.to_owned())?;
    Ok(Set {
        name: name.to_owned(),
        facts: file
            .facts
            .into_iter()
            .map(|fact| json!({ "content": fact.text, "metadata": { "id": fact.id } }))
            .collect(),
        questions: file.questions.into_iter().map(Into::into).collect(),
    })
}

/// Long conversations, a fact a turn, and questions with the turns that answer
/// them: those that the weights of ranking were set on.
///
/// # Errors
/// When the data is not well formed.
pub fn conversations() -> Result<Vec<Set>> {
    read([
        include_str!("../data/conversations/conv-05.json"),
        include_str!("../data/conversations/conv-06.json"),
        include_str!("../data/conversations/conv-07.json"),
        include_str!("../data/conversations/conv-08.json"),
    ])
}

/// Others, which nobody looked at before the weights were set. That an incidental
/// word counts in a conversation was seen on them.
///
/// # Errors
/// When the data is not well formed.
pub fn other_conversations() -> Result<Vec<Set>> {
    read([
        include_str!("../data/conversations/conv-01.json"),
        include_str!("../data/conversations/conv-02.json"),
        include_str!("../data/conversations/conv-03.json"),
        include_str!("../data/conversations/conv-04.json"),
        include_str!("../data/conversations/conv-09.json"),
        include_str!("../data/conversations/conv-10.json"),
        include_str!("../data/conversations/conv-11.json"),
        include_str!("../data/conversations/conv-12.json"),
    ])
}

fn read<const COUNT: usize>(texts: [&str; COUNT]) -> Result<Vec<Set>> {
    texts
        .iter()
        .map(|text| Ok(serde_json::from_str::<Conversation>(text)?.into()))
        .collect()
}

#[derive(Deserialize)]
struct Conversation {
    id: String,
    sessions: Vec<Session>,
    questions: Vec<ConversationQuestion>,
}

#[derive(Deserialize)]
struct Session {
    id: String,
    date: String,
    turns: Vec<String>,
}

#[derive(Deserialize)]
struct ConversationQuestion {
    question: String,
    evidence: Vec<String>,
}

impl From<Conversation> for Set {
    fn from(conversation: Conversation) -> Self {
        let facts = conversation.sessions.iter().flat_map(|session| {
            session.turns.iter().enumerate().map(|(position, turn)| {
                json!({
                    "content": turn,
                    "metadata": { "id": format!("{}:{position}", session.id) },
                    "created_at": session.date,
                    "thread": session.id,
                    "position": position,
                })
            })
        });
        let questions = conversation.questions.into_iter().enumerate();
        Self {
            facts: facts.collect(),
            questions: questions
                .map(|(place, question)| Question {
                    id: format!("q{}", place + 1),
                    text: question.question,
                    answers: question.evidence,
                })
                .collect(),
            name: conversation.id,
        }
    }
}
