//! Writes to the state of a thread without a run: one update, or the updates of a whole history that is imported.

use serde::Deserialize;
use serde_json::Value;
use superstep::graph::{AnyGraph, AnyState, Name, StateUpdate};
use utoipa::ToSchema;

use axum::http::StatusCode;

use crate::error::{ApiError, ApiResult};
use crate::inputs::writes;
use crate::message_form::known_channels;
use crate::records::thread::ThreadRecord;
use crate::server::Server;

/// Updates that are reduced together.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct Superstep {
    updates: Vec<UpdateOfStep>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = SuperstepUpdate)]
struct UpdateOfStep {
    /// Values of channels.
    values: Option<Value>,
    /// `{update}`, in the place of values.
    command: Option<Value>,
    as_node: Option<String>,
}

/// Returns an update of values as if a node had returned them.
///
/// # Errors
/// 422 for values that do not fit the graph, 400 for an unknown node.
pub(super) fn state_update(
    server: &Server,
    graph: &AnyGraph,
    (values, as_node): (Option<&Value>, Option<&str>),
) -> ApiResult<StateUpdate<AnyState, Name>> {
    let update = match values.filter(|values| !values.is_null()) {
        None if as_node == Some("__end__") => return Ok(StateUpdate::clear()),
        None => StateUpdate::copy(),
        Some(values) => {
            let values = known_channels(graph, values);
            server.inputs.check(graph, "values", &values)?;
            StateUpdate::new(writes(graph, "values", &values)?)
        }
    };
    Ok(match as_node {
        None | Some("__copy__") => update,
        Some("__start__") => update.as_start(),
        Some("__input__") => update.as_input(),
        Some(name) => {
            let unknown = || ApiError::new(StatusCode::BAD_REQUEST, format!("there is no node `{name}`"));
            update.as_node(graph.node(name).ok_or_else(unknown)?)
        }
    })
}

/// A history of updates for a new thread.
pub(super) struct Replay<'a> {
    pub graph: &'a AnyGraph,
    supersteps: Vec<Vec<StateUpdate<AnyState, Name>>>,
}

impl<'a> Replay<'a> {
    /// Reads the history of a new thread, whose metadata name its graph; `None` if it has none.
    ///
    /// # Errors
    /// 422 without a graph, and those of [`state_update`].
    pub(super) fn of(server: &'a Server, thread: &ThreadRecord, steps: Vec<Superstep>) -> ApiResult<Option<Self>> {
        if steps.is_empty() {
            return Ok(None);
        }
        let name = thread.metadata.get("graph_id").and_then(Value::as_str);
        let name =
            name.ok_or_else(|| ApiError::invalid("supersteps need the graph's name, as `graph_id` in metadata"))?;
        let graph = server.graphs.get(name)?;
        let supersteps =
            steps.iter().map(|step| step.updates.iter().map(|update| update.read(server, graph)).collect());
        Ok(Some(Self { graph, supersteps: supersteps.collect::<ApiResult<_>>()? }))
    }

    /// Writes the history. A thread whose history cannot be written is removed again.
    pub(super) async fn write(self, server: &Server, thread: &ThreadRecord) -> ApiResult<()> {
        let written = self.graph.thread(thread.thread.as_str()).bulk_update(self.supersteps).await;
        match written {
            Ok(_) => server.mark_state(&thread.thread).await,
            Err(error) => {
                server.remove_thread(&thread.thread).await?;
                Err(error.into())
            }
        }
    }
}

impl UpdateOfStep {
    fn read(&self, server: &Server, graph: &AnyGraph) -> ApiResult<StateUpdate<AnyState, Name>> {
        let command = self.command.as_ref().filter(|command| !command.is_null());
        let part = |name: &str| command.and_then(|command| command.get(name)).filter(|part| !part.is_null());
        if part("goto").or(part("resume")).is_some() {
            return Err(ApiError::invalid("a command in supersteps can only have an update: name the node in as_node"));
        }
        let values = self.values.as_ref().filter(|values| !values.is_null()).or(part("update"));
        state_update(server, graph, (values, self.as_node.as_deref()))
    }
}
