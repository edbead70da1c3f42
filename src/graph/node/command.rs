//! Commands: the writes of a finished node, and its gotos. Knows no graph.

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::id::{Name, NodeId};
use crate::graph::error::{NodeError, ParentCommand};
use crate::graph::state::{AnyWrites, Boxed, IntoWrites, Payload, State, Writes};

/// The virtual node before the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct START;

/// The virtual node after the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct END;

/// The result of a node that also chooses the next nodes. LangGraph: `Command`.
///
/// A goto is added to the node's edges; it does not replace them. Declare its targets with
/// [`goes_to`](crate::graph::NodeExt::goes_to), for checks and drawings.
///
/// ```
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
/// # #[derive(NodeId)] enum Step { Review }
/// let command: Command<Draft, Step> = Command::update(Draft::update().text("tides")).goto(Step::Review);
/// let nowhere: Command<Draft, Step> = Command::to(END);
/// ```
#[must_use]
pub struct Command<S: State, N> {
    command: AnyCommand,
    types: PhantomData<fn(S, N)>,
}

impl<S: State, N> Command<S, N> {
    pub(crate) fn of(command: AnyCommand) -> Self {
        Self { command, types: PhantomData }
    }

    /// Returns a command that applies an update.
    pub fn update(update: impl IntoWrites<S>) -> Self {
        Self::of(AnyCommand { writes: update.into_writes().into(), ..AnyCommand::default() })
    }

    /// Returns a command that goes to a target, with no update.
    pub fn to(target: impl Into<Target<N>>) -> Self
    where
        N: NodeId,
    {
        Self::of(AnyCommand::default()).goto(target)
    }

    /// Adds a target.
    pub fn goto(mut self, target: impl Into<Target<N>>) -> Self
    where
        N: NodeId,
    {
        self.command.goto.push(target.into().into_names());
        self
    }

    /// Adds the object that the node returned, for the routers of a data-defined graph, unknown keys included. It is not
    /// stored.
    pub fn returning(mut self, returned: Map<String, Value>) -> Self {
        self.command.returned = Some(Arc::new(returned));
        self
    }

    /// Ends the subgraph with a command for the enclosing graph, which becomes the result of the subgraph's node: a handoff,
    /// for example. As in LangGraph (`Command(graph=Command.PARENT)`), what the subgraph's nodes wrote before is dropped, since
    /// the command takes the place of the subgraph's result. Put into the command what the enclosing graph is to keep:
    /// `Command::parent(Command::update(Draft::update().notes(draft.notes.clone())).goto(Step::Write))`. The end of the
    /// task names the channels whose writes are dropped ([`EventKind::TaskEnd`](crate::graph::EventKind::TaskEnd)), and a
    /// warning is logged.
    pub fn parent<P: State, M: NodeId>(command: Command<P, M>) -> Self {
        let (types, given) = (TypeId::of::<(P, M)>(), type_name::<Command<P, M>>());
        let parent = Box::new(ParentCommand { command: Arc::new(command.command), types, given });
        Self::of(AnyCommand { parent: Some(parent), ..AnyCommand::default() })
    }

    /// Joins several commands into one, writes in order.
    pub fn all(commands: impl IntoIterator<Item = Self>) -> Self {
        let mut all = AnyCommand::default();
        for Self { command, .. } in commands {
            all.writes.0.extend(command.writes.0);
            all.goto.extend(command.goto);
            all.parent = command.parent.or(all.parent);
        }
        Self::of(all)
    }
}

impl<S: State, N> Clone for Command<S, N> {
    fn clone(&self) -> Self {
        Self::of(self.command.clone())
    }
}

impl<S: State, N> fmt::Debug for Command<S, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AnyCommand { writes, goto, .. } = &self.command;
        f.debug_struct("Command").field("writes", writes).field("goto", goto).finish_non_exhaustive()
    }
}

/// The result of a node without the types of its state and node ids.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct AnyCommand {
    pub(crate) writes: AnyWrites,
    pub(crate) goto: Vec<Target<Name>>,
    pub(crate) parent: Option<Box<ParentCommand>>,
    pub(crate) returned: Option<Arc<Map<String, Value>>>,
}

/// The result of a node's body without the types of its state and node ids.
#[doc(hidden)]
pub(crate) type AnyNodeResult = Result<AnyCommand, NodeError>;

/// The end of a body whose run has a state or a context of another type: handles and graphs with their types rule it
/// out.
pub(super) fn other_types() -> Boxed<'static, AnyNodeResult> {
    Box::pin(async { Err(NodeError::permanent("the run has a state or a context of another type than the node")) })
}

impl<S: State, N> From<Command<S, N>> for AnyCommand {
    fn from(command: Command<S, N>) -> Self {
        command.command
    }
}

/// A node's `Ok` value: an update, a [`Command`], or `()`.
#[diagnostic::on_unimplemented(
    message = "a node over `{S}` cannot return `{Self}`",
    label = "the node's `Ok` value is a `{Self}`",
    note = "return `Result<{S}Update, _>` (from `{S}::update()`), a `Command`, or `()`"
)]
pub trait IntoCommand<S: State, N> {
    /// Converts into a command.
    fn into_command(self) -> Command<S, N>;
}

#[diagnostic::do_not_recommend]
impl<S: State, N> IntoCommand<S, N> for Command<S, N> {
    fn into_command(self) -> Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<S: State, N> IntoCommand<S, N> for Writes<S> {
    fn into_command(self) -> Command<S, N> {
        Command::update(self)
    }
}

#[diagnostic::do_not_recommend]
impl<S: State, N> IntoCommand<S, N> for () {
    fn into_command(self) -> Command<S, N> {
        Command::of(AnyCommand::default())
    }
}

/// A target: a node, [`END`], a worker's [`Sends`], or several of these: `[Step::A, Step::B]`, `(Step::A, END)`.
///
/// An array holds node ids only, as its elements have one type; a tuple of up to eight holds any mix.
#[derive(Clone, Debug)]
pub enum Target<N> {
    /// A node.
    Node(N),
    /// Tasks of a worker, each with its own payload.
    Sends(Sends<N>),
    /// Several targets at once.
    Many(Vec<Self>),
    /// END: this path ends.
    End,
}

impl<N: NodeId> From<N> for Target<N> {
    fn from(node: N) -> Self {
        Self::Node(node)
    }
}

impl<N> From<END> for Target<N> {
    fn from(_: END) -> Self {
        Self::End
    }
}

impl<N> From<Sends<N>> for Target<N> {
    fn from(sends: Sends<N>) -> Self {
        Self::Sends(sends)
    }
}

impl<N: NodeId, const K: usize> From<[N; K]> for Target<N> {
    fn from(nodes: [N; K]) -> Self {
        Self::Many(nodes.map(Self::Node).into())
    }
}

impl<N: NodeId> From<Vec<N>> for Target<N> {
    fn from(nodes: Vec<N>) -> Self {
        Self::many(nodes)
    }
}

/// Implements targets for tuples: unlike an array, a tuple can hold [`END`] and sends.
macro_rules! tuples {
    ($($($part:ident)+;)+) => {$(
        #[diagnostic::do_not_recommend]
        impl<N, $($part: Into<Target<N>>),+> From<($($part,)+)> for Target<N> {
            #[allow(non_snake_case, reason = "each part is named like its type")]
            fn from(($($part,)+): ($($part,)+)) -> Self {
                Self::Many(vec![$($part.into()),+])
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

impl<N: NodeId> Target<N> {
    pub(crate) fn into_names(self) -> Target<Name> {
        match self {
            Self::Node(node) => Target::Node(node.to_name()),
            Self::Sends(sends) => Target::Sends(sends.into_names()),
            Self::Many(many) => Target::Many(many.into_iter().map(Self::into_names).collect()),
            Self::End => Target::End,
        }
    }
}

impl<N: NodeId> Sends<N> {
    fn into_names(self) -> Sends<Name> {
        let Self { node, takes, type_name, payloads, empty } = self;
        Sends {
            node: node.to_name(),
            takes,
            type_name,
            payloads,
            empty: empty.map(|target| Box::new(target.into_names())),
        }
    }
}

impl<N> Target<N> {
    /// Returns several targets at once; none of them is the same as [`END`].
    pub fn many<T: Into<Self>>(targets: impl IntoIterator<Item = T>) -> Self {
        Self::Many(targets.into_iter().map(Into::into).collect())
    }
}

/// Tasks of one worker, each with its own payload. LangGraph: a list of `Send`.
#[derive(Clone)]
pub struct Sends<N> {
    pub(crate) node: N,
    pub(crate) takes: TypeId,
    pub(crate) type_name: &'static str,
    pub(crate) payloads: Vec<Arc<dyn Payload>>,
    pub(crate) empty: Option<Box<Target<N>>>,
}

impl<N> Sends<N> {
    /// Sets the target if there is nothing to send; without one this path ends then.
    ///
    /// ```
    /// # use superstep::prelude::*;
    /// # #[derive(NodeId)] enum Step { Search, Write }
    /// # struct Draft { queries: Vec<String> }
    /// const SEARCH: Worker<Step, String> = Worker::new(Step::Search);
    /// fn fan_out(draft: &Draft) -> Sends<Step> {
    ///     SEARCH.each(draft.queries.clone()).empty(Step::Write)
    /// }
    /// // .add_conditional_edges_to(Step::Plan, fan_out, (SEARCH, Step::Write))
    /// # fan_out(&Draft { queries: vec![] });
    /// ```
    #[must_use]
    pub fn empty(mut self, target: impl Into<Target<N>>) -> Self {
        self.empty = Some(Box::new(target.into()));
        self
    }
}

impl<N: fmt::Debug> fmt::Debug for Sends<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {:?}({})", self.payloads.len(), self.node, self.type_name)
    }
}

/// A worker's node id and payload type, checked by the compiler at both ends. Add the worker with
/// [`add_worker`](crate::graph::StateGraph::add_worker); for an example see [`Chooser`](crate::graph::node::Chooser). LangGraph:
/// `Send`.
///
/// ```
/// # use superstep::prelude::*;
/// # #[derive(NodeId)] enum Step { Search }
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Query(String);
/// const SEARCH: Worker<Step, Query> = Worker::new(Step::Search);
/// let sends: Sends<Step> = SEARCH.each([Query("tides".into()), Query("moons".into())]);
/// ```
pub struct Worker<N, I> {
    pub(crate) node: N,
    payload: PhantomData<fn(I)>,
}

impl<N, I> Worker<N, I> {
    /// Returns the worker at `node`.
    pub const fn new(node: N) -> Self {
        Self { node, payload: PhantomData }
    }
}

impl<N: Clone, I: Payload> Worker<N, I> {
    /// Returns one send.
    pub fn send(&self, payload: I) -> Sends<N> {
        self.each([payload])
    }

    /// Returns a send for each payload. Without payloads nothing is started; [`Sends::empty`] then sets the target.
    pub fn each(&self, payloads: impl IntoIterator<Item = I>) -> Sends<N> {
        let payloads = payloads.into_iter().map(|payload| Arc::new(payload) as Arc<dyn Payload>).collect();
        Sends { node: self.node.clone(), takes: TypeId::of::<I>(), type_name: type_name::<I>(), payloads, empty: None }
    }
}

impl<N: fmt::Debug, I> fmt::Debug for Worker<N, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Worker({:?}: {})", self.node, type_name::<I>())
    }
}

/// The result of a node's body.
pub type NodeResult<S, N> = Result<Command<S, N>, NodeError>;
