//! A run while a phase is in progress: the values that its subtasks have stored so far, and labels. Pure except for the clock, for
//! the duration of running subtasks.
//! Small because the tree of phases is data of `phases`.

use superstep_base::time::now;

use crate::agent::add_up;
use crate::phases::{PhaseChange, PhaseStatus, Subtask, SubtaskRun, SubtaskState, change_phases, phase_tree};
use crate::task_based::ExecutionState;
use superstep::graph::view::TaskSnapshot;

/// Adds the stored start and usage of running subtasks to the state of a run.
pub fn progress(state: &mut ExecutionState, tasks: &[TaskSnapshot]) {
    let under_way = tasks.iter().filter(|task| task.result.is_none());
    let runs: Vec<&SubtaskRun> = under_way.filter_map(|task| task.state.as_ref()?.values.get()).collect();
    for run in &runs {
        state.result.usage += run.usage;
        add_up(&mut state.result.used, run.used.clone());
    }
    change_phases(&mut state.phased.phases, PhaseChange::Subtasks(runs.into_iter().map(running).collect()));
}

fn running(run: &SubtaskRun) -> SubtaskState {
    let line = run.subtask.line.clone();
    SubtaskState { status: PhaseStatus::Running, cost: line.cost.saturating_add(run.usage.cost), ..line }
}

/// Returns the label of a subtask: `task 2a`.
pub fn label(subtask: &Subtask) -> String {
    format!("task {}", subtask.brief.id)
}

/// Returns the tree of phases and subtasks, in lines for a live view.
pub fn board(state: &ExecutionState) -> Vec<String> {
    phase_tree(&state.phased.phases, Some(now()))
}
