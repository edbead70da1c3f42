//! A run while a phase is in progress: the values that its subtasks have stored so far, labels, and lines for people.
//! Pure except for the clock, for the duration of running subtasks.

use superstep_base::time::now;

use super::state::{PhaseChange, PhaseStatus, SubtaskState, change};
use super::subtask::{Subtask, SubtaskRun};
use super::tree::tree;
use crate::graph::TaskSnapshot;
use crate::workflows::task_based::{ExecutionState, add_up};

/// Adds the stored start and usage of running subtasks to the state of a run.
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
