//! All paths and their methods. Who may use them is in `security`.

use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::{
    assistants, branches, crons, events, find_threads, inspection, lifetime, many_runs, meta, openapi, people,
    protocol, runs, schemas, socket, states, store, threads,
};
use crate::error::ApiError;
use crate::panics::catch_panics;
use crate::security::cors::cors;
use crate::security::guard::{check, with_headers};
use crate::server::Server;
use crate::telemetry::{log_requests, with_request_ids};

/// The longest text of an error that no route has made, in bytes.
const DETAIL: usize = 64 << 10;

/// Beginnings of the texts that refuse a part of a request whose form is wrong.
const MISFITS: [&str; 3] = ["Invalid URL", "Failed to parse the request body", "Failed to deserialize query"];

/// Returns all routes.
pub(crate) fn routes(server: Arc<Server>) -> Router {
    let router = Router::new();
    #[cfg(feature = "mcp")]
    let router = router.merge(crate::mcp::routes(&server));
    let router = if server.has_page { router.merge(crate::page::docs()).merge(crate::page::ui()) } else { router };
    let router = router
        .route("/", get(meta::root))
        .route("/ok", get(meta::ok))
        .route("/info", get(meta::info))
        .route("/metrics", get(meta::metrics))
        .route("/events", get(events::events))
        .merge(people::of_people())
        .merge(openapi::routes())
        .merge(of_assistants())
        .merge(of_threads())
        .merge(inspection::routes())
        .merge(of_runs())
        .merge(of_crons())
        .merge(store::of_store())
        .fallback(unknown_path)
        .layer(DefaultBodyLimit::disable()) // the guard has its own
        .layer(from_fn_with_state(Arc::clone(&server.guard), check))
        .layer(catch_panics())
        .layer(map_response(with_detail))
        .layer(map_response(with_headers))
        .layer(cors(&server.guard))
        .with_state(server);
    with_request_ids(log_requests(router))
}

async fn unknown_path(method: Method, uri: Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, format!("there is no route {method} {}", uri.path()))
}

/// Gives errors that no route has made, such as those of bodies that cannot be read, the form of all others.
async fn with_detail(response: Response) -> Response {
    let status = response.status();
    let content = response.headers().get(header::CONTENT_TYPE).and_then(|content| content.to_str().ok());
    let is_json = content.is_some_and(|content| content.starts_with("application/json"));
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let text = to_bytes(response.into_body(), DETAIL).await.unwrap_or_default();
    let reason = status.canonical_reason().unwrap_or("error");
    let detail = if text.is_empty() { reason.into() } else { String::from_utf8_lossy(&text) };
    // What the parts of a request do not fit is 422, whether JSON, an id in the path or the query.
    let is_misfit = status == StatusCode::BAD_REQUEST && MISFITS.iter().any(|start| detail.starts_with(start));
    ApiError::new(if is_misfit { StatusCode::UNPROCESSABLE_ENTITY } else { status }, detail).into_response()
}

fn of_assistants() -> Router<Arc<Server>> {
    Router::new()
        .route("/assistants", post(assistants::create))
        .route("/assistants/search", post(assistants::search))
        .route("/assistants/count", post(assistants::count))
        .route("/assistants/{id}", get(assistants::get).patch(assistants::patch).delete(assistants::delete))
        .route("/assistants/{id}/versions", post(assistants::versions))
        .route("/assistants/{id}/latest", post(assistants::latest))
        .route("/assistants/{id}/schemas", get(schemas::schemas))
        .route("/assistants/{id}/graph", get(schemas::graph))
        .route("/assistants/{id}/subgraphs", get(schemas::subgraphs))
        .route("/assistants/{id}/subgraphs/{namespace}", get(schemas::subgraph))
}

fn of_threads() -> Router<Arc<Server>> {
    Router::new()
        .route("/threads", post(threads::create))
        .route("/threads/search", post(find_threads::search))
        .route("/threads/count", post(find_threads::count))
        .route("/threads/prune", post(lifetime::prune))
        .route("/threads/{thread}/copy", post(lifetime::copy))
        .route("/threads/{thread}/trust", post(threads::trust))
        .route("/threads/{thread}/fork", post(branches::fork::fork))
        .route("/threads/{thread}/export", get(branches::transfer::send))
        .route("/threads/import", post(branches::transfer::receive))
        .route("/threads/{thread}", get(threads::get).patch(threads::patch).delete(threads::delete))
        .route("/threads/{thread}/state", get(states::now).post(states::update))
        .route("/threads/{thread}/state/checkpoint", post(states::at_body))
        .route("/threads/{thread}/state/{checkpoint}", get(states::at))
        .route("/threads/{thread}/history", get(states::history_of).post(states::history))
}

fn of_runs() -> Router<Arc<Server>> {
    Router::new()
        .route("/threads/{thread}/stream", get(runs::thread_stream))
        .route("/threads/{thread}/stream/events", post(protocol::events).get(socket::connect))
        .route("/threads/{thread}/commands", post(protocol::commands))
        .route("/threads/{thread}/runs", get(runs::list).post(runs::create))
        .route("/threads/{thread}/runs/wait", post(runs::wait))
        .route("/threads/{thread}/runs/stream", post(runs::stream))
        .route("/threads/{thread}/runs/{run}", get(runs::get).delete(runs::delete))
        .route("/threads/{thread}/runs/{run}/join", get(runs::join))
        .route("/threads/{thread}/runs/{run}/stream", get(runs::join_stream))
        .route("/threads/{thread}/runs/{run}/cancel", post(runs::cancel))
        .route("/runs", post(runs::create_alone))
        .route("/runs/wait", post(runs::wait_alone))
        .route("/runs/stream", post(runs::stream_alone))
        .route("/runs/batch", post(many_runs::create))
        .route("/runs/cancel", post(many_runs::cancel))
        .route("/runs/{run}/join", get(many_runs::join))
        .route("/runs/{run}/stream", get(many_runs::join_stream))
}

fn of_crons() -> Router<Arc<Server>> {
    Router::new()
        .route("/runs/crons", post(crons::create))
        .route("/threads/{thread}/runs/crons", post(crons::create_of_thread))
        .route("/runs/crons/search", post(crons::search))
        .route("/runs/crons/count", post(crons::count))
        .route("/runs/crons/{cron}", get(crons::get).patch(crons::patch).delete(crons::delete))
}
