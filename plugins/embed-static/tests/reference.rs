//! The model against its reference vectors.

use embed_static::{DIMENSIONS, embed, tokenize};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    model: String,
    dim: usize,
    tolerance: f32,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    text: String,
    token_ids: Vec<u16>,
    vector: Vec<f32>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("data/test-vectors.json")).unwrap()
}

fn one(text: &str) -> Vec<f32> {
    embed(&[text.to_owned()]).remove(0)
}

#[test]
fn every_reference_text_gives_its_tokens_and_its_vector() {
    let reference = reference();
    assert_eq!(
        (reference.model.as_str(), reference.dim),
        ("static-minilm-256", DIMENSIONS)
    );
    assert_eq!(reference.cases.len(), 20);
    for case in reference.cases {
        assert_eq!(tokenize(&case.text), case.token_ids, "{}", case.text);
        let vector = one(&case.text);
        assert_eq!(vector.len(), DIMENSIONS);
        for (place, (got, wanted)) in vector.iter().zip(&case.vector).enumerate() {
            let off = (got - wanted).abs();
            assert!(
                off < reference.tolerance,
                "{}: {place} is off by {off}",
                case.text
            );
        }
    }
}

#[test]
fn a_text_with_nothing_known_gives_the_zero_vector() {
    for text in [
        "",
        " ",
        "\n\t",
        "\u{1F600}\u{1F600}",
        "漢字",
        &"q".repeat(101),
    ] {
        assert_eq!(one(text), vec![0.0; DIMENSIONS], "{text:?}");
    }
}

#[test]
fn a_vector_has_length_one() {
    for text in [
        "a",
        "I want my money back.",
        &"the router is broken ".repeat(1_000),
    ] {
        let length = one(text)
            .iter()
            .map(|value| value * value)
            .sum::<f32>()
            .sqrt();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }
}

#[test]
fn a_batch_answers_in_the_order_of_its_texts() {
    let texts: Vec<String> = reference()
        .cases
        .into_iter()
        .map(|case| case.text)
        .collect();
    let mut mixed = texts.clone();
    mixed.push(String::new());
    mixed.extend(texts.iter().rev().cloned());
    let vectors = embed(&mixed);
    assert_eq!(vectors.len(), mixed.len());
    for (text, vector) in mixed.iter().zip(&vectors) {
        assert_eq!(&one(text), vector, "{text}");
    }
    assert!(embed(&[]).is_empty());
}
