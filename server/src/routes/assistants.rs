//! Assistants and their versions.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};
use superstep_base::time::now;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::query::{Page, contains};
use crate::choices::{IF_EXISTS, check_choice};
use crate::error::{ApiError, ApiResult};
use crate::records::assistant::{AssistantRecord, AssistantVersion};
use crate::records::items::{Record, create as create_item};
use crate::server::Server;

/// The name of an assistant that was given none.
const UNTITLED: &str = "Untitled";
/// Fields of an assistant.
const FIELDS: [&str; 10] = [
    "assistant_id",
    "graph_id",
    "name",
    "description",
    "config",
    "context",
    "created_at",
    "updated_at",
    "metadata",
    "version",
];
/// Fields by which assistants are sorted.
const SORTED_BY: [&str; 5] = ["assistant_id", "graph_id", "name", "created_at", "updated_at"];

/// An assistant that is made or changed. `graph_id` is needed to make one.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = AssistantRequest)]
pub(super) struct AssistantBody {
    graph_id: Option<String>,
    /// A UUID; a new one without it.
    assistant_id: Option<String>,
    config: Option<Map<String, Value>>,
    context: Option<Map<String, Value>>,
    metadata: Option<Map<String, Value>>,
    #[schema(schema_with = crate::choices::if_exists)]
    if_exists: Option<String>,
    name: Option<String>,
    description: Option<String>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = AssistantSearch)]
pub(super) struct SearchBody {
    /// Values that the metadata contain.
    metadata: Option<Map<String, Value>>,
    graph_id: Option<String>,
    /// A part of the name.
    name: Option<String>,
    #[serde(flatten)]
    page: Page,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = AssistantVersionSearch)]
pub(super) struct VersionSearch {
    /// Values that the metadata contain.
    metadata: Option<Map<String, Value>>,
    #[serde(flatten)]
    page: Page,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AssistantVersion)]
pub(super) struct VersionBody {
    version: u64,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct DeleteQuery {
    /// Deletes the threads of the assistant too.
    delete_threads: bool,
}

type Answer = ApiResult<Json<Value>>;

fn assistant_json(record: &AssistantRecord) -> Answer {
    record.json().map(Json).ok_or_else(|| ApiError::not_found("version of the assistant", &record.current.to_string()))
}

pub(super) async fn create(State(server): State<Arc<Server>>, Json(body): Json<AssistantBody>) -> Answer {
    let graph = body.graph_id.clone().ok_or_else(|| ApiError::invalid("`graph_id` is missing"))?;
    server.graphs.get(&graph)?;
    check_choice("if_exists", body.if_exists.as_deref(), &IF_EXISTS)?;
    let id = match &body.assistant_id {
        None => Uuid::new_v4(),
        Some(id) => id.parse().map_err(|_| ApiError::invalid(format!("`assistant_id`: `{id}` is no UUID")))?,
    };
    let time = now();
    let mut version = AssistantVersion {
        version: 1,
        graph,
        name: body.name.unwrap_or_else(|| UNTITLED.into()),
        description: body.description,
        config: Map::new(),
        context: Map::new(),
        metadata: body.metadata.unwrap_or_default(),
        created_at: time,
    };
    version.configure(body.config.as_ref(), body.context.as_ref())?;
    let record = AssistantRecord { assistant: id, created_at: time, current: 1, versions: vec![version] };
    if let Ok(found) = server.assistant(&id.to_string()).await {
        return match body.if_exists.as_deref() {
            Some("do_nothing") => assistant_json(&found.record),
            _ => Err(ApiError::conflict(format!("the assistant `{id}` exists"))),
        };
    }
    server.records.write(vec![create_item(&record)]).await?;
    assistant_json(&record)
}

pub(super) async fn get(State(server): State<Arc<Server>>, Path(id): Path<String>) -> Answer {
    assistant_json(&server.assistant(&id).await?.record)
}

/// Makes a new version, which is current from then on.
pub(super) async fn patch(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    Json(body): Json<AssistantBody>,
) -> Answer {
    if let Some(graph) = &body.graph_id {
        server.graphs.get(graph)?;
    }
    change(&server, &id, |record| {
        let current = record.now().cloned();
        let mut version = current.ok_or_else(|| ApiError::not_found("version", &record.current.to_string()))?;
        version.version = record.versions.iter().map(|version| version.version).max().unwrap_or_default() + 1;
        version.created_at = now();
        version.metadata.extend(body.metadata.clone().unwrap_or_default());
        version.configure(body.config.as_ref(), body.context.as_ref())?;
        for (slot, given) in [(&mut version.graph, &body.graph_id), (&mut version.name, &body.name)] {
            given.iter().for_each(|given| slot.clone_from(given));
        }
        version.description = body.description.clone().or(version.description);
        record.current = version.version;
        record.versions.push(version);
        Ok(())
    })
    .await
}

pub(super) async fn latest(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    Json(body): Json<VersionBody>,
) -> Answer {
    change(&server, &id, |record| {
        record.current = body.version;
        record.now().map(drop).ok_or_else(|| ApiError::not_found("version", &body.version.to_string()))
    })
    .await
}

/// Changes an assistant, again if somebody else has changed it meanwhile.
async fn change(server: &Server, id: &str, edit: impl Fn(&mut AssistantRecord) -> ApiResult<()>) -> Answer {
    let key = server.assistant(id).await?.record.key();
    let mut refusal = None;
    let changed = server.records.change::<AssistantRecord, _>(&key, |found| {
        let found = found?;
        let mut record = found.record.clone();
        if let Err(error) = edit(&mut record) {
            refusal = Some(error);
            return None;
        }
        Some((vec![found.replace(&record)], record))
    });
    match (changed.await?, refusal) {
        (Some(record), _) => assistant_json(&record),
        (None, Some(refusal)) => Err(refusal),
        (None, None) => Err(ApiError::not_found("assistant", id)),
    }
}

pub(super) async fn delete(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    Query(query): Query<DeleteQuery>,
) -> ApiResult<StatusCode> {
    let found = server.assistant(&id).await?;
    if query.delete_threads {
        let threads = server.records.all::<crate::records::thread::ThreadRecord>("").await?;
        let is_of = |metadata: &Map<String, Value>| metadata.get("assistant_id").and_then(Value::as_str) == Some(&id);
        for thread in threads.iter().filter(|thread| is_of(&thread.record.metadata)) {
            server.remove_thread(&thread.record.thread).await?;
        }
    }
    server.records.write(vec![found.remove()]).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn versions(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    Json(body): Json<VersionSearch>,
) -> ApiResult<(HeaderMap, Json<Vec<Value>>)> {
    body.page.check(&FIELDS, &SORTED_BY)?;
    let record = server.assistant(&id).await?.record;
    let is_wanted =
        |version: &&AssistantVersion| body.metadata.as_ref().is_none_or(|wanted| contains(&version.metadata, wanted));
    let versions = record.versions.iter().rev().filter(is_wanted);
    Ok(body.page.of(versions.map(|version| record.version_json(version)).collect()))
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
    body.page.check(&FIELDS, &SORTED_BY)?;
    body.graph_id.iter().try_for_each(|graph| server.graphs.get(graph).map(drop))?;
    let is_wanted = |version: &AssistantVersion| {
        body.graph_id.as_ref().is_none_or(|graph| *graph == version.graph)
            && body.name.as_ref().is_none_or(|name| version.name.to_lowercase().contains(&name.to_lowercase()))
            && body.metadata.as_ref().is_none_or(|wanted| contains(&version.metadata, wanted))
    };
    let all = server.assistants().await?;
    let wanted = all.iter().filter(|stored| stored.record.now().is_some_and(is_wanted));
    Ok(wanted.filter_map(|stored| stored.record.json()).collect())
}
