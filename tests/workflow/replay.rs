//! A replay of a finished run: no agent is called, nothing is changed, and nothing differs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rstest::rstest;
use superstep::checkpoint::{Checkpointer, FailingCheckpointer};
use superstep::graph::replay::ReplayResult;
use superstep::graph::{Replay, VerifyVerdict};
use superstep::prelude::*;
use superstep_workflows::Profile;
use superstep_workflows::task_based::{ExecutionState, RunOutcome, graph};

use crate::agent::{Agent, approved, rejected, work};
use crate::repository::{Repository, write};
use crate::scene::{Scene, Tasks, asks, plan, profile, retry};

/// The second task is rejected once, the third twice.
fn crew() -> Arc<Agent> {
    Agent::crew(
        |call, folder, _| {
            write(folder, &format!("part-{}.txt", call.task), &format!("{}\n", call.attempt));
            work()
        },
        |call, _| {
            let rejections = call.task.parse::<u32>().unwrap() - 1;
            if call.attempt <= rejections { rejected("no") } else { approved() }
        },
    )
}

/// Everything that a replay must not change.
struct World {
    scene: Scene,
    store: Arc<FailingCheckpointer>,
}

impl World {
    /// Creates a run of three tasks: one review that rejects, one halt with a retry, checks, a final review.
    async fn finished() -> Self {
        let store = Arc::new(FailingCheckpointer::new(Arc::new(MemoryCheckpointer::new()), u64::MAX));
        let agent = crew();
        let scene = Scene { repository: Repository::new(), thread: thread(store.clone(), &agent), agent };
        let plan = plan(3).replace("Write part 2.", "Write part 2.\n\n**Verify:** `test -e part-2.txt`");
        let outcome = scene.run(&plan, Profile { final_review: true, ..profile() }).await;
        assert_eq!(asks(&outcome), "halted");
        let state = scene.halted(retry(1, "think")).await.finished().unwrap();
        assert_eq!((state.result.outcome, scene.agent.tasks("developer").len()), (Some(RunOutcome::Completed), 6));
        assert!(state.result.final_review.is_some());
        Self { scene, store }
    }

    /// Returns the number of calls, the number of commits, and every file with its time.
    fn observed(&self) -> (usize, u64, Files) {
        let count = self.scene.agent.log.lock().unwrap().len();
        (count, self.store.commits(), files(&self.scene.repository.path()))
    }

    /// Returns the checkpoint from which the second task runs the second time.
    async fn middle(&self) -> CheckpointId {
        let history = self.scene.thread.history().await.unwrap().all().await.unwrap();
        let is_there = |made: &&StateSnapshot<ExecutionState>| {
            made.values.run.current_task_index == 1 && made.next == ["developer"]
        };
        history.iter().find(is_there).unwrap().id
    }
}

fn thread(store: Arc<dyn Checkpointer>, agent: &Arc<Agent>) -> Tasks {
    let graph = graph::<Arc<Agent>>().unwrap().with_shared_checkpointer(store);
    graph.thread_with("clock", Arc::new(Arc::clone(agent)))
}

type Files = BTreeMap<PathBuf, (SystemTime, Vec<u8>)>;

/// Returns everything in a folder: folders too, since a temporary file changes their time.
fn files(folder: &Path) -> Files {
    let mut all = Files::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let about = fs::symlink_metadata(&path).unwrap();
        if about.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let bytes = if about.is_file() { fs::read(&path).unwrap() } else { vec![] };
        all.insert(path, (about.modified().unwrap(), bytes));
    }
    all
}

#[rstest]
#[tokio::test]
async fn a_replay_calls_no_agent_and_changes_nothing(
    #[values(Replay::Verify, Replay::Recorded, Replay::WhatIf)] mode: Replay,
    #[values(false, true)] from_the_middle: bool,
) {
    let world = World::finished().await;
    let before = world.observed();
    let thread = world.scene.thread.clone();
    let (thread, supersteps) = if from_the_middle { (thread.at(world.middle().await), 15) } else { (thread, 26) };
    match thread.replay(mode).await.unwrap() {
        ReplayResult::Verified(verified) => {
            assert_eq!((verified.verified, verified.verdict()), (supersteps, VerifyVerdict::Same), "{verified}");
        }
        ReplayResult::Recorded { supersteps: count } => assert_eq!(count, supersteps),
        ReplayResult::WhatIf(what_if) => {
            assert_eq!(what_if.to_string(), format!("{supersteps} supersteps run again\nreached the end"));
        }
        other => panic!("{other:?}"),
    }
    assert!(world.observed() == before, "something was asked, stored or touched");
}

#[tokio::test]
async fn a_replay_needs_neither_the_repository_nor_its_agents() {
    let World { scene, store } = World::finished().await;
    drop(scene.repository);
    let nobody = Agent::new(|call, _, _| panic!("{call:?}"));
    let verified = thread(store, &nobody).verify().await.unwrap();
    assert!(verified.agrees() && verified.not_verified.is_empty(), "{verified}");
}

#[tokio::test]
async fn the_nodes_are_replayed_in_their_order() {
    let world = World::finished().await;
    let mut events = world.scene.thread.replay(Replay::Recorded).stream([Mode::Tasks]);
    let mut nodes = String::new();
    while let Some(event) = events.next().await {
        if let (Some(node), EventKind::TaskEnd { questions, .. }) = (event.node(), &event.kind) {
            let before = if node == "developer" { "\n" } else { " " };
            nodes.push_str(&format!("{before}{node}{}", if questions.is_empty() { "" } else { "?" }));
        }
    }
    insta::assert_snapshot!(nodes.trim_start(), @r"
    plan_validator human_approval? human_approval prepare_workspace
    developer verify reviewer next_task_node
    developer verify reviewer
    developer verify reviewer next_task_node
    developer verify reviewer
    developer verify reviewer halt? halt
    developer verify reviewer finalize
    ");
}
