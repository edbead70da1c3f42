//! One life of a process: it loads a thread, answers its questions and runs it to the end.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, Source};
use superstep::graph::view::NestedSnapshot;
use superstep::graph::{
    Answer, DataState, Durability, EventKind, MemoryCache, Mode, Name, NodeCache, Question, Request, RunError,
    StateSnapshot, Thread,
};

use crate::bodies::{HANDLED, Journal};
use crate::graphs::{Feature, Graph, draw, input};
use crate::rng::hash;

/// State that outlives a process.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) store: Arc<dyn Checkpointer>,
    pub(crate) cache: Arc<dyn NodeCache>,
}

impl World {
    pub(crate) fn new(store: impl Checkpointer) -> Self {
        Self::over(Arc::new(store))
    }

    pub(crate) fn over(store: Arc<dyn Checkpointer>) -> Self {
        Self { store, cache: Arc::new(MemoryCache::default()) }
    }
}

pub(crate) type DataThread = Thread<DataState, Name, Journal>;

/// A process: its own graph and its own list of started tasks, over a store and a cache that outlive it.
pub(crate) struct Life {
    pub(crate) thread: DataThread,
    pub(crate) journal: Arc<Journal>,
    graph: Graph,
    stateful: Option<(Graph, String)>,
    stateless: bool,
    /// Set if a task may start its subgraph again.
    again: bool,
    /// Set if all open questions are answered at once.
    at_once: bool,
    /// Set if each superstep waits until it is stored.
    waits: bool,
    /// Acknowledged checkpoints, with their values.
    pub(crate) stored: Vec<(u64, Value)>,
}

impl Life {
    pub(crate) fn new(seed: u64, world: World, durability: Durability, journal: Journal) -> Self {
        let drawn = draw(seed);
        let graph = drawn.graph.with_shared_checkpointer(world.store).with_cache(world.cache);
        let journal = Arc::new(journal);
        let thread = graph.thread_with("t", Arc::clone(&journal)).durability(durability);
        let has = |feature| drawn.features.contains(&feature);
        let (stateless, again, at_once) = (has(Feature::Stateless), has(Feature::CalledAgain), seed.is_multiple_of(2));
        let waits = durability == Durability::Sync;
        Self { thread, journal, graph, stateful: drawn.stateful, stateless, again, at_once, waits, stored: vec![] }
    }

    /// Runs the thread to its end and returns the final state. Reports acknowledged checkpoints: each when it is made
    /// if the run waits for its store, else all at the end of the run.
    pub(crate) async fn run_through(&mut self, mut report: impl FnMut(u64, &Value)) -> Result<Value, RunError> {
        loop {
            let request = self.next_request().await?;
            let mut events = self.thread.stream(request, [Mode::Checkpoints]);
            let mut made = vec![];
            while let Some(event) = events.next().await {
                made.extend(looped(event.kind));
                if self.waits {
                    self.stored.extend(made.drain(..).inspect(|(id, values)| report(*id, values)));
                }
            }
            let outcome = events.outcome().await?;
            self.stored.extend(made.drain(..).inspect(|(id, values)| report(*id, values)));
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

    /// Returns the tasks with a stored result and the bodies with an interrupted handler, subgraphs included.
    pub(crate) async fn acknowledged(&self) -> BTreeSet<String> {
        let Some(now) = self.thread.state_deep().await.unwrap() else { return BTreeSet::new() };
        let mut tasks = logged(&now.values.to_json(self.graph.schema()));
        tasks.extend(self.handled(now.questions().map(|question| question.json()[0].as_str().unwrap().to_owned())));
        for inside in now.tasks.iter().filter_map(|task| task.state.as_deref()).filter(|_| !self.again) {
            add_nested(inside, &mut tasks);
        }
        tasks
    }

    /// Returns the bodies whose handlers these are; a subgraph that restarts loses that its handlers started.
    pub(crate) fn handled(&self, handlers: impl IntoIterator<Item = String>) -> impl Iterator<Item = String> {
        let forgets = |task: &str| (self.stateless || self.again) && task.contains('/');
        let bodies = handlers.into_iter().filter_map(|task| task.strip_suffix(HANDLED).map(str::to_owned));
        bodies.filter(move |task| !forgets(task))
    }

    /// Returns the subgraph's own state.
    pub(crate) async fn subgraph_state(&self) -> Option<Value> {
        let (child, node) = self.stateful.as_ref()?;
        let now = self.thread.subgraph(child, [node]).state().await.unwrap()?;
        Some(now.values.to_json(child.schema()))
    }

    /// Returns the stored history of the thread.
    pub(crate) async fn past(&self) -> Past {
        let all = self.thread.history().await.unwrap().all().await.unwrap();
        let values = |made: &StateSnapshot<DataState>| made.values.to_json(self.graph.schema());
        Past(all.iter().map(|made| (made.id.0, made.parent.map(|id| id.0), made.step, values(made))).collect())
    }
}

/// Checkpoints, newest first: number, parent, step, values.
pub(crate) struct Past(Vec<(u64, Option<u64>, i64, Value)>);

impl Past {
    /// Returns the newest state and its ancestors, newest first.
    pub(crate) fn ancestors(&self) -> Vec<(i64, &Value)> {
        let mut ancestors = vec![];
        let mut next = self.0.first().map(|newest| newest.0);
        for (id, parent, step, values) in &self.0 {
            if Some(*id) == next {
                ancestors.push((*step, values));
                next = *parent;
            }
        }
        ancestors
    }

    /// Asserts that each of these checkpoints is stored once, with these values.
    pub(crate) fn assert_holds(&self, acknowledged: &[(u64, Value)]) {
        for (id, values) in acknowledged {
            let found: Vec<&Value> = self.0.iter().filter(|made| made.0 == *id).map(|made| &made.3).collect();
            assert_eq!(found, [values], "checkpoint {id} was acknowledged");
        }
    }
}

/// Returns the number and values of a checkpoint that a superstep made.
fn looped(event: EventKind) -> Option<(u64, Value)> {
    let EventKind::Checkpoint(made) = event else { return None };
    made.id.filter(|_| made.source == Source::Loop).map(|id| (id.0, made.values.json()))
}

/// Returns the answer to a question, the same in every life.
fn answer(question: &Question) -> Answer {
    Answer::json(&json!(hash(&question.json().to_string()) % 1000)).to(question.id())
}

pub(crate) fn logged(values: &Value) -> BTreeSet<String> {
    let log = values["log"].as_array().cloned().unwrap_or_default();
    log.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn add_nested(inside: &NestedSnapshot, tasks: &mut BTreeSet<String>) {
    tasks.extend(logged(&inside.values.json()));
    for deeper in inside.tasks.iter().filter_map(|task| task.state.as_deref()) {
        add_nested(deeper, tasks);
    }
}
