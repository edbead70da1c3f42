//! Breakpoints of a compiled graph.

/// Which nodes a run stops at.
#[derive(Clone, Debug, Default)]
pub(crate) enum Stops<N> {
    #[default]
    None,
    All,
    At(Vec<N>),
}
