//! Runs: created, waited for, streamed, joined, cancelled.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use superstep::graph::CancellationToken;
use uuid::Uuid;

use super::query::Page;
use super::streams::{Follow, ThreadModes, events, run_headers, thread_events, values};
use crate::error::{ApiError, ApiResult};
use crate::records::items::delete as delete_item;
use crate::records::run::{RunPlace, RunRecord, RunStatus};
use crate::runs::creation::{Reader, StopAction};
use crate::runs::reader::EventReader;
use crate::runs::request::{RunBody, StreamModes};
use crate::runs::thread_reader::{ThreadPlace, ThreadReader};
use crate::security::answers::CallerJson;
use crate::server::Server;

type ServerState = State<Arc<Server>>;
type Body = CallerJson;
type Words = Query<HashMap<String, String>>;

fn follow(server: &Arc<Server>, run: &RunRecord, body: &RunBody) -> Follow {
    let leaves = body.on_disconnect.as_deref() == Some("cancel");
    let on_leave = leaves.then(|| {
        let (token, server, run) = (CancellationToken::new(), Arc::clone(server), run.clone());
        let left = token.clone();
        tokio::spawn(async move {
            left.cancelled().await;
            match server.stop_run(&run, StopAction::Interrupt, false).await {
                Err(error) if !error.is_not_found() => {
                    tracing::warn!(thread = run.thread, %error, "a run whose reader has left was not cancelled");
                }
                _ => {}
            }
        });
        token.drop_guard()
    });
    Follow { modes: None, is_numbered: body.stream_resumable, _on_leave: on_leave }
}

/// Creates a run, and answers with it.
async fn start_run(server: &Arc<Server>, thread: Option<&str>, request: Value) -> ApiResult<Response> {
    let (run, _) = server.create_run(thread, request, Reader::OfEvents).await?;
    Ok((run_headers(&run, None, thread.is_none()), Json(run.json())).into_response())
}

/// Creates a run, and answers with its values at its end.
async fn wait_for_run(server: Arc<Server>, thread: Option<&str>, request: Value) -> ApiResult<Response> {
    let (run, body) = server.create_run(thread, request, Reader::OfEnd).await?;
    let (follow, headers) = (follow(&server, &run, &body), run_headers(&run, Some("join"), false));
    Ok(values(EventReader::after(&server, &run, u64::MAX), follow, headers).await)
}

/// Creates a run, and answers with its events.
async fn stream_run(server: &Arc<Server>, thread: Option<&str>, request: Value) -> ApiResult<Response> {
    let (run, body) = server.create_run(thread, request, Reader::OfEvents).await?;
    let headers = run_headers(&run, Some("stream"), thread.is_none());
    Ok(events(EventReader::after(server, &run, 0), follow(server, &run, &body), headers))
}

pub(super) async fn create(
    server: ServerState,
    Path(thread): Path<String>,
    CallerJson(request): Body,
) -> ApiResult<Response> {
    start_run(&server, Some(&thread), request).await
}

pub(super) async fn create_alone(server: ServerState, CallerJson(request): Body) -> ApiResult<Response> {
    start_run(&server, None, request).await
}

pub(super) async fn wait(
    server: ServerState,
    Path(thread): Path<String>,
    CallerJson(request): Body,
) -> ApiResult<Response> {
    wait_for_run(server.0, Some(&thread), request).await
}

pub(super) async fn wait_alone(server: ServerState, CallerJson(request): Body) -> ApiResult<Response> {
    wait_for_run(server.0, None, request).await
}

pub(super) async fn stream(
    server: ServerState,
    Path(thread): Path<String>,
    CallerJson(request): Body,
) -> ApiResult<Response> {
    stream_run(&server, Some(&thread), request).await
}

pub(super) async fn stream_alone(server: ServerState, CallerJson(request): Body) -> ApiResult<Response> {
    stream_run(&server, None, request).await
}

pub(super) async fn list(
    State(server): ServerState,
    Path(thread): Path<String>,
    Query(words): Query<Vec<(String, String)>>,
) -> ApiResult<(HeaderMap, Json<Vec<Value>>)> {
    server.thread_record(&thread).await?;
    let word = |name: &str| words.iter().find(|(key, _)| key == name).map(|(_, text)| text);
    let number = |name: &str| word(name).and_then(|text| text.parse().ok());
    let fields =
        words.iter().filter(|(key, _)| key == "select").flat_map(|(_, text)| text.split(',')).map(str::to_owned);
    let select = word("select").map(|_| fields.collect());
    let page = Page { limit: number("limit"), offset: number("offset"), select, ..Page::default() };
    let all = server.records.all::<RunRecord>(&RunRecord::prefix_of(&thread)).await?;
    let runs = all.iter().rev().map(|run| run.record.json());
    Ok(page.of(runs.filter(|run| word("status").is_none_or(|status| run["status"] == **status)).collect()))
}

pub(super) async fn get(
    State(server): ServerState,
    Path((thread, run)): Path<(String, Uuid)>,
) -> ApiResult<Json<Value>> {
    let found = server.records.run(&thread, run).await?.record;
    if found.status.has_ended() {
        server.joined.join(&found); // the client knows the end
    }
    Ok(Json(found.json()))
}

pub(super) async fn delete(
    State(server): ServerState,
    Path((thread, run)): Path<(String, Uuid)>,
) -> ApiResult<StatusCode> {
    let found = server.records.run(&thread, run).await?;
    if !found.record.status.has_ended() {
        server.stop_run(&found.record, StopAction::Interrupt, true).await?;
    }
    let found = server.records.run(&thread, run).await?;
    server.records.write(vec![found.remove(), delete_item(&RunPlace::of(&found.record))]).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn join(State(server): ServerState, Path((thread, run)): Path<(String, Uuid)>) -> ApiResult<Response> {
    let found = server.records.run(&thread, run).await?.record;
    let follow = Follow { modes: None, is_numbered: false, _on_leave: None };
    server.joined.join(&found);
    let headers = run_headers(&found, Some("join"), false);
    Ok(values(EventReader::after(&server, &found, u64::MAX), follow, headers).await)
}

pub(super) async fn join_stream(
    State(server): ServerState,
    Path((thread, run)): Path<(String, Uuid)>,
    headers: HeaderMap,
    Query(words): Query<Vec<(String, String)>>,
) -> ApiResult<Response> {
    let found = server.records.run(&thread, run).await?.record;
    let is_new = server.joined.join(&found);
    let after = match last_event_id(&headers) {
        None if is_new || found.status == RunStatus::Pending => 0,
        None => server.newest_event(&found).await?,
        Some(number) => number.parse().unwrap_or_default(),
    };
    let names = stream_modes(&words);
    let modes = if names.is_empty() { None } else { Some(StreamModes::parse(names)?) };
    let follow = Follow { modes, is_numbered: true, _on_leave: None };
    let headers = run_headers(&found, Some("stream"), false);
    Ok(events(EventReader::after(&server, &found, after), follow, headers))
}

/// Returns the names of modes in a query, by either name of the parameter: repeated, separated by commas, or a list in JSON.
fn stream_modes(words: &[(String, String)]) -> Vec<&str> {
    let named = words.iter().filter(|(name, _)| matches!(name.as_str(), "stream_mode" | "stream_modes"));
    let names = named.flat_map(|(_, value)| value.split(','));
    names.map(|name| name.trim_matches(['[', ']', '"', ' '])).filter(|name| !name.is_empty()).collect()
}

pub(super) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id").and_then(|value| value.to_str().ok())
}

pub(super) async fn thread_stream(
    State(server): ServerState,
    Path(thread): Path<String>,
    headers: HeaderMap,
    Query(words): Query<Vec<(String, String)>>,
) -> ApiResult<Response> {
    let modes = ThreadModes::parse(stream_modes(&words))?;
    let after = last_event_id(&headers).and_then(ThreadPlace::parse);
    Ok(thread_events(ThreadReader::new(&server, &thread, after).await?, modes))
}

pub(super) async fn cancel(
    State(server): ServerState,
    Path((thread, run)): Path<(String, Uuid)>,
    Query(words): Words,
) -> ApiResult<Response> {
    let found = server.records.run(&thread, run).await?.record;
    if found.status.has_ended() {
        return Err(ApiError::not_found("run that is going on", &run.to_string()));
    }
    let action = StopAction::parse(words.get("action").map(String::as_str))?;
    let waits = words.get("wait").is_some_and(|wait| matches!(wait.as_str(), "1" | "true"));
    server.stop_run(&found, action, waits).await?;
    Ok(match waits {
        true => (run_headers(&found, Some("join"), false), Json(json!({}))).into_response(),
        false => StatusCode::ACCEPTED.into_response(),
    })
}
