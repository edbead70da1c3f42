//! The runner's view of a state: the channels of a case by name, as JSON. `DataState` has them itself, `typed` uses a
//! struct for them.

use std::sync::Arc;

use serde_json::{Map, Value};
use superstep::graph::{DataState, Name, State, StateGraph, Writes};

use crate::build::{World, schema};
use crate::model::Graph;

/// A state that cases can be played on. Names and values are those of a case; the engine may use others.
pub(crate) trait CaseState: State {
    fn builder(graph: &Graph) -> StateGraph<Self, Name, Arc<World>>;

    /// Returns the writes of an object, without keys that are not channels.
    fn writes(graph: &Graph, values: &Map<String, Value>) -> Writes<Self>;

    /// Returns the channels that have a value.
    fn values(&self, graph: &Graph) -> Map<String, Value>;

    /// Returns the update of the node that a router follows, with keys that are not channels.
    fn returned(&self) -> Option<&Map<String, Value>> {
        None
    }

    /// Returns the engine's name of a channel.
    fn own_name(graph: &Graph, channel: &str) -> String;

    /// Shows a channel and its value, or a write of it, as the engine does; `None` for one without a value.
    fn shown(graph: &Graph, own_name: String, value: Value) -> Option<(String, Value)>;

    /// Shows a whole state as the engine does.
    fn shown_state(graph: &Graph, values: Map<String, Value>) -> Map<String, Value>;
}

impl CaseState for DataState {
    fn builder(graph: &Graph) -> StateGraph<Self, Name, Arc<World>> {
        StateGraph::with_schema(schema(graph))
    }

    fn writes(graph: &Graph, values: &Map<String, Value>) -> Writes<Self> {
        schema(graph).writes(values)
    }

    fn values(&self, graph: &Graph) -> Map<String, Value> {
        match self.to_json(&schema(graph)) {
            Value::Object(values) => values,
            _ => Map::new(),
        }
    }

    fn returned(&self) -> Option<&Map<String, Value>> {
        self.returned_object()
    }

    fn own_name(_: &Graph, channel: &str) -> String {
        channel.to_owned()
    }

    fn shown(_: &Graph, own_name: String, value: Value) -> Option<(String, Value)> {
        Some((own_name, value))
    }

    fn shown_state(_: &Graph, values: Map<String, Value>) -> Map<String, Value> {
        values
    }
}

/// Translation of the engine's names to those of a case, in any of its graphs.
#[derive(Clone, Copy)]
pub(crate) struct CaseNames<'a> {
    world: &'a World,
    write: fn(&Graph, String, Value) -> Option<(String, Value)>,
    state: fn(&Graph, Map<String, Value>) -> Map<String, Value>,
}

impl<'a> CaseNames<'a> {
    pub(crate) fn of<S: CaseState>(world: &'a World) -> Self {
        Self { world, write: S::shown, state: S::shown_state }
    }

    /// Returns the state of the graph at a namespace.
    pub(crate) fn state(&self, namespace: &[String], values: Value) -> Value {
        match (values, self.graph(namespace)) {
            (Value::Object(values), Some(graph)) => (self.state)(graph, values).into(),
            (values, _) => values,
        }
    }

    /// Returns channels with the writes to them.
    pub(crate) fn writes(&self, namespace: &[String], writes: Vec<(String, Value)>) -> Vec<(String, Value)> {
        let Some(graph) = self.graph(namespace) else { return writes };
        writes.into_iter().filter_map(|(name, value)| (self.write)(graph, name, value)).collect()
    }

    fn graph(&self, namespace: &[String]) -> Option<&'a Graph> {
        self.world.case.graphs.get(self.world.graph_at(namespace)?)
    }
}
