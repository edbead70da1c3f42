//! Breakpoints of a compiled graph.

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
