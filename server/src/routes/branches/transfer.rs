//! Threads as files: exported without their secrets, imported untrusted.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::checkpoint::{CheckpointError, ExportOptions, ImportOptions, ThreadArchive};
use utoipa::IntoParams;

use super::file::export;
use super::fork::check_new_name;
use crate::error::{ApiError, ApiResult};
use crate::server::Server;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(in crate::routes) struct ImportQuery {
    /// The name of the thread in this store; that in the file without it.
    thread: Option<String>,
}

pub(in crate::routes) async fn send(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
) -> ApiResult<Response> {
    server.thread_record(&thread).await?;
    let _permit = server.replays.permit()?;
    let file = export(&server, &thread, &ExportOptions::new()).await?;
    Ok((headers(&thread), file).into_response())
}

fn headers(thread: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    let name = utf8_percent_encode(thread, NON_ALPHANUMERIC);
    if let Ok(value) = HeaderValue::try_from(format!("attachment; filename*=UTF-8''{name}.superstep")) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    headers
}

pub(in crate::routes) async fn receive(
    State(server): State<Arc<Server>>,
    Query(query): Query<ImportQuery>,
    body: Bytes,
) -> ApiResult<Json<Value>> {
    let options = query.thread.into_iter().fold(ImportOptions::new(), ImportOptions::with_name);
    let archive = ThreadArchive::read(&*body, &options).map_err(|error| ApiError::invalid(error.to_string()))?;
    check_new_name(&server, archive.report().thread.as_str()).await?;
    let imported = archive.store_in(&*server.records.0).await.map_err(|error| match error {
        CheckpointError::ThreadExists { .. } => ApiError::conflict(error.to_string()),
        error => error.into(),
    })?;
    Ok(Json(json!({ "thread": imported.thread.as_str(), "graph": imported.graph, "trusted": false })))
}
