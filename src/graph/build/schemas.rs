//! The JSON Schemas of a graph: its input, its state, its questions. Made of what the types of its channels tell; knows no run.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use superstep_base::gather;

use super::compiled::{CompiledGraph, GraphCore};
use crate::graph::interrupt::{DeclaredQuestion, QuestionSchemas};
use crate::graph::state::json_schema::{DIALECT, SchemaSide, SchemaWriter};
use crate::graph::state::{AnySchema, Channel, State};

/// The JSON Schemas of a graph, in the dialect 2020-12. Each is an object with a property for each channel.
///
/// The types are known of a state with `#[state(schema)]` and of one with a [`DataSchema`](crate::graph::DataSchema). Of any
/// other the names of the channels are known, and each property is `{}`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Schemas {
    /// The input of a run and a write of `update_state`: what one write to each channel is. No property is required.
    /// `{"$overwrite": value}`, which replaces a reduced channel, is accepted too and not described.
    pub input: Value,
    /// The result of a run: the channels as readers get them, without secret ones.
    pub output: Value,
    /// The state: the same as the output.
    pub state: Value,
    /// The questions that nodes declare, here and in subgraphs, by their names.
    pub questions: BTreeMap<String, QuestionSchemas>,
}

impl<S: State, N, C> CompiledGraph<S, N, C> {
    /// Returns the JSON Schemas of the graph. They are made anew by each call, and by nothing else.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { topic: String }
    /// # #[derive(NodeId)] enum Step { Write }
    /// # async fn write(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> { Ok(()) }
    /// let graph = StateGraph::<Draft, Step>::new().add_node(Step::Write, write).add_sequence([Step::Write]).compile()?;
    /// assert_eq!(graph.named("draft").schemas().input["properties"], serde_json::json!({ "topic": {} }));
    /// # Ok::<(), CompileError>(())
    /// ```
    pub fn schemas(&self) -> Schemas {
        self.core.schemas()
    }
}

impl GraphCore {
    pub(super) fn schemas(&self) -> Schemas {
        let names = self.table.nodes.iter().flat_map(|row| row.options.declared.asks.keys().copied());
        let children = self.table.nodes.iter().flat_map(|row| &row.children);
        let inside = children.flat_map(|child| child.0.declared()).map(|(name, _)| name);
        let questions = names.chain(inside).filter_map(|name| Some((name, self.table.asks(name)?)));
        Schemas::of(&self.table.schema, &self.name, questions)
    }
}

impl Schemas {
    pub(super) fn of(
        schema: &AnySchema,
        title: &str,
        questions: impl Iterator<Item = (&'static str, DeclaredQuestion)>,
    ) -> Self {
        let state = document(schema, title, SchemaSide::Value);
        let questions = questions.map(|(name, asks)| (name.to_owned(), asks.shows.schemas()));
        Self {
            input: document(schema, title, SchemaSide::Write),
            output: state.clone(),
            state,
            questions: gather(questions),
        }
    }
}

/// Returns the schema of an object with the channels as its properties.
fn document(schema: &AnySchema, title: &str, side: SchemaSide) -> Value {
    let mut to = SchemaWriter::new(side);
    let channels = schema.channels().iter().enumerate();
    let described = channels.filter(|(_, channel)| side == SchemaSide::Write || !channel.is_secret());
    let property = |(at, channel): (usize, &Channel)| {
        let known = schema.channel_schema(at, &mut to).unwrap_or_else(|| json!({}));
        (channel.name().to_owned(), if channel.is_secret() { write_only(known) } else { known })
    };
    let properties: Map<String, Value> = gather(described.map(property));
    let mut document = json!({ "$schema": DIALECT, "title": title, "type": "object", "properties": properties });
    let definitions = to.definitions();
    if !definitions.is_empty() {
        document["$defs"] = definitions.into();
    }
    document
}

/// Marks the schema of a secret channel: it is given, and never shown.
fn write_only(mut schema: Value) -> Value {
    schema["writeOnly"] = true.into();
    schema
}
