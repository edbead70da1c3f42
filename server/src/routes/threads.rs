//! Threads: made, found, changed and removed.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use superstep_base::time::now;
use uuid::Uuid;

use super::query::{Page, contains};
use crate::error::{ApiError, ApiResult};
use crate::records::items::{Record, create as create_item};
use crate::records::thread::ThreadRecord;
use crate::records::time::time_text;
use crate::server::Server;
use crate::wire::interrupts;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ThreadBody {
    thread_id: Option<String>,
    metadata: Option<Map<String, Value>>,
    if_exists: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SearchBody {
    ids: Option<Vec<String>>,
    metadata: Option<Map<String, Value>>,
    values: Option<Map<String, Value>>,
    status: Option<String>,
    #[serde(flatten)]
    page: Page,
}

/// Returns a thread on the wire.
async fn thread_json(server: &Server, record: &ThreadRecord) -> ApiResult<Value> {
    let (mut values, mut asked, mut is_open, mut state_updated) = (Value::Null, Map::new(), false, record.updated_at);
    if let Some(graph) = server.graph_of(record)?
        && let Some(snapshot) = graph.thread(record.thread.as_str()).state().await?
    {
        values = snapshot.json(graph.schema());
        state_updated = snapshot.created_at;
        is_open = !snapshot.next.is_empty();
        for task in &snapshot.tasks {
            let open = interrupts(task.questions.iter().filter(|question| !question.is_answered()));
            if !open.is_empty() {
                asked.insert(task.id.clone(), open.into());
            }
        }
    }
    let status = match (record.queue.is_empty(), &record.error) {
        (false, _) => "busy",
        (true, Some(failure)) if failure.error != "UserInterrupt" => "error",
        (true, _) if is_open || record.error.is_some() => "interrupted",
        (true, _) => "idle",
    };
    Ok(json!({
        "thread_id": record.thread,
        "created_at": time_text(record.created_at),
        "updated_at": time_text(record.updated_at.max(state_updated)),
        "state_updated_at": time_text(state_updated),
        "metadata": record.metadata,
        "status": status,
        "config": {},
        "values": values,
        "interrupts": asked,
        "error": record.error,
    }))
}

pub(super) async fn create(State(server): State<Arc<Server>>, Json(body): Json<ThreadBody>) -> ApiResult<Json<Value>> {
    let name = body.thread_id.unwrap_or_else(|| Uuid::now_v7().to_string());
    if name.is_empty() {
        return Err(ApiError::invalid("the name of a thread cannot be empty"));
    }
    let mut record = ThreadRecord::new(name.as_str(), now());
    record.metadata = body.metadata.unwrap_or_default();
    if let Some(found) = server.records.get::<ThreadRecord>(&record.key()).await? {
        return match body.if_exists.as_deref() {
            Some("do_nothing") => Ok(Json(thread_json(&server, &found.record).await?)),
            _ => Err(ApiError::conflict(format!("the thread `{name}` exists"))),
        };
    }
    server.records.write(vec![create_item(&record)]).await?;
    Ok(Json(thread_json(&server, &record).await?))
}

pub(super) async fn get(State(server): State<Arc<Server>>, Path(thread): Path<String>) -> ApiResult<Json<Value>> {
    let record = server.thread_record(&thread).await?.record;
    Ok(Json(thread_json(&server, &record).await?))
}

pub(super) async fn patch(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Json(body): Json<ThreadBody>,
) -> ApiResult<Json<Value>> {
    let key = server.thread_record(&thread).await?.record.key();
    let metadata = body.metadata.unwrap_or_default();
    let changed = server.records.change::<ThreadRecord, _>(&key, |found| {
        let found = found?;
        let mut record = found.record.clone();
        record.add_metadata(metadata.clone(), now());
        Some((vec![found.replace(&record)], record))
    });
    let record = changed.await?.ok_or_else(|| ApiError::not_found("thread", &thread))?;
    Ok(Json(thread_json(&server, &record).await?))
}

pub(super) async fn delete(State(server): State<Arc<Server>>, Path(thread): Path<String>) -> ApiResult<StatusCode> {
    if !server.thread_record(&thread).await?.record.queue.is_empty() {
        return Err(ApiError::conflict(format!(
            "the thread `{thread}` has runs that have not ended: cancel them first"
        )));
    }
    server.remove_thread(&thread).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn search(
    State(server): State<Arc<Server>>,
    Json(body): Json<SearchBody>,
) -> ApiResult<(HeaderMap, Json<Vec<Value>>)> {
    Ok(body.page.sorted(find(&server, &body).await?))
}

pub(super) async fn count(State(server): State<Arc<Server>>, Json(body): Json<SearchBody>) -> ApiResult<Json<usize>> {
    Ok(Json(find(&server, &body).await?.len()))
}

async fn find(server: &Server, body: &SearchBody) -> ApiResult<Vec<Value>> {
    let mut found = vec![];
    for stored in server.records.all::<ThreadRecord>("").await? {
        let record = stored.record;
        let is_named = body.ids.as_ref().is_none_or(|ids| ids.contains(&record.thread));
        if record.is_temporary
            || !is_named
            || !body.metadata.as_ref().is_none_or(|wanted| contains(&record.metadata, wanted))
        {
            continue;
        }
        let thread = thread_json(server, &record).await?;
        let has_values =
            |wanted: &Map<String, Value>| thread["values"].as_object().is_some_and(|at| contains(at, wanted));
        if body.status.as_ref().is_none_or(|status| thread["status"] == **status)
            && body.values.as_ref().is_none_or(has_values)
        {
            found.push(thread);
        }
    }
    Ok(found)
}
