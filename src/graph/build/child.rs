//! The trait of graphs that can be subgraphs, and the lifetime of their state.

use crate::graph::node::Node;
use crate::graph::state::State;
use crate::graph::view::AnyChild;

/// The lifetime of the state of a subgraph. LangGraph: the subgraph's `checkpointer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Persistence {
    /// For the parent's task: an interrupted or failed run resumes inside the subgraph; nothing is kept between
    /// activations. Each attempt of a retry policy starts the subgraph anew, as in LangGraph.
    #[default]
    Inherit,
    /// For the whole thread: each activation starts with the state that the last one ended with, at any depth below
    /// subgraphs that [inherit](Self::Inherit). Below a [`Stateless`](Self::Stateless) one nothing is saved, so each
    /// activation starts anew.
    PerThread,
    /// Not saved: a resumed subgraph starts over.
    Stateless,
}

/// A graph that can be a node of a graph over `S`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a subgraph of a graph over `{S}`",
    note = "a child over another state needs two closures: \
            `child.mapped(|parent| Child::update(), |child| Parent::update())`"
)]
pub trait Child<S: State, N, C>: Sized {
    #[doc(hidden)]
    fn describe(&self) -> AnyChild;
    #[doc(hidden)]
    fn into_node(self) -> impl Node<S, N, C>;
}
