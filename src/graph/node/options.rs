//! The options of a node: questions, retry, timeouts, cache, error handler, destinations.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::command::{AnyNodeResult, IntoCommand, Target, other_types};
use super::execution::{CachePolicy, ExecutionOptions, RetryPolicy};
use super::id::{Name, NodeId};
use crate::graph::context::{Ctx, TaskCtx};
use crate::graph::error::NodeError;
use crate::graph::interrupt::answer::encode_checked;
use crate::graph::interrupt::{DeclaredQuestion, Interrupt, QuestionFormat, Signal, SignalDeclarations, SignalType};
#[cfg(doc)]
use crate::graph::node::command::Command;
use crate::graph::state::{AnyState, Boxed, State};

/// The failure that an error handler takes over.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The node's name.
    pub node: Arc<str>,
    /// The error of the last attempt.
    pub error: Arc<NodeError>,
}

type Handle = dyn Fn(&AnyState, Failure, Arc<TaskCtx>) -> Boxed<'static, AnyNodeResult> + Send + Sync;

/// The options of a node. Built by [`NodeExt`](crate::graph::NodeExt)'s methods.
#[must_use]
pub struct NodeOptions<S: State, N, C> {
    pub(crate) row: RowOptions,
    types: PhantomData<fn(S, N, C)>,
}

/// The options of a node without the types of its state, node ids and context.
#[derive(Clone, Default)]
pub(crate) struct RowOptions {
    pub(crate) declared: DeclaredWaits,
    pub(crate) execution: ExecutionOptions,
    pub(crate) on_error: Option<Arc<Handle>>,
    pub(crate) defer: bool,
    /// Set if the body is a whole graph, added as a node.
    pub(crate) subgraph: bool,
    /// The name of its group, and how many tasks of that run at once.
    pub(crate) group: Option<(String, usize)>,
    pub(crate) reads: Option<Vec<String>>,
    pub(crate) tags: Vec<String>,
    pub(crate) destinations: Option<Vec<Target<Name>>>,
}

/// The questions and signals that a node may wait for.
#[derive(Clone, Default)]
pub(crate) struct DeclaredWaits {
    pub asks: BTreeMap<&'static str, Vec<DeclaredQuestion>>,
    /// Set if questions of any type are allowed.
    pub asks_anything: bool,
    pub receives: SignalDeclarations,
}

impl<S: State, N, C> Default for NodeOptions<S, N, C> {
    fn default() -> Self {
        Self { row: RowOptions::default(), types: PhantomData }
    }
}

impl<S: State, N, C> Clone for NodeOptions<S, N, C> {
    fn clone(&self) -> Self {
        Self { row: self.row.clone(), types: PhantomData }
    }
}

impl<S: State, N, C> fmt::Debug for NodeOptions<S, N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeOptions").field("asks", &self.row.declared.asks.keys()).finish_non_exhaustive()
    }
}

impl<S: State, N, C> NodeOptions<S, N, C> {
    /// Declares a question the node may ask.
    pub fn asks<I: Interrupt>(mut self) -> Self {
        let (type_name, answer) = (std::any::type_name::<I>(), std::any::type_name::<I::Resume>());
        let asks = DeclaredQuestion { type_name, answer, take: encode_checked::<I>, shows: QuestionFormat::of::<I>() };
        self.row.declared.asks.entry(I::NAME).or_default().push(asks);
        self
    }

    /// Lets the node ask questions of any type, whose answers are not checked before the node receives them.
    pub fn asks_anything(mut self) -> Self {
        self.row.declared.asks_anything = true;
        self
    }

    /// Declares a signal the node may [receive](Ctx::receive).
    pub fn receives<T: Signal>(mut self) -> Self {
        self.row.declared.receives.insert(T::NAME, SignalType::of::<T>());
        self
    }

    /// Adds a retry policy; of several, the first that matches the failure is used.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.row.execution.retry.push(policy);
        self
    }

    /// Limits the duration of an attempt.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.row.execution.timeout = Some(limit);
        self
    }

    /// Limits the time an attempt may be silent. Events, [`Ctx::heartbeat`], and finished tasks of its subgraphs count as
    /// activity.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.row.execution.idle_timeout = Some(limit);
        self
    }

    /// Takes the result from the graph's cache if the node has run on equal input before. The graph gets its cache by
    /// [`with_cache`](crate::graph::CompiledGraph::with_cache); without one the node always runs. What a closure captures is
    /// not part of the input: see [`CachePolicy::key`].
    pub fn cache(mut self, policy: CachePolicy) -> Self {
        self.row.execution.cache = Some(policy);
        self
    }

    /// Runs a handler in place of the node once its retries are used up. The node's edges do not fire then: the handler
    /// chooses the next nodes with a [`Command`], or the path ends there. Declare its targets with
    /// [`goes_to`](Self::goes_to). It may ask its own questions and call its own subgraphs; answers to the node do not
    /// apply to it. Once it has started, only the handler runs again, with the node's error. LangGraph: `error_handler`.
    pub fn on_error<F, Fut, O, E>(mut self, handler: F) -> Self
    where
        C: Send + Sync + 'static,
        F: Fn(Arc<S>, Failure, Ctx<C>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
        O: IntoCommand<S, N>,
        E: Into<NodeError>,
    {
        self.row.on_error = Some(Arc::new(move |state: &AnyState, failure, task| {
            let (Some(ctx), Some(state)) = (Ctx::of(task), state.downcast()) else { return other_types() };
            let ended = handler(state, failure, ctx);
            Box::pin(async move { ended.await.map(|ok| ok.into_command().into()).map_err(E::into) })
        }));
        self
    }

    /// Delays the node until a superstep starts no other node by an edge. Sends do not count: while workers are to run, the
    /// node runs beside them, and again after them if an edge leads from the worker to it. To wait for a fan-out, let only
    /// the last workers lead to it. Once nothing else starts, all deferred nodes that wait are released at once and run in the
    /// same superstep, whether or not one leads to another: one that is to run after another deferred node is not deferred
    /// itself, and starts by an edge from it. LangGraph: `defer=True`.
    pub fn defer(mut self) -> Self {
        self.row.defer = true;
        self
    }

    /// Limits the number of concurrent tasks of the nodes in a group, over all threads and graphs of the process that set
    /// this limit for the group: calls of one model, say. A task that waits for its subgraphs does not count.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
    /// # #[derive(NodeId)] enum Step { Write, Review }
    /// # async fn write(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> { Ok(()) }
    /// # async fn review(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> { Ok(()) }
    /// let graph = StateGraph::<Draft, Step>::new()
    ///     .add_node(Step::Write, write.group("model", 4))
    ///     .add_node(Step::Review, review.group("model", 4));
    /// ```
    pub fn group(mut self, name: impl Into<String>, limit: usize) -> Self {
        self.row.group = Some((name.into(), limit));
        self
    }

    /// Declares the body deterministic: everything it learns or does outside goes through its [`Ctx`]
    /// ([`effect`](Ctx::effect), [`record`](Ctx::record), [`now`](Ctx::now), [`random`](Ctx::random), questions, calls of
    /// graphs). A verifying replay runs such bodies over the records; for others it uses the recorded writes.
    pub fn replayable(mut self) -> Self {
        self.row.execution.replayable = true;
        self
    }

    /// Marks the body as a subgraph: its own nodes decide whether they are replayable.
    pub(crate) fn of_subgraph(mut self) -> Self {
        (self.row.execution.replayable, self.row.subgraph) = (true, true);
        self
    }

    /// Names the channels the node reads: its cache key, its events and verifying replays use only these.
    pub fn reads(mut self, channels: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.row.reads = Some(channels.into_iter().map(Into::into).collect());
        self
    }

    /// Adds tags to the [messages](crate::graph::EventKind::Message) that the node emits, for stream readers
    /// that filter by them. LangGraph: `tags` of a model.
    pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.row.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Declares the targets of the node's [`Command`]s; any other goto is an error. LangGraph: `destinations`.
    pub fn goes_to(mut self, targets: impl Into<Target<N>>) -> Self
    where
        N: NodeId,
    {
        self.row.destinations.get_or_insert_default().push(targets.into().into_names());
        self
    }
}
