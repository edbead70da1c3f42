//! The dense tables of a compiled graph, and the shape that its fingerprint hashes. After `compile`, names are not looked up
//! during a run.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use tokio::sync::Semaphore;

use crate::checkpoint::{ChannelShape, Shape};
use crate::graph::context::NodeMeta;
use crate::graph::node::{Body, Choose, LongestPoll, RowOptions};
use crate::graph::records::{START_NAME, START_NODE};
use crate::graph::state::{AnySchema, Channel, Mask};
use crate::graph::view::{AnyChild, Outline};

/// The name of START.
static START: LazyLock<Arc<str>> = LazyLock::new(|| START_NAME.into());

/// A compiled graph.
pub(crate) struct Table {
    pub identity: GraphIdentity,
    pub schema: AnySchema,
    /// Sorted by name, so that an index is also the canonical order of writes.
    pub nodes: Vec<Row>,
    pub entry: Exits,
    pub wiring: Wiring,
    pub channels: GraphChannels<Mask>,
    pub stops: GraphStops<u32>,
    pub outline: Outline,
    pub questions: QuestionSupport,
    /// Set if a channel is secret.
    pub has_secrets: bool,
}

/// The name of a graph, and what tells its versions apart.
pub(crate) struct GraphIdentity {
    pub name: String,
    pub shape: Arc<Shape>,
    pub fingerprint: u64,
    /// Present names of nodes by former ones.
    pub renamed: BTreeMap<String, String>,
    /// The types of the state and the node ids.
    pub types: TypeId,
    /// Set if threads of other versions of the graph are refused.
    pub pinned: bool,
}

/// The channels that a graph takes as input and returns; none: all.
#[derive(Default)]
pub(crate) struct GraphChannels<T> {
    pub input: Option<T>,
    pub output: Option<T>,
}

/// The questions of a graph and its subgraphs.
pub(crate) struct QuestionSupport {
    /// Set if any node declares one.
    pub declared: bool,
    /// Set if they are allowed without a store.
    pub unresumable: bool,
}

/// A compiled node.
pub(crate) struct Row {
    pub name: Arc<str>,
    pub facts: Arc<NodeMeta>,
    /// The facts of its error handler.
    pub handler: Arc<NodeMeta>,
    pub body: Box<dyn Body>,
    pub options: RowOptions,
    /// The channels it reads, if not all.
    pub reads: Option<Mask>,
    pub exits: Exits,
    /// The subgraphs it is, or calls.
    pub children: Vec<AnyChild>,
    pub execution: RowExecution,
}

/// The conditions under which the tasks of a node run.
pub(crate) struct RowExecution {
    /// Limits how many tasks of its group run at once.
    pub group: Option<Arc<Semaphore>>,
    /// Set if its body needs no clock, cache or handler.
    pub simple: bool,
    /// The part of its cache keys that identifies the body; `None`: it has no cache policy.
    pub cache_key: Option<Vec<u8>>,
    /// The longest polls that blocked their thread.
    pub longest: Arc<LongestPoll>,
}

#[derive(Default)]
pub(crate) struct Exits {
    pub targets: Vec<u32>,
    /// Joins, and the node's index among their sources.
    pub arrivals: Vec<(u32, u32)>,
    pub routers: Vec<Branch>,
    /// The declared destinations of the node's commands; none: anywhere.
    pub destinations: Option<Vec<u32>>,
}

pub(crate) struct Branch {
    pub choose: Choose,
    /// The allowed targets; `None` if any, or if the compiler checks them.
    pub only: Option<Vec<u32>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Wiring {
    pub joins: Vec<Join>,
    /// By node index: set if the node waits until nothing else is left to run.
    pub deferred: Vec<bool>,
}

#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub target: u32,
    pub sources: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) enum Stops<N> {
    #[default]
    None,
    All,
    At(Vec<N>),
}

/// The breakpoints of a graph.
pub(crate) struct GraphStops<N> {
    pub before: Stops<N>,
    pub after: Stops<N>,
}

/// Breakpoints of a thread or a run; none: those of the graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopOverrides {
    pub before: Option<Stops<u32>>,
    pub after: Option<Stops<u32>>,
}

/// Returns the index of the node with this name. Nodes are sorted by name.
pub(super) fn index_of(nodes: &[Row], name: &str) -> Option<u32> {
    let found = nodes.binary_search_by(|row| (*row.name).cmp(name)).ok()?;
    u32::try_from(found).ok()
}

impl Table {
    pub(crate) fn node_index(&self, name: &str) -> Option<u32> {
        index_of(&self.nodes, name)
    }

    /// Returns the node with this current or former name.
    pub(crate) fn now(&self, name: &str) -> Option<u32> {
        self.node_index(name).or_else(|| self.node_index(self.identity.renamed.get(name)?))
    }

    pub(crate) fn row(&self, node: u32) -> &Row {
        &self.nodes[node as usize]
    }

    pub(crate) fn channel(&self, channel: usize) -> &str {
        self.schema.channels()[channel].name()
    }

    pub(crate) fn stops_at(stops: &Stops<u32>, nodes: impl Iterator<Item = u32>) -> bool {
        match stops {
            Stops::None => false,
            Stops::All => true,
            Stops::At(listed) => {
                let mut nodes = nodes;
                nodes.any(|node| listed.contains(&node))
            }
        }
    }

    /// Returns a node's name; START's for the index of no node.
    pub(crate) fn node_name(&self, node: u32) -> &Arc<str> {
        if node == START_NODE { &START } else { &self.row(node).name }
    }

    /// Returns where a node leads, or START.
    pub(crate) fn exits(&self, node: u32) -> &Exits {
        if node == START_NODE { &self.entry } else { &self.row(node).exits }
    }

    /// Returns the subgraphs that a node is or calls.
    pub(crate) fn children_of(&self, node: u32) -> &[AnyChild] {
        if node == START_NODE { &[] } else { &self.row(node).children }
    }
}

pub(crate) fn shape(schema: &AnySchema, nodes: &[Row], joins: &[Join], (version, past): (u32, Vec<String>)) -> Shape {
    let channel = |channel: &Channel| ChannelShape {
        name: channel.name().to_owned(),
        type_name: channel.type_name().to_owned(),
        version: channel.schema_version(),
        secret: channel.is_secret(),
        rule: channel.rule_name().to_owned(),
        logged: channel.storage().is_logged(),
    };
    Shape {
        channels: schema.channels().iter().map(channel).collect(),
        nodes: nodes.iter().map(|row| row.name.to_string()).collect(),
        joins: joins.iter().map(|join| (join.sources.clone(), join.target)).collect(),
        version,
        past,
    }
}
