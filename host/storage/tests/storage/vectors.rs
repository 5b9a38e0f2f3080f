//! Facts and their vectors, and recall by them.

use keepsake_storage::{FactVectors, Memory, NewFact, QueryVector, RecallMode, RecallOptions};

use crate::common::{TestFile, assert_invalid, assert_limit, remember_text};
use crate::recall::{by, by_words, texts};

pub(crate) fn vectors(model: &str, vectors: &[&[f32]]) -> FactVectors {
    FactVectors {
        model: model.to_owned(),
        dimensions: vectors.first().map_or(0, |first| first.len() as u32),
        vectors: vectors.iter().map(|vector| vector.to_vec()).collect(),
    }
}

pub(crate) fn query_vector(model: &str, vector: &[f32]) -> QueryVector {
    QueryVector {
        model: model.to_owned(),
        vector: vector.to_vec(),
        relevance_threshold: None,
    }
}

/// Three facts that point along the axes of model `m`.
pub(crate) async fn embedded(file: &TestFile) -> Memory {
    let memory = file.memory("jordan").await;
    memory
        .remember_many(
            [
                "Jordan drinks tea",
                "the invoice is overdue",
                "seats were added",
            ]
            .map(NewFact::new)
            .to_vec(),
            Some(vectors(
                "m",
                &[&[1.0, 0.0, 0.0], &[0.0, 2.0, 0.0], &[0.0, 0.0, -0.5]],
            )),
        )
        .await
        .unwrap();
    memory
}

#[tokio::test]
async fn vectors_order_by_cosine_whatever_their_length() {
    let file = TestFile::new().await;
    let memory = embedded(&file).await;
    let query = query_vector("m", &[0.1, 3.0, 0.2]);
    let found = memory
        .recall("x", Some(query), by(RecallMode::Vectors))
        .await
        .unwrap()
        .facts;
    assert_eq!(
        texts(&found),
        [
            "the invoice is overdue",
            "Jordan drinks tea",
            "seats were added"
        ]
    );
    let ranks: Vec<Option<u32>> = found.iter().map(|one| one.score.vector_rank).collect();
    assert_eq!(ranks, [Some(1), Some(2), Some(3)]);
    let norm = (0.1_f64 * 0.1 + 9.0 + 0.04).sqrt();
    for (one, expected) in found.iter().zip([3.0 / norm, 0.1 / norm, -0.2 / norm]) {
        assert!((one.score.cosine.unwrap() - expected).abs() < 1e-6);
        assert_eq!(one.score.word_rank, None);
    }
}

#[tokio::test]
async fn hybrid_takes_both_and_the_threshold_drops_what_neither_supports() {
    let file = TestFile::new().await;
    let memory = embedded(&file).await;
    let query = |threshold| QueryVector {
        relevance_threshold: threshold,
        ..query_vector("m", &[0.8, 0.6, 0.0])
    };
    let hybrid =
        |threshold| memory.recall("overdue", Some(query(threshold)), RecallOptions::default());
    assert_eq!(
        texts(&hybrid(None).await.unwrap().facts),
        [
            "the invoice is overdue",
            "Jordan drinks tea",
            "seats were added"
        ]
    );
    // The word keeps the invoice in spite of its cosine of 0.6.
    assert_eq!(
        texts(&hybrid(Some(0.7)).await.unwrap().facts),
        ["the invoice is overdue", "Jordan drinks tea"]
    );
    let without = memory
        .recall("overdue", None, RecallOptions::default())
        .await
        .unwrap();
    assert_eq!(texts(&without.facts), ["the invoice is overdue"]);
    let words = memory
        .recall("overdue", Some(query(None)), by(RecallMode::Words))
        .await
        .unwrap();
    assert_eq!(texts(&words.facts), ["the invoice is overdue"]);
    assert_eq!(words.facts[0].score.cosine, None);
}

#[tokio::test]
async fn vectors_of_another_model_are_not_compared() {
    let file = TestFile::new().await;
    let memory = embedded(&file).await;
    memory
        .remember_many(
            vec![NewFact::new("a fact of model n")],
            Some(vectors("n", &[&[1.0, 0.0, 0.0]])),
        )
        .await
        .unwrap();
    let recall = async |model: &str, vector: &[f32]| {
        let found = memory
            .recall(
                "x",
                Some(query_vector(model, vector)),
                by(RecallMode::Vectors),
            )
            .await;
        found.map(|found| found.facts.len())
    };
    assert_eq!(recall("m", &[1.0, 0.0, 0.0]).await.unwrap(), 3);
    assert_eq!(recall("n", &[1.0, 0.0, 0.0]).await.unwrap(), 1);
    assert_eq!(recall("unknown", &[1.0, 0.0]).await.unwrap(), 0);
    assert_invalid(
        recall("m", &[1.0, 0.0]).await,
        "3 dimensions in this database and now gives 2",
    );
}

#[tokio::test]
async fn vectors_that_do_not_fit_their_model_are_refused_and_nothing_is_remembered() {
    let file = TestFile::new().await;
    let memory = embedded(&file).await;
    let remember = |given| memory.remember_many(vec![NewFact::new("new")], Some(given));
    assert_invalid(remember(vectors("m", &[&[1.0, 0.0]])).await, "3 dimensions");
    assert_invalid(remember(vectors("n", &[])).await, "each fact needs one");
    assert_invalid(
        remember(vectors("n", &[&[1.0], &[1.0]])).await,
        "each fact needs one",
    );
    assert_invalid(
        remember(vectors("n", &[&[]])).await,
        "at least one dimension",
    );
    assert_invalid(remember(vectors("", &[&[1.0]])).await, "model with a name");
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_invalid(remember(vectors("n", &[&[wrong]])).await, "not a number");
        let query = Some(query_vector("n", &[wrong]));
        assert_invalid(
            memory.recall("x", query, by(RecallMode::Vectors)).await,
            "not a number",
        );
    }
    let lying = FactVectors {
        dimensions: 2,
        ..vectors("n", &[&[1.0]])
    };
    assert_invalid(remember(lying).await, "gave one with 1");
    assert_limit(
        remember(vectors("n", &[&vec![1.0; 8_193]])).await,
        "vector-dimensions",
    );
    assert_eq!(memory.list_facts(None, 10).await.unwrap().facts.len(), 3);
    let models = file.database.check().await.unwrap().counts.models;
    assert_eq!(models.len(), 1);
    remember(vectors("wide", &[&vec![1.0; 8_192]]))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_vector_of_length_zero_is_similar_to_nothing() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    memory
        .remember_many(
            vec![NewFact::new("unknown words"), NewFact::new("known")],
            Some(vectors("m", &[&[0.0, 0.0], &[1.0, 0.0]])),
        )
        .await
        .unwrap();
    let recall = async |vector: &[f32]| {
        let found = memory
            .recall(
                "x",
                Some(query_vector("m", vector)),
                by(RecallMode::Vectors),
            )
            .await;
        found
            .unwrap()
            .facts
            .into_iter()
            .map(|one| one.score.cosine)
            .collect::<Vec<_>>()
    };
    assert_eq!(recall(&[1.0, 0.0]).await, [Some(1.0), Some(0.0)]);
    assert_eq!(recall(&[0.0, 0.0]).await, [Some(0.0), Some(0.0)]);
}

#[tokio::test]
async fn facts_are_embedded_anew_for_another_model_page_by_page() {
    let file = TestFile::new().await;
    let memory = embedded(&file).await;
    remember_text(&memory, "never embedded").await;
    let view = memory.view();
    let unembedded = async |model: &str| {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = view.unembedded(model, after.as_deref(), 2).await.unwrap();
            found.extend(page.facts);
            after = page.next;
            if after.is_none() {
                let count = view.count_unembedded(model).await.unwrap();
                assert_eq!(count, found.len() as u64);
                return found;
            }
        }
    };
    let left = unembedded("m").await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].1, "never embedded");
    let all = unembedded("n").await;
    assert_eq!(all.len(), 4);
    let mut ids: Vec<String> = all.into_iter().map(|(id, _)| id).collect();
    ids.push("018f0000-0000-7000-8000-000000000000".to_owned());
    let given = vectors("n", &[&[1.0], &[1.0], &[1.0], &[1.0], &[1.0]]);
    assert_eq!(memory.set_vectors(ids, given).await.unwrap(), 4);
    assert!(unembedded("n").await.is_empty());
    assert_eq!(unembedded("m").await.len(), 4);

    assert!(file.database.drop_model("n").await.unwrap());
    assert!(!file.database.drop_model("n").await.unwrap());
    assert_eq!(unembedded("n").await.len(), 4);
    assert_eq!(by_words(&memory, "embedded").await, ["never embedded"]);
}
