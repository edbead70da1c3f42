//! Threads: made, found, changed and removed.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use superstep::checkpoint::{ThreadId, trust as trust_thread};
use superstep::graph::{AnyGraph, AnyState, StateSnapshot};
use superstep_base::time::now;
use utoipa::ToSchema;
use uuid::Uuid;

use super::ttl::{includes_ttl, set_ttl, ttl_json};
use super::updates::{Replay, Superstep};
use crate::choices::{IF_EXISTS, check_choice};
use crate::error::{ApiError, ApiResult};
use crate::records::assistant::default_id;
use crate::records::items::{Record, create as create_item, put};
use crate::records::thread::{RunFailure, StateMark, ThreadRecord};
use crate::records::time::time_text;
use crate::records::timer::Timer;
use crate::security::secrets::Secrets;
use crate::security::{Caller, KeyRole};
use crate::server::Server;
use crate::wire::{interrupts, written};
use crate::wire_types::ThreadJson;

/// A thread that is made or changed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = ThreadRequest)]
pub(super) struct ThreadBody {
    /// Its name, any text; a new UUID without it.
    #[schema(min_length = 1)]
    thread_id: Option<String>,
    metadata: Option<Map<String, Value>>,
    #[schema(schema_with = crate::choices::if_exists)]
    if_exists: Option<String>,
    /// The minutes for which it is kept after its last change, or `{ttl, strategy}`; the strategy is `delete` or `keep_latest`.
    ttl: Option<Value>,
    /// The history of a thread that is imported; `metadata.graph_id` names its graph.
    supersteps: Option<Vec<Superstep>>,
}

/// Returns a thread on the wire, as it is now: another program may have changed it since the server looked last.
///
/// # Errors
/// 404 if another program has deleted it.
pub(super) async fn thread_json(server: &Server, record: &ThreadRecord) -> ApiResult<Value> {
    let state = read_state(server, record).await?;
    if !is_outdated(record, state.as_ref(), server.records.time()) {
        return shown(server, record, state).await;
    }
    let refreshed = server.refresh(record).await?;
    let record = refreshed.ok_or_else(|| ApiError::not_found("thread", &record.thread))?;
    let state = read_state(server, &record).await?;
    shown(server, &record, state).await
}

/// Returns a thread of a list. One whose state cannot be read is there without it, and hides no other.
pub(super) async fn listed_json(server: &Server, record: &ThreadRecord) -> ApiResult<Value> {
    match thread_json(server, record).await {
        Err(error) if error.is_internal() => {
            tracing::warn!(thread = record.thread, %error, "the state of a thread in a list cannot be read");
            let failure = RunFailure { error: "Unreadable".into(), message: error.detail };
            let damaged = ThreadRecord { error: Some(failure), ..record.clone() };
            shown(server, &damaged, None).await
        }
        found => found,
    }
}

type ThreadState<'a> = (&'a AnyGraph, StateSnapshot<AnyState>, Secrets);

/// Returns the state of a thread with its graph; `None` before its first run.
async fn read_state<'a>(server: &'a Server, record: &ThreadRecord) -> ApiResult<Option<ThreadState<'a>>> {
    let Some(graph) = server.graph_of(record)? else { return Ok(None) };
    let thread = graph.thread(record.thread.as_str());
    let Some(snapshot) = thread.state().await? else { return Ok(None) };
    let secrets = server.secrets_of(graph, &record.thread, &snapshot).await?;
    Ok(Some((graph, snapshot, secrets)))
}

/// Returns whether another program has deleted a thread, or changed it, since its record was written.
fn is_outdated(record: &ThreadRecord, state: Option<&ThreadState<'_>>, now: u64) -> bool {
    let Some(mark) = record.state.filter(|_| record.is_left(now)) else { return false };
    let Some((_, snapshot, _)) = state else { return true };
    let has_failed = snapshot.tasks.iter().any(|task| task.error.is_some());
    snapshot.created_at > mark.updated_at || mark.has_failed.is_some_and(|before| before != has_failed)
}

async fn shown(server: &Server, record: &ThreadRecord, state: Option<ThreadState<'_>>) -> ApiResult<Value> {
    let (mut values, mut asked, mut is_open, mut state_updated) = (Value::Null, Map::new(), false, record.updated_at);
    let mut secrets = Secrets::default();
    if let Some((graph, snapshot, held)) = state {
        values = written(snapshot.json(graph.schema()));
        secrets = held;
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
        _ if server.runs_elsewhere(record).await? => "busy",
        (true, Some(failure)) if failure.error != "UserInterrupt" => "error",
        (true, _) if is_open || record.error.is_some() => "interrupted",
        (true, _) => "idle",
    };
    let mut shown = json!(ThreadJson {
        thread_id: &record.thread,
        created_at: time_text(record.created_at),
        updated_at: time_text(record.updated_at.max(state_updated)),
        state_updated_at: time_text(state_updated),
        metadata: &record.metadata,
        status,
        config: &record.config,
        values,
        interrupts: asked,
        error: record.error.as_ref(),
    });
    secrets.hide(&mut shown);
    Ok(shown)
}

pub(super) async fn create(State(server): State<Arc<Server>>, Json(body): Json<ThreadBody>) -> ApiResult<Json<Value>> {
    let name = body.thread_id.unwrap_or_else(|| Uuid::now_v7().to_string());
    if name.is_empty() {
        return Err(ApiError::invalid("the name of a thread cannot be empty"));
    }
    let mut record = ThreadRecord::new(name.as_str(), now());
    check_choice("if_exists", body.if_exists.as_deref(), &IF_EXISTS)?;
    record.metadata = body.metadata.unwrap_or_default();
    set_ttl(&mut record, body.ttl.as_ref())?;
    let replay = Replay::of(&server, &record, body.supersteps.unwrap_or_default())?;
    if let Some(found) = server.records.get::<ThreadRecord>(&record.key()).await? {
        return match body.if_exists.as_deref() {
            Some("do_nothing") => Ok(Json(thread_json(&server, &found.record).await?)),
            _ => Err(ApiError::conflict(format!("the thread `{name}` exists"))),
        };
    }
    if let Some(replay) = &replay {
        record.state = Some(StateMark::unfinished(record.created_at));
        record.metadata.insert("assistant_id".into(), default_id(replay.graph.name()).to_string().into());
    }
    record.graph = replay.as_ref().map(|replay| replay.graph.name().to_owned());
    let timer = record.timer();
    server.records.write([create_item(&record)].into_iter().chain(timer.as_ref().map(put)).collect()).await?;
    if let Some(replay) = replay {
        replay.write(&server, &record).await?;
    }
    Ok(Json(thread_json(&server, &record).await?))
}

pub(super) async fn get(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    RawQuery(query): RawQuery,
) -> ApiResult<Json<Value>> {
    let record = server.thread_record(&thread).await?.record;
    let mut found = thread_json(&server, &record).await?;
    if includes_ttl(&query.unwrap_or_default()) {
        found["ttl"] = ttl_json(&record);
    }
    Ok(Json(found))
}

pub(super) async fn patch(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    caller: Option<Extension<Caller>>,
    headers: HeaderMap,
    Json(body): Json<ThreadBody>,
) -> ApiResult<Response> {
    check_may_expire(caller.as_deref(), body.ttl.as_ref())?;
    let key = server.thread_record(&thread).await?.record.key();
    let metadata = body.metadata.unwrap_or_default();
    set_ttl(&mut ThreadRecord::new(thread.as_str(), 0), body.ttl.as_ref())?; // refused before anything is written
    let changed = server.records.change::<ThreadRecord, _>(&key, |found| {
        let found = found?;
        let mut record = found.record.clone();
        record.add_metadata(metadata.clone(), now());
        set_ttl(&mut record, body.ttl.as_ref()).ok()?;
        let mut writes = Timer::replace(found.record.timer().as_ref(), record.timer().as_ref());
        writes.push(found.replace(&record));
        Some((writes, record))
    });
    let record = changed.await?.ok_or_else(|| ApiError::not_found("thread", &thread))?;
    Ok(match prefers_nothing(&headers) {
        true => StatusCode::NO_CONTENT.into_response(),
        false => Json(thread_json(&server, &record).await?).into_response(),
    })
}

/// Returns whether a client wants no body in the answer to a change.
fn prefers_nothing(headers: &HeaderMap) -> bool {
    let texts = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|part| part.trim().eq_ignore_ascii_case("return=minimal"))
}

/// Refuses to have a thread deleted at a time by a caller who may not delete it now.
fn check_may_expire(caller: Option<&Caller>, ttl: Option<&Value>) -> ApiResult<()> {
    let sets_ttl = ttl.is_some_and(|ttl| !ttl.is_null());
    let Some(caller) = caller.filter(|caller| sets_ttl && caller.role < KeyRole::Admin) else { return Ok(()) };
    let (name, role) = (caller.name.escape_debug(), caller.role);
    let detail = format!("to set the ttl of a thread needs the role admin; the key `{name}` has the role {role}");
    Err(ApiError::new(StatusCode::FORBIDDEN, detail))
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

/// Allows an imported thread to be run, and returns it.
pub(super) async fn trust(State(server): State<Arc<Server>>, Path(thread): Path<String>) -> ApiResult<Json<Value>> {
    trust_thread(&*server.records.0, &ThreadId::from(thread.as_str())).await?;
    server.adopt(&thread).await?;
    Ok(Json(thread_json(&server, &server.thread_record(&thread).await?.record).await?))
}
