//! The page at `/docs`: files that are part of the program, so that a browser loads nothing from elsewhere. It shows `/openapi.json`;
//! must not know a route.
//!
//! Small because the page is three files.

use std::future::{Ready, ready};
use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;

use super::embedded::answer;
use crate::server::Server;

/// Lets the page load its own files and call its own server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Returns the routes of the page.
pub(crate) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route("/docs", get(file("text/html; charset=utf-8", include_str!("../../page/docs/index.html"))))
        .route("/docs/docs.css", get(file("text/css; charset=utf-8", include_str!("../../page/docs/docs.css"))))
        .route("/docs/docs.js", get(file("text/javascript; charset=utf-8", include_str!("../../page/docs/docs.js"))))
}

fn file(content: &'static str, text: &'static str) -> impl Fn(HeaderMap) -> Ready<Response> + Clone {
    move |request| ready(answer(&request, POLICY, content, text, "identity"))
}
