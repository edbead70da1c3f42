//! Threads that are copied, those that end after a time, and those that are removed at once, or whose past is.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::checkpoint::{CheckpointError, ThreadId, copy_thread};
use utoipa::ToSchema;
use uuid::Uuid;

use super::branches::new_thread::NewThread;
use super::ttl::parse_strategy;
use crate::error::{ApiError, ApiResult};
use crate::records::thread::TtlStrategy;
use crate::server::Server;
use crate::timers::expiry::keep_latest;

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = PruneRequest)]
pub(super) struct PruneBody {
    thread_ids: Vec<String>,
    /// Deletes the threads, or their checkpoints before the newest.
    #[serde(default)]
    #[schema(schema_with = crate::choices::ttl_strategy)]
    strategy: Option<String>,
}

/// Copies a thread with all of its checkpoints and its metadata.
pub(super) async fn copy(State(server): State<Arc<Server>>, Path(thread): Path<String>) -> ApiResult<Json<Value>> {
    let found = server.thread_record(&thread).await?.record;
    let name = Uuid::new_v4().to_string();
    let new = NewThread::create(&server, &name, &found).await?;
    let copied = match copy_thread(&*server.records.0, &ThreadId::from(thread), &ThreadId::from(name.as_str())).await {
        Err(CheckpointError::UnknownThread { .. }) => Ok(()), // one without a run has no checkpoints
        copied => copied.map_err(ApiError::from),
    };
    new.settle(copied, true).await?;
    let mut made = super::threads::thread_json(&server, &new.record).await?;
    made.as_object_mut().map(|fields| fields.remove("values"));
    Ok(Json(made))
}

/// Removes threads, or their past. Those that are not there and those that have a run are left out.
pub(super) async fn prune(State(server): State<Arc<Server>>, Json(body): Json<PruneBody>) -> ApiResult<Json<Value>> {
    let strategy = parse_strategy(body.strategy.as_deref())?;
    let mut count = 0;
    for thread in &body.thread_ids {
        match prune_one(&server, thread, strategy).await {
            Ok(()) => count += 1,
            Err(error) if error.status.is_client_error() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Json(json!({ "pruned_count": count })))
}

async fn prune_one(server: &Server, thread: &str, strategy: TtlStrategy) -> ApiResult<()> {
    if !server.thread_record(thread).await?.record.queue.is_empty() {
        return Err(ApiError::conflict("it has a run"));
    }
    match strategy {
        TtlStrategy::Delete => server.remove_thread(thread).await,
        TtlStrategy::KeepLatest => keep_latest(server, thread).await,
    }
}
