//! The index of vectors against looking at every one of them.

use keepsake_storage::{Database, FactVectors, Memory, NewFact, QueryVector, Settings};

use crate::common::TestFile;
use crate::vectors::query_vector;

/// Numbers that look like chance and are the same in each run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// About normally distributed.
    fn number(&mut self) -> f32 {
        let sum: u64 = (0..8).map(|_| self.next() >> 40).sum();
        sum as f32 / (1_u64 << 24) as f32 - 4.0
    }

    fn vector(&mut self, width: usize) -> Vec<f32> {
        (0..width).map(|_| self.number()).collect()
    }

    /// Near one of the centres.
    fn near(&mut self, centres: &[Vec<f32>], spread: f32) -> Vec<f32> {
        let centre = &centres[self.below(centres.len())];
        centre
            .iter()
            .map(|number| number + spread * self.number())
            .collect()
    }
}

fn cosine(left: &[f32], right: &[f32]) -> f64 {
    let product = |left: &[f32], right: &[f32]| -> f64 {
        left.iter()
            .zip(right)
            .map(|(left, right)| f64::from(*left) * f64::from(*right))
            .sum()
    };
    product(left, right) / (product(left, left) * product(right, right)).sqrt()
}

fn of_model(model: &str, vectors: Vec<Vec<f32>>) -> FactVectors {
    FactVectors {
        model: model.to_owned(),
        dimensions: vectors[0].len() as u32,
        vectors,
    }
}

async fn remember(memory: &Memory, text: &str, model: &str, vectors: &[Vec<f32>]) -> Vec<String> {
    let mut ids = Vec::new();
    for (batch, vectors) in vectors.chunks(10_000).enumerate() {
        let facts = (0..vectors.len()).map(|place| NewFact::new(format!("{text}{batch}x{place}")));
        let vectors = of_model(model, vectors.to_vec());
        let remembered = memory
            .remember_many(facts.collect(), Some(vectors))
            .await
            .unwrap();
        ids.extend(remembered.into_iter().map(|one| one.fact.id));
    }
    ids
}

/// The share of the ten nearest that the index finds, over some queries.
async fn recall_at_10(width: usize, vectors: Vec<Vec<f32>>, queries: Vec<Vec<f32>>) -> f64 {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let ids = remember(&memory, "f", "m", &vectors).await;
    let mut hits = 0;
    for query in &queries {
        assert_eq!(query.len(), width);
        let mut exact: Vec<(f64, &String)> = vectors
            .iter()
            .map(|vector| cosine(query, vector))
            .zip(&ids)
            .collect();
        exact.sort_by(|left, right| right.0.total_cmp(&left.0));
        let found = memory
            .view()
            .nearest(query_vector("m", query), 10)
            .await
            .unwrap();
        assert_eq!(found.len(), 10);
        for (near, exact) in found.iter().zip(&exact) {
            assert!((near.cosine - exact.0).abs() < 0.05);
        }
        hits += exact[..10]
            .iter()
            .filter(|(_, id)| found.iter().any(|near| near.fact == **id))
            .count();
    }
    hits as f64 / (10 * queries.len()) as f64
}

#[tokio::test]
async fn the_ten_nearest_are_found_among_scattered_and_among_clustered_vectors() {
    let mut chance = Chance(7);
    for width in [64, 256, 384] {
        for spread in [0.1, 1.0, 10.0] {
            let centres: Vec<Vec<f32>> = (0..50).map(|_| chance.vector(width)).collect();
            let vectors = (0..12_000).map(|_| chance.near(&centres, spread)).collect();
            let queries = (0..20).map(|_| chance.near(&centres, spread)).collect();
            let share = recall_at_10(width, vectors, queries).await;
            assert!(share >= 0.99, "{width} {spread}: {share}");
        }
    }
}

#[tokio::test]
async fn the_ten_nearest_are_found_where_all_vectors_point_the_same_way() {
    let mut chance = Chance(8);
    let centres = vec![chance.vector(256)];
    let vectors = (0..12_000).map(|_| chance.near(&centres, 0.5)).collect();
    let queries = (0..30).map(|_| chance.near(&centres, 0.5)).collect();
    assert!(recall_at_10(256, vectors, queries).await >= 0.99);
}

#[tokio::test]
async fn whatever_is_done_to_facts_the_index_finds_what_looking_at_all_does() {
    const WIDTH: usize = 70;
    let file = TestFile::new().await;
    // The second handle is what another process is: it shares nothing but the file.
    let second = Database::open(file.path()).await.unwrap();
    let small = Settings {
        vector_index_bytes: 4_000,
        ..Settings::default()
    };
    let third = Database::open_with(file.path(), small).await.unwrap();
    let jordan = file.memory("jordan").await;
    let other = file.memory("robin").await;
    let mut chance = Chance(9);
    let strangers: Vec<Vec<f32>> = (0..30).map(|_| chance.vector(WIDTH)).collect();
    remember(&other, "stranger", "m", &strangers).await;
    // Ids with their models and vectors.
    let mut known: Vec<(String, &str, Vec<f32>)> = Vec::new();
    for round in 0..120 {
        let model = ["m", "n"][usize::from(chance.below(4) == 0)];
        match chance.below(5) {
            0 | 1 => {
                let number = 1 + chance.below(25);
                let vectors: Vec<Vec<f32>> = (0..number).map(|_| chance.vector(WIDTH)).collect();
                let ids = remember(&jordan, &format!("r{round}n"), model, &vectors).await;
                known.extend(
                    ids.into_iter()
                        .zip(vectors)
                        .map(|(id, vector)| (id, model, vector)),
                );
            }
            2 if !known.is_empty() => {
                let (id, ..) = known.swap_remove(chance.below(known.len()));
                assert_eq!(jordan.forget(vec![id]).await.unwrap(), 1);
            }
            3 if !known.is_empty() => {
                let place = chance.below(known.len());
                let vector = chance.vector(WIDTH);
                let ids = vec![known[place].0.clone()];
                jordan
                    .set_vectors(ids, of_model(model, vec![vector.clone()]))
                    .await
                    .unwrap();
                (known[place].1, known[place].2) = (model, vector);
            }
            _ => {
                // Embedded later than those after it.
                let fact = vec![NewFact::new(format!("late {round}"))];
                let id = jordan.remember_many(fact, None).await.unwrap()[0]
                    .fact
                    .id
                    .clone();
                let after = chance.vector(WIDTH);
                let ids = remember(
                    &jordan,
                    &format!("after {round} "),
                    "m",
                    std::slice::from_ref(&after),
                )
                .await;
                known.push((ids[0].clone(), "m", after));
                jordan
                    .view()
                    .nearest(query_vector("m", &known[0].2), 1)
                    .await
                    .unwrap();
                let vector = chance.vector(WIDTH);
                jordan
                    .set_vectors(vec![id.clone()], of_model(model, vec![vector.clone()]))
                    .await
                    .unwrap();
                known.push((id, model, vector));
            }
        }
        for asked in ["m", "n"] {
            let query = chance.vector(WIDTH);
            let mut expected: Vec<(f64, &str)> = known
                .iter()
                .filter(|(_, model, _)| *model == asked)
                .map(|(id, _, vector)| (cosine(&query, vector), id.as_str()))
                .collect();
            expected.sort_by(|left, right| right.0.total_cmp(&left.0));
            expected.truncate(5);
            for database in [&file.database, &second, &third] {
                let view = database.view(jordan.resource()).unwrap();
                let query: QueryVector = query_vector(asked, &query);
                let found = view.nearest(query, 5).await.unwrap();
                let ids: Vec<&str> = found.iter().map(|near| near.fact.as_str()).collect();
                let exact: Vec<&str> = expected.iter().map(|(_, id)| *id).collect();
                assert_eq!(ids, exact, "round {round}, model {asked}");
                for (near, (cosine, _)) in found.iter().zip(&expected) {
                    assert!((near.cosine - cosine).abs() < 1e-4);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_model_that_was_dropped_leaves_nothing_in_an_index() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let mut chance = Chance(10);
    let vectors: Vec<Vec<f32>> = (0..300).map(|_| chance.vector(64)).collect();
    remember(&memory, "f", "m", &vectors).await;
    let ask = async |width: usize| {
        let query = query_vector("m", &vec![1.0; width]);
        memory.view().nearest(query, 5).await.unwrap().len()
    };
    assert_eq!(ask(64).await, 5);
    assert!(file.database.drop_model("m").await.unwrap());
    assert_eq!(ask(64).await, 0);
    // The name, and perhaps the number, come again with another width.
    remember(&memory, "g", "m", &[chance.vector(100)]).await;
    assert_eq!(ask(100).await, 1);
}

#[tokio::test]
async fn facts_that_no_longer_hold_do_not_crowd_out_those_that_do() {
    let file = TestFile::new().await;
    let memory = file.memory("jordan").await;
    let mut chance = Chance(11);
    let centre = chance.vector(64);
    let near: Vec<Vec<f32>> = (0..400)
        .map(|_| chance.near(std::slice::from_ref(&centre), 0.01))
        .collect();
    let far: Vec<Vec<f32>> = (0..400).map(|_| chance.vector(64)).collect();
    let expired = remember(&memory, "near", "m", &near).await;
    let current = remember(&memory, "far", "m", &far).await;
    for id in &expired {
        memory.expire(id, 1).await.unwrap();
    }
    let found = memory
        .view()
        .nearest(query_vector("m", &centre), 10)
        .await
        .unwrap();
    assert_eq!(found.len(), 10);
    assert!(found.iter().all(|near| current.contains(&near.fact)));
}
