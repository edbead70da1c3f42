//! The paths of the routes that take a thread apart.
//!
//! Small because handlers are in other files.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::{checkpoints, comparisons};
use crate::server::Server;

/// Returns the routes.
pub(in super::super) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route("/threads/{thread}/checkpoints", get(checkpoints::list))
        .route("/threads/{thread}/checkpoints/{checkpoint}", get(checkpoints::one))
        .route("/threads/{thread}/checkpoints/{checkpoint}/value", get(checkpoints::value))
        .route("/threads/{thread}/checkpoints/{checkpoint}/tasks/{task}", get(checkpoints::task))
        .route("/threads/{thread}/diff", get(comparisons::diff))
        .route("/threads/{thread}/verify", post(comparisons::verify))
        .route("/threads/{thread}/what-if", post(comparisons::what_if))
}
