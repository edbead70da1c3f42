//! What a graph compiles to: dense tables. After `compile`, no name is looked up on the way.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::join::Wiring;
use super::stops::Stops;
use crate::checkpoint::Shape;
use crate::graph::context::Facts;
use crate::graph::node::{Body, Choose, Longest, NodeId, NodeOptions};
use crate::graph::records::START_NODE;
use crate::graph::state::{Mask, State};
use crate::graph::view::{AnyChild, Outline, Showing};

pub(crate) struct Table<S: State, N, C> {
    pub name: String,
    pub schema: S::Schema,
    /// In name order, so that an index is also the canonical order of writes (A3).
    pub nodes: Vec<Row<S, N, C>>,
    pub entry: Exits<S, N, C>,
    pub wiring: Wiring,
    pub index: HashMap<N, u32>,
    pub shape: Shape,
    pub fingerprint: u64,
    pub input: Option<Mask>,
    pub output: Option<Mask>,
    pub before: Stops<u32>,
    pub after: Stops<u32>,
    pub outline: Outline,
    /// Whether any node, here or in a subgraph, declares questions.
    pub can_ask: bool,
    pub may_be_unresumable: bool,
    /// The names that nodes had before, and those they have now.
    pub renamed: BTreeMap<String, String>,
    /// Whether threads that another version of the graph stored are refused.
    pub pinned: bool,
}

pub(crate) struct Row<S: State, N, C> {
    pub id: N,
    pub name: Arc<str>,
    pub facts: Arc<Facts>,
    /// Of its error handler.
    pub handler: Arc<Facts>,
    pub body: Box<dyn Body<S, N, C>>,
    pub options: NodeOptions<S, N, C>,
    pub destinations: Option<Vec<u32>>,
    /// The channels it reads, if not all.
    pub reads: Option<Mask>,
    pub exits: Exits<S, N, C>,
    /// The graphs it stands for, or calls.
    pub children: Vec<AnyChild>,
    /// What limits how many tasks of its group run at once.
    pub group: Option<Arc<Semaphore>>,
    pub simple: bool,
    /// Of the polls that blocked their thread.
    pub longest: Arc<Longest>,
}

/// What follows a node.
pub(crate) struct Exits<S, N, C> {
    pub targets: Vec<u32>,
    /// Joins, and as which of their sources.
    pub arrivals: Vec<(u32, u32)>,
    pub routers: Vec<Branch<S, N, C>>,
}

pub(crate) struct Branch<S, N, C> {
    pub choose: Choose<S, N, C>,
    /// None: anywhere, or checked by the compiler.
    pub only: Option<Vec<u32>>,
}

impl<S, N, C> Default for Exits<S, N, C> {
    fn default() -> Self {
        Self { targets: vec![], arrivals: vec![], routers: vec![] }
    }
}

impl<S: State, N: NodeId, C> Table<S, N, C> {
    pub(crate) fn at(&self, node: &N) -> Option<u32> {
        self.index.get(node).copied()
    }

    pub(crate) fn named(&self, name: &str) -> Option<u32> {
        let found = self.nodes.binary_search_by(|row| (*row.name).cmp(name)).ok()?;
        u32::try_from(found).ok()
    }

    /// The node that has this name, or had it before.
    pub(crate) fn now(&self, name: &str) -> Option<u32> {
        self.named(name).or_else(|| self.named(self.renamed.get(name)?))
    }

    pub(crate) fn row(&self, node: u32) -> &Row<S, N, C> {
        &self.nodes[node as usize]
    }

    pub(crate) fn channel(&self, channel: usize) -> &str {
        S::channels(&self.schema)[channel].name()
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
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Showing<S> for Table<S, N, C> {
    fn schema(&self) -> &S::Schema {
        &self.schema
    }
}

pub(crate) fn name<S: State, N: NodeId, C>(table: &Table<S, N, C>, node: u32) -> String {
    if node == START_NODE { "__start__".into() } else { table.row(node).name.to_string() }
}

pub(crate) fn children_of<S: State, N: NodeId, C>(table: &Table<S, N, C>, node: u32) -> &[AnyChild] {
    if node == START_NODE { &[] } else { &table.row(node).children }
}
