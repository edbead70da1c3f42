//! Breakpoints of a compiled graph.

#[derive(Clone, Debug, Default)]
pub(crate) enum Stops<N> {
    #[default]
    None,
    All,
    At(Vec<N>),
}
