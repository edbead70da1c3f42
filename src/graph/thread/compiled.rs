//! Threads of a compiled graph.

use std::sync::Arc;

use super::handle::{Thread, ThreadCore};
use super::outcome::Outcome;
use super::request::Request;
use crate::checkpoint::ThreadId;
use crate::graph::build::CompiledGraph;
use crate::graph::context::DefaultContext;
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::state::{IntoWrites, State};

impl<S: State, N: NodeId, C: Send + Sync + 'static> CompiledGraph<S, N, C> {
    /// Returns a thread of the graph with the default context; see [`thread_with`](Self::thread_with) for another.
    /// Nothing is read or claimed yet. Without a checkpointer its runs are not stored.
    pub fn thread(&self, id: impl Into<ThreadId>) -> Thread<S, N, C>
    where
        C: DefaultContext,
    {
        self.thread_with(id, C::default_context())
    }

    /// Returns a thread of the graph.
    pub fn thread_with(&self, id: impl Into<ThreadId>, context: impl Into<Arc<C>>) -> Thread<S, N, C> {
        Thread::of(ThreadCore::new(self.core.clone(), Some(id.into()), context.into()))
    }

    /// Runs the graph once, without a thread: nothing is stored.
    ///
    /// # Errors
    /// Whatever the run fails with; [`RunError::NoCheckpointer`] if the graph can ask questions.
    pub async fn invoke(&self, input: impl IntoWrites<S>) -> Result<Outcome<S>, RunError>
    where
        C: DefaultContext,
    {
        self.invoke_with(input, C::default_context()).await
    }

    /// Runs the graph once with a context, without a thread: nothing is stored.
    ///
    /// # Errors
    /// Whatever the run fails with; [`RunError::NoCheckpointer`] if the graph can ask questions.
    pub async fn invoke_with(
        &self,
        input: impl IntoWrites<S>,
        context: impl Into<Arc<C>>,
    ) -> Result<Outcome<S>, RunError> {
        self.detached(context).run(Request::input(input)).await
    }

    /// Returns a run without a thread, to set options on: nothing is stored.
    pub fn detached(&self, context: impl Into<Arc<C>>) -> Thread<S, N, C> {
        let mut graph = self.core.clone();
        graph.store = None;
        Thread::of(ThreadCore::new(graph, None, context.into()))
    }
}
