//! Several runs at once, and runs that a client names without their thread.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::runs;
use crate::error::{ApiError, ApiResult};
use crate::records::items::StoredRecord;
use crate::records::run::{OpenRun, RunPlace, RunRecord, RunStatus};
use crate::records::timer::{Timer, TimerKind};
use crate::runs::creation::{Reader, StopAction};
use crate::server::Server;

/// The largest number of runs that are created at once.
const LARGEST: usize = 1000;

/// Runs to cancel: those of a thread by their ids, or those of a status.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = CancelRequest)]
pub(super) struct CancelBody {
    thread_id: Option<String>,
    run_ids: Option<Vec<Uuid>>,
    #[schema(schema_with = crate::choices::cancel_status)]
    status: Option<String>,
}

type Words = Query<HashMap<String, String>>;

/// Creates runs, each with a thread of its own. None is created if one of the requests cannot be executed.
pub(super) async fn create(
    State(server): State<Arc<Server>>,
    Json(requests): Json<Vec<Value>>,
) -> ApiResult<Json<Vec<Value>>> {
    if requests.len() > LARGEST {
        return Err(ApiError::invalid(format!("a batch has {LARGEST} runs at most; this one has {}", requests.len())));
    }
    for (nth, request) in requests.iter().enumerate() {
        let checked = server.check_run(None, request).await;
        checked.map_err(|error| ApiError::new(error.status, format!("run {nth}: {}", error.detail)))?;
    }
    let mut created = vec![];
    for request in requests {
        let (run, _) = server.create_run(None, request, Reader::OfEvents).await?;
        created.push(run.json());
    }
    Ok(Json(created))
}

/// Stops runs: those that are named, or those of a status.
pub(super) async fn cancel(
    State(server): State<Arc<Server>>,
    Query(words): Words,
    Json(body): Json<CancelBody>,
) -> ApiResult<StatusCode> {
    let action = StopAction::parse(words.get("action").map(String::as_str))?;
    let mut count = 0;
    for run in chosen_runs(&server, &body).await? {
        match server.stop_run(&run, action, false).await {
            Err(error) if error.is_not_found() => {} // it was removed meanwhile
            stopped => count += stopped.map(|()| 1)?,
        }
    }
    match count {
        0 => Err(ApiError::new(StatusCode::NOT_FOUND, "there is no run to cancel")),
        _ => Ok(StatusCode::NO_CONTENT),
    }
}

/// Returns the runs that have not ended and are chosen by a body.
async fn chosen_runs(server: &Server, body: &CancelBody) -> ApiResult<Vec<RunRecord>> {
    let runs = match (&body.thread_id, &body.run_ids) {
        (Some(thread), Some(ids)) if body.status.is_none() => {
            let keys = ids.iter().map(|run| RunRecord::key_of(thread, *run));
            server.records.get_all::<RunRecord>(keys).await?
        }
        (None, None) if body.status.is_some() => open_runs(server, body.status.as_deref()).await?,
        _ => return Err(ApiError::invalid("give thread_id and run_ids, or status alone")),
    };
    Ok(runs.into_iter().map(|run| run.record).filter(|run| !run.status.has_ended()).collect())
}

async fn open_runs(server: &Server, status: Option<&str>) -> ApiResult<Vec<StoredRecord<RunRecord>>> {
    let status = match status {
        Some("pending") => Some(RunStatus::Pending),
        Some("running") => Some(RunStatus::Running),
        Some("all") => None,
        _ => return Err(ApiError::invalid("status is one of pending, running and all")),
    };
    let open = server.records.all::<OpenRun>("").await?.into_iter().map(|open| (open.record.thread, open.record.run));
    let later = server.records.all::<Timer>("").await?.into_iter();
    let later = later.filter(|timer| timer.record.kind == TimerKind::Run).map(|timer| timer.record.of);
    let keys = open.map(|(thread, run)| RunRecord::key_of(&thread, run)).chain(later);
    let runs = server.records.get_all::<RunRecord>(keys.collect::<Vec<_>>()).await?;
    Ok(runs.into_iter().filter(|run| status.is_none_or(|status| run.record.status == status)).collect())
}

/// Returns the thread of a run that a client names alone.
async fn thread_of(server: &Server, run: Uuid) -> ApiResult<String> {
    if let Some(open) = server.records.get::<OpenRun>(&run.to_string()).await? {
        return Ok(open.record.thread);
    }
    let place = server.records.get::<RunPlace>(&run.to_string()).await?;
    place.map(|place| place.record.thread).ok_or_else(|| ApiError::not_found("run", &run.to_string()))
}

pub(super) async fn join(State(server): State<Arc<Server>>, Path(run): Path<Uuid>) -> ApiResult<Response> {
    let thread = thread_of(&server, run).await?;
    runs::join(State(server), Path((thread, run))).await
}

pub(super) async fn join_stream(
    State(server): State<Arc<Server>>,
    Path(run): Path<Uuid>,
    headers: HeaderMap,
    words: Query<Vec<(String, String)>>,
) -> ApiResult<Response> {
    let thread = thread_of(&server, run).await?;
    runs::join_stream(State(server), Path((thread, run)), headers, words).await
}
