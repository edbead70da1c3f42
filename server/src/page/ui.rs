//! The page on which people answer, watch and debug runs. Its files are built from `web/`; each path below `/ui/` that is none of them is
//! an address of a view, and has the same document. Must not know what it shows.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::NestedPathRejection;
use axum::extract::{NestedPath, Path};
use axum::http::header::{ACCEPT, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::embedded::{PageFile, answer};
use crate::server::Server;

/// A built file, with its compressed forms beside it.
macro_rules! file {
    ($name:literal) => {
        PageFile {
            name: $name,
            plain: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/page/ui/", $name)),
            brotli: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/page/ui/", $name, ".br")),
            gzip: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/page/ui/", $name, ".gz")),
        }
    };
}

/// Lets the page load its own files and call its own server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

const DOCUMENT: PageFile = file!("index.html");

/// All other files, as the build lists them.
const FILES: &[PageFile] = include!("../../page/files.in");

/// The prefix of a router that is mounted in another; none if it is not.
type Prefix = Result<NestedPath, NestedPathRejection>;

/// Returns the routes of the page.
pub(crate) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route("/ui", get(async |prefix: Prefix| to_start(&prefix)))
        .route("/ui/", get(async |prefix: Prefix, headers: HeaderMap| document(&prefix, &headers)))
        .route("/ui/{*path}", get(file))
}

/// Returns the answer that leads a browser from `/` to the page; none for a client that does not ask for a document.
pub(crate) fn start(prefix: &Prefix, request: &HeaderMap) -> Option<Response> {
    let accepts = |accepted: &str| accepted.split(',').any(|entry| entry.trim().starts_with("text/html"));
    let is_browser = request.get_all(ACCEPT).iter().any(|list| list.to_str().is_ok_and(accepts));
    is_browser.then(|| to_start(prefix))
}

fn to_start(prefix: &Prefix) -> Response {
    (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, format!("{}/ui/", root(prefix)))]).into_response()
}

async fn file(prefix: Prefix, Path(path): Path<String>, headers: HeaderMap) -> Response {
    match FILES.iter().find(|file| file.name == path) {
        Some(file) => file.answer(&headers, POLICY),
        None => document(&prefix, &headers),
    }
}

/// Returns the document, which names its files by their full paths: it is the same for addresses of any depth.
fn document(prefix: &Prefix, request: &HeaderMap) -> Response {
    let root = root(prefix);
    if root.is_empty() {
        return DOCUMENT.answer(request, POLICY);
    }
    let text = String::from_utf8_lossy(DOCUMENT.plain).replace("\"/ui/", &format!("\"{root}/ui/"));
    answer(request, POLICY, "text/html; charset=utf-8", text, "identity")
}

fn root(prefix: &Prefix) -> &str {
    prefix.as_ref().map_or("", |prefix| prefix.as_str().trim_end_matches('/'))
}
