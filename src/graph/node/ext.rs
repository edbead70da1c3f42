//! Options chained onto a body.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::body::{BodyType, Node, Work};
use super::command::{AnyNodeResult, IntoCommand, NodeResult, Target};
use super::execution::{CachePolicy, RetryPolicy};
use super::id::NodeId;
use super::options::{Failure, NodeOptions};
use crate::graph::context::Ctx;
use crate::graph::error::NodeError;
use crate::graph::interrupt::{Interrupt, Signal};
use crate::graph::state::{Boxed, State};

/// A node with its options.
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
    fn run(&self, state: Arc<S>, ctx: Ctx<C>) -> Boxed<'static, NodeResult<S, N>> {
        self.body.run(state, ctx)
    }

    fn begin(&self, state: Arc<S>, ctx: Ctx<C>) -> Boxed<'static, AnyNodeResult> {
        self.body.begin(state, ctx)
    }

    fn options(&self) -> NodeOptions<S, N, C> {
        self.options.clone()
    }

    fn body_type(&self) -> BodyType {
        self.body.body_type()
    }
}

#[diagnostic::do_not_recommend]
impl<F, S: State, N: NodeId, C: Send + Sync + 'static, I> Work<S, N, C, I> for WithOptions<F, S, N, C>
where
    F: Work<S, N, C, I>,
{
    fn run(&self, payload: Arc<I>, ctx: Ctx<C>) -> Boxed<'static, NodeResult<S, N>> {
        self.body.run(payload, ctx)
    }

    fn begin(&self, payload: Arc<I>, ctx: Ctx<C>) -> Boxed<'static, AnyNodeResult> {
        self.body.begin(payload, ctx)
    }

    fn options(&self) -> NodeOptions<S, N, C> {
        self.options.clone()
    }

    fn body_type(&self) -> BodyType {
        self.body.body_type()
    }
}

fn with_options<F: Node<S, N, C>, S: State, N, C>(body: F) -> WithOptions<F, S, N, C> {
    let options = body.options();
    WithOptions { body, options }
}

/// Returns a worker that can take options: `worker(search).retry(..)`. They replace those of a [`Work`] implementation.
pub fn worker<F, S: State, N, C>(body: F) -> WithOptions<F, S, N, C> {
    WithOptions { body, options: NodeOptions::default() }
}

impl<F, S: State, N, C> WithOptions<F, S, N, C> {
    pub(crate) fn with(self, change: impl FnOnce(NodeOptions<S, N, C>) -> NodeOptions<S, N, C>) -> Self {
        Self { body: self.body, options: change(self.options) }
    }
}

/// Defines each option twice: on a bare node, and on one that has options already.
macro_rules! options {
    ($($(#[$doc:meta])* fn $name:ident $(<$generic:ident: $bound:path>)? ($($arg:ident: $ty:ty),*);)*) => {
        /// Adds options to a node's body: `review.asks::<Approve>().retry(RetryPolicy::attempts(5))`. For a worker use
        /// [`worker`]: `.add_worker(SEARCH, worker(search).timeout(limit))`.
        pub trait NodeExt<S: State, N: NodeId, C>: Node<S, N, C> + Sized {
            $($(#[$doc])* fn $name$(<$generic: $bound>)?(self, $($arg: $ty),*) -> WithOptions<Self, S, N, C> {
                with_options(self).$name$(::<$generic>)?($($arg),*)
            })*

            /// Runs a handler in place of the node, whose edges do not fire then; see [`NodeOptions::on_error`].
            fn on_error<H, Fut, O, E>(self, handler: H) -> WithOptions<Self, S, N, C>
            where
                C: Send + Sync + 'static,
                H: Fn(Arc<S>, Failure, Ctx<C>) -> Fut + Send + Sync + 'static,
                Fut: Future<Output = Result<O, E>> + Send + 'static,
                O: IntoCommand<S, N>,
                E: Into<NodeError>,
            {
                with_options(self).on_error(handler)
            }
        }

        impl<F, S: State, N: NodeId, C> WithOptions<F, S, N, C> {
            $($(#[$doc])* pub fn $name$(<$generic: $bound>)?(self, $($arg: $ty),*) -> Self {
                self.with(|options| options.$name$(::<$generic>)?($($arg),*))
            })*

            /// Runs a handler in place of the node, whose edges do not fire then; see [`NodeOptions::on_error`].
            pub fn on_error<H, Fut, O, E>(self, handler: H) -> Self
            where
                C: Send + Sync + 'static,
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
    /// Limits the duration of an attempt; see [`NodeOptions::timeout`].
    fn timeout(limit: Duration);
    /// Limits the time an attempt may be silent; see [`NodeOptions::idle_timeout`].
    fn idle_timeout(limit: Duration);
    /// Takes the result from the graph's cache, if it has one. A body that captures values shares its results with other
    /// builds of the graph only by a key for them; see [`NodeOptions::cache`].
    fn cache(policy: CachePolicy);
    /// Delays the node until no edge starts another; then all deferred nodes that wait run at once. See
    /// [`NodeOptions::defer`].
    fn defer();
    /// Limits the concurrent tasks of a group of nodes; see [`NodeOptions::group`].
    fn group(name: impl Into<String>, limit: usize);
    /// Allows replays to run the body over recorded results; see [`NodeOptions::replayable`].
    fn replayable();
    /// Names the channels the node reads; see [`NodeOptions::reads`].
    fn reads(channels: impl IntoIterator<Item = impl Into<String>>);
    /// Adds tags to the metadata of the node's messages; see [`NodeOptions::tags`].
    fn tags(tags: impl IntoIterator<Item = impl Into<String>>);
    /// Declares the targets of the node's commands; see [`NodeOptions::goes_to`].
    fn goes_to(targets: impl Into<Target<N>>);
}

impl<F, S: State, N: NodeId, C: Send + Sync + 'static> NodeExt<S, N, C> for F where F: Node<S, N, C> {}
