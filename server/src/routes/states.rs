//! The states of a thread: the present one, those of its checkpoints, and changes from outside.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use superstep::checkpoint::CheckpointId;
use superstep::graph::RunError;
use utoipa::{IntoParams, ToSchema};

use super::updates::state_update;
use crate::error::{ApiError, ApiResult};
use crate::graph_place::GraphPlace;
use crate::runs::request::{CheckpointBody, parse_checkpoint};
use crate::server::{Server, select_fields};
use crate::wire::{empty_state, state, subgraph_state};
use crate::wire_types::UpdateJson;

/// The default number of states in a history.
const LIMIT: usize = 1;

/// An update of a state, as if a node had returned it.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = StateUpdate)]
pub(super) struct UpdateBody {
    /// Values of channels; null copies the state.
    values: Option<Value>,
    /// The node; `__start__` for an input, `__end__` to clear what is left to run.
    as_node: Option<String>,
    /// The checkpoint that is updated; the newest without it.
    checkpoint: Option<CheckpointBody>,
    checkpoint_id: Option<String>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
pub(super) struct CheckpointRequest {
    #[serde(default)]
    checkpoint: CheckpointBody,
    /// Returns the states of subgraphs too, in their tasks.
    #[serde(default)]
    subgraphs: bool,
    /// The fields of the state, and `values.CHANNEL` for one channel; all without it.
    select: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = HistoryRequest)]
pub(super) struct HistoryBody {
    /// The number of states; 1 unless set.
    limit: Option<usize>,
    /// The subgraph whose states are returned, and the only checkpoint, if it has an id.
    checkpoint: Option<CheckpointBody>,
    /// The id of a checkpoint, a checkpoint, or a configuration with one: only older ones are returned.
    before: Option<Value>,
    /// Values that the metadata of the states have.
    metadata: Option<Map<String, Value>>,
    /// The fields of the states, and `values.CHANNEL` for one channel; all without it.
    select: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryQuery {
    /// The number of states; 1 unless set.
    limit: Option<usize>,
    /// The id of a checkpoint: only older ones are returned.
    before: Option<String>,
}

type Answer = ApiResult<Json<Value>>;

/// The parts of a state that a client asks for.
#[derive(Debug, Default)]
struct Parts {
    /// Set if the states of subgraphs are asked for too.
    has_subgraphs: bool,
    select: Option<Vec<String>>,
}

impl Parts {
    fn of_query(words: &[(String, String)]) -> Self {
        let named = words.iter().filter(|(name, _)| name == "select").flat_map(|(_, fields)| fields.split(','));
        let select: Vec<_> = named.map(str::to_owned).collect();
        let is_true = |text: &str| text == "1" || text.eq_ignore_ascii_case("true");
        let has_subgraphs = words.iter().any(|(name, text)| name == "subgraphs" && is_true(text));
        Self { has_subgraphs, select: (!select.is_empty()).then_some(select) }
    }

    /// Returns the selected fields of a state; `values.CHANNEL` is one of its values.
    fn select(&self, mut shown: Value) -> Value {
        let Some(names) = &self.select else { return shown };
        let channels: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("values.")).collect();
        let mut fields = names.clone();
        if !channels.is_empty() && !names.iter().any(|name| name == "values") {
            fields.push("values".into());
            if let Some(values) = shown["values"].as_object_mut() {
                values.retain(|channel, _| channels.contains(&channel.as_str()));
            }
        }
        select_fields(shown, Some(&fields))
    }
}

/// Returns the state of a thread at a checkpoint, or now.
async fn read(server: &Server, thread: &str, at: Option<CheckpointId>, parts: &Parts) -> Answer {
    let Some((graph, found)) = server.thread(thread).await? else { return Ok(Json(parts.select(empty_state()))) };
    let found = if let Some(at) = at { found.at(at) } else { found };
    let snapshot = if parts.has_subgraphs { found.state_deep().await } else { found.state().await };
    match snapshot {
        Ok(Some(snapshot)) => {
            let secrets = server.secrets_of(graph, thread, &snapshot).await?;
            Ok(Json(parts.select(state(graph, thread, &snapshot, &secrets))))
        }
        Ok(None) | Err(RunError::UnknownCheckpoint { .. }) => Ok(Json(parts.select(empty_state()))),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn now(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Query(words): Query<Vec<(String, String)>>,
) -> Answer {
    read(&server, &thread, None, &Parts::of_query(&words)).await
}

pub(super) async fn at(
    State(server): State<Arc<Server>>,
    Path((thread, checkpoint)): Path<(String, String)>,
    Query(words): Query<Vec<(String, String)>>,
) -> Answer {
    read(&server, &thread, Some(named(&checkpoint)), &Parts::of_query(&words)).await
}

pub(super) async fn at_body(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Json(body): Json<CheckpointRequest>,
) -> Answer {
    let parts = Parts { has_subgraphs: body.subgraphs, select: body.select };
    let at = body.checkpoint.checkpoint_id.as_deref().map(named);
    match &body.checkpoint.namespace()?[..] {
        [] => read(&server, &thread, at, &parts).await,
        namespace => read_subgraph(&server, &GraphPlace::of(&thread, namespace), at, &parts).await,
    }
}

/// Returns the state of a subgraph at a checkpoint, or now; that of one which has not run is empty.
async fn read_subgraph(server: &Server, place: &GraphPlace<'_>, at: Option<CheckpointId>, parts: &Parts) -> Answer {
    let empty = || Ok(Json(parts.select(empty_state())));
    let Some((graph, thread)) = server.thread(place.thread).await? else { return empty() };
    let Some(run) = thread.subgraph_run(&place.parts()).await? else { return empty() };
    let found = match at {
        Some(at) => run.state_at(at).await?,
        None if parts.has_subgraphs => Some(run.state_deep().await?),
        None => Some(run.state().await?),
    };
    let Some(found) = found else { return empty() };
    let secrets = server.past_secrets.of(graph, place.thread).await?;
    secrets.add_nested_state(&found);
    Ok(Json(parts.select(subgraph_state(graph, place, &found, &secrets))))
}

/// Returns the checkpoint of an id; for a text that is none, one that no thread has: its state is empty, as that of any unknown one.
fn named(id: &str) -> CheckpointId {
    parse_checkpoint(id).unwrap_or(CheckpointId(u64::MAX))
}

/// Writes values as if a node had returned them.
pub(super) async fn update(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Json(body): Json<UpdateBody>,
) -> Answer {
    server.give_graph(&thread).await?;
    let Some((graph, found)) = server.thread(&thread).await? else {
        return Err(ApiError::conflict(format!("the thread `{thread}` has no graph before its first run")));
    };
    let namespace = body.checkpoint.as_ref().map(CheckpointBody::namespace).transpose()?;
    if namespace.is_some_and(|namespace| !namespace.is_empty()) {
        return Err(ApiError::invalid("the state of a subgraph cannot be changed: leave `checkpoint_ns` out"));
    }
    let nested = body.checkpoint.as_ref().and_then(|checkpoint| checkpoint.checkpoint_id.as_deref());
    let at = nested.or(body.checkpoint_id.as_deref()).map(parse_checkpoint).transpose()?;
    let found = if let Some(at) = at { found.at(at) } else { found };
    let update = state_update(&server, graph, (body.values.as_ref(), body.as_node.as_deref()))?;
    let made = GraphPlace::root(&thread).checkpoint(found.update(update).await?.checkpoint);
    server.mark_state(&thread).await?;
    let id = made.checkpoint_id.clone();
    Ok(Json(json!(UpdateJson { checkpoint: made.clone(), configurable: made, checkpoint_id: id })))
}

pub(super) async fn history(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Json(body): Json<HistoryBody>,
) -> Answer {
    let before = body.before.as_ref().map(before).transpose()?.flatten();
    let checkpoint = body.checkpoint.unwrap_or_default();
    let at = checkpoint.checkpoint_id.as_deref().map(named);
    let page = Page { limit: body.limit.unwrap_or(LIMIT), before, at, metadata: body.metadata };
    let states = match &checkpoint.namespace()?[..] {
        [] => states_of(&server, &thread, &page).await?,
        namespace => subgraph_states_of(&server, &GraphPlace::of(&thread, namespace), &page).await?,
    };
    let parts = Parts { has_subgraphs: false, select: body.select };
    Ok(Json(states.into_iter().map(|state| parts.select(state)).collect()))
}

pub(super) async fn history_of(
    State(server): State<Arc<Server>>,
    Path(thread): Path<String>,
    Query(query): Query<HistoryQuery>,
) -> Answer {
    let before = query.before.as_deref().map(parse_checkpoint).transpose()?;
    let page = Page { limit: query.limit.unwrap_or(LIMIT), before, ..Page::default() };
    Ok(Json(states_of(&server, &thread, &page).await?.into()))
}

/// The states of a history that a client asks for.
#[derive(Debug, Default)]
struct Page {
    limit: usize,
    before: Option<CheckpointId>,
    /// The only checkpoint.
    at: Option<CheckpointId>,
    /// Values that the metadata of the states have.
    metadata: Option<Map<String, Value>>,
}

impl Page {
    fn may_have(&self, id: CheckpointId) -> bool {
        self.at.is_none_or(|at| at == id) && self.before.is_none_or(|before| id < before)
    }

    fn has(&self, shown: &Value) -> bool {
        let mut wanted = self.metadata.iter().flatten();
        wanted.all(|(key, value)| shown["metadata"][key] == *value)
    }
}

/// Reads the checkpoint of `before`: an id, a checkpoint, or a configuration with one.
fn before(value: &Value) -> ApiResult<Option<CheckpointId>> {
    let inside = value.get("configurable").unwrap_or(value);
    let id = inside.as_str().or_else(|| inside.get("checkpoint_id").and_then(Value::as_str));
    id.map(parse_checkpoint).transpose()
}

/// Returns states of a thread, the newest first.
async fn states_of(server: &Server, thread: &str, page: &Page) -> ApiResult<Vec<Value>> {
    let Some((graph, found)) = server.thread(thread).await? else { return Ok(vec![]) };
    let mut history = found.history().await?;
    // A history begins below a checkpoint.
    let first = page.at.map(|at| CheckpointId(at.0.saturating_add(1)));
    if let Some(before) = page.before.into_iter().chain(first).min() {
        history = history.before(before);
    }
    let mut states = vec![];
    while states.len() < page.limit
        && let Some(snapshot) = history.next().await
    {
        let snapshot = snapshot?;
        if !page.may_have(snapshot.id) {
            break; // it is older than the only checkpoint
        }
        // Read on after each: a run may have stored a secret meanwhile.
        let secrets = server.secrets_of(graph, thread, &snapshot).await?;
        let shown = state(graph, thread, &snapshot, &secrets);
        states.extend(page.has(&shown).then_some(shown));
    }
    Ok(states)
}

/// Returns states of a subgraph, the newest first; none of one that has not run.
async fn subgraph_states_of(server: &Server, place: &GraphPlace<'_>, page: &Page) -> ApiResult<Vec<Value>> {
    let Some((graph, thread)) = server.thread(place.thread).await? else { return Ok(vec![]) };
    let Some(run) = thread.subgraph_run(&place.parts()).await? else { return Ok(vec![]) };
    let (mut states, secrets) = (vec![], server.past_secrets.of(graph, place.thread).await?);
    let ids = match page.at {
        Some(at) => vec![at],
        None => run.checkpoints().await?.into_iter().map(|made| made.id).collect(),
    };
    for id in ids.into_iter().filter(|id| page.may_have(*id)) {
        if states.len() >= page.limit {
            break;
        }
        let Some(found) = run.state_at(id).await? else { continue };
        let shown = subgraph_state(graph, place, &found, &secrets);
        states.extend(page.has(&shown).then_some(shown));
    }
    Ok(states)
}
