//! Phases with very many subtasks: the bytes stored for a subtask do not depend on their number.

use std::sync::Arc;

use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep_workflows::Profile;
use superstep_workflows::phased::{PhaseStatus, graph};
use superstep_workflows::task_based::{ExecutionState, RunOutcome};

use crate::agent::{Agent, approved, part};
use crate::many::{Counting, WrittenBytes};
use crate::repository::Repository;

/// A plan of phases of equal width; each subtask depends on the one at its index in the phase before.
fn plan(phases: usize, width: usize) -> String {
    let task = |n: usize| {
        let on = if n > width { format!("{:03}", n - width) } else { "none".to_owned() };
        let section =
            "Print it in columns of equal width, with the times of the day as the table has them.\n".repeat(4);
        format!(
            "### Task {n:03}: Part {n:03}\n\n**Depends on:** {on}\n\n{section}\n**Verify:**\n\n- `test -f part-{n}.txt`\n\n"
        )
    };
    format!("# Clock\n\n**Goal:** A clock.\n\n{}", (1..=phases * width).map(task).collect::<String>())
}

/// Returns the bytes that a run stores, by purpose.
async fn written(phases: usize, width: usize) -> WrittenBytes {
    let (store, repository) = (Counting::default(), Repository::new());
    let agent = Agent::crew(|call, folder, _| part(folder, &call.task), |_, _| approved());
    let graph = graph::<Arc<Agent>>().unwrap().with_checkpointer(store.clone());
    let thread = graph.thread_with("clock", Arc::new(Arc::clone(&agent)));
    let profile = Profile { final_review: false, ..Profile::default() };
    let input = ExecutionState::update().working_dir(repository.path()).profile(profile);
    thread.invoke(input.plan_markdown(Some(plan(phases, width)))).await.unwrap();
    let before = store.written();
    let state = thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, state.phased.phases.len()), (Some(RunOutcome::Completed), phases));
    let mut subtasks = state.phased.phases.iter().flat_map(|phase| &phase.subtasks);
    assert!(subtasks.all(|subtask| subtask.status == PhaseStatus::Completed && subtask.commit.is_some()));
    crate::many::between(&before, &store.written())
}

/// Returns the bytes of each subtask that `many` has more than `few`.
fn each(few: (usize, usize), many: (usize, usize)) -> usize {
    (many.1 - few.1) / (many.0 - few.0)
}

async fn bytes(phases: usize, width: usize) -> (usize, usize) {
    let written = written(phases, width).await;
    (phases * width, written.values().sum())
}

#[tokio::test]
async fn a_subtask_stores_as_much_in_a_wide_phase_as_in_a_narrow_one() {
    let (five, ten, thirty) = (bytes(1, 5).await, bytes(1, 10).await, bytes(1, 30).await);
    let (few, many) = (each(five, ten), each(ten, thirty));
    assert!(many.abs_diff(few) * 10 <= few, "{few} bytes of each to ten, {many} to thirty");
}

#[tokio::test]
async fn a_subtask_stores_as_much_after_many_phases_as_after_few() {
    let (two, four, ten) = (bytes(2, 3).await, bytes(4, 3).await, bytes(10, 3).await);
    let (few, many) = (each(two, four), each(four, ten));
    assert!(many.abs_diff(few) * 10 <= few, "{few} bytes of each to four phases, {many} to ten");
}
