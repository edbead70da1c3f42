//! A run as it is while a phase is worked on: what its subtasks have stored so far, labels and lines for people. Pure but for
//! the clock, which tells how long a subtask has been running.

use super::state::{PhaseChange, PhaseStatus, SubtaskState, change};
use super::subtask::{Subtask, SubtaskRun};
use super::tree::tree;
use crate::checkpoint::time::now;
use crate::graph::TaskSnapshot;
use crate::workflows::task_based::{ExecutionState, add_up};

/// Adds to the state of a run what the subtasks under way have stored so far: their beginning, and their usage.
pub fn progress(state: &mut ExecutionState, tasks: &[TaskSnapshot]) {
    let under_way = tasks.iter().filter(|task| task.result.is_none());
    let runs: Vec<&SubtaskRun> = under_way.filter_map(|task| task.state.as_ref()?.values.get()).collect();
    for run in &runs {
        state.usage += run.usage;
        add_up(&mut state.used, run.used.clone());
    }
    change(&mut state.phases, PhaseChange::Subtasks(runs.into_iter().map(line).collect()));
}

fn line(run: &SubtaskRun) -> SubtaskState {
    let line = run.subtask.line.clone();
    SubtaskState { status: PhaseStatus::Running, cost: line.cost.saturating_add(run.usage.cost), ..line }
}

/// Returns the label of a subtask: `task 2a`.
pub fn label(subtask: &Subtask) -> String {
    format!("task {}", subtask.brief.id)
}

/// Returns the tree of phases and subtasks, in lines for a live view.
pub fn board(state: &ExecutionState) -> Vec<String> {
    tree(&state.phases, Some(now()))
}
