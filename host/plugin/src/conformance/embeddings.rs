//! The contract of embedding providers (`wit/embeddings.wit`).

use std::time::{Duration, Instant};

use keepsake_types::embedding::{Embedder, EmbeddingError, EmbeddingKind};

use super::texts::{EMOJI, NUL, QUESTIONS, RIGHT_TO_LEFT, TRIPLES, many, megabyte, owned};
use super::{Check, Fault, Found, Table};
use crate::calibration::cosine;
use crate::embedder::EmbeddingPlugin;

/// Two vectors of one text are at least so alike. Servers add numbers in an
/// order that depends on what else they do, so that the last digits differ.
const SAME_COSINE: f64 = 0.999;
/// Texts of the large request.
const MANY: usize = 10_000;
/// Texts that are given in one call where the provider takes as many.
const ONE_CALL: usize = 64;
/// Of the six questions, so many find their answer first. One may be missed:
/// small models are not perfect.
const QUESTIONS_ANSWERED: usize = 5;
/// Single questions whose time is taken.
const TIMED: usize = 20;

/// The rows that say nothing where the ones before them failed.
const LATER: [&str; 13] = [
    "length",
    "order",
    "determinism",
    "empty list",
    "empty text",
    "long text",
    "emoji",
    "right-to-left",
    "NUL",
    "query and passage",
    "similar texts",
    "10,000 texts",
    "throughput",
];

/// Checks an embedding provider, which is asked for about 10,100 short texts and
/// one of a megabyte.
pub async fn check_embeddings(provider: &EmbeddingPlugin) -> Vec<Check> {
    let contract = Contract { provider };
    let mut table = Table::default();
    table.row(
        "description",
        "answer `info` with the same each time: vectors are stored under the model's name",
        contract.description().await,
    );
    if !table.row(
        "answers",
        "look at the provider's log with -v, and at its settings in [settings.NAME]",
        contract.answers().await,
    ) {
        table.skip(&["count", "dimensions", "numbers"]);
        table.skip(&LATER);
        return table.0;
    }
    if !table.row(
        "count",
        "answer `embed` with one vector for each text, no more and no fewer",
        contract.count().await,
    ) {
        table.skip(&["dimensions", "numbers"]);
        table.skip(&LATER);
        return table.0;
    }
    let sound = table.row(
        "dimensions",
        "give every vector as many numbers as `info` says in `dimensions`",
        contract.dimensions().await,
    ) & table.row(
        "numbers",
        "do not divide by a length of 0, and give 0 for what the model does not know",
        contract.numbers().await,
    );
    if !sound {
        table.skip(&LATER);
        return table.0;
    }
    if !table.row(
        "length",
        "divide each vector by its length, or say `normalised: false` in `info`",
        contract.length().await,
    ) {
        table.skip(&LATER[1..]);
        return table.0;
    }
    contract.meaning_and_size(&mut table).await;
    table.0
}

struct Contract<'a> {
    provider: &'a EmbeddingPlugin,
}

impl Contract<'_> {
    async fn meaning_and_size(&self, table: &mut Table) {
        table.row(
            "order",
            "answer in the order of the texts; servers that give an `index` mean it",
            self.order().await,
        );
        table.row(
            "determinism",
            "turn off what is random, and keep no state from one call to the next",
            self.determinism().await,
        );
        table.row(
            "empty list",
            "answer no texts with no vectors, without asking a model",
            self.empty_list().await,
        );
        table.row(
            "empty text",
            "give a text without words a vector too; zeros are one",
            self.texts(&["", " ", "\n\t"]).await,
        );
        table.row(
            "long text",
            "say in `max-text-bytes` how much the model takes: the host gives longer texts in parts",
            self.long_text().await,
        );
        let characters = "take texts as characters of UTF-8 and cut them only between characters";
        table.row("emoji", characters, self.texts(&EMOJI).await);
        table.row(
            "right-to-left",
            characters,
            self.texts(&RIGHT_TO_LEFT).await,
        );
        table.row(
            "NUL",
            "take U+0000 as any other character, or leave it out before a server is asked",
            self.texts(&NUL).await,
        );
        table.row(
            "query and passage",
            "embed queries for the same space as passages; check the model's prefixes or `input_type`",
            self.queries().await,
        );
        table.row(
            "similar texts",
            "check that the right model is loaded, and that its words are cut as it was trained",
            self.similar().await,
        );
        let texts = many(MANY);
        let began = Instant::now();
        let done = table.row(
            "10,000 texts",
            "say in `max-texts` how many one call takes, and keep no memory from call to call",
            self.many(&texts).await,
        );
        if done {
            let elapsed = began.elapsed();
            table.row("throughput", "", self.throughput(&texts, elapsed).await);
        } else {
            table.skip(&["throughput"]);
        }
    }

    async fn description(&self) -> Found {
        let first = self.provider.info();
        let again = self.provider.ask_info().await;
        let again = again.map_err(|error| error.to_string())?;
        if *first != again {
            return Err(Fault::Failed(format!(
                "asked twice, it says first {} with {} dimensions, then {} with {}, or another bound",
                first.model, first.dimensions, again.model, again.dimensions
            )));
        }
        Ok(format!(
            "{}, {} dimensions, {} texts a call, {} bytes a text",
            first.model, first.dimensions, first.max_texts, first.max_text_bytes
        ))
    }

    /// One call, whose answer must be there; what it holds is for other rows.
    async fn answers(&self) -> Found {
        let began = Instant::now();
        self.ask(&["Hello."]).await?;
        Ok(format!("the first in {}", milliseconds(began.elapsed())))
    }

    async fn count(&self) -> Found {
        let most = (self.provider.info().max_texts as usize).min(ONE_CALL);
        for count in [1, most] {
            let texts = many(count);
            let vectors = self.provider.ask(&texts, EmbeddingKind::Passage).await?;
            if vectors.len() != count {
                let found = vectors.len();
                return Err(format!("{found} vectors for {count} texts").into());
            }
        }
        Ok(format!("{most} vectors for {most} texts"))
    }

    async fn dimensions(&self) -> Found {
        let promised = self.provider.info().dimensions as usize;
        let vectors = self.ask(&first_statements()).await?;
        match vectors.iter().find(|vector| vector.len() != promised) {
            Some(vector) => Err(format!("{} where {promised} were promised", vector.len()).into()),
            None => Ok(format!("{promised}, as promised")),
        }
    }

    async fn numbers(&self) -> Found {
        let vectors = self.ask(&first_statements()).await?;
        let odd = vectors.iter().flatten().find(|value| !value.is_finite());
        match odd {
            Some(value) => Err(format!("one is {value}, which is no finite number").into()),
            None if vectors.iter().flatten().all(|value| *value == 0.0) => {
                Err("all are 0: the model knows none of the words".into())
            }
            None => Ok("all finite".to_owned()),
        }
    }

    async fn length(&self) -> Found {
        let vectors = self.ask(&first_statements()).await?;
        let (shortest, longest) = lengths(&vectors);
        self.provider.checked(vectors, TRIPLES.len())?;
        let promised = match self.provider.info().normalised {
            true => "as promised",
            false => "where none was promised",
        };
        Ok(format!("from {shortest:.3} to {longest:.3}, {promised}"))
    }

    /// Each text's vector is nearest to the one that it has alone.
    async fn order(&self) -> Found {
        let texts = first_statements();
        if (self.provider.info().max_texts as usize) < texts.len() {
            let reason = "the provider takes too few texts a call".to_owned();
            return Err(Fault::Skipped(reason));
        }
        let together = self.sound(&texts).await?;
        let mut alone = Vec::with_capacity(texts.len());
        for text in texts {
            alone.append(&mut self.sound(&[text]).await?);
        }
        if alone.iter().all(|vector| *vector == alone[0]) {
            let reason = "all texts have the same vector".to_owned();
            return Err(Fault::Skipped(reason));
        }
        for (place, vector) in together.iter().enumerate() {
            let nearest = nearest(vector, &alone);
            if nearest != place {
                return Err(format!(
                    "text {} of a call got the vector of text {}",
                    place + 1,
                    nearest + 1
                )
                .into());
            }
        }
        Ok("kept".to_owned())
    }

    async fn determinism(&self) -> Found {
        let texts = first_statements();
        let first = self.sound(&texts).await?;
        let mut lowest = 1.0_f64;
        for (again, when) in [(false, "the second time"), (true, "by a new instance")] {
            if again {
                self.provider.start_anew();
            }
            let other = self.sound(&texts).await?;
            lowest = lowest.min(self.alike(&first, &other, when)?);
        }
        let mut alone = Vec::new();
        for text in texts {
            alone.append(&mut self.sound(&[text]).await?);
        }
        lowest = lowest.min(self.alike(&first, &alone, "alone instead of together")?);
        Ok(format!("again, anew and alone: cosine {lowest:.6} or more"))
    }

    /// The lowest cosine of vectors that should be the same.
    fn alike(&self, first: &[Vec<f32>], other: &[Vec<f32>], when: &str) -> Result<f64, Fault> {
        let same = |(a, b): (&Vec<f32>, &Vec<f32>)| if a == b { 1.0 } else { cosine(a, b) };
        let cosines = first.iter().zip(other).map(same);
        let lowest = cosines.fold(1.0, f64::min);
        if lowest < SAME_COSINE {
            return Err(
                format!("a text embedded {when} has another vector: cosine {lowest:.3}").into(),
            );
        }
        Ok(lowest)
    }

    async fn empty_list(&self) -> Found {
        match self.provider.ask(&[], EmbeddingKind::Passage).await? {
            vectors if vectors.is_empty() => Ok("no vectors".to_owned()),
            vectors => Err(format!("{} vectors for no texts", vectors.len()).into()),
        }
    }

    /// Odd texts have a sound vector each.
    async fn texts(&self, texts: &[&str]) -> Found {
        for (number, text) in texts.iter().enumerate() {
            let vectors = self.sound(&[text]).await;
            vectors.map_err(|fault| fault.about(format!("text {} {text:?}", number + 1)))?;
        }
        Ok(format!("{} texts", texts.len()))
    }

    async fn long_text(&self) -> Found {
        let text = megabyte();
        let began = Instant::now();
        let (bytes, texts) = (text.len(), vec![text]);
        let vectors = self.provider.embed(texts, EmbeddingKind::Passage).await?;
        if vectors.iter().flatten().all(|value| *value == 0.0) {
            return Err("its vector holds nothing but 0".into());
        }
        let took = milliseconds(began.elapsed());
        Ok(format!("{bytes} bytes in {took}"))
    }

    async fn queries(&self) -> Found {
        let passages = self.sound(&first_statements()).await?;
        let questions = owned(&QUESTIONS);
        let mut answered = 0;
        for (place, question) in questions.into_iter().enumerate() {
            let asked = [question];
            let vectors = self.provider.ask(&asked, EmbeddingKind::Query).await?;
            let vectors = self.provider.checked(vectors, 1)?;
            answered += usize::from(nearest(&vectors[0], &passages) == place);
        }
        let found = format!(
            "{answered} of {} questions are nearest to what answers them",
            QUESTIONS.len()
        );
        match answered >= QUESTIONS_ANSWERED {
            true => Ok(found),
            false => Err(format!("only {found}").into()),
        }
    }

    async fn similar(&self) -> Found {
        let mut margin = f64::INFINITY;
        for [statement, similar, unrelated] in TRIPLES {
            let mut vectors = Vec::new();
            for text in [statement, similar, unrelated] {
                vectors.append(&mut self.sound(&[text]).await?);
            }
            let near = cosine(&vectors[0], &vectors[1]);
            let far = cosine(&vectors[0], &vectors[2]);
            if near <= far {
                return Err(format!(
                    "{statement:?} is no nearer to {similar:?} ({near:.3}) than to {unrelated:?} ({far:.3})"
                )
                .into());
            }
            margin = margin.min(near - far);
        }
        Ok(format!("nearer than unrelated ones by {margin:.3} or more"))
    }

    /// All have vectors, and each its own.
    async fn many(&self, texts: &[String]) -> Found {
        let vectors = self
            .provider
            .embed(texts.to_vec(), EmbeddingKind::Passage)
            .await?;
        for place in [0, texts.len() / 2, texts.len() - 1] {
            let alone = self.sound(&[&texts[place]]).await?;
            let likeness = cosine(&alone[0], &vectors[place]);
            if likeness < SAME_COSINE {
                return Err(format!(
                    "text {} has another vector among many than alone: cosine {likeness:.3}",
                    place + 1
                )
                .into());
            }
        }
        Ok(format!("{} vectors, in order", vectors.len()))
    }

    async fn throughput(&self, texts: &[String], elapsed: Duration) -> Found {
        let mut times = Vec::with_capacity(TIMED);
        for text in &texts[..TIMED] {
            let began = Instant::now();
            self.sound(&[text]).await?;
            times.push(began.elapsed());
        }
        times.sort_unstable();
        let each_second = texts.len() as f64 / elapsed.as_secs_f64();
        Ok(format!(
            "{each_second:.0} texts a second; one alone in {}",
            milliseconds(times[TIMED / 2])
        ))
    }

    /// What comes back, in as many calls as the provider needs.
    async fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(self.provider.info().max_texts as usize) {
            let texts = owned(texts);
            vectors.append(&mut self.provider.ask(&texts, EmbeddingKind::Passage).await?);
        }
        Ok(vectors)
    }

    /// The same, where it keeps what the host insists on.
    async fn sound(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Fault> {
        let vectors = self.ask(texts).await?;
        Ok(self.provider.checked(vectors, texts.len())?)
    }
}

fn first_statements() -> [&'static str; 6] {
    TRIPLES.map(|[statement, ..]| statement)
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|value| value * value).sum::<f32>().sqrt()
}

fn lengths(vectors: &[Vec<f32>]) -> (f32, f32) {
    let lengths = || vectors.iter().map(|vector| length(vector));
    (
        lengths().fold(f32::INFINITY, f32::min),
        lengths().fold(0.0, f32::max),
    )
}

/// Which of the others is nearest.
fn nearest(vector: &[f32], others: &[Vec<f32>]) -> usize {
    let cosines = others.iter().map(|other| cosine(vector, other));
    cosines
        .enumerate()
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map_or(0, |(place, _)| place)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}
