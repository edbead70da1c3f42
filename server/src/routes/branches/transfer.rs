//! Threads as files: exported without their secrets, imported untrusted.

use std::io;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::checkpoint::{CheckpointError, ExportOptions, ImportOptions, ThreadArchive, export_thread};
use utoipa::IntoParams;

use crate::error::{ApiError, ApiResult};
use crate::server::Server;

/// The largest file that is sent; a larger one is written by the command line.
const LIMIT: usize = 256 << 20;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(in crate::routes) struct ImportQuery {
    /// The name of the thread in this store; that in the file without it.
    thread: Option<String>,
}

pub(in crate::routes) async fn export(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
) -> ApiResult<Response> {
    server.thread_record(&thread).await?;
    let mut file = LimitedFile(vec![]);
    let exported = export_thread(&*server.records.0, &thread.as_str().into(), &ExportOptions::new(), &mut file).await;
    match exported {
        Ok(_) => Ok((headers(&thread), file.0).into_response()),
        Err(CheckpointError::Io { .. }) => Err(too_large(&thread)),
        Err(CheckpointError::BadImport { reason }) => Err(ApiError::conflict(reason)),
        Err(error) => Err(error.into()),
    }
}

fn too_large(thread: &str) -> ApiError {
    let text =
        format!("the thread `{thread}` is larger than {} MiB as a file: use `export` of the command line", LIMIT >> 20);
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, text)
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

pub(in crate::routes) async fn import(
    State(server): State<Arc<Server>>,
    Query(query): Query<ImportQuery>,
    body: Bytes,
) -> ApiResult<Json<Value>> {
    let options = query.thread.into_iter().fold(ImportOptions::new(), ImportOptions::with_name);
    let archive = ThreadArchive::read(&*body, &options).map_err(|error| ApiError::invalid(error.to_string()))?;
    let imported = archive.store_in(&*server.records.0).await.map_err(|error| match error {
        CheckpointError::ThreadExists { .. } => ApiError::conflict(error.to_string()),
        error => error.into(),
    })?;
    Ok(Json(json!({ "thread": imported.thread.as_str(), "graph": imported.graph, "trusted": false })))
}

/// A file in memory up to the limit.
struct LimitedFile(Vec<u8>);

impl io::Write for LimitedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LIMIT {
            return Err(io::Error::other("the file is too large"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
