//! The builder: collects nodes, subgraphs, edges and routers under the user's ids. `compile` turns them into tables.

use std::collections::BTreeSet;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::problem::Lint;
use super::table::{GraphChannels, GraphStops, Stops};
use crate::graph::context::Ctx;
use crate::graph::node::{
    Body, Choose, Chooser, DeclaredTargets, END, EitherBody, Input, Name, Node, NodeDefaults, NodeId, NodeOptions,
    NodeResult, Router, RowOptions, START, StateBody, Target, Work, WorkBody, Worker,
};
use crate::graph::state::{AnySchema, Payload, State};
use crate::graph::view::AnyChild;

/// The source of an edge: START, a node, or several nodes (a join).
#[derive(Clone, Debug)]
pub enum Edges<N> {
    /// START.
    Start,
    /// One node.
    One(N),
    /// Several nodes: the edge fires when all of them have finished at least once since it last fired.
    Join(Vec<N>),
    /// END: always an error, reported by `compile`.
    End,
}

impl<N: NodeId> Edges<N> {
    fn into_names(self) -> Edges<Name> {
        match self {
            Self::Start => Edges::Start,
            Self::One(node) => Edges::One(node.to_name()),
            Self::Join(nodes) => Edges::Join(nodes.iter().map(NodeId::to_name).collect()),
            Self::End => Edges::End,
        }
    }
}

impl<N> From<START> for Edges<N> {
    fn from(_: START) -> Self {
        Self::Start
    }
}

impl<N> From<END> for Edges<N> {
    fn from(_: END) -> Self {
        Self::End
    }
}

impl<N: NodeId> From<N> for Edges<N> {
    fn from(node: N) -> Self {
        Self::One(node)
    }
}

impl<N: NodeId, const K: usize> From<[N; K]> for Edges<N> {
    fn from(nodes: [N; K]) -> Self {
        Self::Join(nodes.into())
    }
}

impl<N: NodeId> From<Vec<N>> for Edges<N> {
    fn from(nodes: Vec<N>) -> Self {
        Self::Join(nodes)
    }
}

pub(crate) struct AddedNode {
    pub id: Name,
    pub body: Box<dyn Body>,
    pub options: RowOptions,
    pub children: Vec<AnyChild>,
}

pub(crate) struct AddedBranch {
    pub from: Edges<Name>,
    pub name: Option<String>,
    pub choose: Choose,
    pub declared: DeclaredTargets<Name>,
    /// Set if the outcomes are exhaustive: the router's choice needs no check.
    pub closed: bool,
}

/// A graph being built: nodes, edges and routers over the state `S`, under ids `N`, with a run context `C`.
///
/// ```
/// use std::sync::Arc;
/// use superstep::prelude::*;
///
/// #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
/// struct Count {
///     n: u32,
/// }
/// #[derive(NodeId)]
/// enum Step {
///     Add,
/// }
/// async fn add(count: Arc<Count>, _: Ctx) -> Result<CountUpdate, NodeError> {
///     Ok(Count::update().n(count.n + 1))
/// }
/// let graph = StateGraph::<Count, Step>::new().add_node(Step::Add, add).add_edge(START, Step::Add).compile()?;
/// # Ok::<(), CompileError>(())
/// ```
#[must_use]
pub struct StateGraph<S: State, N, C = ()> {
    pub(crate) parts: GraphParts,
    types: PhantomData<fn(S, N, C)>,
}

/// The parts of a graph being built, without its types.
pub(crate) struct GraphParts {
    pub schema: AnySchema,
    pub name: String,
    pub nodes: Vec<AddedNode>,
    pub calls: Vec<(Name, AnyChild)>,
    pub edges: Vec<(Edges<Name>, Target<Name>)>,
    pub branches: Vec<AddedBranch>,
    pub stops: GraphStops<Name>,
    pub allowed: BTreeSet<Lint>,
    pub defaults: NodeDefaults,
    pub channels: GraphChannels<Vec<String>>,
    pub renamed: Vec<(String, Name)>,
    pub history: VersionPolicy,
}

impl<S: State<Schema = ()>, N, C> StateGraph<S, N, C> {
    /// Returns an empty graph.
    #[allow(clippy::new_without_default, reason = "an empty graph is no useful default")]
    pub fn new() -> Self
    where
        N: NodeId,
        C: Send + Sync + 'static,
    {
        Self::with_schema(())
    }
}

impl<S: State, N, C> std::fmt::Debug for StateGraph<S, N, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StateGraph({}, {} nodes)", self.parts.name, self.parts.nodes.len())
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> StateGraph<S, N, C> {
    /// Returns an empty graph over a state whose channels are known only at run time. Lints are off for such a graph.
    pub fn with_schema(schema: S::Schema) -> Self {
        let allowed = if N::all().is_empty() {
            [Lint::Unreachable, Lint::TrappedLoop, Lint::ConditionalJoin, Lint::EndBesideRouter].into()
        } else {
            BTreeSet::new()
        };
        let parts = GraphParts {
            schema: AnySchema::of::<S>(Arc::new(schema)),
            name: "graph".into(),
            nodes: vec![],
            calls: vec![],
            edges: vec![],
            branches: vec![],
            stops: GraphStops { before: Stops::None, after: Stops::None },
            allowed,
            defaults: NodeDefaults::default(),
            channels: GraphChannels::default(),
            renamed: vec![],
            history: VersionPolicy::default(),
        };
        Self { parts, types: PhantomData }
    }

    /// Names the graph in drawings and spans.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.parts.name = name.into();
        self
    }

    /// Adds a node over the state.
    pub fn add_node(self, id: N, node: impl Node<S, N, C>) -> Self {
        let options = node.options();
        self.add(&id, StateBody::<_, S, N, C>(node, PhantomData), options, vec![])
    }

    /// Adds a worker: a node started by sends, each with its own payload. Options: [`worker`](crate::graph::worker).
    pub fn add_worker<I: Payload + DeserializeOwned>(self, at: Worker<N, I>, work: impl Work<S, N, C, I>) -> Self {
        let options = work.options();
        self.add(&at.node, WorkBody::<_, I, S, N, C>(work, PhantomData), options, vec![])
    }

    /// Adds a node that edges start with the state and sends with a payload, for graphs read from data.
    pub fn add_either<I, F, Fut>(self, id: N, body: F, options: NodeOptions<S, N, C>) -> Self
    where
        I: Payload + DeserializeOwned,
        F: Fn(Input<S, I>, Ctx<C>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = NodeResult<S, N>> + Send + 'static,
    {
        self.add(&id, EitherBody::<_, I, S, N, C>(body, PhantomData), options, vec![])
    }

    /// Adds a graph as one node. Over the same state it returns only its changes; over another state it needs
    /// [`mapped`](crate::graph::CompiledGraph::mapped).
    pub fn add_subgraph(self, id: N, child: impl Child<S, N, C>) -> Self {
        let nested = child.describe();
        let node = child.into_node();
        let options = node.options().of_subgraph();
        self.add(&id, StateBody::<_, S, N, C>(node, PhantomData), options, vec![nested])
    }

    /// Adds a graph as one node, with options.
    pub fn add_subgraph_with(self, id: N, child: impl Child<S, N, C>, options: NodeOptions<S, N, C>) -> Self {
        let nested = child.describe();
        let node = child.into_node();
        let options = options.of_subgraph();
        self.add(&id, StateBody::<_, S, N, C>(node, PhantomData), options, vec![nested])
    }

    fn add(
        mut self,
        id: &N,
        body: impl Body + 'static,
        options: NodeOptions<S, N, C>,
        children: Vec<AnyChild>,
    ) -> Self {
        let (id, body, options) = (id.to_name(), Box::new(body), options.row);
        self.parts.nodes.push(AddedNode { id, body, options, children });
        self
    }

    /// Adds an edge: from START or a node to one or several nodes (a fan-out), or from several nodes to one (a join). To
    /// sends, it starts their worker once for each payload: `.add_edge(Step::Plan, SEARCH.each(queries))`.
    pub fn add_edge(mut self, from: impl Into<Edges<N>>, to: impl Into<Target<N>>) -> Self {
        self.parts.edges.push((from.into().into_names(), to.into().into_names()));
        self
    }

    /// Adds edges from START through the nodes, one after the other. A run ends after the last, unless something else leads on
    /// from there: an edge, a router, a command.
    pub fn add_sequence(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        let mut from = Edges::Start;
        for node in nodes.into_iter().map(|node| node.to_name()) {
            self.parts.edges.push((from, Target::Node(node.clone())));
            from = Edges::One(node);
        }
        self
    }

    /// Starts the graph at a node: the same as an edge from START.
    pub fn set_entry_point(self, node: N) -> Self {
        self.add_edge(START, node)
    }

    /// Ends the graph after a node: the same as an edge to END.
    pub fn set_finish_point(self, node: N) -> Self {
        self.add_edge(node, END)
    }

    /// Adds a router with an outcome enum after a node, or after START; see [`Route`](crate::graph::Route) for an example.
    /// It runs once the node has ended, over the state with the node's own writes. LangGraph: `add_conditional_edges`.
    pub fn add_conditional_edges<M>(
        mut self,
        from: impl Into<Edges<N>>,
        router: impl Router<S, N, C, M> + 'static,
    ) -> Self {
        let declared = DeclaredTargets::Only(router.outcomes()).into_names();
        let choose: Choose = Box::new(move |state, context| {
            Some(router.route(state.downcast_ref()?, context.downcast_ref()?).into_names())
        });
        self.parts.branches.push(AddedBranch {
            from: from.into().into_names(),
            name: None,
            choose,
            declared,
            closed: true,
        });
        self
    }

    /// Adds a router that returns node ids, sends or a [`Target`], with the targets it may choose:
    /// `.add_conditional_edges_to(Step::Plan, fan_out, SEARCH)`; see [`Chooser`], and
    /// [`DeclaredTargets`] for several kinds of targets. Choosing another target is an error.
    pub fn add_conditional_edges_to<M>(
        self,
        from: impl Into<Edges<N>>,
        router: impl Chooser<S, N, C, M> + 'static,
        targets: impl Into<DeclaredTargets<N>>,
    ) -> Self {
        self.branch(from.into(), None, router, targets.into())
    }

    /// Adds such a router under a name. Two routers of one name after one node are a [`Problem`](crate::graph::build::Problem).
    pub fn add_branch<M>(
        self,
        from: impl Into<Edges<N>>,
        name: impl Into<String>,
        router: impl Chooser<S, N, C, M> + 'static,
        targets: impl Into<DeclaredTargets<N>>,
    ) -> Self {
        self.branch(from.into(), Some(name.into()), router, targets.into())
    }

    fn branch<M>(
        mut self,
        from: Edges<N>,
        name: Option<String>,
        router: impl Chooser<S, N, C, M> + 'static,
        declared: DeclaredTargets<N>,
    ) -> Self {
        let choose: Choose = Box::new(move |state, context| {
            Some(router.choose(state.downcast_ref()?, context.downcast_ref()?).into_names())
        });
        let (from, declared) = (from.into_names(), declared.into_names());
        self.parts.branches.push(AddedBranch { from, name, choose, declared, closed: false });
        self
    }

    /// Stops runs before these nodes start. LangGraph: `interrupt_before`.
    pub fn interrupt_before(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.parts.stops.before = Stops::At(nodes.into_iter().map(|node| node.to_name()).collect());
        self
    }

    /// Stops runs after these nodes have ended. LangGraph: `interrupt_after`.
    pub fn interrupt_after(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.parts.stops.after = Stops::At(nodes.into_iter().map(|node| node.to_name()).collect());
        self
    }

    /// Stops runs before every superstep.
    pub fn interrupt_before_all(mut self) -> Self {
        self.parts.stops.before = Stops::All;
        self
    }

    /// Stops runs after every superstep.
    pub fn interrupt_after_all(mut self) -> Self {
        self.parts.stops.after = Stops::All;
        self
    }

    /// Sets the defaults of node options; options of a node take precedence.
    pub fn node_defaults(mut self, defaults: NodeDefaults) -> Self {
        self.parts.defaults = defaults;
        self
    }

    /// Turns a check off.
    pub fn allow(mut self, lint: Lint) -> Self {
        self.parts.allowed.insert(lint);
        self
    }

    /// Limits the channels that input may write; other writes are dropped.
    pub fn input_channels<T: Into<String>>(mut self, channels: impl IntoIterator<Item = T>) -> Self {
        self.parts.channels.input = Some(channels.into_iter().map(Into::into).collect());
        self
    }

    /// Limits the channels that the graph's events show when it runs as a subgraph; snapshots show all.
    pub fn output_channels<T: Into<String>>(mut self, channels: impl IntoIterator<Item = T>) -> Self {
        self.parts.channels.output = Some(channels.into_iter().map(Into::into).collect());
        self
    }
}

/// The graph's version, and the stored versions that it accepts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VersionPolicy {
    pub version: u32,
    /// Set if threads of other versions cannot run.
    pub pinned: bool,
}

/// The lifetime of the state of a subgraph. LangGraph: the subgraph's `checkpointer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Persistence {
    /// For the parent's task: an interrupted or failed run resumes inside the subgraph; nothing is kept between
    /// activations. Each attempt of a retry policy restarts the subgraph, as in LangGraph.
    #[default]
    Inherit,
    /// For the whole thread: each activation starts with the state that the last one ended with, at any depth below
    /// subgraphs that [inherit](Self::Inherit). Below a [`Stateless`](Self::Stateless) one nothing is saved, so each
    /// activation starts from its beginning.
    PerThread,
    /// Not saved: a resumed subgraph starts over.
    Stateless,
}

/// A graph that can be a node of a graph over `S`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a subgraph of a graph over `{S}`",
    note = "a child over another state needs two closures: \
            `child.mapped(|parent| Child::update(), |child| Parent::update())`"
)]
pub trait Child<S: State, N, C>: Sized {
    #[doc(hidden)]
    fn describe(&self) -> AnyChild;
    #[doc(hidden)]
    fn into_node(self) -> impl Node<S, N, C>;
}

pub(crate) fn source_name(from: &Edges<Name>) -> String {
    match from {
        Edges::Start => "START".into(),
        Edges::End => "END".into(),
        Edges::One(node) => node.name().to_owned(),
        Edges::Join(nodes) => nodes.iter().map(NodeId::name).collect::<Vec<_>>().join(" & "),
    }
}

pub(crate) fn target_name(to: &Target<Name>) -> String {
    match to {
        Target::End => "END".into(),
        Target::Node(node) => node.name().to_owned(),
        Target::Sends(sends) => sends.node.name().to_owned(),
        Target::Many(many) => many.iter().map(target_name).collect::<Vec<_>>().join(", "),
    }
}
