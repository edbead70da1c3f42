//! The state of a phase that has ended.

use super::state::{PhaseChange, PhaseState, PhaseStatus, SubtaskState};
use super::work::ENDED;
use crate::workflows::task_based::{ExecutionState, ExecutionStateUpdate as Update};

/// Adds to the end of a run what becomes of the phase in work.
pub(crate) fn ended_phase(state: &ExecutionState, update: Update) -> Update {
    let Some(phase) = state.current_phase() else { return update };
    let (phase, lines) = over(phase);
    update.phases(PhaseChange::phase(phase)).phases(PhaseChange::Subtasks(lines))
}

/// A phase, and those of its subtasks that were under way, once a person has ended the run.
pub(super) fn over(phase: &PhaseState) -> (PhaseState, Vec<SubtaskState>) {
    let status = if phase.status == PhaseStatus::Completed { phase.status } else { PhaseStatus::Failed };
    let is_under_way = |line: &&SubtaskState| matches!(line.status, PhaseStatus::Running | PhaseStatus::Retrying);
    let under_way = phase.subtasks.iter().filter(is_under_way).cloned();
    (PhaseState { status, ..phase.clone() }, under_way.map(|line| line.stopped(ENDED)).collect())
}
