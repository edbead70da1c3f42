//! Health, numbers, and information about the server. Must not know what is stored.

use std::sync::Arc;

use axum::extract::rejection::NestedPathRejection;
use axum::extract::{NestedPath, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::checkpoint::Order;
use utoipa::IntoParams;

use crate::error::{ApiError, ApiResult};
use crate::records::assistant::AssistantRecord;
use crate::security::Caller;
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
        check_store(&server).await?;
    }
    Ok(Json(json!({ "ok": true })))
}

/// As [`ok`]; a browser is led to the page, if there is one.
pub(super) async fn root(
    State(server): State<Arc<Server>>,
    prefix: Result<NestedPath, NestedPathRejection>,
    headers: HeaderMap,
    query: Query<OkQuery>,
) -> ApiResult<Response> {
    match crate::page::start(&prefix, &headers).filter(|_| server.has_page) {
        Some(answer) => Ok(answer),
        None => ok(State(server), query).await.map(IntoResponse::into_response),
    }
}

/// Returns the numbers of the server for Prometheus.
pub(super) async fn metrics(State(server): State<Arc<Server>>) -> impl IntoResponse {
    let page = server.metrics.page(&server.graphs).await;
    ([(CONTENT_TYPE, superstep_metrics::CONTENT_TYPE)], page.text().to_owned())
}

/// Reads from the store.
async fn check_store(server: &Server) -> ApiResult<()> {
    let read = server.records.scan::<AssistantRecord>("", None, (Order::Ascending, 1)).await;
    let detail = |error| format!("the store cannot be read: {error}");
    read.map(drop).map_err(|error| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, detail(error)))
}

pub(super) async fn info(caller: Option<Extension<Caller>>) -> Json<Value> {
    let caller = caller.map(|Extension(caller)| json!({ "name": caller.name, "role": caller.role }));
    Json(json!({
        "caller": caller,
        "version": env!("CARGO_PKG_VERSION"),
        "engine": "superstep",
        "langgraph_py_version": null,
        "flags": {
            "assistants": true,
            "crons": true,
            "langsmith": false,
            "langsmith_tracing_replicas": false,
            "langsmith_tracing_session_on_runs": false,
        },
        "host": { "kind": "self-hosted", "project_id": null, "host_revision_id": null, "revision_id": null, "tenant_id": null },
    }))
}
