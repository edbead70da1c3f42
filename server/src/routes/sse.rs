//! Streams of events as clients read them: lines, signs of life in silence, and the end when the server stops. Knows no run and no thread.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::json;
use superstep::graph::CancellationToken;
use superstep_base::panics::catch_panic_in;
use tokio::time::timeout;

use crate::error::ApiError;
use crate::panics::panic_error;
use crate::server::Server;

/// The silence after which a reader gets a sign of life. Clients derive from it when to connect again.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Source of the lines of a stream.
pub(super) trait LineSource: Send + 'static {
    fn server(&self) -> &Server;

    /// Returns the lines of what comes next, once there is anything; `None` at the end.
    ///
    /// # Errors
    /// The lines of an error, which are the last ones.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Bytes>> + Send;
}

/// The next piece of an answer that is sent while something is going on.
pub(super) enum Piece<T> {
    Next(T),
    Silence,
    /// The server stops; what is going on continues at its next start, or on another one.
    Shutdown,
}

/// Waits for what comes next, but not in silence for too long, and not while the server stops.
pub(super) async fn next_piece<T>(closing: &CancellationToken, next: impl Future<Output = T>) -> Piece<T> {
    tokio::select! {
        biased;
        next = timeout(HEARTBEAT, next) => next.map_or(Piece::Silence, Piece::Next),
        () = closing.cancelled() => Piece::Shutdown,
    }
}

/// Returns an answer that is sent as the lines of its source come.
pub(super) fn event_stream(source: impl LineSource) -> Response {
    let pieces = stream::unfold(Some(source), async |source| {
        let mut source = source?;
        let closing = source.server().closing.clone();
        let next = async { catch_panic_in(source.next()).await.unwrap_or_else(|_| Err(server_error(&panic_error()))) };
        let (piece, rest) = match next_piece(&closing, next).await {
            Piece::Next(Ok(Some(lines))) => (lines, Some(source)),
            Piece::Next(Ok(None)) => return None,
            Piece::Next(Err(last)) => (last, None),
            Piece::Silence => (Bytes::from_static(b": heartbeat\r\n\r\n"), Some(source)),
            Piece::Shutdown => (event("metadata", &json!({ "status": "shutdown" }).to_string(), None), None),
        };
        Some((Ok::<_, Infallible>(piece), rest))
    });
    (headers(), Body::from_stream(pieces)).into_response()
}

/// Returns the lines of an event.
pub(super) fn event(name: &str, data: &str, id: Option<&str>) -> Bytes {
    let id = id.map(|id| format!("id: {id}\r\n")).unwrap_or_default();
    Bytes::from(format!("event: {name}\r\ndata: {data}\r\n{id}\r\n"))
}

/// Returns the lines of an error of the server.
pub(super) fn server_error(error: &ApiError) -> Bytes {
    event("error", &json!({ "error": "ServerError", "message": error.detail }).to_string(), None)
}

fn headers() -> HeaderMap {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    headers.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect()
}
