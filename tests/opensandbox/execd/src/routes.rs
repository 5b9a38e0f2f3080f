//! Which path is answered by what, and who may call.

use crate::command::{self, Commands};
use crate::{answer, files, metrics};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use std::sync::Arc;

/// The largest body of a request, in bytes. A file is uploaded in one request
/// and is held in memory meanwhile.
const LARGEST_BODY: usize = 256 << 20;

/// The header that holds the token.
const TOKEN_HEADER: &str = "X-EXECD-ACCESS-TOKEN";

/// All routes, at the root and below the prefix under which a bridged sandbox
/// is reached.
pub(crate) fn router(token: Option<String>) -> Router {
    let routes = routes(Arc::new(Commands::default()));
    Router::new()
        .nest("/proxy/44772", routes.clone())
        .merge(routes)
        // Ports of other programs are not relayed.
        .route("/proxy/{port}/{*rest}", axum::routing::any(no_relay))
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
        .layer(middleware::from_fn_with_state(Arc::new(token), admit))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
}

fn routes(commands: Arc<Commands>) -> Router {
    Router::new()
        .route("/ping", get(async || answer::done()))
        .route("/command", post(command::start).delete(command::interrupt))
        .route("/command/status/{id}", get(command::status))
        .route("/command/{id}/logs", get(command::logs))
        .with_state(commands)
        .route("/files", delete(files::remove))
        .route("/files/info", get(files::info))
        .route("/files/download", get(files::download))
        .route("/files/upload", post(files::upload))
        .route("/files/mv", post(files::rename))
        .route("/files/permissions", post(files::permissions))
        .route("/files/replace", post(files::replace))
        .route("/files/search", get(files::search))
        .route(
            "/directories",
            post(files::create_directories).delete(files::remove_directories),
        )
        .route("/directories/list", get(files::list))
        .route("/metrics", get(metrics::once))
        .route("/metrics/watch", get(metrics::watch))
}

async fn admit(State(token): State<Arc<Option<String>>>, request: Request, next: Next) -> Response {
    let sent = request.headers().get(TOKEN_HEADER);
    match token.as_deref() {
        Some(token) if sent.is_none_or(|sent| sent.as_bytes() != token.as_bytes()) => {
            let text = format!("Unauthorized: invalid or missing header {TOKEN_HEADER}");
            let mut response = answer::json(&serde_json::json!({ "error": text }));
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            response
        }
        _ => next.run(request).await,
    }
}

async fn not_found() -> Response {
    plain(StatusCode::NOT_FOUND, "404 page not found")
}

async fn no_relay(Path((port, _)): Path<(String, String)>) -> Response {
    if port == "44772" {
        return not_found().await;
    }
    plain(StatusCode::BAD_GATEWAY, "Bad Gateway")
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain")], text).into_response()
}
