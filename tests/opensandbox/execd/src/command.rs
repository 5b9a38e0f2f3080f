//! Commands: started, followed, asked after and interrupted.

pub(crate) mod clock;
mod follow;
mod lines;
mod order;
mod process;
mod registry;

pub(crate) use registry::Commands;

use crate::answer::{self, Answer, Failure};
use crate::query::Query;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use order::Order;
use process::Output;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

/// Where the answer of `logs` tells how far it came, as an offset in bytes.
const CURSOR_HEADER: HeaderName = HeaderName::from_static("execd-commands-tail-cursor");

/// The most that one answer of `logs` holds, in bytes. The cursor tells where
/// to go on.
const LARGEST_LOG: u64 = 64 << 20;

/// `POST /command`: runs a command and answers with what happens.
pub(crate) async fn start(State(commands): State<Arc<Commands>>, body: Bytes) -> Answer {
    let order = Order::parse(&body)?;
    let id = uuid::Uuid::new_v4().simple().to_string();
    let output = Output::for_command(&id, order.background);
    let ended = process::start(&order, &output).map(|process| {
        let ended = commands.add(&id, &order, process.group(), &output);
        tokio::spawn(process.supervise(Arc::clone(&commands), id.clone()));
        ended
    });
    Ok(follow::stream(id, order.background, output, ended))
}

/// `GET /command/status/{id}`: whether it runs, and how it ended.
pub(crate) async fn status(
    State(commands): State<Arc<Commands>>,
    Path(id): Path<String>,
) -> Answer {
    match commands.status(&id) {
        Some(status) => Ok(answer::json(&status)),
        None => Err(Failure::new(
            StatusCode::NOT_FOUND,
            "INVALID_REQUEST_BODY",
            format!("command not found: {id}"),
        )),
    }
}

/// `GET /command/{id}/logs`: what a command in the background wrote.
pub(crate) async fn logs(
    State(commands): State<Arc<Commands>>,
    Path(id): Path<String>,
    query: Query,
) -> Answer {
    let output = commands
        .output(&id)
        .ok_or_else(|| Failure::invalid(format!("command not found: {id}")))?;
    let Output::Together(path) = output else {
        return Err(Failure::invalid(format!(
            "command {id} is not running in background"
        )));
    };
    // What is no number counts as the beginning; so it is with execd.
    let cursor: u64 = query
        .one("cursor")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let doing = format!("open {}", path.display());
    let failed = |error| Failure::of_file(&doing, &error);
    let mut file = tokio::fs::File::open(&path).await.map_err(failed)?;
    file.seek(std::io::SeekFrom::Start(cursor))
        .await
        .map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_LOG)
        .read_to_end(&mut bytes)
        .await
        .map_err(failed)?;
    let reached = cursor.saturating_add(bytes.len() as u64);
    let mut response: Response = answer::text(bytes);
    response
        .headers_mut()
        .insert(CURSOR_HEADER, HeaderValue::from(reached));
    Ok(response)
}

/// `DELETE /command?id=`: ends a command, and answers when it has ended.
pub(crate) async fn interrupt(State(commands): State<Arc<Commands>>, query: Query) -> Answer {
    let id = query.need("id")?;
    let refused = |why: String| {
        // The spelling is execd's.
        Failure::runtime(format!("error interruptting code context. {why}"))
    };
    let (group, mut ended) = commands
        .running(&id)
        .ok_or_else(|| refused("no such session".to_owned()))?;
    if ended.borrow().is_some() {
        return Err(refused(format!("command session {id} is not running")));
    }
    process::end(group, &mut ended).await;
    Ok(answer::done())
}
