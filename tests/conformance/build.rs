//! Builds the engine's graphs from those of a case: channels, nodes with their options, edges, branches.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value};
use superstep::graph::build::Edges;
use superstep::graph::node::{Input, NodeOptions};
use superstep::graph::state::Kind;
use superstep::graph::{
    CachePolicy, Command, CompiledGraph, Ctx, DataSchema, DeclaredTargets, END, Failure, Lint, MemoryCache, Name,
    NodeError, Persistence, RetryPolicy, START, State, StateGraph, Target, Worker, Writes,
};

use crate::body::{Body, Exit, NodeCommand, Return};
use crate::counters::Counters;
use crate::eval::Env;
use crate::host::{CaseFail, Inside, InvalidReturn};
use crate::model::{Branch, Case, Channel, ChannelKind, Graph, Names, Node, Sources, SubgraphStore};
use crate::ops::Op;
use crate::outcome::ErrorView;
use crate::states::CaseState;
use crate::subject::Way;
use crate::targets::Goto;

pub(crate) type CaseGraph<S> = CompiledGraph<S, Name, Arc<World>>;

/// The parts of a case that bodies need; the run's context.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) case: Arc<Case>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) cache: Arc<MemoryCache>,
    /// Name of the root graph.
    pub(crate) root: String,
    /// Computed channels of each graph in its newest task, for routers.
    pub(crate) computed: Arc<Mutex<BTreeMap<String, (bool, i64)>>>,
    pub(crate) way: Way,
}

impl World {
    /// Returns the name of the graph at this namespace.
    pub(crate) fn graph_at(&self, namespace: &[String]) -> Option<&str> {
        let mut name = self.root.as_str();
        for node in namespace.iter().filter(|node| !node.starts_with('#')) {
            let node = self.case.graphs.get(name)?.nodes.iter().find(|known| known.name == *node)?;
            name = match &node.subgraph {
                Some(subgraph) => subgraph,
                None => called(&node.ops).first().copied()?,
            };
        }
        Some(name)
    }

    /// Returns a namespace as events show it: down to a subgraph with its own state, a node means all its tasks, and
    /// its name starts with `#`.
    pub(crate) fn shown(&self, namespace: &[String]) -> Vec<String> {
        let owns = |depth: &usize| self.graph_at(&namespace[..*depth]).is_some_and(|name| self.owns_state(name));
        let marked = (1..=namespace.len()).rev().find(owns).unwrap_or(0);
        let show = |(at, node): (usize, &String)| {
            if at < marked && !node.starts_with('#') { format!("#{node}") } else { node.clone() }
        };
        namespace.iter().enumerate().map(show).collect()
    }

    fn owns_state(&self, graph: &str) -> bool {
        self.case.graphs.get(graph).is_some_and(|graph| matches!(graph.checkpointer, SubgraphStore::Own))
    }

    /// Records the computed channels of a task.
    fn note_computed(&self, ctx: &Ctx<Arc<Self>>) -> (bool, i64) {
        let now = (ctx.is_last_step(), ctx.remaining_steps());
        let name = self.graph_at(ctx.namespace()).unwrap_or_default().to_owned();
        lock(&self.computed).insert(name, now);
        now
    }

    /// Adds the computed channels to the input of a task.
    pub(crate) fn add_computed(
        &self,
        namespace: &[String],
        node: &str,
        remaining: i64,
        values: &mut Map<String, Value>,
    ) {
        let Some(graph) = self.graph_at(namespace).and_then(|name| self.case.graphs.get(name)) else { return };
        let name = node.strip_prefix("__error_handler__").unwrap_or(node);
        let node = graph.nodes.iter().find(|node| node.name == name);
        add_computed(graph, node, (remaining == 1, remaining), values);
    }
}

/// Returns the graphs that ops call, in order.
pub(crate) fn called(ops: &[Op]) -> Vec<&str> {
    let mut graphs = vec![];
    for op in ops {
        match op {
            Op::Call { graph, .. } => graphs.push(graph.as_str()),
            Op::If { then, otherwise, .. } => {
                graphs.extend(called(then));
                graphs.extend(called(otherwise));
            }
            _ => {}
        }
    }
    graphs
}

/// The graphs built so far, by name.
pub(crate) type Graphs<S> = BTreeMap<String, CaseGraph<S>>;

/// Builds a graph and the graphs it needs.
pub(crate) fn build<S: CaseState>(world: &Arc<World>, name: &str, built: &mut Graphs<S>) -> Result<(), ErrorView> {
    if built.contains_key(name) {
        return Ok(());
    }
    let Some(graph) = world.case.graphs.get(name) else { return Err(ErrorView::of_kind("no_such_graph")) };
    for node in &graph.nodes {
        for needed in node.subgraph.as_deref().into_iter().chain(called(&node.ops)) {
            build(world, needed, built)?;
        }
    }
    let mut builder = S::builder(graph).name(name).allow(Lint::Unresumable);
    for node in &graph.nodes {
        builder = add_node(builder, world, name, graph, node, built);
    }
    for edge in &graph.edges {
        let from = match &edge.0 {
            Sources::One(one) => source(one),
            Sources::Join(many) => Edges::Join(many.iter().map(|one| Name::from(plain(one))).collect()),
        };
        builder = builder.add_edge(from, target(&edge.1));
    }
    for (at, branch) in graph.branches.iter().enumerate() {
        builder = add_branch(builder, name, graph, at, branch);
    }
    if let Some(entry) = &graph.entry {
        builder = builder.add_edge(START, target(entry));
    }
    if let Some(finish) = &graph.finish {
        builder = builder.add_edge(source(finish), END);
    }
    builder = match &graph.interrupt_before {
        Some(Names::Word(_)) => builder.interrupt_before_all(),
        Some(Names::List(list)) => builder.interrupt_before(list.iter().map(|node| Name::from(plain(node)))),
        None => builder,
    };
    builder = match &graph.interrupt_after {
        Some(Names::Word(_)) => builder.interrupt_after_all(),
        Some(Names::List(list)) => builder.interrupt_after(list.iter().map(|node| Name::from(plain(node)))),
        None => builder,
    };
    if let Some(output) = &graph.output {
        builder = builder.output_channels(real::<S>(graph, output));
    }
    if let Some(input) = &graph.input {
        builder = builder.input_channels(real::<S>(graph, input));
    }
    let persistence = match graph.checkpointer {
        SubgraphStore::Inherit => Persistence::Inherit,
        SubgraphStore::Own => Persistence::PerThread,
        SubgraphStore::None => Persistence::Stateless,
    };
    let compiled = builder.compile().map_err(|error| crate::kinds::build(&error))?;
    let compiled = compiled.persistence(persistence).with_cache(Arc::clone(&world.cache) as _);
    built.insert(name.to_owned(), compiled);
    Ok(())
}

/// Returns the channels that hold values, without the computed ones.
fn real<S: CaseState>(graph: &Graph, names: &[String]) -> Vec<String> {
    let is_real = |name: &&String| graph.channels.get(*name).is_none_or(|channel| kind(channel).is_some());
    names.iter().filter(is_real).map(|name| S::own_name(graph, name)).collect()
}

pub(crate) fn schema(graph: &Graph) -> DataSchema {
    let channels = graph.channels.iter().filter_map(|(name, channel)| Some((name.clone(), kind(channel)?)));
    DataSchema::new(channels).unwrap_or_else(|error| unreachable!("names in a map are unique: {error}"))
}

fn kind(channel: &Channel) -> Option<Kind> {
    Some(match channel.kind {
        ChannelKind::LastValue => Kind::LastValue,
        ChannelKind::Append => Kind::Append,
        ChannelKind::Add => Kind::Add,
        ChannelKind::Concat => Kind::Concat,
        ChannelKind::Union => Kind::Union,
        ChannelKind::Merge => Kind::Merge,
        ChannelKind::Max => Kind::Max,
        ChannelKind::OptMin => Kind::OptMin,
        ChannelKind::Messages => Kind::Messages,
        ChannelKind::Ephemeral => Kind::Ephemeral { guard: channel.guard },
        ChannelKind::Untracked => Kind::Untracked { guard: channel.guard },
        ChannelKind::AnyValue => Kind::AnyValue,
        ChannelKind::Topic => Kind::Topic { accumulate: channel.accumulate },
        ChannelKind::AfterFinish => Kind::AfterFinish,
        ChannelKind::DeltaAppend => Kind::DeltaAppend,
        ChannelKind::IsLastStep | ChannelKind::RemainingSteps => return None,
    })
}

/// Translates START and END to the engine's names.
pub(crate) fn plain(name: &str) -> &str {
    match name {
        "START" => "__start__",
        "END" => "__end__",
        name => name,
    }
}

fn source(name: &str) -> Edges<Name> {
    match plain(name) {
        "__start__" => START.into(),
        "__end__" => END.into(),
        name => Name::from(name).into(),
    }
}

fn target(name: &str) -> Target<Name> {
    match plain(name) {
        "__end__" => END.into(),
        name => Target::Node(Name::from(name)),
    }
}

pub(crate) fn goto(ways: Vec<Goto>) -> Target<Name> {
    let one = |way| match way {
        Goto::Node(name) => Target::Node(Name::from(name)),
        Goto::Start => Target::Node(Name::from("__start__")),
        Goto::End => Target::End,
        Goto::Send { node, payload } => Worker::<Name, Value>::new(Name::from(plain(&node))).send(payload).into(),
    };
    Target::many(ways.into_iter().map(one))
}

type Builder<S> = StateGraph<S, Name, Arc<World>>;

fn add_node<S: CaseState>(
    builder: Builder<S>,
    world: &Arc<World>,
    graph_name: &str,
    graph: &Graph,
    node: &Node,
    built: &Graphs<S>,
) -> Builder<S> {
    let name = Name::from(plain(&node.name));
    if let Some(child) = &node.subgraph {
        let child_graph = &world.case.graphs[child];
        match world.way {
            Way::Mapped => {
                let (enter, leave) = shared_keys::<S>(graph, node, child_graph);
                let child = built[child].clone().mapped(move |state: &S| enter(state), move |left: &S| leave(left).1);
                return builder.add_subgraph_with(name, child, options(world, graph_name, graph, node));
            }
            Way::Added => {
                let child = built[child].clone();
                return builder.add_subgraph_with(name, child, options(world, graph_name, graph, node));
            }
            Way::Memory | Way::Sled | Way::Plain | Way::Typed => {}
        }
        let (enter, leave) = shared_keys::<S>(graph, node, child_graph);
        let (called, child_graph) = (built[child].clone(), child_graph.clone());
        let ways = Arc::new((enter, leave));
        let run = move |input: Input<S, Value>, ctx: Ctx<Arc<World>>| {
            let (called, child_graph, ways) = (called.clone(), child_graph.clone(), Arc::clone(&ways));
            async move {
                let input = match &input {
                    Input::State(state) => ways.0(state),
                    Input::Payload(payload) if payload.is_null() => return Ok(Command::update(Writes::default())),
                    Input::Payload(payload) => {
                        S::writes(&child_graph, payload.as_object().ok_or_else(|| NodeError::from(InvalidReturn))?)
                    }
                };
                ctx.context().note_computed(&ctx);
                let left = ctx.call_shown(&called, input).await?;
                let Some(left) = left else { return Ok(Command::update(Writes::default())) };
                let (values, writes) = ways.1(&left);
                Ok(Command::update(writes).returning(values))
            }
        };
        let builder = builder.add_either::<Value, _, _>(name.clone(), run, options(world, graph_name, graph, node));
        return builder.calls(&name, &built[child]);
    }
    let body = Arc::new(Body::of_node(graph_name, &node.name, &node.ops));
    let spec = Arc::new(Spec { graph: graph.clone(), node: node.clone(), built: built.clone() });
    let run = move |input: Input<S, Value>, ctx: Ctx<Arc<World>>| {
        let (body, spec) = (Arc::clone(&body), Arc::clone(&spec));
        async move {
            let input = spec.view(&input, &ctx);
            spec.run(&body, ctx, input, None).await
        }
    };
    let builder = builder.add_either::<Value, _, _>(name.clone(), run, options(world, graph_name, graph, node));
    match called(&node.ops).first() {
        Some(child) => builder.calls(&name, &built[*child]),
        None => builder,
    }
}

/// The parts of a graph that a node's body needs.
pub(crate) struct Spec<S: State> {
    pub(crate) graph: Graph,
    pub(crate) node: Node,
    pub(crate) built: Graphs<S>,
}

impl<S: CaseState> Spec<S> {
    /// Returns the node's input: its channels of the state, or the payload.
    fn view(&self, input: &Input<S, Value>, ctx: &Ctx<Arc<World>>) -> Value {
        match input {
            Input::Payload(payload) => Value::clone(payload),
            Input::State(state) => {
                let mut values = readable(&self.graph, &self.node, &**state);
                self.computed(&mut values, ctx);
                Value::Object(values)
            }
        }
    }

    fn computed(&self, values: &mut Map<String, Value>, ctx: &Ctx<Arc<World>>) {
        let now = ctx.context().note_computed(ctx);
        add_computed(&self.graph, Some(&self.node), now, values);
    }

    async fn run(
        &self,
        body: &Body,
        ctx: Ctx<Arc<World>>,
        input: Value,
        error: Option<Value>,
    ) -> Result<Command<S, Name>, NodeError> {
        let counters = Arc::clone(&ctx.context().counters);
        let host = Inside { ctx: ctx.clone(), spec: self };
        match body.run(&host, &counters, input, error).await {
            Ok(done) => self.command(done, &ctx),
            Err(Exit::Interrupted) => Err(NodeError::permanent("asked")),
            Err(Exit::Failed { kind, node }) => Err(CaseFail { kind, node }.into()),
            Err(Exit::PythonError(raised)) => Err(NodeError::permanent(format!("{raised:?}"))),
            Err(Exit::Engine(error)) => Err(error),
        }
    }

    fn command(&self, done: Return, ctx: &Ctx<Arc<World>>) -> Result<Command<S, Name>, NodeError> {
        match done {
            Return::Update(update) => Ok(returning(&self.graph, update.into_iter().collect())),
            Return::Commands(commands) => {
                let each = commands.into_iter().map(|command| self.one(command, ctx));
                Ok(Command::all(each))
            }
            Return::Raw(Value::Null) => Ok(Command::update(Writes::default())),
            Return::Raw(Value::Object(update)) => Ok(returning(&self.graph, update)),
            Return::Raw(_) => Err(InvalidReturn.into()),
        }
    }

    fn one(&self, command: NodeCommand, ctx: &Ctx<Arc<World>>) -> Command<S, Name> {
        let update: Map<String, Value> = command.update.unwrap_or_default().into_iter().collect();
        if !command.parent {
            return Command::update(S::writes(&self.graph, &update)).goto(goto(command.goto));
        }
        let above = ctx.namespace().iter().rposition(|node| !node.starts_with('#')).unwrap_or(0);
        let parent =
            ctx.context().graph_at(&ctx.namespace()[..above]).and_then(|name| ctx.context().case.graphs.get(name));
        let writes = parent.map(|graph| S::writes(graph, &update)).unwrap_or_default();
        Command::parent(Command::<S, Name>::update(writes).goto(goto(command.goto)))
    }
}

/// Returns an update that is visible to the node's routers as a whole.
fn returning<S: CaseState>(graph: &Graph, update: Map<String, Value>) -> Command<S, Name> {
    Command::update(S::writes(graph, &update)).returning(update)
}

/// Adds the computed channels, which are not stored.
fn add_computed(graph: &Graph, node: Option<&Node>, now: (bool, i64), values: &mut Map<String, Value>) {
    for (name, channel) in &graph.channels {
        if node.and_then(|node| node.input.as_ref()).is_some_and(|only| !only.contains(name)) {
            continue;
        }
        match channel.kind {
            ChannelKind::IsLastStep => values.insert(name.clone(), now.0.into()),
            ChannelKind::RemainingSteps => values.insert(name.clone(), now.1.into()),
            _ => None,
        };
    }
}

/// Returns the channels of a state that a node reads.
pub(crate) fn readable<S: CaseState>(graph: &Graph, node: &Node, state: &S) -> Map<String, Value> {
    let mut values = state.values(graph);
    if let Some(only) = &node.input {
        values.retain(|name, _| only.contains(name));
    }
    values
}

fn options<S: CaseState>(
    world: &Arc<World>,
    graph_name: &str,
    graph: &Graph,
    node: &Node,
) -> NodeOptions<S, Name, Arc<World>> {
    let mut options = NodeOptions::default().asks_anything();
    if is_replayable(graph, node) {
        options = options.replayable();
    }
    if node.defer {
        options = options.defer();
    }
    if let Some(input) = &node.input {
        options = options.reads(real::<S>(graph, input));
    }
    for policy in node.retry.0.clone() {
        let pause = Duration::from_millis(1);
        let engine = RetryPolicy::attempts(policy.max_attempts).pause(pause).backoff(1.0, pause);
        options =
            options.retry(engine.when(move |error| policy.covers(crate::kinds::fail_of(error).map(|fail| fail.kind))));
    }
    if node.cache {
        options = options.cache(CachePolicy::default());
    }
    if let Some(destinations) = &node.destinations {
        options = options.goes_to(Target::many(destinations.iter().map(|name| target(name))));
    }
    let Some(ops) = &node.on_error else { return options };
    let body = Arc::new(Body::of_handler(graph_name, &node.name, ops));
    let spec = Arc::new(Spec { graph: graph.clone(), node: node.clone(), built: Graphs::<S>::new() });
    let _ = world;
    options.on_error(move |state: Arc<S>, failure: Failure, ctx: Ctx<Arc<World>>| {
        let (body, spec) = (Arc::clone(&body), Arc::clone(&spec));
        async move {
            let kind = crate::kinds::of_node(&failure.error);
            let error = serde_json::json!({"node": &*failure.node, "kind": kind});
            let input = spec.view(&Input::State(state), &ctx);
            spec.run(&body, ctx, input, Some(error)).await
        }
    })
}

/// Returns true if a body depends only on its input and the engine: it has no counters.
fn is_replayable(graph: &Graph, node: &Node) -> bool {
    let computed = |channel: &Channel| kind(channel).is_none();
    let words = format!("{:?}", node.ops);
    !graph.channels.values().any(computed) && !["Fail", "Runs"].iter().any(|counted| words.contains(counted))
}

fn add_branch<S: CaseState>(
    builder: Builder<S>,
    graph_name: &str,
    graph: &Graph,
    at: usize,
    branch: &Branch,
) -> Builder<S> {
    let graph_name = graph_name.to_owned();
    let name = branch.name.clone().unwrap_or_else(|| format!("branch{at}"));
    let declared = match &branch.targets {
        Some(targets) if !targets.is_empty() => {
            DeclaredTargets::from(targets.iter().map(|(label, to)| (label.clone(), target(to))).collect::<Vec<_>>())
        }
        _ => DeclaredTargets::Anywhere,
    };
    let (source_name, owned, graph) = (branch.from.clone(), branch.clone(), graph.clone());
    let router = move |state: &S, world: &Arc<World>| -> Target<Name> {
        let node = graph.nodes.iter().find(|node| node.name == source_name);
        let mut values = match node {
            Some(node) => readable(&graph, node, state),
            None => state.values(&graph),
        };
        state.returned().into_iter().flatten().for_each(|(name, value)| {
            values.entry(name).or_insert_with(|| value.clone());
        });
        let now = lock(&world.computed).get(&graph_name).copied();
        add_computed(&graph, node, now.unwrap_or_default(), &mut values);
        match owned.route(&Env::over(Value::Object(values))) {
            Ok(ways) => goto(ways),
            Err(error) => Target::Node(Name::from(crate::kinds::unroutable(&error))),
        }
    };
    builder.add_branch(source(&branch.from), name, router, declared)
}

type Enter<S> = Box<dyn Fn(&S) -> Writes<S> + Send + Sync>;
/// The result of a subgraph, and the part of it that the parent takes.
type Leave<S> = Box<dyn Fn(&S) -> (Map<String, Value>, Writes<S>) + Send + Sync>;

/// Passes in the channels that both graphs have, and out the child's output channels: LangGraph's shared keys.
fn shared_keys<S: CaseState>(parent: &Graph, node: &Node, child: &Graph) -> (Enter<S>, Leave<S>) {
    let (outer, inner) = (Arc::new(parent.clone()), Arc::new(child.clone()));
    let takes = child.input.clone();
    let reads = node.input.clone();
    let gives = child.output.clone();
    let (outer_in, inner_in) = (Arc::clone(&outer), Arc::clone(&inner));
    let enter = move |state: &S| {
        let mut values = state.values(&outer_in);
        let listed = |list: &Option<Vec<String>>, name: &String| list.as_ref().is_none_or(|list| list.contains(name));
        values.retain(|name, _| listed(&takes, name) && listed(&reads, name));
        S::writes(&inner_in, &values)
    };
    let leave = move |state: &S| {
        let mut values = state.values(&inner);
        values.retain(|name, _| gives.as_ref().is_none_or(|gives| gives.contains(name)));
        let writes = S::writes(&outer, &values);
        (values, writes)
    };
    (Box::new(enter), Box::new(leave))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
