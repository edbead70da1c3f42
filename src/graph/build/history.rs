//! Renamed nodes and versions of a graph, for threads that earlier versions stored. Knows no store.

use super::builder::StateGraph;
use crate::graph::node::NodeId;
use crate::graph::state::State;

impl<S: State, N: NodeId, C: Send + Sync + 'static> StateGraph<S, N, C> {
    /// Declares a former name of a node: its tasks, joins, sends, questions and subgraphs in stored threads become the
    /// node's. A node may have several.
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
        self.parts.renamed.push((was.into(), node.to_name()));
        self
    }

    /// Sets a version, which is part of the [fingerprint](crate::graph::CompiledGraph::fingerprint): for a change that
    /// channels, nodes and joins do not show, such as a node's behaviour. 0 unless set.
    pub fn version(mut self, version: u32) -> Self {
        self.parts.history.version = version;
        self
    }

    /// Accepts only threads stored by this version of the graph: those of another
    /// [fingerprint](crate::graph::CompiledGraph::fingerprint) can be read, but not run, answered or updated.
    pub fn pinned(mut self) -> Self {
        self.parts.history.pinned = true;
        self
    }
}
