//! The paths of what people see, and their handlers.
//!
//! Small because it only lists routes.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::{inbox, overview, spend, status};
use crate::server::Server;

/// Returns the routes.
pub(in super::super) fn of_people() -> Router<Arc<Server>> {
    Router::new()
        .route("/inbox", get(inbox::inbox))
        .route("/threads/{thread}/inbox", get(inbox::of_thread))
        .route("/threads/{thread}/check", post(inbox::check))
        .route("/threads/{thread}/status", get(status::status))
        .route("/health", get(overview::health))
        .route("/spend", get(spend::spend))
        .route("/graphs", get(overview::graphs))
}
