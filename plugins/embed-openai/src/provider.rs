//! The provider: texts to a server, vectors back, and every vector checked.

use keepsake_sdk::embeddings::{EmbeddingInfo, Kind};
use keepsake_sdk::http::{Refusal, Request, Retry, StatusCode, Timeouts};
use keepsake_sdk::{Context, EmbeddingProvider, Error, Result};

use crate::settings::Settings;
use crate::space;
use crate::wire::{Answered, Asked, Item};

/// How much of a text is sent, in bytes: the models of most servers take about
/// 8,000 tokens, a token is hardly ever less than a byte, and a single text that
/// is too long would have its whole request refused.
pub const TEXT_BYTES: usize = 8 * 1024;

/// The largest answer that is read, in bytes: enough for 1,000 vectors of 1,536
/// numbers at full length.
pub const ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// What is embedded to learn how wide a model's vectors are.
const PROBE: &str = "width";

/// The provider.
pub struct EmbedOpenai;

keepsake_sdk::register_embedding_provider!(EmbedOpenai);

impl EmbeddingProvider for EmbedOpenai {
    fn info(context: &Context) -> Result<EmbeddingInfo> {
        let settings = Settings::read(context)?;
        let width = width(context, &settings)?;
        Ok(EmbeddingInfo {
            // One request a call, so that its retries have the time of a call.
            max_texts: settings.batch,
            max_text_bytes: u32::try_from(TEXT_BYTES).unwrap_or(u32::MAX),
            relevance_threshold: settings.relevance_threshold,
            ..EmbeddingInfo::new(space::name(&settings, width), width)
        })
    }

    fn embed(context: &Context, texts: &[String], kind: Kind) -> Result<Vec<Vec<f32>>> {
        let settings = Settings::read(context)?;
        // Servers refuse an empty text, and nothing has no direction: it is
        // given the vector of zeros and not sent.
        let (places, sent): (Vec<usize>, Vec<&str>) = texts
            .iter()
            .enumerate()
            .filter(|(_, text)| !text.trim().is_empty())
            .map(|(place, text)| (place, &text[..text.floor_char_boundary(TEXT_BYTES)]))
            .unzip();
        let mut found = Vec::with_capacity(sent.len());
        for batch in sent.chunks(settings.batch as usize) {
            found.append(&mut ask(context, &settings, batch, kind)?);
        }
        if found.len() == texts.len() {
            return Ok(found);
        }
        let mut vectors = vec![vec![0.0; width(context, &settings)? as usize]; texts.len()];
        for (place, vector) in places.into_iter().zip(found) {
            vectors[place] = vector;
        }
        Ok(vectors)
    }
}

/// How wide the model's vectors are; asks the server where it is not known.
fn width(context: &Context, settings: &Settings) -> Result<u32> {
    if space::known(settings).is_none() {
        ask(context, settings, &[PROBE], Kind::Passage)?;
    }
    space::known(settings)
        .ok_or_else(|| Error::internal("embed-openai lost the width that it has just seen"))
}

/// The vectors of texts that fit one request.
fn ask(
    context: &Context,
    settings: &Settings,
    texts: &[&str],
    kind: Kind,
) -> Result<Vec<Vec<f32>>> {
    let asked = Asked {
        model: &settings.service.model,
        input: texts.to_vec(),
        encoding_format: settings.encoding,
        dimensions: settings.dimensions,
        input_type: settings.input_type.then_some(match kind {
            Kind::Query => "query",
            Kind::Passage => "passage",
        }),
        truncate: settings.truncate,
    };
    let request = Request::post(&settings.service.base.join("embeddings"))?
        .timeouts(Timeouts::of(settings.service.timeout))
        .json(&asked)?;
    let response = context.http().send_retrying(&request, &Retry::default())?;
    if response.status() != StatusCode::OK {
        return Err(Refusal::read(response).into());
    }
    let origin = response.origin().to_owned();
    let body = response.bytes(ANSWER_BYTES)?;
    let answered: Answered =
        serde_json::from_slice(&body).map_err(|error| no_vectors(&origin, &body, &error))?;
    checked(settings, answered.data, texts.len())
        .map_err(|fault| Error::unavailable(format!("{origin} answered with {fault}")))
}

/// What to say of a success that holds no vectors: some servers put their
/// errors there, and some gateways a page.
fn no_vectors(origin: &str, body: &[u8], error: &serde_json::Error) -> Error {
    let said = Refusal::of(origin, StatusCode::OK, body);
    Error::unavailable(format!(
        "{said} (these are no vectors: {error}; check that `base-url` leads to a server of embeddings)"
    ))
}

/// The vectors in the order of the texts, of length 1. What does not fit is
/// told in words that continue "the server answered with".
fn checked(settings: &Settings, items: Vec<Item>, texts: usize) -> Result<Vec<Vec<f32>>, String> {
    if items.len() != texts {
        return Err(format!("{} vectors for {texts} texts", items.len()));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
    for (place, item) in items.into_iter().enumerate() {
        let index = item.index.unwrap_or(place);
        let mut vector = item.embedding.0;
        check(settings, &vector, index)?;
        normalise(&mut vector);
        match vectors.get_mut(index) {
            Some(slot @ None) => *slot = Some(vector),
            Some(Some(_)) => return Err(format!("two vectors for text {index}")),
            None => return Err(format!("a vector for text {index}, of {texts} from 0 on")),
        }
    }
    vectors
        .into_iter()
        .collect::<Option<_>>()
        .ok_or_else(|| "no vector for one of the texts".to_owned())
}

fn check(settings: &Settings, vector: &[f32], index: usize) -> Result<(), String> {
    let width = u32::try_from(vector.len()).unwrap_or(u32::MAX);
    match (space::known(settings), settings.dimensions) {
        _ if width == 0 => return Err(format!("an empty vector for text {index}")),
        (Some(known), _) if known == width => {}
        (_, Some(set)) => {
            return Err(format!(
                "vectors of {width} dimensions where `dimensions` is {set}: the model does not make \
                 narrower ones, so leave the setting out or name another model"
            ));
        }
        (Some(known), None) => {
            return Err(format!(
                "vectors of {width} dimensions after ones of {known}: it has another model now, so \
                 start the host again"
            ));
        }
        (None, None) => space::remember(settings, width),
    }
    match vector.iter().position(|number| !number.is_finite()) {
        Some(place) => Err(format!(
            "{} as number {place} of the vector for text {index}",
            vector[place]
        )),
        None => Ok(()),
    }
}

/// Scales a vector to length 1, by sums that large numbers do not overflow.
fn normalise(vector: &mut [f32]) {
    let squares = vector.iter().map(|number| f64::from(*number).powi(2));
    let length = squares.sum::<f64>().sqrt();
    if length > 0.0 {
        for number in vector {
            *number = (f64::from(*number) / length) as f32;
        }
    }
}
