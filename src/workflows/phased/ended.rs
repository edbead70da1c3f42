//! The state of a phase after the run was ended.

use super::state::{PhaseChange, PhaseState, PhaseStatus, SubtaskState};
use super::work::ENDED;
use crate::workflows::task_based::{ExecutionState, ExecutionStateUpdate as Update};

/// Adds the current phase to the update that ends the run.
pub(crate) fn ended_phase(state: &ExecutionState, update: Update) -> Update {
    let Some(phase) = state.current_phase() else { return update };
    let (phase, lines) = aborted(phase);
    update.phases(PhaseChange::phase(phase)).phases(PhaseChange::Subtasks(lines))
}

/// Returns a phase and its running subtasks after a person has ended the run.
pub(super) fn aborted(phase: &PhaseState) -> (PhaseState, Vec<SubtaskState>) {
    let status = if phase.status == PhaseStatus::Completed { phase.status } else { PhaseStatus::Failed };
    let is_under_way = |line: &&SubtaskState| matches!(line.status, PhaseStatus::Running | PhaseStatus::Retrying);
    let under_way = phase.subtasks.iter().filter(is_under_way).cloned();
    (PhaseState { status, ..phase.clone() }, under_way.map(|line| line.stopped(ENDED)).collect())
}
