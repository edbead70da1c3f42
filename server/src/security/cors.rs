//! Answers to browsers: which pages may read what, and which requests they may send at all.
//!
//! Small because a layer answers browsers.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowHeaders, AllowOrigin, AllowPrivateNetwork, CorsLayer};

use super::guard::{Guard, host_of};

/// Headers of answers that pages of other origins may read.
const EXPOSED: [&str; 5] =
    ["x-pagination-total", "x-pagination-next", "content-location", "mcp-session-id", "x-request-id"];
/// The time for which a browser remembers what it may send.
const REMEMBERED: Duration = Duration::from_secs(600);

/// Returns the layer that answers browsers.
pub(crate) fn cors(guard: &Arc<Guard>) -> CorsLayer {
    let methods =
        [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD, Method::OPTIONS];
    let exposed = EXPOSED.map(HeaderName::from_static).into_iter().chain([header::LOCATION, header::RETRY_AFTER]);
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(is_allowed(guard)))
        .allow_private_network(AllowPrivateNetwork::predicate(is_allowed(guard)))
        .allow_methods(methods)
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(exposed.collect::<Vec<_>>())
        .max_age(REMEMBERED)
}

fn is_allowed(guard: &Arc<Guard>) -> impl Fn(&HeaderValue, &Parts) -> bool + Send + Sync + 'static {
    let guard = Arc::clone(guard);
    move |origin, parts| guard.origins.is_origin(origin, host_of(&parts.headers, &parts.uri))
}
