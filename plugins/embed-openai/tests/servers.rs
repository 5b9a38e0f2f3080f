//! The provider before servers of all kinds, each scripted.

use embed_openai::{EmbedOpenai, TEXT_BYTES};
use keepsake_sdk::embeddings::{EmbeddingInfo, Kind};
use keepsake_sdk::http::{HttpErrorKind, Request};
use keepsake_sdk::testing::{Host, HttpAnswer};
use keepsake_sdk::{EmbeddingProvider, Error, Result};
use serde_json::{Value, json};

/// A host for one test. Each has a model of its own, since what is learned of a
/// model is kept.
fn host(model: &str) -> Host {
    Host::new()
        .setting("base-url", json!("https://a.example/v1/"))
        .setting("model", json!(model))
}

fn embed(host: &Host, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
    let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
    EmbedOpenai::embed(&host.context(), &texts, Kind::Passage)
}

fn info(host: &Host) -> Result<EmbeddingInfo> {
    EmbedOpenai::info(&host.context())
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(request.body_bytes()).unwrap()
}

/// An answer with these vectors, in this order.
fn vectors(vectors: &[(usize, Value)]) -> HttpAnswer {
    let data: Vec<_> = vectors
        .iter()
        .map(
            |(index, vector)| json!({ "object": "embedding", "index": index, "embedding": vector }),
        )
        .collect();
    HttpAnswer::json(
        200,
        &json!({ "object": "list", "data": data, "model": "m" }),
    )
}

/// A server whose vectors tell of the text's length.
fn honest(request: &Request) -> HttpAnswer {
    let body = body(request);
    let texts = body["input"].as_array().unwrap();
    let items: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| (index, json!([text.as_str().unwrap().len(), 0, 1])))
        .collect();
    vectors(&items)
}

fn refused(model: &str, answer: HttpAnswer) -> Error {
    embed(&host(model).http_answers(answer), &["x"]).unwrap_err()
}

#[test]
fn vectors_come_in_the_order_of_the_texts_and_have_length_1() {
    let host = host("order").http_answers(vectors(&[
        (2, json!([0, 0, 5])),
        (0, json!([3, 4, 0])),
        (1, json!([0, -2, 0])),
    ]));
    let found = embed(&host, &["a", "b", "c"]).unwrap();
    assert_eq!(found, [[0.6, 0.8, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]);
    let request = &host.http_requests()[0];
    assert_eq!(request.uri().to_string(), "https://a.example/v1/embeddings");
    assert_eq!(
        body(request),
        json!({ "model": "order", "input": ["a", "b", "c"], "encoding_format": "float" })
    );
    assert!(request.headers().get("authorization").is_none());
}

#[test]
fn huge_and_tiny_numbers_are_normalised_too() {
    let answer = vectors(&[(0, json!([3e38, 0])), (1, json!([0, 1e-38]))]);
    let found = embed(&host("huge").http_answers(answer), &["a", "b"]).unwrap();
    assert_eq!(found, [[1.0, 0.0], [0.0, 1.0]]);
}

#[test]
fn many_texts_go_in_batches_and_come_back_in_order() {
    let host = host("batches")
        .setting("batch", json!(2))
        .http_server(honest);
    let found = embed(&host, &["a", "bb", "ccc", "dddd", "eeeee"]).unwrap();
    let ratios: Vec<_> = found.iter().map(|v| (v[0] / v[2]).round()).collect();
    assert_eq!(ratios, [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(host.http_requests().len(), 3);
}

#[test]
fn empty_texts_are_not_sent_and_have_the_vector_of_zeros() {
    let host = host("empty").http_server(honest);
    let found = embed(&host, &["", "a", " \n"]).unwrap();
    assert_eq!(
        (found[0].as_slice(), found[2].as_slice()),
        (&[0.0; 3][..], &[0.0; 3][..])
    );
    assert_eq!(body(&host.http_requests()[0])["input"], json!(["a"]));
    assert_eq!(embed(&host, &[]).unwrap(), Vec::<Vec<f32>>::new());
    assert_eq!(embed(&host, &[""]).unwrap(), [[0.0; 3]]);
    assert_eq!(host.http_requests().len(), 1);
}

#[test]
fn a_long_text_is_cut_between_characters() {
    let host = host("long").http_server(honest);
    embed(&host, &["€".repeat(TEXT_BYTES).as_str()]).unwrap();
    let sent = body(&host.http_requests()[0])["input"][0]
        .as_str()
        .unwrap()
        .len();
    assert_eq!(sent, TEXT_BYTES / 3 * 3);
}

#[test]
fn the_width_is_asked_once_and_names_the_space_with_the_model() {
    let host = host("probe").http_server(honest);
    for _ in 0..2 {
        let info = info(&host).unwrap();
        assert_eq!((info.model.as_str(), info.dimensions), ("probe@3", 3));
        assert!(info.normalised && info.max_texts == 64);
    }
    assert_eq!(host.http_requests().len(), 1);
}

#[test]
fn a_width_that_is_set_is_sent_and_needs_no_question() {
    let host = host("set")
        .setting("dimensions", json!(3))
        .http_server(honest);
    assert_eq!(info(&host).unwrap().model, "set@3");
    assert!(host.http_requests().is_empty());
    embed(&host, &["a"]).unwrap();
    assert_eq!(body(&host.http_requests()[0])["dimensions"], 3);
    let host = host.setting("dimensions", json!(2));
    let error = embed(&host, &["a"]).unwrap_err();
    assert!(error.message().contains("`dimensions` is 2"), "{error}");
}

#[test]
fn what_an_operator_sets_for_nvidia_is_sent() {
    let host = host("nim")
        .setting("base-url", json!("https://integrate.api.nvidia.com/v1"))
        .setting("truncate", json!("END"))
        .setting("relevance-threshold", json!(0.25))
        .http_server(honest);
    let texts = ["a".to_owned()];
    for (kind, word) in [(Kind::Query, "query"), (Kind::Passage, "passage")] {
        EmbedOpenai::embed(&host.context(), &texts, kind).unwrap();
        let sent = body(host.http_requests().last().unwrap());
        assert_eq!(
            (&sent["input_type"], &sent["truncate"]),
            (&json!(word), &json!("END"))
        );
    }
    let info = info(&host).unwrap();
    assert_eq!(info.model, "nim@3+input-type");
    assert_eq!(info.relevance_threshold, Some(0.25));
}

#[test]
fn vectors_are_read_as_base64_whether_or_not_they_were_asked_for_so() {
    let text = json!("AACAPwAAAAA=");
    let wanted = host("base64").setting("encoding", json!("base64"));
    let wanted = wanted.http_answers(vectors(&[(0, text.clone())]));
    assert_eq!(embed(&wanted, &["a"]).unwrap(), [[1.0, 0.0]]);
    assert_eq!(
        body(&wanted.http_requests()[0])["encoding_format"],
        "base64"
    );
    let unwanted = host("base64").http_answers(vectors(&[(0, text)]));
    assert_eq!(embed(&unwanted, &["a"]).unwrap(), [[1.0, 0.0]]);
    let ignored = wanted.http_answers(vectors(&[(0, json!([0, 2]))]));
    assert_eq!(embed(&ignored, &["a"]).unwrap(), [[0.0, 1.0]]);
}

#[test]
fn a_server_without_indexes_is_taken_at_its_order() {
    let answer =
        json!({ "data": [{ "embedding": [1, 0] }, { "index": null, "embedding": [0, 1] }] });
    let host = host("unnumbered").http_answers(HttpAnswer::json(200, &answer));
    assert_eq!(embed(&host, &["a", "b"]).unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
}

#[test]
fn vectors_that_cannot_be_the_texts_are_refused() {
    let one = json!([1, 0]);
    for (number, (answer, reason)) in [
        (vectors(&[]), "0 vectors for 2 texts"),
        (vectors(&[(0, one.clone())]), "1 vectors for 2 texts"),
        (
            vectors(&[(0, one.clone()), (1, one.clone()), (2, one.clone())]),
            "3 vectors for 2 texts",
        ),
        (
            vectors(&[(1, one.clone()), (1, one.clone())]),
            "two vectors for text 1",
        ),
        (
            vectors(&[(0, one.clone()), (2, one.clone())]),
            "a vector for text 2",
        ),
        (
            vectors(&[(0, one.clone()), (1, json!([1]))]),
            "of 1 dimensions after ones of 2",
        ),
        (
            vectors(&[(0, json!([])), (1, one.clone())]),
            "an empty vector",
        ),
        (
            vectors(&[(0, json!([1e39, 0])), (1, one.clone())]),
            "inf as number 0",
        ),
        (
            vectors(&[(0, json!("AADAfwAAAAA=")), (1, one.clone())]),
            "NaN as number 0",
        ),
        (vectors(&[(0, json!([null, 0])), (1, one.clone())]), "null"),
    ]
    .into_iter()
    .enumerate()
    {
        let host = host(&format!("unfit-{number}")).http_answers(answer);
        let error = embed(&host, &["a", "b"]).unwrap_err();
        assert_eq!(error.code(), "unavailable");
        assert!(error.message().contains(reason), "{reason}: {error}");
        assert!(error.message().contains("https://a.example"), "{error}");
    }
}

#[test]
fn a_model_that_changes_its_width_is_noticed() {
    let host = host("changed").http_answers(vectors(&[(0, json!([1, 0]))]));
    embed(&host, &["a"]).unwrap();
    let host = host.http_answers(vectors(&[(0, json!([1, 0, 0]))]));
    let error = embed(&host, &["a"]).unwrap_err();
    assert!(error.message().contains("start the host again"), "{error}");
}

#[test]
fn each_form_of_error_is_told_with_the_servers_words() {
    for (answer, code, words) in [
        (
            HttpAnswer::json(
                400,
                &json!({ "error": { "message": "bad input", "code": null } }),
            ),
            "invalid",
            "400 Bad Request: bad input",
        ),
        (
            HttpAnswer::json(
                422,
                &json!({ "detail": [{ "loc": ["body", "model"], "msg": "gone" }] }),
            ),
            "invalid",
            "body.model: gone",
        ),
        (
            HttpAnswer::json(404, &json!({ "detail": "no model" })),
            "not-found",
            "no model",
        ),
        (
            HttpAnswer::new(403).chunk("not for you"),
            "denied",
            "not for you",
        ),
        (
            HttpAnswer::new(502).chunk("<html><title>Bad Gateway</title></html>"),
            "unavailable",
            "502 Bad Gateway: Bad Gateway",
        ),
        (
            HttpAnswer::json(200, &json!({ "error": { "message": "overloaded" } })),
            "unavailable",
            "overloaded",
        ),
        (
            HttpAnswer::new(200).chunk("<html><title>Sign in</title></html>"),
            "unavailable",
            "Sign in",
        ),
        (HttpAnswer::new(204), "unavailable", "204"),
        (
            HttpAnswer::new(302).header("location", "https://b.example"),
            "invalid",
            "b.example",
        ),
    ] {
        let host = host("errors").http_server(move |_| answer.clone());
        let error = embed(&host, &["x"]).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(words), "{words}: {error}");
    }
}

#[test]
fn a_key_that_the_server_repeats_is_not_told() {
    let text = json!({ "error": { "message": "Incorrect API key provided: sk-0123456789" } });
    let error = refused("key", HttpAnswer::json(401, &text));
    assert_eq!(error.code(), "denied");
    assert!(!error.message().contains("0123"), "{error}");
}

#[test]
fn a_busy_server_is_asked_again_and_then_given_up() {
    let host = host("busy")
        .http_answers(HttpAnswer::new(429).header("retry-after", "2"))
        .http_answers(HttpAnswer::fails(HttpErrorKind::Refused))
        .http_server(honest);
    embed(&host, &["a"]).unwrap();
    assert_eq!(
        host.waits()
            .iter()
            .map(|wait| wait.as_secs())
            .collect::<Vec<_>>(),
        [2, 1]
    );
    let hour = HttpAnswer::new(429).header("retry-after", "3600");
    let error = embed(&host.http_answers(hour), &["a"]).unwrap_err();
    let wanted = matches!(
        error,
        Error::Unavailable {
            retry_after_ms: Some(3_600_000),
            ..
        }
    );
    assert!(wanted, "{error:?}");
}

#[test]
fn a_server_that_is_not_granted_or_not_there_is_told_as_such() {
    for (kind, code) in [
        (HttpErrorKind::Denied, "denied"),
        (HttpErrorKind::TimedOut, "unavailable"),
        (HttpErrorKind::Tls, "unavailable"),
    ] {
        let error = refused("away", HttpAnswer::fails(kind));
        assert_eq!(error.code(), code);
        assert!(
            error.message().starts_with("https://a.example: "),
            "{error}"
        );
    }
    let answer = HttpAnswer::new(200).chunk("{\"data\":[").breaks_off();
    assert!(
        refused("away", answer)
            .message()
            .contains("connection ended")
    );
}
