//! Graphs drawn from a seed. What a task does follows from its input alone, so however a run is cut, it can only come to
//! one end. Every task leaves a name of its own in the log, and tells the run's context when it starts.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use superstep::graph::{
    AnyQuestion, Boxed, Command, CompiledGraph, Ctx, DataSchema, DataState, END, Edges, Ended, Input, Kind, Name,
    NodeOptions, Persistence, START, StateGraph, Target, Worker, Writes,
};

use crate::rng::{Rng, hash};

pub(crate) type Graph = CompiledGraph<DataState, Name, Journal>;
type Builder = StateGraph<DataState, Name, Journal>;

pub(crate) const SEEDS: std::ops::Range<u64> = 0..20;

/// Which tasks have started; the run's context.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    started: Mutex<Vec<String>>,
    /// Told of each start at once.
    tell: Option<fn(&str)>,
}

impl Journal {
    pub(crate) fn telling(tell: fn(&str)) -> Self {
        Self { tell: Some(tell), ..Self::default() }
    }

    fn note(&self, task: &str) {
        self.started.lock().unwrap().push(task.to_owned());
        if let Some(tell) = self.tell {
            tell(task);
        }
    }

    pub(crate) fn started(&self) -> Vec<String> {
        self.started.lock().unwrap().clone()
    }
}

/// What a graph has, so that a test can tell that the seeds cover it.
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
    Loop,
}

pub(crate) struct Drawn {
    pub(crate) graph: Graph,
    pub(crate) features: BTreeSet<Feature>,
}

/// What a body does besides logging.
#[derive(Clone)]
struct Plan {
    name: String,
    schema: Arc<DataSchema>,
    yields: u64,
    questions: u64,
    goto: Option<String>,
    counts: bool,
    child: Option<Graph>,
}

pub(crate) fn input() -> Writes<DataState> {
    let input = json!({ "log": ["begin"], "sum": 1 });
    schema(&[]).writes(input.as_object().unwrap())
}

/// Values of the nodes come last, so that input fits every graph.
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
pub(crate) fn draw(seed: u64) -> Drawn {
    let mut rng = Rng::new(seed);
    let layers: Vec<Vec<String>> =
        (0..3 + rng.below(2)).map(|layer| (0..1 + rng.below(3)).map(|at| format!("n{layer}{at}")).collect()).collect();
    let inside = ["c0", "c1", "c2"].map(String::from);
    let names: Vec<String> = layers.iter().flatten().chain(&inside).cloned().collect();
    let mut drawing = Drawing { rng, schema: Arc::new(schema(&names)), features: BTreeSet::new() };
    let mut builder = drawing.nodes(&layers);
    for first in &layers[0] {
        builder = builder.add_edge(START, id(first));
    }
    for pair in layers.windows(2) {
        builder = drawing.between(builder, &pair[0], &pair[1]);
    }
    builder = drawing.ending(builder, &layers);
    Drawn { graph: builder.compile().unwrap(), features: drawing.features }
}

fn id(name: &str) -> Name {
    Name::from(name)
}

struct Drawing {
    rng: Rng,
    schema: Arc<DataSchema>,
    features: BTreeSet<Feature>,
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
        let child = 1 + self.rng.below(last as u64 - 1) as usize;
        for (layer, nodes) in layers.iter().enumerate() {
            for (at, name) in nodes.iter().enumerate() {
                builder = if layer == child && at == 0 {
                    self.child(builder, name)
                } else {
                    let counts = layer == last && at == 0;
                    self.node(builder, name, counts)
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
            goto: None,
            counts: false,
            child: None,
        }
    }

    fn node(&mut self, builder: Builder, name: &str, counts: bool) -> Builder {
        let mut plan = Plan { counts, ..self.plan(name) };
        if self.rng.once_in(4) {
            plan.questions = 1 + self.rng.below(2);
            self.has(Feature::Question);
        }
        let mut options = NodeOptions::default().asks::<AnyQuestion>();
        if self.rng.once_in(5) {
            options = options.defer();
            self.has(Feature::Defer);
        }
        builder.add_either::<Value, _, _>(id(name), body(plan), options)
    }

    /// A whole graph as a node: over the same state, or called from a body.
    fn child(&mut self, builder: Builder, name: &str) -> Builder {
        let inside = self.inside();
        if self.rng.once_in(2) {
            self.has(Feature::SharedChild);
            return builder.add_subgraph(id(name), inside);
        }
        self.has(Feature::CalledChild);
        let kept = [Persistence::Inherit, Persistence::PerThread, Persistence::Stateless];
        let inside = inside.persistence(kept[self.rng.below(3) as usize]);
        let plan = Plan { child: Some(inside.clone()), ..self.plan(name) };
        let builder = builder.add_either::<Value, _, _>(id(name), body(plan), NodeOptions::default());
        builder.calls(&id(name), &inside)
    }

    fn inside(&mut self) -> Graph {
        let mut builder = self.builder();
        let asking = self.rng.below(5);
        for (at, name) in ["c0", "c1", "c2"].iter().enumerate() {
            let mut plan = self.plan(name);
            if at as u64 == asking {
                plan.questions = 1;
                self.has(Feature::QuestionInside);
            }
            let options = NodeOptions::default().asks::<AnyQuestion>();
            builder = builder.add_either::<Value, _, _>(id(name), body(plan), options);
        }
        builder = builder.add_edge(START, id("c0"));
        builder = match self.rng.once_in(2) {
            true => builder.add_edge(START, id("c1")).add_edge(Edges::Join(vec![id("c0"), id("c1")]), id("c2")),
            false => builder.add_edge(id("c0"), Target::many([id("c1"), id("c2")])),
        };
        builder.add_edge(id("c2"), END).compile().unwrap()
    }

    /// Leads from one layer to the next.
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

    /// The first source sends to a worker, which leads on; the others are a superstep ahead of it.
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
        let options = NodeOptions::default().asks::<AnyQuestion>();
        let at = Worker::<Name, Value>::new(id(&worker));
        let mut builder = builder.add_either::<Value, _, _>(id(&worker), body(plan), options);
        builder = builder.add_conditional_edges_to(id(&from[0]), packets(&worker), at);
        if !to.is_empty() {
            builder = builder.add_edge(id(&worker), Target::many(to.to_vec()));
        }
        from[1..].iter().fold(builder, |builder, name| builder.add_edge(id(name), targets[0].clone()))
    }

    /// The last layer leads to END, its counting node perhaps back to the beginning once.
    fn ending(&mut self, mut builder: Builder, layers: &[Vec<String>]) -> Builder {
        let last = &layers[layers.len() - 1];
        for name in &last[1..] {
            builder = builder.add_edge(id(name), END);
        }
        let (first, back) = (id(&last[0]), id(&layers[0][0]));
        builder = match self.rng.once_in(3) {
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

/// Where the channels stand that routers read.
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

/// Goes back until the counting node has run twice.
fn twice(back: Name) -> impl Fn(&DataState) -> Target<Name> {
    move |state| if number(state, ROUND) < 2 { back.clone().into() } else { END.into() }
}

fn body(plan: Plan) -> impl Fn(Input<DataState, Value>, Ctx<Journal>) -> Boxed<'static, Ended<DataState, Name>> {
    move |input, ctx| Box::pin(run(plan.clone(), input, ctx))
}

async fn run(plan: Plan, input: Input<DataState, Value>, ctx: Ctx<Journal>) -> Ended<DataState, Name> {
    let seen = seen(&input, &plan.schema);
    let place = [ctx.namespace(), std::slice::from_ref(&plan.name)].concat().join("/");
    let task = format!("{place}@{} round {} sum {} part {}", ctx.step(), seen["round"], seen["sum"], seen["part"]);
    ctx.context().note(&task);
    for _ in 0..plan.yields {
        tokio::task::yield_now().await;
    }
    let mut update = Map::new();
    let mut said = vec![];
    for question in 0..plan.questions {
        said.push(ctx.interrupt(AnyQuestion(json!([task, question])))?);
    }
    if let Some(child) = &plan.child {
        let begin = json!({ "sum": seen["sum"], "round": seen["round"] });
        let left = ctx.call(child, child.schema().writes(begin.as_object().unwrap())).await?;
        let left = left.to_json(child.schema());
        said.push(json!([left["sum"], left["said"], left["log"].as_array().map_or(0, Vec::len)]));
    }
    update.insert("log".into(), json!([task]));
    update.insert("said".into(), Value::Array(said));
    update.insert("sum".into(), json!(hash(&task) % 97));
    update.insert("tags".into(), json!([hash(&task) % 5]));
    update.insert("deltas".into(), json!([task]));
    update.insert("topic".into(), json!(hash(&task) % 11));
    if plan.counts {
        update.insert("round".into(), json!(1));
    }
    if let Input::State(_) = &input {
        update.insert(format!("of_{}", plan.name), seen);
    }
    let command = Command::update(plan.schema.writes(&update));
    Ok(match plan.goto {
        Some(to) => command.goto(id(&to)),
        None => command,
    })
}

/// What of the input shows in the task's name and in what it writes.
fn seen(input: &Input<DataState, Value>, schema: &DataSchema) -> Value {
    match input {
        Input::Payload(payload) => Value::clone(payload),
        Input::State(state) => {
            let state = state.to_json(schema);
            let length = |channel: &str| state[channel].as_array().map_or(0, Vec::len);
            let (log, deltas) = (length("log"), length("deltas"));
            json!({ "sum": state["sum"], "round": state["round"], "topic": state["topic"], "log": log, "deltas": deltas })
        }
    }
}

fn declared(targets: &[Name]) -> Vec<(String, Target<Name>)> {
    targets.iter().map(|to| (format!("{to:?}"), Target::Node(to.clone()))).collect()
}
