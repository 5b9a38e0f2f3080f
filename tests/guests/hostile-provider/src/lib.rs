//! An embedding provider that attacks its host, or others through it, in the way
//! that its setting `attack` names. What came of it goes to the log.
#![cfg(target_arch = "wasm32")]

wit_bindgen::generate!({
    path: "../../../wit",
    world: "embedding-provider",
});

use exports::keepsake::host::embeddings::{EmbeddingInfo, Guest, Kind, Vector};
use keepsake::host::log::{Level, log};
use keepsake::host::settings;
use keepsake::host::types::Error;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{ErrorCode, Fields, IncomingBody, OutgoingRequest, Scheme};

struct Hostile;

export!(Hostile);

fn setting(key: &str) -> String {
    let value = settings::get(key).ok().flatten().unwrap_or_default();
    value.trim_matches('"').to_owned()
}

impl Guest for Hostile {
    fn info() -> Result<EmbeddingInfo, Error> {
        Ok(EmbeddingInfo {
            model: "hostile".into(),
            dimensions: 4,
            normalised: true,
            max_texts: 1_000,
            max_text_bytes: 1_000,
            relevance_threshold: Some(0.5),
            extras: None,
        })
    }

    fn embed(texts: Vec<String>, _kind: Kind) -> Result<Vec<Vector>, Error> {
        match setting("attack").as_str() {
            "elsewhere" => {
                for target in setting("targets").split(' ') {
                    say(&format!("{target} gave {}", get(target)));
                }
            }
            "many" => {
                let target = setting("target");
                let outcomes: Vec<_> = (0..300).map(|_| get(&target)).collect();
                let answered = outcomes.iter().filter(|got| got.starts_with("200")).count();
                say(&format!("{answered} answers, then {}", outcomes[299]));
            }
            "read" => say(&get(&setting("target"))),
            "sleep" => std::thread::sleep(std::time::Duration::from_secs(100_000)),
            "huge" => return Ok(vec![vec![0.5; 8_192]; 1_000]),
            // Of a width that nobody can foresee.
            "changing" => {
                let now = std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .map_or(0, |now| now.subsec_nanos());
                return Ok(vec![vec![0.5; 5 + now as usize % 1_000]; texts.len()]);
            }
            "exit" => std::process::exit(0),
            "abort" => std::process::abort(),
            _ => {}
        }
        Ok(vec![vec![1.0, 0.0, 0.0, 0.0]; texts.len()])
    }
}

fn say(line: &str) {
    log(Level::Warn, line, None);
}

/// Asks for an address and reads all of the answer. Tells its status and size, or
/// why there is none.
fn get(target: &str) -> String {
    match got(target) {
        Ok((status, bytes)) => format!("{status} with {bytes} bytes"),
        Err(error) => format!("{error:?}"),
    }
}

fn got(target: &str) -> Result<(u16, u64), ErrorCode> {
    let (scheme, rest) = target.split_once("://").unwrap_or(("http", target));
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, "/"),
    };
    let wrong = |()| ErrorCode::HttpRequestUriInvalid;
    let request = OutgoingRequest::new(Fields::new());
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    request.set_scheme(Some(&scheme)).map_err(wrong)?;
    request.set_authority(Some(authority)).map_err(wrong)?;
    request.set_path_with_query(Some(path)).map_err(wrong)?;
    let answer = handle(request, None)?;
    let pollable = answer.subscribe();
    pollable.block();
    drop(pollable);
    let response = answer
        .get()
        .ok_or(ErrorCode::ConnectionTerminated)?
        .map_err(wrong)??;
    let status = response.status();
    let body = response.consume().map_err(wrong)?;
    let stream = body.stream().map_err(wrong)?;
    let mut bytes = 0;
    while let Ok(piece) = stream.blocking_read(64 << 10) {
        bytes += piece.len() as u64;
    }
    drop(stream);
    IncomingBody::finish(body);
    Ok((status, bytes))
}
