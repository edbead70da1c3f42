//! Status of one thread, in the form that the command line prints, with fields of the store.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Map, Value, json};
use superstep::checkpoint::spending::{TaskNote, ThreadSpending};
use superstep::checkpoint::{CheckpointError, ThreadId};
use superstep::graph::view::TaskSnapshot;
use superstep::graph::{Question, RunError, Status, StatusKind, ThreadInfo};
use superstep_base::time::rfc3339;

use crate::error::ApiResult;
use crate::inspection::notes::{add_notes, set_amount};
use crate::records::thread::ThreadRecord;
use crate::server::Server;

pub(super) async fn status(State(server): State<Arc<Server>>, Path(thread): Path<String>) -> ApiResult<Json<Value>> {
    let info = match ThreadInfo::read(&*server.records.0, &ThreadId::from(thread.as_str())).await {
        Err(error) if is_damage(&error) => return Ok(Json(damaged(&thread, &error))),
        found => found?,
    };
    let record = server.thread_record(&thread).await?.record;
    let Some(info) = info else { return Ok(Json(unstarted(&record))) };
    let mut shown = store_fields(&record, &info);
    let graph = server.graphs.get(&info.graph)?;
    let handle = graph.thread(thread.as_str());
    let status = handle.status().await?;
    if let Value::Object(fields) = json!(status) {
        shown.extend(fields);
    }
    let mut shown = Value::Object(shown);
    let spent = ThreadSpending::read(&*server.records.0, &info.id).await?;
    set_amount(&mut shown, spent.map(|spent| spent.total()));
    if let Some(snapshot) = handle.state().await? {
        shown["next"] = json!(snapshot.next);
        if let Status::Running { .. } = status {
            let open: Vec<&Question> = snapshot.questions().filter(|question| !question.is_answered()).collect();
            (shown["questions"], shown["running"]) = (json!(open), running(&snapshot.tasks));
            let ids = snapshot.tasks.iter().map(|task| task.id.clone());
            add_notes(&mut shown["running"], "task", &TaskNote::read_all(&*server.records.0, &info.id, ids).await?);
        }
        server.secrets_of(graph, &thread, &snapshot).await?.hide(&mut shown);
    }
    Ok(Json(shown))
}

fn is_damage(error: &RunError) -> bool {
    matches!(error, RunError::Checkpoint(CheckpointError::Damaged { .. } | CheckpointError::Format { .. }))
}

fn damaged(thread: &str, error: &RunError) -> Value {
    json!({
        "thread": thread, "status": StatusKind::Damaged.as_str(), "next": [], "questions": [], "running": [],
        "reason": error.to_string(), "help": error.help(),
    })
}

/// Returns the status of a thread that has not run.
fn unstarted(record: &ThreadRecord) -> Value {
    json!({
        "thread": record.thread, "graph": record.graph, "status": StatusKind::New.as_str(), "next": [], "questions": [], "running": [],
        "step": null, "checkpoint": null, "cost": null, "tokens": null, "created_at": rfc3339(record.created_at), "updated_at": rfc3339(record.updated_at),
        "metadata": record.metadata,
    })
}

/// Returns the fields of a thread's status that its records have.
fn store_fields(record: &ThreadRecord, info: &ThreadInfo) -> Map<String, Value> {
    let fields = json!({
        "thread": info.id.as_str(), "graph": info.graph, "step": info.step, "checkpoint": info.checkpoint, "running": [],
        "created_at": rfc3339(info.created_at), "updated_at": rfc3339(info.updated_at), "metadata": record.metadata,
        "foreign": info.foreign.is_some(), "trusted": info.foreign.as_ref().is_none_or(|foreign| foreign.trusted),
    });
    fields.as_object().cloned().unwrap_or_default()
}

/// Returns the tasks of a running thread that have neither ended nor wait for anything.
fn running(tasks: &[TaskSnapshot]) -> Value {
    let is_idle = |task: &TaskSnapshot| {
        let asks = task.questions.iter().any(|question| !question.is_answered());
        task.result.is_some() || asks || task.wake.is_some() || !task.awaits.is_empty()
    };
    let running = tasks.iter().filter(|task| !is_idle(task));
    running.map(|task| json!({ "task": task.id, "node": task.name, "attempts": task.attempts })).collect()
}
