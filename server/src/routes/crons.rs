//! Runs by a schedule: crons are made, found, changed and removed.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};
use superstep_base::time::now;
use utoipa::ToSchema;
use uuid::Uuid;

use super::query::{Page, contains};
use crate::crons::schedule::{Schedule, next_date, parse_time};
use crate::error::{ApiError, ApiResult};
use crate::records::cron::CronRecord;
use crate::records::items::{Record, StoredRecord, create as create_item, delete as delete_item, put};
use crate::records::timer::Timer;
use crate::server::Server;

/// Fields of a cron.
const FIELDS: [&str; 15] = [
    "cron_id",
    "assistant_id",
    "thread_id",
    "end_time",
    "schedule",
    "timezone",
    "created_at",
    "updated_at",
    "user_id",
    "payload",
    "next_run_date",
    "metadata",
    "now",
    "on_run_completed",
    "enabled",
];
/// Fields by which crons are sorted.
const SORTED_BY: [&str; 7] =
    ["cron_id", "assistant_id", "thread_id", "created_at", "updated_at", "next_run_date", "end_time"];
/// Fields of a body that are not part of the request for its runs.
const OWN_FIELDS: [&str; 6] = ["schedule", "timezone", "end_time", "enabled", "on_run_completed", "thread_id"];

/// The schedule of a cron; all other fields are those of its runs.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = CronSchedule)]
pub(super) struct CronBody {
    /// Five fields, such as `0 9 * * 1-5`. Needed to make a cron.
    schedule: Option<String>,
    /// The name of a time zone; UTC without it.
    timezone: Option<String>,
    /// The time after which there are no runs, such as `2026-12-31T00:00:00Z`.
    end_time: Option<String>,
    enabled: Option<bool>,
    /// Fate of the threads of its runs.
    #[schema(schema_with = crate::choices::on_completion)]
    on_run_completed: Option<String>,
    metadata: Option<Map<String, Value>>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = CronSearch)]
pub(super) struct SearchBody {
    /// The id of an assistant, or the name of a graph.
    assistant_id: Option<String>,
    thread_id: Option<String>,
    enabled: Option<bool>,
    metadata: Option<Map<String, Value>>,
    #[serde(flatten)]
    page: Page,
}

pub(super) async fn create(State(server): State<Arc<Server>>, Json(body): Json<Value>) -> ApiResult<Json<Value>> {
    make(&server, None, body).await
}

pub(super) async fn create_of_thread(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Json(body): Json<Value>,
) -> ApiResult<Json<Value>> {
    server.thread_record(&thread).await?;
    make(&server, Some(thread), body).await
}

async fn make(server: &Server, thread: Option<String>, body: Value) -> ApiResult<Json<Value>> {
    let time = now();
    let mut cron = CronRecord {
        cron: Uuid::now_v7(),
        assistant: Uuid::nil(),
        thread,
        schedule: String::new(),
        timezone: None,
        end_time: None,
        payload: Value::Object(Map::new()),
        secret_channels: vec![],
        metadata: Map::new(),
        is_enabled: true,
        keeps_threads: false,
        next: None,
        created_at: time,
        updated_at: time,
    };
    change(&mut cron, body)?;
    finish(server, &mut cron).await?;
    let timer = cron.timer();
    server.records.write([create_item(&cron)].into_iter().chain(timer.as_ref().map(put)).collect()).await?;
    server.has_timer.notify_one();
    Ok(Json(cron.json()))
}

/// Changes a cron by a body; fields that it does not name stay as they are.
fn change(cron: &mut CronRecord, body: Value) -> ApiResult<()> {
    let fields = CronBody::deserialize(&body);
    let fields = fields.map_err(|error| ApiError::invalid(format!("the request cannot be read: {error}")))?;
    cron.keeps_threads = match fields.on_run_completed.as_deref() {
        None => cron.keeps_threads,
        Some("delete") => false,
        Some("keep") => true,
        Some(other) => {
            return Err(ApiError::invalid(format!("on_run_completed is delete or keep, and not `{other}`")));
        }
    };
    cron.is_enabled = fields.enabled.unwrap_or(cron.is_enabled);
    cron.schedule = fields.schedule.unwrap_or_else(|| cron.schedule.clone());
    cron.timezone = fields.timezone.or_else(|| cron.timezone.clone());
    if let Some(given) = body.get("end_time") {
        cron.end_time = if given.is_null() { None } else { fields.end_time.as_deref().map(parse_time).transpose()? };
    }
    cron.metadata.extend(fields.metadata.unwrap_or_default());
    let (Value::Object(given), Some(payload)) = (body, cron.payload.as_object_mut()) else { return Ok(()) };
    payload.extend(given.into_iter().filter(|(name, _)| !OWN_FIELDS.contains(&name.as_str())));
    Ok(())
}

/// Checks a cron, and sets what follows from its fields.
async fn finish(server: &Server, cron: &mut CronRecord) -> ApiResult<()> {
    if cron.schedule.is_empty() {
        return Err(ApiError::invalid("schedule is missing: five fields are expected, such as `0 9 * * 1-5`"));
    }
    Schedule::parse(&cron.schedule, cron.timezone.as_deref())?;
    let assistant = server.check_run(cron.thread.as_deref(), &cron.payload).await?.assistant;
    (cron.assistant, cron.secret_channels) = (assistant.assistant, server.secret_channels(&assistant));
    cron.updated_at = now();
    cron.next = next_date(cron, cron.updated_at);
    Ok(())
}

async fn find(server: &Server, cron: Uuid) -> ApiResult<StoredRecord<CronRecord>> {
    let found = server.records.get(&cron.to_string()).await?;
    found.ok_or_else(|| ApiError::not_found("cron", &cron.to_string()))
}

pub(super) async fn get(State(server): State<Arc<Server>>, Path(cron): Path<Uuid>) -> ApiResult<Json<Value>> {
    Ok(Json(find(&server, cron).await?.record.json()))
}

pub(super) async fn patch(
    State(server): State<Arc<Server>>,
    Path(cron): Path<Uuid>,
    Json(body): Json<Value>,
) -> ApiResult<Json<Value>> {
    let mut changed = find(&server, cron).await?.record;
    change(&mut changed, body.clone())?;
    finish(&server, &mut changed).await?;
    let key = changed.key();
    let written = server.records.change::<CronRecord, CronRecord>(&key, |found| {
        let found = found?;
        let mut record = found.record.clone();
        change(&mut record, body.clone()).ok()?;
        (record.assistant, record.updated_at) = (changed.assistant, changed.updated_at);
        record.next = next_date(&record, record.updated_at);
        let mut writes = Timer::replace(found.record.timer().as_ref(), record.timer().as_ref());
        writes.push(found.replace(&record));
        Some((writes, record))
    });
    let record = written.await?.ok_or_else(|| ApiError::not_found("cron", &cron.to_string()))?;
    server.has_timer.notify_one();
    Ok(Json(record.json()))
}

pub(super) async fn delete(State(server): State<Arc<Server>>, Path(cron): Path<Uuid>) -> ApiResult<StatusCode> {
    let key = cron.to_string();
    let removed = server.records.change::<CronRecord, ()>(&key, |found| {
        let found = found?;
        let timer = found.record.timer();
        Some(([found.remove()].into_iter().chain(timer.as_ref().map(delete_item)).collect(), ()))
    });
    removed.await?.ok_or_else(|| ApiError::not_found("cron", &key))?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn search(
    State(server): State<Arc<Server>>,
    Json(body): Json<SearchBody>,
) -> ApiResult<(HeaderMap, Json<Vec<Value>>)> {
    Ok(body.page.sorted(find_all(&server, &body).await?))
}

pub(super) async fn count(State(server): State<Arc<Server>>, Json(body): Json<SearchBody>) -> ApiResult<Json<usize>> {
    Ok(Json(find_all(&server, &body).await?.len()))
}

async fn find_all(server: &Server, body: &SearchBody) -> ApiResult<Vec<Value>> {
    body.page.check(&FIELDS, &SORTED_BY)?;
    let assistant = match &body.assistant_id {
        Some(name) => Some(server.assistant_or_graph(name).await?.assistant),
        None => None,
    };
    let fits = |cron: &CronRecord| {
        assistant.is_none_or(|assistant| cron.assistant == assistant)
            && body.thread_id.as_ref().is_none_or(|thread| cron.thread.as_ref() == Some(thread))
            && body.enabled.is_none_or(|enabled| cron.is_enabled == enabled)
            && body.metadata.as_ref().is_none_or(|wanted| contains(&cron.metadata, wanted))
    };
    let all = server.records.all::<CronRecord>("").await?;
    Ok(all.iter().map(|cron| &cron.record).filter(|cron| fits(cron)).map(CronRecord::json).collect())
}
