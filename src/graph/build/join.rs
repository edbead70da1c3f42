//! The wiring of a graph by node indexes: edges and joins.

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
