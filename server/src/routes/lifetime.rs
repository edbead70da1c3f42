//! Threads that are copied, those that end after a time, and those that are removed at once, or whose past is.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::checkpoint::{CheckpointError, ThreadId, copy_thread};
use superstep_base::time::now;
use uuid::Uuid;

use crate::error::{ApiError, ApiResult};
use crate::records::items::create;
use crate::records::thread::{StateMark, ThreadRecord, ThreadTtl, TtlStrategy};
use crate::records::time::time_text;
use crate::server::Server;
use crate::timers::expiry::keep_latest;

#[derive(Debug, Deserialize)]
pub(super) struct PruneBody {
    thread_ids: Vec<String>,
    #[serde(default)]
    strategy: Option<String>,
}

/// Copies a thread with all of its checkpoints and its metadata.
pub(super) async fn copy(State(server): State<Arc<Server>>, Path(thread): Path<String>) -> ApiResult<Json<Value>> {
    let found = server.thread_record(&thread).await?.record;
    let name = Uuid::new_v4().to_string();
    let mut record = ThreadRecord::new(name.as_str(), now());
    (record.graph, record.metadata) = (found.graph.clone(), found.metadata.clone());
    record.state = Some(StateMark::unfinished(record.created_at));
    server.records.write(vec![create(&record)]).await?;
    match copy_thread(&*server.records.0, &ThreadId::from(thread), &ThreadId::from(name.as_str())).await {
        Ok(()) | Err(CheckpointError::UnknownThread { .. }) => {} // one without a run has no checkpoints
        Err(error) => {
            server.remove_thread(&name).await?;
            return Err(error.into());
        }
    }
    server.mark_state(&name).await?;
    let mut made = super::threads::thread_json(&server, &record).await?;
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

fn parse_strategy(name: Option<&str>) -> ApiResult<TtlStrategy> {
    match name {
        None | Some("delete") => Ok(TtlStrategy::Delete),
        Some("keep_latest") => Ok(TtlStrategy::KeepLatest),
        Some(other) => {
            Err(ApiError::invalid(format!("there is no strategy `{other}`: there are delete and keep_latest")))
        }
    }
}

/// Sets the time for which a thread is kept after its last change: minutes, or an object with them as `ttl`. Null leaves it as it is.
///
/// # Errors
/// 422 if it is no such time.
pub(super) fn set_ttl(thread: &mut ThreadRecord, ttl: Option<&Value>) -> ApiResult<()> {
    let Some(ttl) = ttl.filter(|ttl| !ttl.is_null()) else { return Ok(()) };
    let minutes = ttl.get("ttl").unwrap_or(ttl).as_f64().filter(|minutes| *minutes >= 0.0);
    let minutes = minutes
        .ok_or_else(|| ApiError::invalid("ttl is the minutes for which the thread is kept, or {ttl, strategy}"))?;
    let strategy = parse_strategy(ttl.get("strategy").and_then(Value::as_str))?;
    thread.ttl = Some(ThreadTtl { minutes, strategy, created_at: now(), checked_at: 0 });
    if let (Some(end), Some(ttl)) = (thread.expires_at(), &mut thread.ttl) {
        ttl.checked_at = end;
    }
    Ok(())
}

/// Returns the time for which a thread is kept; null if it is kept for ever.
pub(super) fn ttl_json(thread: &ThreadRecord) -> Value {
    let Some(ttl) = thread.ttl else { return Value::Null };
    json!({
        "strategy": ttl.strategy,
        "ttl_minutes": ttl.minutes,
        "created_at": time_text(ttl.created_at),
        "expires_at": thread.expires_at().map(time_text),
    })
}

/// Returns whether a query has `include=ttl`, alone or among others.
pub(super) fn includes_ttl(query: &str) -> bool {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.any(|(name, value)| matches!(&*name, "include" | "include[]") && value.split(',').any(|part| part == "ttl"))
}
