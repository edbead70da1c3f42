//! Graphs with their types erased, for a runner.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::report::{Mark, RunnerStop};
use crate::checkpoint::{BoxFuture, Checkpointer, ThreadId};
use crate::graph::build::CompiledGraph;
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::Host;
use crate::graph::state::State;
use crate::graph::thread::{Status, Thread};

pub(crate) trait Driven: Send + Sync {
    fn name(&self) -> &str;
    fn store(&self) -> Option<Arc<dyn Checkpointer>>;
    /// Returns the status, including what only the graph knows.
    fn status(&self, thread: ThreadId) -> BoxFuture<'_, Result<Status, RunError>>;
    fn turn(&self, turn: Turn) -> BoxFuture<'_, Result<RunnerStop, RunError>>;
}

pub(crate) struct Turn {
    pub thread: ThreadId,
    pub host: Host,
    pub cancel: CancellationToken,
    pub drain: CancellationToken,
}

/// A graph of a [`runner`](crate::graph::runner()), with the context of its threads.
#[derive(Clone)]
pub struct RunnerGraph(pub(super) Arc<dyn Driven>);

impl fmt::Debug for RunnerGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunnerGraph").field(&self.0.name()).finish()
    }
}

impl RunnerGraph {
    /// Returns a graph whose threads run with the given context.
    pub fn with<S: State, N: NodeId, C: Send + Sync + 'static>(
        graph: CompiledGraph<S, N, C>,
        context: impl Into<Arc<C>>,
    ) -> Self {
        Self(Arc::new(Typed { graph, context: context.into() }))
    }
}

impl<S: State, N: NodeId, C: Default + Send + Sync + 'static> From<CompiledGraph<S, N, C>> for RunnerGraph {
    fn from(graph: CompiledGraph<S, N, C>) -> Self {
        Self::with(graph, C::default())
    }
}

struct Typed<S: State, N, C> {
    graph: CompiledGraph<S, N, C>,
    context: Arc<C>,
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Typed<S, N, C> {
    fn thread(&self, id: ThreadId) -> Thread<S, N, C> {
        self.graph.thread_with(id, Arc::clone(&self.context))
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Driven for Typed<S, N, C> {
    fn name(&self) -> &str {
        self.graph.name()
    }

    fn store(&self) -> Option<Arc<dyn Checkpointer>> {
        self.graph.core.store.clone()
    }

    fn status(&self, thread: ThreadId) -> BoxFuture<'_, Result<Status, RunError>> {
        let thread = self.thread(thread);
        Box::pin(async move { thread.status().await })
    }

    fn turn(&self, turn: Turn) -> BoxFuture<'_, Result<RunnerStop, RunError>> {
        let Turn { thread: id, host, cancel, drain } = turn;
        let mut thread = self.thread(id.clone()).cancel_with(cancel).drain_with(drain);
        thread.core.environment.host = host;
        Box::pin(async move {
            let error = thread.proceed().await.err();
            let status = thread.status().await?;
            Ok(RunnerStop { thread: id, graph: self.graph.name().to_owned(), status, error, is_cancelled: false })
        })
    }
}

pub(crate) struct Ready {
    pub graph: Arc<dyn Driven>,
    pub thread: ThreadId,
    pub mark: Mark,
}
