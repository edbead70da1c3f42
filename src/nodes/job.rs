//! Jobs: what a node does, as data, between a function that reads the job from the state and one that creates the update
//! from its result. Must not know any job.

use std::sync::Arc;

use crate::graph::node::{NodeOptions, WithOptions};
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes, worker};

/// The context of a run in which nodes do their jobs: any type that tasks can share.
pub trait Context: Send + Sync + 'static {}

impl<C: Send + Sync + 'static> Context for C {}

/// The work of a node. It knows no state; [`node()`] connects it with one.
///
/// ```
/// use superstep::nodes::{Context, Job, node};
/// use superstep::prelude::*;
///
/// #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
/// struct Draft { text: String, words: usize }
/// # #[derive(NodeId)] enum Step { Count }
///
/// struct CountWords(String);
/// impl<C: Context> Job<C> for CountWords {
///     type Output = usize;
///     async fn perform(self, _: &Ctx<C>) -> Result<usize, NodeError> {
///         Ok(self.0.split_whitespace().count())
///     }
/// }
/// fn words(draft: &Draft) -> Result<CountWords, NodeError> { Ok(CountWords(draft.text.clone())) }
/// fn counted(_: &Draft, words: usize) -> DraftUpdate { Draft::update().words(words) }
///
/// let graph = StateGraph::<Draft, Step>::new().add_node(Step::Count, node(words, counted));
/// ```
pub trait Job<C>: Send + Sized + 'static {
    /// The result, from which the node's update is made.
    type Output: Send + 'static;

    /// Performs the job, once in each run of the node: side effects belong into effects of `ctx`.
    fn perform(self, ctx: &Ctx<C>) -> impl Future<Output = Result<Self::Output, NodeError>> + Send;

    /// Adds the options of the node: the questions that the job asks. Default: none.
    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options
    }
}

/// Reads a job from the state: a `Fn(&S) -> Result<J, impl Into<NodeError>>`.
pub trait ReadJob<S, J>: Fn(&S) -> Result<J, Self::Error> + Send + Sync + 'static {
    /// The error of a state that has no such job.
    type Error: Into<NodeError>;
}

impl<F, S, J, E: Into<NodeError>> ReadJob<S, J> for F
where
    F: Fn(&S) -> Result<J, E> + Send + Sync + 'static,
{
    type Error = E;
}

/// Creates the update of a node from the result of its job: a `Fn(&S, T) -> impl Into<Writes<S>>`.
pub trait MakeUpdate<S: State, T>: Fn(&S, T) -> Self::Update + Send + Sync + 'static {
    /// The update.
    type Update: Into<Writes<S>>;
}

impl<F, S: State, T, W: Into<Writes<S>>> MakeUpdate<S, T> for F
where
    F: Fn(&S, T) -> W + Send + Sync + 'static,
{
    type Update = W;
}

/// Returns a node that reads a job from the state, performs it, and creates the update from its result.
pub fn node<S: State, N: NodeId, C: Context, J: Job<C>>(
    job: impl ReadJob<S, J>,
    done: impl MakeUpdate<S, J::Output>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    let done = Arc::new(done);
    let body = move |state: Arc<S>, ctx: Ctx<C>| {
        let (job, done) = (job(&state).map_err(Into::into), Arc::clone(&done));
        async move { Ok::<Writes<S>, NodeError>(done(&state, job?.perform(&ctx).await?).into()) }
    };
    worker(body).with(J::options)
}

/// Defines the data of a job: its fields, a constructor with those that every such job needs, and for each field after `..` a
/// method that sets it. A field that is added there breaks no caller.
macro_rules! job {
    (@value) => { Default::default() };
    (@value $value:expr) => { $value };
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$needed_about:meta])* $needed:ident: $needed_type:ty,)*
            $(.. $($(#[$other_about:meta])* $other:ident: $other_type:ty $(= $value:expr)?,)*)?
        }
    ) => {
        $(#[$about])*
        #[non_exhaustive]
        pub struct $name {
            $($(#[$needed_about])* pub $needed: $needed_type,)*
            $($($(#[$other_about])* pub $other: $other_type,)*)?
        }

        impl $name {
            /// Returns the job with default values for the other fields.
            pub fn new($($needed: $needed_type),*) -> Self {
                Self { $($needed,)* $($($other: job!(@value $($value)?),)*)? }
            }
            $($(
                #[doc = concat!("Sets the field `", stringify!($other), "`.")]
                #[must_use]
                pub fn $other(mut self, $other: $other_type) -> Self {
                    self.$other = $other;
                    self
                }
            )*)?
        }
    };
}
pub(super) use job;
