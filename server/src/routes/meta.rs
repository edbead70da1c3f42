//! Health, and information about the server.
//!
//! Small because a client asks for little.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use crate::error::ApiResult;
use crate::server::Server;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct OkQuery {
    /// Reads from the store too, unless it is `0`.
    check_db: Option<String>,
}

pub(super) async fn ok(State(server): State<Arc<Server>>, Query(query): Query<OkQuery>) -> ApiResult<Json<Value>> {
    if query.check_db.as_deref().is_some_and(|checked| checked != "0") {
        server.assistants().await?;
    }
    Ok(Json(json!({ "ok": true })))
}

pub(super) async fn info() -> Json<Value> {
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "engine": "superstep",
        "langgraph_py_version": null,
        "flags": { "assistants": true, "crons": true, "langsmith": false, "langsmith_tracing_replicas": false },
        "host": { "kind": "self-hosted", "project_id": null, "host_revision_id": null, "revision_id": null, "tenant_id": null },
    }))
}
