//! `host memory recall`: asks a memory one question, or a file of them.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use keepsake_storage::{
    Database, Layer, Memory, QueryVector, RecallOptions, Recalled, Recollection,
};
use keepsake_types::embedding::{Embedder, EmbeddingKind};
use keepsake_types::{ResourceRef, Timestamp, calendar};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ended, fact_as_json, fact_line};
use crate::app::App;
use crate::cli::RecallArguments;
use crate::failure::{ExitCode, Failure};
use crate::output;

/// Questions that are embedded by one call of the provider.
const BATCH: usize = 256;
/// What is read of one line of a file of questions: a query of the largest
/// size, escaped throughout, and its id.
const LINE_BYTES: u64 = 128 * 1024;

pub(super) async fn run(app: &App, arguments: RecallArguments, json: bool) -> Result<(), Failure> {
    let resource = arguments.whose.resource(&app.config)?;
    let asking = Asking {
        needs_vectors: arguments.which.needs_vectors(),
        options: arguments.which.options(),
        wider: arguments.wider,
        account: arguments.account,
        explain: arguments.explain,
        json,
    };
    if let Some(file) = &arguments.queries {
        let questions = read_questions(file)?;
        return asking.many(app, &resource, questions).await;
    }
    let query = arguments.query.unwrap_or_default();
    if query.trim().is_empty() {
        return Err(Failure::new(
            ExitCode::Usage,
            "the question is empty: say what is to be recalled",
        ));
    }
    asking.one(app, &resource, query).await
}

/// How questions are asked and answers shown.
struct Asking {
    needs_vectors: bool,
    options: RecallOptions,
    wider: bool,
    account: Option<String>,
    explain: bool,
    json: bool,
}

impl Asking {
    async fn one(self, app: &App, resource: &ResourceRef, query: String) -> Result<(), Failure> {
        let database = app.existing_database().await?;
        let vectors = self.vectors(app, vec![query.clone()]).await?;
        let (memory, wider) = self.memories(&database, resource).await?;
        let recalled = memory
            .ending()
            .recall_wider(
                &wider,
                &query,
                vectors.into_iter().flatten().next(),
                self.options.clone(),
            )
            .await;
        let recalled = ended(&database, &memory, recalled).await?;
        if self.json {
            return output::json(&json!({
                "query": query,
                "facts": self.facts_as_json(&recalled),
            }));
        }
        if recalled.facts.is_empty() {
            output::note!("nothing that is remembered answers this");
        }
        self.show(&recalled)
    }

    async fn many(
        self,
        app: &App,
        resource: &ResourceRef,
        questions: Vec<Question>,
    ) -> Result<(), Failure> {
        let database = app.existing_database().await?;
        let queries = questions.iter().map(|one| one.query.clone()).collect();
        let vectors = self.vectors(app, queries).await?;
        let memories = self.memories(&database, resource).await?;
        let answered = self.answer_all(&memories, &questions, vectors).await;
        let (memory, _) = memories;
        database.end_session(memory.session_id(), json!({})).await?;
        answered
    }

    /// What is asked, and what is taken in as well.
    async fn memories(
        &self,
        database: &Database,
        resource: &ResourceRef,
    ) -> Result<(Memory, Vec<(Layer, Memory)>), Failure> {
        let account = self.account.clone();
        let memory = database.operator_session_with(resource, account).await?;
        let wider = match self.wider {
            true => database.wider_memories(memory.session_id()).await?,
            false => Vec::new(),
        };
        Ok((memory, wider))
    }

    async fn answer_all(
        &self,
        (memory, wider): &(Memory, Vec<(Layer, Memory)>),
        questions: &[Question],
        vectors: Vec<Option<QueryVector>>,
    ) -> Result<(), Failure> {
        for (question, vector) in questions.iter().zip(vectors) {
            let recalled = memory
                .recall_wider(wider, &question.query, vector, self.options.clone())
                .await?;
            if self.json {
                output::json(&json!({
                    "id": question.id,
                    "facts": self.facts_as_json(&recalled),
                }))?;
                continue;
            }
            let id = question
                .id
                .as_str()
                .map_or_else(|| question.id.to_string(), str::to_owned);
            output::line(&format!(
                "{}: {}",
                output::one_line(&id, 100),
                output::one_line(&question.query, 400)
            ))?;
            self.show(&recalled)?;
        }
        Ok(())
    }

    /// One vector for each query; none where words alone are asked for.
    async fn vectors(
        &self,
        app: &App,
        queries: Vec<String>,
    ) -> Result<Vec<Option<QueryVector>>, Failure> {
        if !self.needs_vectors {
            return Ok(vec![None; queries.len()]);
        }
        let embedder = app.plugins()?.embedder().await?;
        let relevance_threshold = embedder.relevance_threshold().await;
        let mut vectors = Vec::with_capacity(queries.len());
        for batch in queries.chunks(BATCH) {
            let embedded = embedder
                .embed(batch.to_vec(), EmbeddingKind::Query)
                .await
                .map_err(|error| {
                    Failure::new(
                        ExitCode::Plugin,
                        format!("{error}; `--mode words` recalls without a provider"),
                    )
                })?;
            vectors.extend(embedded.into_iter().map(|vector| {
                Some(QueryVector {
                    model: embedder.info().model.clone(),
                    vector,
                    relevance_threshold,
                })
            }));
        }
        Ok(vectors)
    }

    fn show(&self, recalled: &Recollection) -> Result<(), Failure> {
        let now = self.options.as_of.unwrap_or_else(keepsake_types::now);
        for found in &recalled.facts {
            let whose = match found.layer {
                Layer::This => "",
                Layer::Account => "account: ",
                Layer::Team => "team: ",
            };
            output::line(&format!(
                "{:.3}  {whose}{}",
                found.score.total,
                fact_line(&found.fact)
            ))?;
            if self.explain {
                output::line(&format!("       {}", explained(found, now)))?;
            }
        }
        Ok(())
    }

    fn facts_as_json(&self, recalled: &Recollection) -> Vec<Value> {
        recalled
            .facts
            .iter()
            .map(|found| {
                let mut fact = fact_as_json(&found.fact);
                fact["score"] = json!(found.score.total);
                if found.layer != Layer::This {
                    fact["layer"] = json!(found.layer);
                }
                if self.explain {
                    fact["explanation"] = json!(found.score);
                }
                fact
            })
            .collect()
    }
}

fn explained(found: &Recalled, now: Timestamp) -> String {
    let rank = |rank: Option<u32>| rank.map_or("-".to_owned(), |rank| rank.to_string());
    let number = |number: Option<f64>| number.map_or("-".to_owned(), |one| format!("{one:.3}"));
    format!(
        "word rank {}, vector rank {}, cosine {}, {}",
        rank(found.score.word_rank),
        rank(found.score.vector_rank),
        number(found.score.cosine),
        calendar::age(found.fact.created_at, now),
    )
}

/// One line of a file of questions.
#[derive(Deserialize)]
struct Question {
    id: Value,
    query: String,
}

/// Reads all questions before the first is asked, so that a bad line costs nothing.
fn read_questions(file: &Path) -> Result<Vec<Question>, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(
            ExitCode::Usage,
            format!(
                "the questions in `{}` cannot be read: {error}",
                file.display()
            ),
        )
    };
    let mut reader: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(
            std::fs::File::open(file).map_err(unreadable)?,
        ))
    };
    let mut questions = Vec::new();
    for number in 1.. {
        let mut line = Vec::new();
        let read = (&mut reader).take(LINE_BYTES).read_until(b'\n', &mut line);
        if read.map_err(unreadable)? == 0 {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        questions.push(question(&line).map_err(|what| {
            Failure::new(
                ExitCode::Usage,
                format!(
                    "line {number} of `{}` is no question: {what}; each line has the form {{\"id\": \"q1\", \"query\": \"…\"}}",
                    file.display()
                ),
            )
        })?);
    }
    Ok(questions)
}

fn question(line: &[u8]) -> Result<Question, String> {
    if line.len() as u64 == LINE_BYTES && !line.ends_with(b"\n") {
        return Err(format!("it is longer than {LINE_BYTES} bytes"));
    }
    let question: Question = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if question.query.trim().is_empty() {
        return Err("its query is empty".to_owned());
    }
    Ok(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> String {
        question(line.as_bytes()).err().unwrap()
    }

    #[test]
    fn a_line_that_is_no_question_is_told_by_what_is_wrong() {
        assert!(refused("{").contains("EOF"));
        assert!(refused(r#"{"id": 1}"#).contains("query"));
        assert!(refused(r#"{"query": "x"}"#).contains("id"));
        assert!(refused(r#"{"id": 1, "query": " "}"#).contains("empty"));
        assert!(refused(&"x".repeat(LINE_BYTES as usize)).contains("longer"));
    }

    #[test]
    fn an_id_may_be_text_or_number_and_other_members_are_passed_over() {
        let line = br#"{"id": 7, "query": "plan?", "gold": ["f1"]}"#;
        assert_eq!(question(line).ok().unwrap().id, json!(7));
    }
}
