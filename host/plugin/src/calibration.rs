//! The relevance threshold of a model whose author gives none: found by
//! embedding questions and passages of which it is known what answers what.
//!
//! Cosines mean something else in every model. Here each question has one
//! passage that answers it, and all the other passages are strangers to it. The
//! threshold is the cosine that all but one in fifty strangers stay under, but
//! never more than what nine in ten answers reach: where a model tells the two
//! apart badly, a stranger too many does less harm than an answer lost.

use keepsake_types::embedding::{Embedder, EmbeddingError, EmbeddingKind};

/// The share of strangers that stay under the threshold.
const STRANGERS_UNDER: f64 = 0.98;
/// The share of answers that stay under it at the most.
const ANSWERS_UNDER: f64 = 0.10;

/// Questions and what answers them, on subjects that have nothing in common.
const PAIRS: [(&str, &str); 24] = [
    (
        "Which plan does she have?",
        "Her subscription is the Pro plan, billed every month.",
    ),
    (
        "When is the dentist appointment?",
        "The teeth cleaning is booked for Tuesday at nine.",
    ),
    (
        "Why did the parcel come back?",
        "The shipment was returned because the house number was missing.",
    ),
    (
        "What does he drink in the morning?",
        "He starts the day with black coffee.",
    ),
    (
        "How do I reset my password?",
        "A new passphrase is set through the link on the sign-in page.",
    ),
    (
        "Where did they spend the holidays?",
        "In August the family went camping in Norway.",
    ),
    (
        "What is wrong with the printer?",
        "The laser printer jams whenever thick paper is loaded.",
    ),
    (
        "Who looks after the dog?",
        "The neighbour walks the puppy while they are at work.",
    ),
    (
        "How much did the roof cost?",
        "The new tiles were eleven thousand euros with the scaffolding.",
    ),
    (
        "Which language should we write in?",
        "She would rather get her letters in Spanish.",
    ),
    (
        "Is he allergic to anything?",
        "Peanuts give him a rash, and shellfish too.",
    ),
    (
        "When does the contract end?",
        "The lease runs out on the last day of June.",
    ),
    (
        "What did the band play?",
        "The quartet closed the evening with a slow jazz waltz.",
    ),
    (
        "How was the marathon?",
        "She finished the race in under four hours in spite of the rain.",
    ),
    (
        "Which database do they use?",
        "Their backend stores everything in PostgreSQL.",
    ),
    (
        "What grows in the garden?",
        "Tomatoes, beans and a row of sunflowers stand behind the shed.",
    ),
    (
        "Why was the flight late?",
        "The plane waited two hours for a spare part.",
    ),
    (
        "Who teaches the class?",
        "Professor Lindgren holds the seminar on medieval history.",
    ),
    (
        "What is the dough made of?",
        "Flour, water, salt and a spoon of sourdough starter.",
    ),
    (
        "How did the exam go?",
        "He failed the chemistry test and will repeat it in spring.",
    ),
    (
        "Which car did she buy?",
        "She drives a small electric hatchback now.",
    ),
    (
        "What did the doctor say?",
        "The physician told him to rest his knee for six weeks.",
    ),
    (
        "How is the team paid?",
        "Salaries are transferred on the fifteenth, with a bonus in December.",
    ),
    (
        "What is the film about?",
        "The movie follows two sisters who inherit a lighthouse.",
    ),
];

/// The threshold for a provider's model.
///
/// # Errors
/// When the provider cannot embed the texts.
pub(crate) async fn relevance_threshold(provider: &dyn Embedder) -> Result<f32, EmbeddingError> {
    let texts = |pick: fn(&(&str, &str)) -> String| PAIRS.iter().map(pick).collect();
    let questions = provider
        .embed(texts(|pair| pair.0.to_owned()), EmbeddingKind::Query)
        .await?;
    let passages = provider
        .embed(texts(|pair| pair.1.to_owned()), EmbeddingKind::Passage)
        .await?;
    let (mut answers, mut strangers) = (Vec::new(), Vec::new());
    for (asked, question) in questions.iter().enumerate() {
        for (told, passage) in passages.iter().enumerate() {
            let cosines = if asked == told {
                &mut answers
            } else {
                &mut strangers
            };
            cosines.push(cosine(question, passage));
        }
    }
    let threshold =
        quantile(&mut strangers, STRANGERS_UNDER).min(quantile(&mut answers, ANSWERS_UNDER));
    Ok(threshold as f32)
}

/// The cosine of two vectors; 0 where one of them has no length.
pub(crate) fn cosine(left: &[f32], right: &[f32]) -> f64 {
    let dot = |left: &[f32], right: &[f32]| -> f64 {
        let pairs = left.iter().zip(right);
        pairs
            .map(|(left, right)| f64::from(*left) * f64::from(*right))
            .sum()
    };
    let norms = (dot(left, left) * dot(right, right)).sqrt();
    if norms > 0.0 {
        dot(left, right) / norms
    } else {
        0.0
    }
}

/// The value that this share of the values is under.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * share) as usize;
    values
        .get(place.min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use keepsake_types::embedding::EmbeddingInfo;

    use super::*;

    /// Gives the pairs vectors of a known cosine: each answer `near` its question,
    /// each stranger at `far` from it.
    struct Model {
        info: EmbeddingInfo,
        far: f32,
        near: f32,
    }

    impl Model {
        fn new(far: f32, near: f32) -> Self {
            let info = EmbeddingInfo {
                model: "test".into(),
                dimensions: 49,
                normalised: false,
                max_texts: 100,
                max_text_bytes: 1_000,
                relevance_threshold: None,
            };
            Self { info, far, near }
        }
    }

    #[async_trait]
    impl Embedder for Model {
        fn info(&self) -> &EmbeddingInfo {
            &self.info
        }

        async fn embed(
            &self,
            texts: Vec<String>,
            kind: EmbeddingKind,
        ) -> Result<Vec<Vec<f32>>, EmbeddingError> {
            // One axis is common to all, one is each pair's, and one takes the rest.
            let vectors = (0..texts.len()).map(|place| {
                let mut vector = vec![0.0_f32; 49];
                let own = match kind {
                    EmbeddingKind::Query => 1.0 - self.far,
                    EmbeddingKind::Passage => self.near - self.far,
                };
                vector[0] = self.far.sqrt();
                vector[1 + place] = own / (1.0 - self.far).sqrt();
                let rest = 1.0 - vector.iter().map(|value| value * value).sum::<f32>();
                vector[25 + place] = rest.max(0.0).sqrt();
                vector
            });
            Ok(vectors.collect())
        }
    }

    #[tokio::test]
    async fn the_threshold_lies_above_strangers_and_not_above_answers() {
        let clear = relevance_threshold(&Model::new(0.7, 0.9)).await.unwrap();
        assert!((clear - 0.7).abs() < 1e-3, "{clear}");
        let blurred = relevance_threshold(&Model::new(0.5, 0.4)).await.unwrap();
        assert!((blurred - 0.4).abs() < 1e-3, "{blurred}");
    }
}
