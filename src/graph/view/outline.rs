//! The nodes and edges of a graph by name: what validation and drawings read.

/// A graph reduced to what validation and drawing need. Nodes are in name order; indexes point into `nodes`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    pub nodes: Vec<OutlineNode>,
    pub edges: Vec<Edge>,
    pub joins: Vec<(Vec<usize>, usize)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct OutlineNode {
    pub name: String,
    pub defer: bool,
    /// True if an error handler can take its place: its edges do not fire then.
    pub is_handled: bool,
    /// True for a variant of the enum that was never added.
    pub is_missing: bool,
}

/// One way from a node (or START) to a node (or END).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// None: START.
    pub from: Option<usize>,
    /// None: END.
    pub to: Option<usize>,
    pub kind: EdgeKind,
    pub label: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    Always,
    Routed,
    Sent,
    Commanded,
}
