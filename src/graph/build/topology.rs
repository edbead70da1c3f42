//! The structure of a graph as plain data: nodes, declared edges, subgraphs with their schemas. For programs that draw or list
//! graphs whose types they do not know.

use super::compiled::{CompiledGraph, GraphCore};
use super::schemas::Schemas;
use crate::graph::state::{AnySchema, State};
use crate::graph::view::{AnyChild, Edge, EdgeKind, Outline};

/// The structure of a graph: its nodes and its declared edges.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Topology {
    /// The nodes, in the order of their names.
    pub nodes: Vec<TopologyNode>,
    /// The edges: those from START first, then in the order in which they were declared. A node without any is the last one
    /// of its run: an edge leads from it to END.
    pub edges: Vec<TopologyEdge>,
}

/// A node of a [`Topology`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TopologyNode {
    /// The name.
    pub name: String,
    /// The graph that runs in it, if it is a subgraph or declares that it calls one.
    pub subgraph: Option<Subgraph>,
}

/// A graph inside a node of a [`Topology`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Subgraph {
    /// Its structure.
    pub topology: Topology,
    /// Its schemas.
    pub schemas: Schemas,
}

/// An edge of a [`Topology`]. A join is an edge from each of its sources.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopologyEdge {
    /// The name of the node that it leaves; `None` for START.
    pub source: Option<String>,
    /// The name of the node that it leads to; `None` for END.
    pub target: Option<String>,
    /// The outcome of the router that chooses it; empty if it has none.
    pub label: String,
    /// True if it is taken by choice: of a router, a command or a send.
    pub is_conditional: bool,
}

impl<S: State, N, C> CompiledGraph<S, N, C> {
    /// Returns the structure of the graph, with that of its subgraphs.
    pub fn topology(&self) -> Topology {
        self.core.topology()
    }

    /// Returns whether the graph, or one that runs in it, has secret channels.
    pub fn has_secrets(&self) -> bool {
        let table = &self.core.table;
        let inside = table.nodes.iter().flat_map(|row| &row.children);
        has_secret_channel(&table.schema) || inside.into_iter().any(has_secrets)
    }
}

fn has_secrets(child: &AnyChild) -> bool {
    let nodes = &child.0.outline().nodes;
    has_secret_channel(child.0.schema()) || nodes.iter().flat_map(|node| child.0.children(&node.name)).any(has_secrets)
}

fn has_secret_channel(schema: &AnySchema) -> bool {
    schema.channels().iter().any(|channel| channel.is_secret())
}

impl GraphCore {
    fn topology(&self) -> Topology {
        let inside = |at: usize| self.table.nodes.get(at)?.children.first();
        of_outline(&self.table.outline, inside)
    }
}

impl Subgraph {
    fn of(node: &str, child: &AnyChild) -> Self {
        let (outline, asks) = (child.0.outline(), child.0.declared());
        let inside = |at: usize| child.0.children(&outline.nodes[at].name).first();
        let questions = asks.into_iter().filter_map(|(name, _)| Some((name, child.0.asks(name)?)));
        let schemas = Schemas::of(child.0.schema(), node, questions);
        Self { topology: of_outline(outline, inside), schemas }
    }
}

fn of_outline<'a>(outline: &'a Outline, inside: impl Fn(usize) -> Option<&'a AnyChild>) -> Topology {
    let node = |at: usize| {
        let name = &outline.nodes[at].name;
        TopologyNode { name: name.clone(), subgraph: inside(at).map(|child| Subgraph::of(name, child)) }
    };
    let mut edges: Vec<&Edge> = outline.edges.iter().collect();
    edges.sort_by_key(|edge| edge.from.is_some());
    let edges = edges.into_iter().map(|edge| of_edge(outline, edge));
    let joins = outline.joins.iter().flat_map(|(sources, target)| {
        let name = |at: usize| Some(outline.nodes[at].name.clone());
        sources.iter().map(move |source| plain(name(*source), name(*target)))
    });
    let mut edges: Vec<TopologyEdge> = edges.chain(joins).collect();
    let is_last = |name: &String| edges.iter().all(|edge| edge.source.as_ref() != Some(name));
    let last: Vec<&String> = outline.nodes.iter().map(|node| &node.name).filter(|name| is_last(name)).collect();
    edges.extend(last.into_iter().map(|name| plain(Some(name.clone()), None)));
    Topology { nodes: (0..outline.nodes.len()).map(node).collect(), edges }
}

fn plain(source: Option<String>, target: Option<String>) -> TopologyEdge {
    TopologyEdge { source, target, label: String::new(), is_conditional: false }
}

fn of_edge(outline: &Outline, edge: &Edge) -> TopologyEdge {
    let name = |at: Option<usize>| at.map(|at| outline.nodes[at].name.clone());
    TopologyEdge {
        source: name(edge.from),
        target: name(edge.to),
        label: edge.label.clone(),
        is_conditional: edge.kind != EdgeKind::Always,
    }
}
