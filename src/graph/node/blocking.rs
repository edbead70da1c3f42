//! Bodies that block their thread: one made by `blocking` runs on a thread of its own, any other is found out by its polls, with
//! one warning for a node. Knows no superstep.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::body::{Node, Work};
use super::command::{AnyNodeResult, IntoCommand, NodeResult};
use super::id::NodeId;
use crate::graph::context::Ctx;
use crate::graph::error::NodeError;
use crate::graph::state::{Boxed, State};

/// A node or worker of a synchronous function. Made by [`blocking`].
#[derive(Clone, Copy)]
#[must_use]
pub struct Blocking<F>(F);

/// Makes a node of a synchronous function that computes for long, or calls a blocking library.
///
/// The function runs on one of tokio's threads for blocking work (`spawn_blocking`), so that other nodes, timeouts and the
/// rest of the program continue. It is `fn(Arc<S>, Ctx<C>) -> Result<SUpdate, E>`, or for a worker `fn(Arc<I>, Ctx<C>) ->
/// …`, and takes the same options as other nodes; `ctx.interrupt(question)?` works in it.
///
/// A thread cannot be stopped. On cancellation or the node's `timeout` the task ends at once, but the function runs until
/// it returns, and its result is dropped. A long function should check [`Ctx::is_cancelled`] between its steps; a retry
/// after a timeout may run beside the previous attempt.
///
/// ```
/// # use std::sync::Arc;
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String, words: u64 }
/// # #[derive(NodeId)] enum Step { Count }
/// fn count(draft: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
///     Ok(Draft::update().words(draft.text.split_whitespace().count() as u64))
/// }
/// let graph = StateGraph::new().add_node(Step::Count, blocking(count)).add_sequence([Step::Count]).compile()?;
/// # Ok::<(), CompileError>(())
/// ```
pub fn blocking<F>(function: F) -> Blocking<F> {
    Blocking(function)
}

impl<F> fmt::Debug for Blocking<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blocking({})", std::any::type_name::<F>())
    }
}

#[diagnostic::do_not_recommend]
impl<S, N, C, F, O, E> Node<S, N, C> for Blocking<F>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    F: Fn(Arc<S>, Ctx<C>) -> Result<O, E> + Clone + Send + Sync + 'static,
    O: IntoCommand<S, N>,
    E: Into<NodeError>,
{
    fn run(&self, state: Arc<S>, ctx: Ctx<C>) -> Boxed<'static, NodeResult<S, N>> {
        let function = self.0.clone();
        Box::pin(on_a_thread(move || function(state, ctx).map(O::into_command).map_err(E::into)))
    }
}

#[diagnostic::do_not_recommend]
impl<S, N, C, I, F, O, E> Work<S, N, C, I> for Blocking<F>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    I: Send + Sync + 'static,
    F: Fn(Arc<I>, Ctx<C>) -> Result<O, E> + Clone + Send + Sync + 'static,
    O: IntoCommand<S, N>,
    E: Into<NodeError>,
{
    fn run(&self, payload: Arc<I>, ctx: Ctx<C>) -> Boxed<'static, NodeResult<S, N>> {
        let function = self.0.clone();
        Box::pin(on_a_thread(move || function(payload, ctx).map(O::into_command).map_err(E::into)))
    }
}

/// Runs a function on a thread for blocking work. A panic is resumed in the waiting task.
async fn on_a_thread<S: State, N: NodeId>(
    function: impl FnOnce() -> NodeResult<S, N> + Send + 'static,
) -> NodeResult<S, N> {
    let span = tracing::Span::current();
    match tokio::task::spawn_blocking(move || span.in_scope(function)).await {
        Ok(ended) => ended,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(NodeError::transient(error)),
    }
}

/// Polls longer than this delay other tasks and timeouts.
const LIMIT: Duration = Duration::from_millis(100);

/// The longest poll of a node over the limit, in milliseconds; 0 if there was none.
#[derive(Debug, Default)]
pub(crate) struct LongestPoll(AtomicU64);

impl LongestPoll {
    /// Records a poll over the limit; returns true for the first.
    fn note(&self, took: Duration) -> bool {
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_max(took, Ordering::Relaxed) == 0
    }

    pub(crate) fn get(&self) -> Option<Duration> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            millis => Some(Duration::from_millis(millis)),
        }
    }
}

pub(crate) struct TimedBody {
    pub body: Boxed<'static, AnyNodeResult>,
    pub node: Arc<str>,
    pub longest: Arc<LongestPoll>,
}

impl Future for TimedBody {
    type Output = AnyNodeResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let began = Instant::now();
        let polled = self.body.as_mut().poll(cx);
        let took = began.elapsed();
        if took > LIMIT && self.longest.note(took) {
            warn_blocked(&self.node, took);
        }
        polled
    }
}

/// Logs a warning that a body blocked its thread.
fn warn_blocked(node: &str, took: Duration) {
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    tracing::warn!(
        node,
        millis,
        "a node blocked its thread: other tasks and timeouts waited meanwhile; add it as `blocking(f)`, or await what it waits for"
    );
}
