//! Plans with very many tasks: no limit is reached, and the cost of a task does not depend on the number before it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use superstep::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, Key, Lease, LeaseOwner, MemoryCheckpointer, Order,
    Receipt, Record, RowId, ThreadHead, ThreadId,
};
use superstep::graph::{EventKind, State as _};
use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::task_based::{ExecutionState, Mark, RunOutcome, graph};

use crate::agent::{Agent, approved, part, rejected};
use crate::repository::Repository;
use crate::scene::{Scene, asks, plan, profile};

/// Written bytes by purpose.
pub(crate) type WrittenBytes = BTreeMap<&'static str, usize>;

/// A store in memory that counts the bytes written to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counting {
    store: MemoryCheckpointer,
    written: Arc<Mutex<WrittenBytes>>,
}

impl Counting {
    pub(crate) fn written(&self) -> WrittenBytes {
        self.written.lock().unwrap().clone()
    }
}

/// The index of the channel that lists the tasks.
fn list() -> u32 {
    ExecutionState::channels(&()).iter().position(|channel| channel.name() == "tasks").unwrap() as u32
}

fn kind(key: &Key) -> &'static str {
    match key {
        Key::Checkpoint(_) => "checkpoints",
        Key::Task { .. } => "tasks",
        Key::Row(row) if row.task == RowId::REDUCED && row.slot == list() => "whole lists",
        Key::Row(_) => "rows",
        Key::Log { .. } => "logs",
        Key::Effect { .. } => "effects",
        _ => "others",
    }
}

impl Checkpointer for Counting {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>> {
        self.store.claim(thread, claim)
    }

    fn commit(&self, commit: Commit) -> Receipt {
        let mut written = self.written.lock().unwrap();
        for (key, value) in &commit.puts {
            *written.entry(kind(key)).or_default() += value.to_bytes().unwrap().len();
        }
        self.store.commit(commit)
    }

    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<ThreadHead>, CheckpointError>> {
        self.store.head(thread)
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        self.store.get(thread, keys)
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, CheckpointError>> {
        self.store.scan(thread, range, order, limit)
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>, CheckpointError>> {
        self.store.threads(after, limit)
    }

    fn delete_thread(&self, lease: &Lease) -> BoxFuture<'_, Result<(), CheckpointError>> {
        self.store.delete_thread(lease)
    }

    fn owner(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        self.store.owner(thread)
    }
}

/// Returns the bytes written between two moments.
pub(crate) fn between(before: &WrittenBytes, after: &WrittenBytes) -> WrittenBytes {
    after.iter().map(|(kind, bytes)| (*kind, bytes - before.get(kind).unwrap_or(&0))).collect()
}

#[tokio::test]
async fn a_hundred_and_fifty_tasks_reach_no_limit_and_each_writes_as_little() {
    const TASKS: usize = 150;
    let (store, moments) = (Counting::default(), Arc::new(Mutex::new(vec![])));
    let (counted, noted) = (store.clone(), Arc::clone(&moments));
    let agent = Agent::crew(
        move |call, folder, _| {
            if call.attempt == 1 {
                noted.lock().unwrap().push(counted.written());
            }
            part(folder, format!("{}-{}", call.task, call.attempt))
        },
        // Each fifth task is rejected once, so that there are sessions to resume and comments to store.
        |call, _| if call.task.ends_with('5') && call.attempt == 1 { rejected("thin") } else { approved() },
    );
    let graph = graph::<Arc<Agent>>().unwrap().with_checkpointer(store);
    let thread = graph.thread_with("clock", Arc::new(Arc::clone(&agent)));
    let scene = Scene { repository: Repository::new(), agent, thread };
    let state = scene.run(&plan(TASKS), profile()).await.finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits().len()), (Some(RunOutcome::Completed), TASKS));
    assert!(state.run.tasks.iter().all(|task| task.mark == Mark::Done));

    let moments = moments.lock().unwrap();
    let (first, last) = (between(&moments[2], &moments[52]), between(&moments[97], &moments[147]));
    for what in ["", "effects"] {
        let counts = |kind: &str| kind != what && kind != "whole lists";
        let all_but = |written: &WrittenBytes| written.iter().filter(|(kind, _)| counts(kind)).map(|(_, b)| b).sum();
        let (few, many): (usize, usize) = (all_but(&first), all_but(&last));
        let text = format!("bytes of 50 tasks, without {what:?}: {few} at first, {many} at last: {first:?} {last:?}");
        assert!(many.abs_diff(few) * 10 <= few, "{text}");
    }
    // The longer the list, the more rarely it is stored in full: all in all that takes as much as the changes in
    // between, and the growth of the list each time.
    let all = between(&moments[0], &moments[147]);
    assert!(all["whole lists"] * 4 <= all["logs"] * 5, "{all:?}");
}

#[tokio::test]
async fn the_length_of_a_plan_is_not_limited_by_supersteps() {
    let scene = Scene::new(Agent::willing());
    assert_eq!(asks(&scene.thread.invoke(scene.input(&plan(1), profile())).await.unwrap()), "approval");
    let answer = Request::resume::<ApprovePlan>(&Decision::approve());
    let mut events = scene.thread.stream(answer, [Mode::Tasks]);
    let mut left = vec![];
    while let Some(event) = events.next().await {
        if let EventKind::TaskStart { remaining_steps, .. } = event.kind {
            left.push(remaining_steps);
        }
    }
    // A million tasks, with a million attempts each.
    assert!(left.iter().all(|&left| left > 4_000_000_000_000), "{left:?}");
}
