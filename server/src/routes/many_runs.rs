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
    let (keys, status) = chosen_runs(&server, &body).await?;
    let mut count = 0;
    // One at a time: each has its request, which may be large.
    for key in keys {
        let Some(run) = server.records.look_up::<RunRecord>(&key).await?.into_record() else { continue };
        let run = run.record;
        if run.status.has_ended() || status.is_some_and(|status| run.status != status) {
            continue;
        }
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

/// The keys of runs, and the status that they have.
type ChosenRuns = (Vec<String>, Option<RunStatus>);

/// Returns the runs that are chosen by a body; some may have ended.
async fn chosen_runs(server: &Server, body: &CancelBody) -> ApiResult<ChosenRuns> {
    match (&body.thread_id, &body.run_ids, body.status.as_deref()) {
        (Some(thread), Some(ids), None) => Ok((ids.iter().map(|run| RunRecord::key_of(thread, *run)).collect(), None)),
        (None, None, Some("pending")) => open_runs(server, Some(RunStatus::Pending)).await,
        (None, None, Some("running")) => open_runs(server, Some(RunStatus::Running)).await,
        (None, None, Some("all")) => open_runs(server, None).await,
        (None, None, Some(_)) => Err(ApiError::invalid("status is one of pending, running and all")),
        _ => Err(ApiError::invalid("give thread_id and run_ids, or status alone")),
    }
}

/// Returns the runs of a status, or all, that have not ended, without reading their requests.
async fn open_runs(server: &Server, status: Option<RunStatus>) -> ApiResult<ChosenRuns> {
    let may_be = |open: &OpenRun| status.is_none_or(|status| (status == RunStatus::Running) == open.is_running);
    let open = server.records.all::<OpenRun>("").await?.into_iter().map(|open| open.record);
    let mut keys: Vec<_> = open.filter(may_be).map(|open| RunRecord::key_of(&open.thread, open.run)).collect();
    if status != Some(RunStatus::Running) {
        let timers = server.records.all::<Timer>("").await?.into_iter().map(|timer| timer.record);
        keys.extend(timers.filter(|timer| timer.kind == TimerKind::Run).map(|timer| timer.of));
    }
    Ok((keys, status))
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
