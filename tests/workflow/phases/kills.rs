//! Kills while a subtask ends: its work can still be accepted.

use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, FailingCheckpointer};
use superstep::nodes::{AfterHalt, ApprovePlan};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::phased::{PhaseStep, graph};
use superstep_workflows::task_based::ExecutionState;

use crate::phases::stage::{Cast, RunResult, Stage, halt, plan, profile, verified};

/// One subtask whose command fails.
fn failing() -> String {
    verified(&plan(&[("1", "none")]), "1", "exit 1")
}

struct KilledRun {
    stage: Stage,
    agents: Arc<Cast>,
    store: Arc<MemoryCheckpointer>,
}

impl KilledRun {
    /// A run whose process dies at a write to its store.
    fn at(write: u64) -> (Self, Arc<FailingCheckpointer>) {
        let agents = Cast::developers(|call| async move { Ok(call.part()) });
        let store = Arc::new(MemoryCheckpointer::new());
        let failing = Arc::new(FailingCheckpointer::new(store.clone(), write));
        let mut stage = Stage::new(&agents);
        stage.thread = thread(failing.clone(), &agents);
        (Self { stage, agents, store }, failing)
    }

    /// Runs until the subtask halts.
    async fn halts(&self) -> Result<RunResult, RunError> {
        self.stage.thread.invoke(self.stage.input(&failing(), profile())).await?;
        self.stage.thread.resume::<ApprovePlan>(Decision::approve()).await
    }
}

fn thread(store: Arc<dyn Checkpointer>, agents: &Arc<Cast>) -> Thread<ExecutionState, PhaseStep, Arc<Cast>> {
    graph::<Arc<Cast>>().unwrap().with_shared_checkpointer(store).thread_with("clock", Arc::new(Arc::clone(agents)))
}

/// Returns a run that was killed at a write, and whether its worktree still exists.
async fn killed_at(write: u64) -> (KilledRun, bool) {
    let (killed, _) = KilledRun::at(write);
    killed.halts().await.unwrap_err();
    let is_there = killed.stage.repository.git(&["worktree", "list"]).contains("phase-1-attempt-1-task-1");
    (killed, is_there)
}

#[tokio::test]
async fn work_of_a_failed_subtask_is_accepted_after_a_kill_at_its_end() {
    let (whole, writes) = KilledRun::at(u64::MAX);
    whole.halts().await.unwrap();
    let (mut before, mut after) = (writes.commits() / 2, writes.commits());
    assert!(killed_at(before).await.1 && !killed_at(after).await.1);
    while after - before > 1 {
        let middle = before.midpoint(after);
        if killed_at(middle).await.1 { before = middle } else { after = middle }
    }
    for at in before..after + 2 {
        let (mut killed, _) = killed_at(at).await;
        killed.stage.thread = thread(killed.store.clone(), &killed.agents);
        let outcome = killed.stage.thread.proceed().await.unwrap();
        let salvage = serde_json::to_value(halt(&outcome)).unwrap()["salvage"].clone();
        assert_eq!(salvage, serde_json::json!(["refs/superstep/clock/phase-1/attempt-1/task-1"]), "write {at}");
        killed.stage.halted(AfterHalt::Accept).await.finished().unwrap_or_else(|| panic!("write {at}"));
        assert_eq!(killed.stage.commits(), ["1 1"]);
        killed.stage.tidy();
    }
}
