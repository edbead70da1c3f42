//! The log of requests: a span around each, and a line with its answer. It has the pattern of the route and the name of the key, and never
//! a path, a query, a body or a key. Must not know handlers.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::Response;
use tower_http::trace::TraceLayer;
use tracing::{Span, field, info_span};

use super::request_id::REQUEST_ID;
#[cfg(feature = "otel")]
use super::trace_context::continue_trace;
use crate::error::ErrorDetail;

/// Logs the requests of a router.
pub(crate) fn log_requests(router: Router) -> Router {
    let layer = TraceLayer::new_for_http().make_span_with(request_span).on_request(()).on_response(log_answer);
    router.layer(layer.on_failure(()).on_body_chunk(()).on_eos(()))
}

/// Returns the span of a request. Its key is recorded once it is known, and its status with the answer.
fn request_span(request: &Request) -> Span {
    let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let span = info_span!(
        "request",
        id,
        method = %request.method(),
        route,
        key = field::Empty,
        status = field::Empty,
        milliseconds = field::Empty,
    );
    #[cfg(feature = "otel")]
    continue_trace(&span, request.headers());
    span
}

/// Logs the head of an answer; that of a stream comes before its events.
fn log_answer(response: &Response<Body>, latency: Duration, span: &Span) {
    let status = response.status();
    span.record("status", status.as_u16()).record("milliseconds", latency.as_secs_f64() * 1000.0);
    let detail = response.extensions().get::<ErrorDetail>().map(|ErrorDetail(detail)| &**detail);
    match status.is_server_error() {
        true => tracing::error!(detail, "a request was not served"),
        false => tracing::info!("a request was answered"),
    }
}
