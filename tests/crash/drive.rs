//! One life of a process: it takes a thread from where it stands, answers what is asked, and goes on to the end.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use superstep::checkpoint::Checkpointer;
use superstep::graph::{
    Answer, DataState, Durability, EventKind, Mode, Name, Nested, Question, Request, RunError, StateSnapshot, Thread,
};

use crate::graphs::{Graph, Journal, draw, input};
use crate::rng::hash;

pub(crate) type DataThread = Thread<DataState, Name, Journal>;

/// A process: its own graph, its own memory of what it started, over a store that outlives it.
pub(crate) struct Life {
    pub(crate) thread: DataThread,
    pub(crate) journal: Arc<Journal>,
    graph: Graph,
    /// Whether it answers all open questions at once.
    at_once: bool,
    /// Checkpoints it was told of, with their values.
    pub(crate) told: Vec<(u64, Value)>,
}

impl Life {
    pub(crate) fn new(seed: u64, store: Arc<dyn Checkpointer>, durability: Durability, journal: Journal) -> Self {
        let graph = draw(seed).graph.with_shared_checkpointer(store);
        let journal = Arc::new(journal);
        let thread = graph.thread_with("t", Arc::clone(&journal)).durability(durability);
        Self { thread, journal, graph, at_once: seed.is_multiple_of(2), told: vec![] }
    }

    /// Lives until the thread has come to its end, and returns the final state.
    pub(crate) async fn run_through(&mut self, mut tell: impl FnMut(u64, &Value)) -> Result<Value, RunError> {
        loop {
            let request = self.next_request().await?;
            let mut events = self.thread.stream(request, [Mode::Checkpoints]);
            while let Some(event) = events.next().await {
                let EventKind::Checkpoint(made) = event.kind else { continue };
                if let (Some(id), superstep::checkpoint::Source::Loop) = (made.id, made.source) {
                    let values = made.values.json();
                    tell(id.0, &values);
                    self.told.push((id.0, values));
                }
            }
            if let Some(state) = events.outcome().await?.finished() {
                return Ok(state.to_json(self.graph.schema()));
            }
        }
    }

    async fn next_request(&self) -> Result<Request<DataState, Name>, RunError> {
        let Some(now) = self.thread.state().await? else { return Ok(Request::input(input())) };
        let open = now.questions().filter(|question| !question.is_answered()).map(answer);
        Ok(Request::answers(open.take(if self.at_once { usize::MAX } else { 1 })))
    }

    /// Every task whose result the store holds, subgraphs included.
    pub(crate) async fn acknowledged(&self) -> BTreeSet<String> {
        let Some(now) = self.thread.state_deep().await.unwrap() else { return BTreeSet::new() };
        let mut tasks = logged(&now.values.to_json(self.graph.schema()));
        for inside in now.tasks.iter().filter_map(|task| task.state.as_deref()) {
            add_nested(inside, &mut tasks);
        }
        tasks
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
