//! Graphs drawn from a seed. The result of a task follows from its input alone, so a run has one possible end, however
//! it is cut.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::graph::build::Edges;
use superstep::graph::interrupt::AnyQuestion;
use superstep::graph::node::NodeOptions;
use superstep::graph::state::Kind;
use superstep::graph::{
    CachePolicy, CompiledGraph, DataSchema, DataState, END, Name, Persistence, RetryPolicy, START, StateGraph, Target,
    Worker, Writes,
};

use crate::bodies::{FailureMode, Journal, Plan, body, handler};
use crate::rng::Rng;

pub(crate) type Graph = CompiledGraph<DataState, Name, Journal>;
type Builder = StateGraph<DataState, Name, Journal>;
type Options = NodeOptions<DataState, Name, Journal>;

pub(crate) const SEEDS: std::ops::Range<u64> = 0..20;

/// Features of a graph, to check that the seeds cover all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feature {
    Join,
    Router,
    Sends,
    Goto,
    Defer,
    Question,
    Breakpoint,
    SharedChild,
    CalledChild,
    QuestionInside,
    OwnState,
    Stateless,
    Retry,
    Handler,
    HandlerAsks,
    HandlerCalls,
    FailureInside,
    /// An attempt calls the child graph of the previous attempt again.
    CalledAgain,
    Cache,
    Loop,
}

pub(crate) struct RandomGraph {
    pub(crate) graph: Graph,
    pub(crate) features: BTreeSet<Feature>,
    /// A subgraph with its own state, and its node.
    pub(crate) stateful: Option<(Graph, String)>,
}

pub(crate) fn input() -> Writes<DataState> {
    let input = json!({ "log": ["begin"], "sum": 1 });
    schema(&[]).writes(input.as_object().unwrap())
}

/// Channels of the nodes come last, so that the input fits every graph.
fn schema(nodes: &[String]) -> DataSchema {
    let fixed = [
        ("log", Kind::Append),
        ("said", Kind::Append),
        ("sum", Kind::Add),
        ("round", Kind::Add),
        ("tags", Kind::Union),
        ("deltas", Kind::DeltaAppend),
        ("topic", Kind::Topic { accumulate: false }),
    ];
    let fixed = fixed.map(|(name, kind)| (name.to_owned(), kind));
    let own = nodes.iter().map(|node| (format!("of_{node}"), Kind::LastValue));
    DataSchema::new(fixed.into_iter().chain(own)).unwrap()
}

/// Draws a graph.
pub(crate) fn draw(seed: u64) -> RandomGraph {
    let mut rng = Rng::new(seed);
    let layers: Vec<Vec<String>> =
        (0..3 + rng.below(2)).map(|layer| (0..1 + rng.below(3)).map(|at| format!("n{layer}{at}")).collect()).collect();
    let inside = ["c0", "c1", "c2"].map(String::from);
    let names: Vec<String> = layers.iter().flatten().chain(&inside).cloned().collect();
    let mut drawing = Drawing { rng, schema: Arc::new(schema(&names)), features: BTreeSet::new(), stateful: None };
    let mut builder = drawing.nodes(&layers);
    for first in &layers[0] {
        builder = builder.add_edge(START, id(first));
    }
    for pair in layers.windows(2) {
        builder = drawing.between(builder, &pair[0], &pair[1]);
    }
    builder = drawing.ending(builder, &layers);
    RandomGraph { graph: builder.compile().unwrap(), features: drawing.features, stateful: drawing.stateful }
}

fn id(name: &str) -> Name {
    Name::from(name)
}

fn with_questions() -> Options {
    NodeOptions::default().asks::<AnyQuestion>()
}

struct Drawing {
    rng: Rng,
    schema: Arc<DataSchema>,
    features: BTreeSet<Feature>,
    stateful: Option<(Graph, String)>,
}

impl Drawing {
    fn has(&mut self, feature: Feature) {
        self.features.insert(feature);
    }

    fn builder(&self) -> Builder {
        StateGraph::with_schema(DataSchema::clone(&self.schema))
    }

    fn nodes(&mut self, layers: &[Vec<String>]) -> Builder {
        let mut builder = self.builder();
        let last = layers.len() - 1;
        let child = 1 + self.rng.index(last - 1);
        for (layer, nodes) in layers.iter().enumerate() {
            for (at, name) in nodes.iter().enumerate() {
                let onward = layers.get(layer + 1).map(|next| next[0].as_str());
                builder = if layer == child && at == 0 {
                    self.child(builder, name, onward)
                } else {
                    self.node(builder, name, onward, layer == last && at == 0)
                };
            }
        }
        builder
    }

    fn plan(&mut self, name: &str) -> Plan {
        Plan {
            name: name.to_owned(),
            schema: Arc::clone(&self.schema),
            yields: self.rng.below(4),
            questions: 0,
            fails: FailureMode::Never,
            cached: false,
            goto: None,
            counts: false,
            child: None,
        }
    }

    /// Adds a node; `onward` is the target of its handler.
    fn node(&mut self, builder: Builder, name: &str, onward: Option<&str>, counts: bool) -> Builder {
        let mut plan = Plan { counts, ..self.plan(name) };
        if self.rng.once_in(4) {
            plan.questions = 1 + self.rng.below(2);
            self.has(Feature::Question);
        }
        let mut options = with_questions();
        if self.rng.once_in(5) {
            options = options.defer();
            self.has(Feature::Defer);
        }
        if !counts {
            options = self.fault(&mut plan, options, onward);
        }
        builder.add_either::<Value, _, _>(id(name), body(plan), options)
    }

    /// Makes some nodes fail, and some use the cache.
    fn fault(&mut self, plan: &mut Plan, options: Options, onward: Option<&str>) -> Options {
        match self.rng.below(8) {
            0 => self.retried(plan, FailureMode::AtOnce, options),
            1 => self.retried(plan, FailureMode::Answered, options),
            2 => self.handled(plan, options, onward),
            3 => self.cached(plan, options),
            _ => options,
        }
    }

    fn retried(&mut self, plan: &mut Plan, fails: FailureMode, options: Options) -> Options {
        self.has(Feature::Retry);
        plan.fails = fails;
        options.retry(RetryPolicy::attempts(2).pause(Duration::ZERO))
    }

    fn cached(&mut self, plan: &mut Plan, options: Options) -> Options {
        self.has(Feature::Cache);
        plan.cached = true;
        options.cache(CachePolicy::default().key(&plan.name)).reads([] as [&str; 0])
    }

    /// Adds a handler, which makes the body's calls.
    fn handled(&mut self, plan: &mut Plan, mut options: Options, onward: Option<&str>) -> Options {
        self.has(Feature::Handler);
        if self.rng.once_in(2) {
            options = self.retried(plan, FailureMode::Always, options);
        }
        plan.fails = FailureMode::Always;
        let mut handler_plan = Plan { fails: FailureMode::Never, goto: onward.map(str::to_owned), ..plan.clone() };
        handler_plan.questions = self.rng.below(2);
        if handler_plan.questions > 0 {
            self.has(Feature::HandlerAsks);
        }
        options.on_error(handler(handler_plan))
    }

    /// Adds a graph as a node: with the same state, or called from a body or its handler.
    fn child(&mut self, builder: Builder, name: &str, onward: Option<&str>) -> Builder {
        let quiet = self.rng.once_in(3);
        let inside = self.inside(quiet);
        let inside = self.persistence(name, inside);
        if self.rng.once_in(2) {
            self.has(Feature::SharedChild);
            return builder.add_subgraph(id(name), inside);
        }
        self.has(Feature::CalledChild);
        let mut plan = Plan { child: Some(inside.clone()), ..self.plan(name) };
        let options = match self.rng.below(3) {
            _ if quiet => {
                self.has(Feature::CalledAgain);
                self.retried(&mut plan, FailureMode::Called, with_questions())
            }
            0 => self.retried(&mut plan, FailureMode::AtOnce, with_questions()),
            1 => {
                self.has(Feature::HandlerCalls);
                self.handled(&mut plan, with_questions(), onward)
            }
            _ => with_questions(),
        };
        let builder = builder.add_either::<Value, _, _>(id(name), body(plan), options);
        builder.calls(&id(name), &inside)
    }

    fn persistence(&mut self, node: &str, child: Graph) -> Graph {
        match self.rng.below(3) {
            0 => child,
            1 => {
                self.has(Feature::OwnState);
                let child = child.persistence(Persistence::PerThread);
                self.stateful = Some((child.clone(), node.to_owned()));
                child
            }
            _ => {
                self.has(Feature::Stateless);
                child.persistence(Persistence::Stateless)
            }
        }
    }

    /// Draws a child graph. If each attempt calls it again it may not interrupt: the run would never end.
    fn inside(&mut self, quiet: bool) -> Graph {
        let mut builder = self.builder();
        let asks = if quiet { u64::MAX } else { self.rng.below(5) };
        let fails = self.rng.below(6);
        for (at, name) in ["c0", "c1", "c2"].iter().enumerate() {
            let mut plan = self.plan(name);
            if at as u64 == asks {
                plan.questions = 1;
                self.has(Feature::QuestionInside);
            }
            let options = if at as u64 == fails { self.fault_inside(&mut plan, quiet) } else { with_questions() };
            builder = builder.add_either::<Value, _, _>(id(name), body(plan), options);
        }
        builder = builder.add_edge(START, id("c0"));
        builder = match self.rng.once_in(2) {
            true => builder.add_edge(START, id("c1")).add_edge(Edges::Join(vec![id("c0"), id("c1")]), id("c2")),
            false => builder.add_edge(id("c0"), Target::many([id("c1"), id("c2")])),
        };
        builder.add_edge(id("c2"), END).compile().unwrap()
    }

    fn fault_inside(&mut self, plan: &mut Plan, quiet: bool) -> Options {
        self.has(Feature::FailureInside);
        match self.rng.below(3) {
            _ if quiet => self.retried(plan, FailureMode::AtOnce, with_questions()),
            0 => self.retried(plan, FailureMode::AtOnce, with_questions()),
            1 => self.retried(plan, FailureMode::Answered, with_questions()),
            _ => self.handled(plan, with_questions(), Some("c2").filter(|to| *to != plan.name)),
        }
    }

    /// Adds edges from one layer to the next.
    fn between(&mut self, mut builder: Builder, from: &[String], to: &[String]) -> Builder {
        let targets: Vec<Name> = to.iter().map(|name| id(name)).collect();
        match self.rng.below(5) {
            0 if from.len() > 1 => {
                self.has(Feature::Join);
                let sources: Vec<Name> = from.iter().map(|name| id(name)).collect();
                targets.into_iter().fold(builder, |builder, to| builder.add_edge(Edges::Join(sources.clone()), to))
            }
            1 if to.len() > 1 => {
                self.has(Feature::Router);
                for name in from {
                    builder = builder.add_conditional_edges_to(id(name), by_sum(targets.clone()), declared(&targets));
                }
                builder
            }
            2 => self.sends(builder, from, &targets),
            _ => from.iter().fold(builder, |builder, name| builder.add_edge(id(name), Target::many(targets.clone()))),
        }
    }

    /// Makes the first source send to a worker, which leads on; the other sources are one superstep ahead.
    fn sends(&mut self, builder: Builder, from: &[String], targets: &[Name]) -> Builder {
        self.has(Feature::Sends);
        let worker = format!("w_{}", from[0]);
        let mut plan = self.plan(&worker);
        if self.rng.once_in(2) {
            plan.goto = Some(format!("{:?}", targets[0]));
            self.has(Feature::Goto);
        }
        let to = match plan.goto {
            Some(_) => &targets[1..],
            None => targets,
        };
        let onward = format!("{:?}", targets[0]);
        let options = self.fault(&mut plan, with_questions(), Some(&onward));
        let at = Worker::<Name, Value>::new(id(&worker));
        let mut builder = builder.add_either::<Value, _, _>(id(&worker), body(plan), options);
        builder = builder.add_conditional_edges_to(id(&from[0]), packets(&worker), at);
        if !to.is_empty() {
            builder = builder.add_edge(id(&worker), Target::many(to.to_vec()));
        }
        from[1..].iter().fold(builder, |builder, name| builder.add_edge(id(name), targets[0].clone()))
    }

    /// Adds edges to END; the counting node may loop back once.
    fn ending(&mut self, mut builder: Builder, layers: &[Vec<String>]) -> Builder {
        let last = &layers[layers.len() - 1];
        for name in &last[1..] {
            builder = builder.add_edge(id(name), END);
        }
        let (first, back) = (id(&last[0]), id(&layers[0][0]));
        let twice_through = self.features.contains(&Feature::OwnState) || self.features.contains(&Feature::Cache);
        builder = match self.rng.once_in(3) || twice_through {
            true => {
                self.has(Feature::Loop);
                builder.add_conditional_edges_to(first, twice(back.clone()), declared(&[back]))
            }
            false => builder.add_edge(first, END),
        };
        if self.rng.once_in(3) {
            self.has(Feature::Breakpoint);
            builder = builder.interrupt_before([id(&layers[1][0])]).interrupt_after([id(&layers[0][0])]);
        }
        builder
    }
}

/// Indexes of the channels that routers read.
const SUM: usize = 2;
const ROUND: usize = 3;

fn number(state: &DataState, channel: usize) -> u64 {
    state.get(channel).and_then(Value::as_u64).unwrap_or_default()
}

fn by_sum(targets: Vec<Name>) -> impl Fn(&DataState) -> Target<Name> {
    move |state| targets[number(state, SUM) as usize % targets.len()].clone().into()
}

fn packets(worker: &str) -> impl Fn(&DataState) -> Target<Name> + use<> {
    let to = Worker::<Name, Value>::new(id(worker));
    move |state| {
        let (round, sum) = (number(state, ROUND), number(state, SUM));
        to.each((0..1 + sum % 3).map(|part| json!({ "part": part, "round": round, "sum": sum }))).into()
    }
}

/// Returns a router that loops back until the counting node has run twice.
fn twice(back: Name) -> impl Fn(&DataState) -> Target<Name> {
    move |state| if number(state, ROUND) < 2 { back.clone().into() } else { END.into() }
}

fn declared(targets: &[Name]) -> Vec<(String, Target<Name>)> {
    targets.iter().map(|to| (format!("{to:?}"), Target::Node(to.clone()))).collect()
}
