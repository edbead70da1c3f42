//! The page at `/docs`: files that are part of the program, so that a browser loads nothing from elsewhere. It shows `/openapi.json`;
//! must not know a route.
//!
//! Small because the page is three files.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::server::Server;

/// Lets the page load its own files and call its own server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Returns the routes of the page.
pub(crate) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route("/docs", get(async || file("text/html; charset=utf-8", include_str!("../../page/docs/index.html"))))
        .route(
            "/docs/docs.css",
            get(async || file("text/css; charset=utf-8", include_str!("../../page/docs/docs.css"))),
        )
        .route(
            "/docs/docs.js",
            get(async || file("text/javascript; charset=utf-8", include_str!("../../page/docs/docs.js"))),
        )
}

fn file(content: &'static str, text: &'static str) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, content),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, text)
}
