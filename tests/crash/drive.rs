//! One life of a process: it takes a thread from where it stands, answers what is asked, and goes on to the end.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, Source};
use superstep::graph::{
    Answer, DataState, Durability, EventKind, MemoryCache, Mode, Name, Nested, NodeCache, Question, Request, RunError,
    StateSnapshot, Thread,
};

use crate::bodies::{HANDLED, Journal};
use crate::graphs::{Feature, Graph, draw, input};
use crate::rng::hash;

/// What outlives a process.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) store: Arc<dyn Checkpointer>,
    pub(crate) cache: Arc<dyn NodeCache>,
}

impl World {
    pub(crate) fn new(store: impl Checkpointer) -> Self {
        Self { store: Arc::new(store), cache: Arc::new(MemoryCache::default()) }
    }
}

pub(crate) type DataThread = Thread<DataState, Name, Journal>;

/// A process: its own graph, its own memory of what it started, over a store and a cache that outlive it.
pub(crate) struct Life {
    pub(crate) thread: DataThread,
    pub(crate) journal: Arc<Journal>,
    graph: Graph,
    keeper: Option<(Graph, String)>,
    stateless: bool,
    /// Whether a task may begin its subgraph again.
    anew: bool,
    /// Whether it answers all open questions at once.
    at_once: bool,
    /// Whether each superstep waits until it is stored.
    waits: bool,
    /// Checkpoints it was told of, with their values.
    pub(crate) told: Vec<(u64, Value)>,
}

impl Life {
    pub(crate) fn new(seed: u64, world: World, durability: Durability, journal: Journal) -> Self {
        let drawn = draw(seed);
        let graph = drawn.graph.with_shared_checkpointer(world.store).with_cache(world.cache);
        let journal = Arc::new(journal);
        let thread = graph.thread_with("t", Arc::clone(&journal)).durability(durability);
        let has = |feature| drawn.features.contains(&feature);
        let (stateless, anew, at_once) = (has(Feature::Stateless), has(Feature::CalledAnew), seed.is_multiple_of(2));
        let waits = durability == Durability::Sync;
        Self { thread, journal, graph, keeper: drawn.keeper, stateless, anew, at_once, waits, told: vec![] }
    }

    /// Lives until the thread has come to its end, and returns the final state. Tells of what is acknowledged: a checkpoint
    /// when it is made if the run waits for its store, else at the end of the run that made it.
    pub(crate) async fn run_through(&mut self, mut tell: impl FnMut(u64, &Value)) -> Result<Value, RunError> {
        loop {
            let request = self.next_request().await?;
            let mut events = self.thread.stream(request, [Mode::Checkpoints]);
            let mut made = vec![];
            while let Some(event) = events.next().await {
                made.extend(looped(event.kind));
                if self.waits {
                    self.told.extend(made.drain(..).inspect(|(id, values)| tell(*id, values)));
                }
            }
            let outcome = events.outcome().await?;
            self.told.extend(made.drain(..).inspect(|(id, values)| tell(*id, values)));
            if let Some(state) = outcome.finished() {
                return Ok(state.to_json(self.graph.schema()));
            }
        }
    }

    async fn next_request(&self) -> Result<Request<DataState, Name>, RunError> {
        let Some(now) = self.thread.state().await? else { return Ok(Request::input(input())) };
        let open = now.questions().filter(|question| !question.is_answered()).map(answer);
        Ok(Request::answers(open.take(if self.at_once { usize::MAX } else { 1 })))
    }

    /// Every task whose result the store holds, and every body in whose place it knows a handler to ask; subgraphs included.
    pub(crate) async fn acknowledged(&self) -> BTreeSet<String> {
        let Some(now) = self.thread.state_deep().await.unwrap() else { return BTreeSet::new() };
        let mut tasks = logged(&now.values.to_json(self.graph.schema()));
        tasks.extend(self.handled(now.questions().map(|question| question.json()[0].as_str().unwrap().to_owned())));
        for inside in now.tasks.iter().filter_map(|task| task.state.as_deref()).filter(|_| !self.anew) {
            add_nested(inside, &mut tasks);
        }
        tasks
    }

    /// The tasks of bodies in whose place these handlers began; a subgraph that begins again forgets that they did.
    pub(crate) fn handled(&self, handlers: impl IntoIterator<Item = String>) -> impl Iterator<Item = String> {
        let forgets = |task: &str| (self.stateless || self.anew) && task.contains('/');
        let bodies = handlers.into_iter().filter_map(|task| task.strip_suffix(HANDLED).map(str::to_owned));
        bodies.filter(move |task| !forgets(task))
    }

    /// The state that a subgraph keeps of its own.
    pub(crate) async fn kept_inside(&self) -> Option<Value> {
        let (child, node) = self.keeper.as_ref()?;
        let now = self.thread.subgraph(child, [node]).state().await.unwrap()?;
        Some(now.values.to_json(child.schema()))
    }

    /// Everything the store holds of the thread's past.
    pub(crate) async fn past(&self) -> Past {
        let all = self.thread.history().await.unwrap().all().await.unwrap();
        let values = |made: &StateSnapshot<DataState>| made.values.to_json(self.graph.schema());
        Past(all.iter().map(|made| (made.id.0, made.parent.map(|id| id.0), made.step, values(made))).collect())
    }
}

/// Checkpoints, newest first: number, parent, step, values.
pub(crate) struct Past(Vec<(u64, Option<u64>, i64, Value)>);

impl Past {
    /// The states on the way to where the thread stands, newest first.
    pub(crate) fn way(&self) -> Vec<(i64, &Value)> {
        let mut way = vec![];
        let mut next = self.0.first().map(|newest| newest.0);
        for (id, parent, step, values) in &self.0 {
            if Some(*id) == next {
                way.push((*step, values));
                next = *parent;
            }
        }
        way
    }

    /// Asserts that every checkpoint that somebody was told of is there once, with the values that were told.
    pub(crate) fn assert_holds(&self, told: &[(u64, Value)]) {
        for (id, values) in told {
            let found: Vec<&Value> = self.0.iter().filter(|made| made.0 == *id).map(|made| &made.3).collect();
            assert_eq!(found, [values], "checkpoint {id} was acknowledged");
        }
    }
}

/// The number and the values of a checkpoint that a superstep made.
fn looped(event: EventKind) -> Option<(u64, Value)> {
    let EventKind::Checkpoint(made) = event else { return None };
    made.id.filter(|_| made.source == Source::Loop).map(|id| (id.0, made.values.json()))
}

/// The same question gets the same answer in every life.
fn answer(question: &Question) -> Answer {
    Answer::json(&json!(hash(&question.json().to_string()) % 1000)).to(question.id())
}

pub(crate) fn logged(values: &Value) -> BTreeSet<String> {
    let log = values["log"].as_array().cloned().unwrap_or_default();
    log.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn add_nested(inside: &Nested, tasks: &mut BTreeSet<String>) {
    tasks.extend(logged(&inside.values.json()));
    for deeper in inside.tasks.iter().filter_map(|task| task.state.as_deref()) {
        add_nested(deeper, tasks);
    }
}
