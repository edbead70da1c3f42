//! The document of a graph, and the problems that one can have.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use superstep_base::Printable;

use crate::graph::build::Problem;
use crate::graph::error::{ErrorReport, serialize_reports};
use crate::graph::state::{Kind, SchemaError};

/// A graph as a document. [`compile`](Self::compile) compiles it with the bodies of a [`Registry`](crate::graph::Registry).
///
/// ```
/// # use std::sync::Arc;
/// use serde_json::{Value, json};
/// use superstep::graph::{DataState, GraphSpec, Registry, Writes};
/// use superstep::prelude::*;
///
/// async fn classify(state: Arc<DataState>, _: Ctx) -> Result<Writes<DataState>, NodeError> {
///     let is_long = state.value("text").and_then(Value::as_str).is_some_and(|text| text.len() > 20);
///     Ok(state.update(&json!({ "size": if is_long { "long" } else { "short" } }))?)
/// }
/// async fn shorten(state: Arc<DataState>, _: Ctx) -> Result<Writes<DataState>, NodeError> {
///     Ok(state.update(&json!({ "text": "short now" }))?)
/// }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let spec: GraphSpec = serde_json::from_value(json!({
///     "channels": { "text": "last_value", "size": "last_value" },
///     "nodes": { "classify": "classify", "shorten": "shorten" },
///     "edges": [{ "from": "START", "to": "classify" }, { "from": "shorten", "to": "END" }],
///     "routers": [{ "from": "classify", "field": "size", "to": { "long": "shorten" }, "otherwise": "END" }],
/// }))?;
/// let registry = Registry::new().node("classify", classify).node("shorten", shorten);
/// let graph = spec.compile(&registry)?;
/// let input = Writes::from_json(graph.schema(), &json!({ "text": "a text that is rather long" }))?;
/// assert_eq!(graph.invoke(input).await?.state().value("text"), Some(&json!("short now")));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(description = "A graph as a document."))]
#[serde(deny_unknown_fields)]
pub struct GraphSpec {
    /// The name of the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The channels by name.
    #[serde(default)]
    pub channels: BTreeMap<String, ChannelSpec>,
    /// The nodes by name.
    pub nodes: BTreeMap<String, NodeSpec>,
    /// The edges; `START` and `END` are the virtual nodes.
    #[serde(default)]
    pub edges: Vec<EdgeSpec>,
    /// The routers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<RouterSpec>,
    /// Nodes before which a run stops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupt_before: Vec<String>,
    /// Nodes after which a run stops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupt_after: Vec<String>,
}

#[cfg(feature = "schema")]
impl GraphSpec {
    /// Returns the JSON Schema of the document, for editors.
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }
}

/// A channel: its kind, such as `append`, or its kind and options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
#[serde(untagged)]
pub enum ChannelSpec {
    /// The kind.
    Kind(Kind),
    /// The kind and options.
    Full {
        /// The kind.
        kind: Kind,
        /// True if it is never printed or exported.
        #[cfg_attr(feature = "schema", schemars(default))]
        secret: bool,
    },
}

impl<'de> Deserialize<'de> for ChannelSpec {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ChannelVisitor)
    }
}

/// Reads a channel. An untagged enum would report neither the line of an error nor the words that there are.
struct ChannelVisitor;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FullChannel {
    kind: Kind,
    #[serde(default)]
    secret: bool,
}

impl<'de> Visitor<'de> for ChannelVisitor {
    type Value = ChannelSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a kind of channel, such as `append`, or a map with `kind` and `secret`")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<ChannelSpec, E> {
        word.parse().map(ChannelSpec::Kind).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ChannelSpec, A::Error> {
        let FullChannel { kind, secret } = FullChannel::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ChannelSpec::Full { kind, secret })
    }
}

impl ChannelSpec {
    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Kind(kind) | Self::Full { kind, .. } => *kind,
        }
    }

    /// Returns true if the channel is secret.
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Full { secret: true, .. })
    }
}

/// A node: the name of a registered body.
pub type NodeSpec = String;

/// An edge. From several nodes it is a join: its target runs once all have run. To several it is a fan-out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EdgeSpec {
    /// The source: `START`, a node, or a list of nodes.
    pub from: OneOrMany,
    /// The target: a node, `END`, or a list.
    pub to: OneOrMany,
}

/// A router: it chooses by the value of a channel (`to`), or sends each item of a list to a worker (`each`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RouterSpec {
    /// The node that it follows, or `START`.
    pub from: String,
    /// The channel it reads.
    pub field: String,
    /// The target of each value. Values other than strings are spelled as JSON: `true`, `3`, `null`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub to: BTreeMap<String, OneOrMany>,
    /// The worker that gets each item of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
    /// The target of every other value; with `each`, of a channel that is no list, or an empty one.
    pub otherwise: OneOrMany,
}

/// One name, or a list of names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = OneOrMany;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a node, or a list of names")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<OneOrMany, E> {
        Ok(OneOrMany::One(name.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OneOrMany, A::Error> {
        let mut names = vec![];
        while let Some(name) = items.next_element()? {
            names.push(name);
        }
        Ok(OneOrMany::Many(names))
    }
}

/// A problem of a graph document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the names that the message prints")]
pub enum GraphSpecProblem {
    /// A node names a body that is not registered.
    UnknownBody { node: String, body: String, known: Vec<String> },
    /// A router reads a channel that does not exist.
    UnknownField { from: String, field: String, known: Vec<String> },
    /// A router has neither `to` nor `each`, or both.
    NoChoice { from: String, field: String },
    /// The channels are not a valid schema.
    Channels(SchemaError),
    /// The graph has a problem.
    Graph(Problem),
}

impl GraphSpecProblem {
    /// Returns the suggested fix.
    pub fn help(&self) -> String {
        Printable(self.suggestion()).to_string()
    }

    fn suggestion(&self) -> String {
        match self {
            Self::UnknownBody { known, .. } if known.is_empty() => "register one: `.node(name, body)`".into(),
            Self::UnknownBody { known, .. } => format!("the registered bodies are {}", known.join(", ")),
            Self::UnknownField { known, .. } => format!("the channels are {}", known.join(", ")),
            Self::NoChoice { .. } => "give `to` with a target for each value, or `each` with a worker".into(),
            Self::Channels(error) => error.help(),
            Self::Graph(problem) => problem.help(),
        }
    }
}

impl fmt::Display for GraphSpecProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(Text(self)).fmt(f)
    }
}

/// The text of a problem with names as they are.
struct Text<'a>(&'a GraphSpecProblem);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            GraphSpecProblem::UnknownBody { node, body, .. } => {
                write!(f, "node `{node}` names the body `{body}`, which is not registered")
            }
            GraphSpecProblem::UnknownField { from, field, .. } => {
                write!(f, "the router after `{from}` looks at `{field}`, which is not a channel")
            }
            GraphSpecProblem::NoChoice { from, field } => {
                write!(f, "the router after `{from}` over `{field}` takes either `to` or `each`")
            }
            GraphSpecProblem::Channels(error) => error.fmt(f),
            GraphSpecProblem::Graph(problem) => problem.fmt(f),
        }
    }
}

/// All problems of a graph document.
#[derive(Clone, PartialEq, Eq)]
pub struct GraphSpecError {
    pub(super) problems: Vec<GraphSpecProblem>,
}

impl GraphSpecError {
    /// Returns the problems.
    pub fn problems(&self) -> &[GraphSpecProblem] {
        &self.problems
    }
}

impl fmt::Display for GraphSpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            let (gap, lead) = if at == 0 { ("", "") } else { ("\n", "error: ") };
            write!(f, "{gap}{lead}{problem}\n help: {}", problem.help())?;
        }
        Ok(())
    }
}

impl fmt::Debug for GraphSpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for GraphSpecError {}

impl From<&GraphSpecError> for ErrorReport {
    fn from(error: &GraphSpecError) -> Self {
        let problem = |problem: &GraphSpecProblem| match problem {
            GraphSpecProblem::Graph(problem) => problem.into(),
            GraphSpecProblem::Channels(error) => error.into(),
            other => Self::new(other, "document", Some(other.help())),
        };
        let problems: Vec<Self> = error.problems().iter().map(problem).collect();
        Self { problems, ..Self::new("the document describes no graph", "spec", None) }
    }
}

serialize_reports!(GraphSpecError);
