//! Routers: pure functions from the state to where to go. They cannot fail, wait or ask.

use std::fmt;
use std::marker::PhantomData;

use strum::IntoEnumIterator;

use super::command::{END, Target, Worker};
use super::id::NodeId;
use crate::graph::state::Payload;

/// An outcome enum of a router. `compile()` walks every variant (payloads are filled by `Default`), so edges are exact,
/// sends included. LangGraph: the `path_map` of `add_conditional_edges`.
///
/// `#[derive(Route)]` writes the impl from a `#[to(…)]` on each variant:
///
/// ```
/// # use superstep::prelude::*;
/// # #[derive(NodeId)] enum Step { Write, Publish }
/// # struct Draft { approved: bool }
/// #[derive(Route)]
/// enum AfterReview {
///     #[to(Step::Write)]
///     Revise,
///     #[to(END)]
///     Publish,
/// }
/// fn route(draft: &Draft) -> AfterReview {
///     if draft.approved { AfterReview::Publish } else { AfterReview::Revise }
/// }
/// // .add_conditional_edges(Step::Review, route)
/// # route(&Draft { approved: true }).target();
/// ```
///
/// Written out, for one enum in several graphs or for targets that are computed:
///
/// ```
/// # use superstep::prelude::*;
/// # #[derive(NodeId)] enum Step { Write, Publish }
/// #[derive(Labels)]
/// enum AfterReview { Revise, Publish }
/// impl Route<Step> for AfterReview {
///     fn target(self) -> Target<Step> {
///         match self { Self::Revise => Step::Write.into(), Self::Publish => (Step::Publish, END).into() }
///     }
/// }
/// # AfterReview::Publish.target();
/// # AfterReview::Revise.target();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an outcome that leads to a `{N}`",
    note = "add `#[derive(Route)]` to `{Self}` and `#[to(..)]` to each variant, or write `impl Route<{N}> for {Self}`; or \
            declare the targets with `add_conditional_edges_to`"
)]
pub trait Route<N>: Outcomes {
    /// Returns where the outcome leads.
    fn target(self) -> Target<N>;
}

/// What `#[derive(Labels)]` gives an outcome enum: a name, and a place in a list, for each of its variants.
#[diagnostic::on_unimplemented(
    message = "the outcomes of `{Self}` have no labels",
    note = "add `#[derive(Labels)]` to the enum"
)]
pub trait Outcomes: IntoEnumIterator + AsRef<str> {}

/// A router with an outcome enum: `fn(&S) -> R` or `fn(&S, &C) -> R`, where `R` implements [`Route`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a router over `{S}`",
    label = "this is not a router of this graph",
    note = "a router is `fn(&{S}) -> R` or `fn(&{S}, &{C}) -> R`, where `R` is an enum with `#[derive(Route)]`",
    note = "it takes `&{S}`, not `Arc<{S}>`, and is not async: what has to be awaited belongs in a node before it",
    note = "for a router that returns node ids or sends use `add_conditional_edges_to`, with the targets it may choose"
)]
pub trait Router<S, N, C, M>: Send + Sync + 'static {
    /// Chooses where to go.
    fn route(&self, state: &S, context: &C) -> Target<N>;

    /// Returns every outcome and where it leads.
    fn outcomes(&self) -> Vec<(String, Target<N>)>;
}

/// Marks routers over the state alone.
pub struct OverState<R>(PhantomData<R>);
/// Marks routers over state and context.
pub struct OverContext<R>(PhantomData<R>);

impl<R> fmt::Debug for OverState<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OverState")
    }
}

impl<R> fmt::Debug for OverContext<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OverContext")
    }
}

impl<S, N, C, F, R> Router<S, N, C, OverState<R>> for F
where
    F: Fn(&S) -> R + Send + Sync + 'static,
    R: Route<N>,
{
    fn route(&self, state: &S, _: &C) -> Target<N> {
        self(state).target()
    }

    fn outcomes(&self) -> Vec<(String, Target<N>)> {
        outcomes::<N, R>()
    }
}

impl<S, N, C, F, R> Router<S, N, C, OverContext<R>> for F
where
    F: Fn(&S, &C) -> R + Send + Sync + 'static,
    R: Route<N>,
{
    fn route(&self, state: &S, context: &C) -> Target<N> {
        self(state, context).target()
    }

    fn outcomes(&self) -> Vec<(String, Target<N>)> {
        outcomes::<N, R>()
    }
}

fn outcomes<N, R: Route<N>>() -> Vec<(String, Target<N>)> {
    R::iter().map(|outcome| (outcome.as_ref().to_owned(), outcome.target())).collect()
}

/// A router whose targets are declared beside it: it returns node ids, sends, or a [`Target`].
///
/// ```
/// # use std::sync::Arc;
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { queries: Vec<String>, #[channel(append)] hits: Vec<String> }
/// # #[derive(NodeId)] enum Step { Plan, Search }
/// # async fn plan(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> { Ok(()) }
/// const SEARCH: Worker<Step, String> = Worker::new(Step::Search);
/// async fn search(query: Arc<String>, _: Ctx) -> Result<DraftUpdate, NodeError> {
///     Ok(Draft::update().hits([query.to_string()]))
/// }
/// let graph = StateGraph::<Draft, Step>::new().add_node(Step::Plan, plan).add_worker(SEARCH, search);
/// let graph = graph.add_edge(START, Step::Plan);
/// graph.add_conditional_edges_to(Step::Plan, |draft: &Draft| SEARCH.each(draft.queries.clone()), SEARCH).compile()?;
/// # Ok::<(), CompileError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a router over `{S}` that returns targets of `{N}`",
    label = "this is not a router of this graph",
    note = "a router is `fn(&{S}) -> R` or `fn(&{S}, &{C}) -> R`, where `R` is `{N}`, `Vec<{N}>`, `Sends<{N}>` or `Target<{N}>`",
    note = "it takes `&{S}`, not `Arc<{S}>`, and is not async: what has to be awaited belongs in a node before it"
)]
pub trait Chooser<S, N, C, M>: Send + Sync + 'static {
    /// Chooses where to go.
    fn choose(&self, state: &S, context: &C) -> Target<N>;
}

impl<S, N, C, F, R> Chooser<S, N, C, OverState<R>> for F
where
    F: Fn(&S) -> R + Send + Sync + 'static,
    R: Into<Target<N>>,
{
    fn choose(&self, state: &S, _: &C) -> Target<N> {
        self(state).into()
    }
}

impl<S, N, C, F, R> Chooser<S, N, C, OverContext<R>> for F
where
    F: Fn(&S, &C) -> R + Send + Sync + 'static,
    R: Into<Target<N>>,
{
    fn choose(&self, state: &S, context: &C) -> Target<N> {
        self(state, context).into()
    }
}

/// Where a router without an outcome enum may lead: `Step::A`, `[Step::A, Step::B]`, a [`Worker`], or a tuple of any of
/// these and [`END`]: `(SEARCH, Step::A, END)`.
#[derive(Clone, Debug)]
pub enum Declared<N> {
    /// Only to these targets.
    Only(Vec<(String, Target<N>)>),
    /// To any node: for graphs read from data that do not say.
    Anywhere,
}

impl<N> Declared<N> {
    /// Adds a target.
    #[must_use]
    pub fn or(self, target: impl Into<Self>) -> Self {
        match (self, target.into()) {
            (Self::Only(mut some), Self::Only(more)) => {
                some.extend(more);
                Self::Only(some)
            }
            _ => Self::Anywhere,
        }
    }
}

impl<N: NodeId> From<N> for Declared<N> {
    fn from(node: N) -> Self {
        Self::Only(vec![(String::new(), node.into())])
    }
}

impl<N> From<END> for Declared<N> {
    fn from(_: END) -> Self {
        Self::Only(vec![(String::new(), Target::End)])
    }
}

impl<N: Clone, I: Payload> From<Worker<N, I>> for Declared<N> {
    fn from(worker: Worker<N, I>) -> Self {
        Self::Only(vec![(String::new(), worker.each([]).into())])
    }
}

impl<N: NodeId, const K: usize> From<[N; K]> for Declared<N> {
    fn from(nodes: [N; K]) -> Self {
        Self::Only(nodes.into_iter().map(|node| (String::new(), node.into())).collect())
    }
}

macro_rules! tuples {
    ($($($part:ident)+;)+) => {$(
        #[diagnostic::do_not_recommend]
        impl<N, $($part: Into<Declared<N>>),+> From<($($part,)+)> for Declared<N> {
            #[allow(non_snake_case, reason = "each part is named like its type")]
            fn from(($($part,)+): ($($part,)+)) -> Self {
                let none = Self::Only(vec![]);
                none$(.or($part))+
            }
        }
    )+};
}

tuples! {
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

impl<N> From<Vec<(String, Target<N>)>> for Declared<N> {
    fn from(labelled: Vec<(String, Target<N>)>) -> Self {
        Self::Only(labelled)
    }
}

pub(crate) type Choose<S, N, C> = Box<dyn Fn(&S, &C) -> Target<N> + Send + Sync>;
