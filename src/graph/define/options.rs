//! What is declared beside a node's body: questions, retry, timeouts, cache, error handler, destinations.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

#[cfg(doc)]
use super::command::Command;
use super::command::{IntoCommand, Target};
use super::interrupt::{Answer, Interrupt, Shows};
use super::node::{Boxed, Ended, Node, NodeError, NodeId, Work};
use super::retry::RetryPolicy;
use super::signal::{Receives, Signal, SignalDeclarations};
use crate::graph::channels::reading;
use crate::graph::channels::state::State;
use crate::graph::run::ctx::Ctx;

/// How long a node's result may be taken from the cache instead of running it. LangGraph: `CachePolicy`.
///
/// The input is the whole state, untracked channels included, or what [`reads`](NodeExt::reads) names, or the payload of a
/// send; if it cannot be serialized, the node runs each time.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct CachePolicy {
    pub(crate) ttl: Option<Duration>,
}

impl CachePolicy {
    /// Returns a policy whose results are kept for so long.
    pub fn ttl(ttl: Duration) -> Self {
        Self { ttl: Some(ttl) }
    }
}

/// What failed, as an error handler sees it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The node's name.
    pub node: Arc<str>,
    /// The error of the last attempt.
    pub error: Arc<NodeError>,
}

type Handle<S, N, C> = dyn Fn(Arc<S>, Failure, Ctx<C>) -> Boxed<'static, Ended<S, N>> + Send + Sync;

/// Reads an answer as the type it should have, and returns it as it is stored.
pub(crate) type TakeAnswer = fn(&Answer, Vec<u8>) -> Result<Vec<u8>, String>;

/// What was declared beside a node's body. Built by [`NodeExt`]'s methods.
#[must_use]
pub struct NodeOptions<S: State, N, C> {
    pub(crate) asks: BTreeMap<&'static str, Vec<Asks>>,
    pub(crate) asks_anything: bool,
    pub(crate) receives: SignalDeclarations,
    pub(crate) retry: Vec<RetryPolicy>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) cache: Option<CachePolicy>,
    pub(crate) on_error: Option<Arc<Handle<S, N, C>>>,
    pub(crate) defer: bool,
    pub(crate) replayable: bool,
    /// Whether the body is a whole graph, added as a node.
    pub(crate) subgraph: bool,
    /// The group that it runs in, and how many tasks of that run at once.
    pub(crate) group: Option<(String, usize)>,
    pub(crate) reads: Option<Vec<String>>,
    pub(crate) tags: Vec<String>,
    pub(crate) destinations: Option<Vec<Target<N>>>,
}

/// A declared question type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asks {
    pub type_name: &'static str,
    pub answer: &'static str,
    pub take: TakeAnswer,
    pub shows: Shows,
}

fn taken<I: Interrupt>(answer: &Answer, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let Some(json) = &answer.json else { return reading::decode::<I::Resume>(&bytes).map(|_| bytes) };
    let value = I::Resume::deserialize(json).map_err(|error| error.to_string())?;
    Answer::new::<I>(&value).bytes.map_err(|error| error.to_string())
}

impl<S: State, N, C> Default for NodeOptions<S, N, C> {
    fn default() -> Self {
        Self {
            asks: BTreeMap::new(),
            asks_anything: false,
            receives: SignalDeclarations::new(),
            retry: vec![],
            timeout: None,
            idle_timeout: None,
            cache: None,
            on_error: None,
            defer: false,
            replayable: false,
            subgraph: false,
            group: None,
            reads: None,
            tags: vec![],
            destinations: None,
        }
    }
}

impl<S: State, N: Clone, C> Clone for NodeOptions<S, N, C> {
    fn clone(&self) -> Self {
        Self {
            asks: self.asks.clone(),
            asks_anything: self.asks_anything,
            receives: self.receives.clone(),
            retry: self.retry.clone(),
            timeout: self.timeout,
            idle_timeout: self.idle_timeout,
            cache: self.cache,
            on_error: self.on_error.clone(),
            defer: self.defer,
            replayable: self.replayable,
            subgraph: self.subgraph,
            group: self.group.clone(),
            reads: self.reads.clone(),
            tags: self.tags.clone(),
            destinations: self.destinations.clone(),
        }
    }
}

impl<S: State, N, C> fmt::Debug for NodeOptions<S, N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeOptions").field("asks", &self.asks.keys()).finish_non_exhaustive()
    }
}

impl<S: State, N, C> NodeOptions<S, N, C> {
    /// Declares a question the node may ask.
    pub fn asks<I: Interrupt>(mut self) -> Self {
        let (type_name, answer) = (std::any::type_name::<I>(), std::any::type_name::<I::Resume>());
        let asks = Asks { type_name, answer, take: taken::<I>, shows: Shows::of::<I>() };
        self.asks.entry(I::NAME).or_default().push(asks);
        self
    }

    /// Lets the node ask questions of any type: their answers cannot be checked before the node takes them.
    pub fn asks_anything(mut self) -> Self {
        self.asks_anything = true;
        self
    }

    /// Declares a signal the node may [receive](Ctx::receive).
    pub fn receives<T: Signal>(mut self) -> Self {
        self.receives.insert(T::NAME, Receives::of::<T>());
        self
    }

    /// Adds a retry policy; of several, the first that fits the failure is used.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry.push(policy);
        self
    }

    /// Limits how long one attempt may take.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Limits how long one attempt may be silent: events, [`Ctx::heartbeat`], and what ends inside its subgraphs are signs of
    /// life.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.idle_timeout = Some(limit);
        self
    }

    /// Takes the result from the graph's cache when the node has run on equal input before. The graph gets its cache by
    /// [`with_cache`](crate::graph::CompiledGraph::with_cache); without one the node always runs.
    pub fn cache(mut self, policy: CachePolicy) -> Self {
        self.cache = Some(policy);
        self
    }

    /// Runs a handler in place of the node once its retries are used up. The node's edges do not fire then: the handler goes
    /// on by a [`Command`], or the path ends there. Declare its targets with [`goes_to`](Self::goes_to). It may ask and call
    /// graphs of its own: no answer to the node is one to it. Once it has begun, only it runs again, over the node's error.
    /// LangGraph: `error_handler`.
    pub fn on_error<F, Fut, O, E>(mut self, handler: F) -> Self
    where
        F: Fn(Arc<S>, Failure, Ctx<C>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
        O: IntoCommand<S, N>,
        E: Into<NodeError>,
    {
        self.on_error = Some(Arc::new(move |state, failure, ctx| {
            let ended = handler(state, failure, ctx);
            Box::pin(async move { ended.await.map(O::into_command).map_err(E::into) })
        }));
        self
    }

    /// Holds the node back until a superstep starts no other node by an edge. Sends do not count: while workers are to run,
    /// the node runs beside them, and again after them if an edge leads from the worker to it. To let it wait for a fan-out,
    /// let only the last workers lead to it. LangGraph: `defer=True`.
    pub fn defer(mut self) -> Self {
        self.defer = true;
        self
    }

    /// Limits how many tasks of the nodes in a group run at once, over all threads and graphs of the process that give the group
    /// this limit: calls of one model, say. A task that waits for its subgraphs does not count.
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
        self.group = Some((name.into(), limit));
        self
    }

    /// Says that the body does the same again from the same: all it learns from outside and does there goes through its
    /// [`Ctx`] ([`effect`](Ctx::effect), [`record`](Ctx::record), [`now`](Ctx::now), [`random`](Ctx::random), questions, calls
    /// of graphs). A replay that verifies runs such bodies over what was recorded; of others it takes the recorded writes.
    pub fn replayable(mut self) -> Self {
        self.replayable = true;
        self
    }

    /// Its own nodes say whether they may run again.
    pub(crate) fn of_subgraph(mut self) -> Self {
        (self.replayable, self.subgraph) = (true, true);
        self
    }

    /// Names the channels the node reads: its cache, its events and a replay that verifies look at these only.
    pub fn reads(mut self, channels: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.reads = Some(channels.into_iter().map(Into::into).collect());
        self
    }

    /// Adds words to the [metadata](crate::graph::MessageMetadata) of the messages that the node emits, for readers of a
    /// stream that pick some of them. LangGraph: `tags` of a model.
    pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Declares where the node's [`Command`]s may go: any other goto is an error. LangGraph: `destinations`.
    pub fn goes_to(mut self, targets: impl Into<Target<N>>) -> Self {
        self.destinations.get_or_insert_default().push(targets.into());
        self
    }
}

/// A node with what was declared beside it.
#[must_use]
pub struct WithOptions<F, S: State, N, C> {
    body: F,
    options: NodeOptions<S, N, C>,
}

impl<F: fmt::Debug, S: State, N, C> fmt::Debug for WithOptions<F, S, N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WithOptions").field(&self.body).finish()
    }
}

#[diagnostic::do_not_recommend]
impl<F, S: State, N: NodeId, C: Send + Sync + 'static> Node<S, N, C> for WithOptions<F, S, N, C>
where
    F: Node<S, N, C>,
{
    fn run(&self, state: Arc<S>, ctx: Ctx<C>) -> Boxed<'static, Ended<S, N>> {
        self.body.run(state, ctx)
    }

    fn options(&self) -> NodeOptions<S, N, C> {
        self.options.clone()
    }
}

#[diagnostic::do_not_recommend]
impl<F, S: State, N: NodeId, C: Send + Sync + 'static, I> Work<S, N, C, I> for WithOptions<F, S, N, C>
where
    F: Work<S, N, C, I>,
{
    fn run(&self, payload: Arc<I>, ctx: Ctx<C>) -> Boxed<'static, Ended<S, N>> {
        self.body.run(payload, ctx)
    }

    fn options(&self) -> NodeOptions<S, N, C> {
        self.options.clone()
    }
}

/// A node with the options it brings itself.
fn with_options<F: Node<S, N, C>, S: State, N, C>(body: F) -> WithOptions<F, S, N, C> {
    let options = body.options();
    WithOptions { body, options }
}

/// Returns a worker that can carry options: `worker(search).retry(..)`. They take the place of those that a
/// [`Work`] of your own brings.
pub fn worker<F, S: State, N, C>(body: F) -> WithOptions<F, S, N, C> {
    WithOptions { body, options: NodeOptions::default() }
}

impl<F, S: State, N, C> WithOptions<F, S, N, C> {
    fn with(self, change: impl FnOnce(NodeOptions<S, N, C>) -> NodeOptions<S, N, C>) -> Self {
        Self { body: self.body, options: change(self.options) }
    }
}

/// Writes each option twice: on a bare node, and on one that has options already.
macro_rules! options {
    ($($(#[$doc:meta])* fn $name:ident $(<$generic:ident: $bound:path>)? ($($arg:ident: $ty:ty),*);)*) => {
        /// Declares options beside a node's body: `review.asks::<Approve>().retry(RetryPolicy::attempts(5))`. A worker gets
        /// them through [`worker`]: `.add_worker(SEARCH, worker(search).timeout(limit))`.
        pub trait NodeExt<S: State, N, C>: Node<S, N, C> + Sized {
            $($(#[$doc])* fn $name$(<$generic: $bound>)?(self, $($arg: $ty),*) -> WithOptions<Self, S, N, C> {
                with_options(self).$name$(::<$generic>)?($($arg),*)
            })*

            /// Runs a handler in place of the node, whose edges do not fire then; see [`NodeOptions::on_error`].
            fn on_error<H, Fut, O, E>(self, handler: H) -> WithOptions<Self, S, N, C>
            where
                H: Fn(Arc<S>, Failure, Ctx<C>) -> Fut + Send + Sync + 'static,
                Fut: Future<Output = Result<O, E>> + Send + 'static,
                O: IntoCommand<S, N>,
                E: Into<NodeError>,
            {
                with_options(self).on_error(handler)
            }
        }

        impl<F, S: State, N, C> WithOptions<F, S, N, C> {
            $($(#[$doc])* pub fn $name$(<$generic: $bound>)?(self, $($arg: $ty),*) -> Self {
                self.with(|options| options.$name$(::<$generic>)?($($arg),*))
            })*

            /// Runs a handler in place of the node, whose edges do not fire then; see [`NodeOptions::on_error`].
            pub fn on_error<H, Fut, O, E>(self, handler: H) -> Self
            where
                H: Fn(Arc<S>, Failure, Ctx<C>) -> Fut + Send + Sync + 'static,
                Fut: Future<Output = Result<O, E>> + Send + 'static,
                O: IntoCommand<S, N>,
                E: Into<NodeError>,
            {
                self.with(|options| options.on_error(handler))
            }
        }
    };
}

options! {
    /// Declares a question the node may ask; see [`NodeOptions::asks`].
    fn asks<I: Interrupt>();
    /// Lets the node ask questions of any type; see [`NodeOptions::asks_anything`].
    fn asks_anything();
    /// Declares a signal the node may receive; see [`NodeOptions::receives`].
    fn receives<T: Signal>();
    /// Adds a retry policy; see [`NodeOptions::retry`].
    fn retry(policy: RetryPolicy);
    /// Limits how long one attempt may take; see [`NodeOptions::timeout`].
    fn timeout(limit: Duration);
    /// Limits how long one attempt may be silent; see [`NodeOptions::idle_timeout`].
    fn idle_timeout(limit: Duration);
    /// Takes the result from the graph's cache, if it has one; see [`NodeOptions::cache`].
    fn cache(policy: CachePolicy);
    /// Holds the node back until no edge starts another; see [`NodeOptions::defer`].
    fn defer();
    /// Limits how many tasks of the nodes in a group run at once; see [`NodeOptions::group`].
    fn group(name: impl Into<String>, limit: usize);
    /// Says that a replay may run the body over what was recorded; see [`NodeOptions::replayable`].
    fn replayable();
    /// Names the channels the node reads; see [`NodeOptions::reads`].
    fn reads(channels: impl IntoIterator<Item = impl Into<String>>);
    /// Adds words to the metadata of the node's messages; see [`NodeOptions::tags`].
    fn tags(tags: impl IntoIterator<Item = impl Into<String>>);
    /// Declares where the node's commands may go; see [`NodeOptions::goes_to`].
    fn goes_to(targets: impl Into<Target<N>>);
}

impl<F, S: State, N: NodeId, C: Send + Sync + 'static> NodeExt<S, N, C> for F where F: Node<S, N, C> {}
