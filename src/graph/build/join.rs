//! The wiring of a graph by node indexes: edges and joins.

/// The static part: what the builder made of joins and deferred nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wiring {
    pub joins: Vec<Join>,
    /// Per node: whether it waits for the run to go quiet.
    pub deferred: Vec<bool>,
}

#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub target: u32,
    pub sources: Vec<u32>,
}
