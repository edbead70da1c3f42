//! The graph of an assistant for those who draw it or make forms of it: its schemas, its subgraphs, its nodes and edges.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use superstep::graph::{AnyGraph, Schemas, Topology};
use superstep_base::gather;
use utoipa::IntoParams;

use super::drawing;
use crate::error::{ApiError, ApiResult};
use crate::server::Server;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct GraphQuery {
    /// `true`, `false`, or the number of levels of subgraphs that are expanded.
    xray: Option<String>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct SubgraphsQuery {
    /// Includes the subgraphs of subgraphs.
    recurse: bool,
}

type Answer = ApiResult<Json<Value>>;

/// Returns the graph of an assistant's current version.
async fn graph_of<'a>(server: &'a Server, assistant: &str) -> ApiResult<&'a AnyGraph> {
    let record = server.assistant(assistant).await?.record;
    let version = record.now().ok_or_else(|| ApiError::not_found("version of the assistant", assistant))?;
    Ok(server.graphs.get(&version.graph)?)
}

fn schemas_json(schemas: Schemas) -> Map<String, Value> {
    let Schemas { input, output, state, .. } = schemas;
    let fields = [
        ("input_schema", input),
        ("output_schema", output),
        ("state_schema", state),
        ("config_schema", json!({})),
        ("context_schema", Value::Null),
    ];
    gather(fields.map(|(name, schema)| (name.to_owned(), schema)))
}

pub(super) async fn schemas(State(server): State<Arc<Server>>, Path(id): Path<String>) -> Answer {
    let graph = graph_of(&server, &id).await?;
    let mut fields = schemas_json(graph.schemas());
    fields.insert("input_schema".into(), server.input_schema(graph));
    fields.insert("graph_id".into(), graph.name().into());
    Ok(Json(fields.into()))
}

pub(super) async fn graph(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    Query(query): Query<GraphQuery>,
) -> Answer {
    let depth = depth(query.xray.as_deref())?;
    Ok(Json(drawing::json(&graph_of(&server, &id).await?.topology(), depth)))
}

/// Reads the number of levels of subgraphs that are expanded.
fn depth(xray: Option<&str>) -> ApiResult<usize> {
    match xray.map(str::to_ascii_lowercase).as_deref() {
        None | Some("" | "false") => Ok(0),
        Some("true") => Ok(usize::MAX),
        Some(number) => number
            .parse()
            .map_err(|_| ApiError::invalid(format!("`xray` is `true`, `false` or a number of levels, not `{number}`"))),
    }
}

pub(super) async fn subgraphs(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    Query(query): Query<SubgraphsQuery>,
) -> Answer {
    let mut all = Map::new();
    collect(graph_of(&server, &id).await?.topology(), "", query.recurse, &mut all);
    Ok(Json(all.into()))
}

/// Returns the one subgraph with this path; an empty map if there is none.
pub(super) async fn subgraph(
    State(server): State<Arc<Server>>,
    Path((id, namespace)): Path<(String, String)>,
    Query(_): Query<SubgraphsQuery>,
) -> Answer {
    let mut all = Map::new();
    collect(graph_of(&server, &id).await?.topology(), "", true, &mut all);
    all.retain(|name, _| *name == namespace);
    Ok(Json(all.into()))
}

/// Adds the subgraphs below a path such as `a|b|`.
fn collect(topology: Topology, above: &str, recurse: bool, all: &mut Map<String, Value>) {
    for node in topology.nodes {
        let Some(inside) = node.subgraph else { continue };
        let path = format!("{above}{}", node.name);
        all.insert(path.clone(), schemas_json(inside.schemas).into());
        if recurse {
            collect(inside.topology, &format!("{path}|"), recurse, all);
        }
    }
}
