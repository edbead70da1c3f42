//! What a graph says of its earlier versions, for the threads that they have stored. Knows no store.

use super::builder::StateGraph;
use crate::graph::node::NodeId;
use crate::graph::state::State;

impl<S: State, N: NodeId, C: Send + Sync + 'static> StateGraph<S, N, C> {
    /// Says that a node had another name before: what stored threads have of it is the node's, its tasks, joins, sends,
    /// questions and subgraphs included. A node may have had several.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
    /// # #[derive(NodeId)] enum Step { Review }
    /// # async fn review(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> { Ok(()) }
    /// let graph = StateGraph::<Draft, Step>::new()
    ///     .add_node(Step::Review, review)
    ///     .renamed("Check", Step::Review)
    ///     .add_sequence([Step::Review])
    ///     .compile()?;
    /// # Ok::<(), CompileError>(())
    /// ```
    pub fn renamed(mut self, was: impl Into<String>, node: N) -> Self {
        self.renamed.push((was.into(), node));
        self
    }

    /// Gives the graph a version, which is part of its [fingerprint](crate::graph::CompiledGraph::fingerprint): for a change
    /// that channels, nodes and joins do not show, such as what a node does. 0 unless set.
    pub fn version(mut self, version: u32) -> Self {
        self.history.version = version;
        self
    }

    /// Goes on only with threads that this very version of the graph has stored: those of another
    /// [fingerprint](crate::graph::CompiledGraph::fingerprint) can be read, but not run, answered or updated.
    pub fn pinned(mut self) -> Self {
        self.history.pinned = true;
        self
    }
}
