//! The phases of a plan at the start of a run, and what remains of them under another plan. Pure.

use std::collections::BTreeSet;

use super::state::{Omission, PhaseState, PhaseStatus, SubtaskState};
use crate::graph::NodeError;
use crate::nodes::ApprovalJob;
use crate::plan::{Plan, Task, TaskId};
use crate::workflows::task_based::{self, ExecutionState};

/// Returns the job of the approval. A plan that replaces another may come with work that is already integrated.
pub(super) fn approval(state: &ExecutionState) -> Result<ApprovalJob, NodeError> {
    let reference = state.start.as_ref().map(|_| (state.integration_reference(), state.folder()));
    Ok(ApprovalJob { reference, ..task_based::jobs::approval(state)? })
}

/// Returns the phases of a plan. Subtasks completed or left out under the same id stay so; `skipped` ones are left out.
pub(super) fn phases(plan: &Plan, before: &[PhaseState], skipped: &BTreeSet<String>) -> Vec<PhaseState> {
    let known: Vec<&SubtaskState> = before.iter().flat_map(|phase| &phase.subtasks).collect();
    let subtask = |id: &TaskId| {
        let title = plan.tasks().find(|task| task.id == id).map(|task: Task<'_>| task.title.to_owned());
        let fresh =
            SubtaskState { subtask_id: id.to_string(), title: title.unwrap_or_default(), ..SubtaskState::default() };
        let is_skipped = skipped.contains(id.as_str());
        match known.iter().find(|known| known.subtask_id == id.as_str()) {
            Some(known) if known.is_open() && is_skipped => (*known).clone().left_out(Omission::NotApproved),
            Some(known) => SubtaskState { title: fresh.title, ..(*known).clone() },
            None if is_skipped => fresh.left_out(Omission::NotApproved),
            None => fresh,
        }
    };
    let phases = plan.phases().phases;
    let phase = |(index, ids): (usize, &Vec<TaskId>)| {
        let subtasks: Vec<SubtaskState> = ids.iter().map(subtask).collect();
        let phase_index = u32::try_from(index).unwrap_or(u32::MAX);
        let old = before.iter().find(|old| old.status == PhaseStatus::Completed && holds(old, &subtasks));
        match (old, before.get(index)) {
            (Some(old), _) => PhaseState { phase_index, subtasks, ..old.clone() },
            // Attempts are numbered on, because work is saved under their numbers.
            (None, Some(old)) if old.status == PhaseStatus::Completed => {
                PhaseState { phase_index, subtasks, attempt: old.attempt + 1, ..PhaseState::default() }
            }
            (None, Some(old)) => PhaseState { phase_index, subtasks, ..old.clone() },
            (None, None) => PhaseState { phase_index, subtasks, ..PhaseState::default() },
        }
    };
    phases.iter().enumerate().map(phase).collect()
}

/// Returns notices for the subtasks that were left out because they were not approved.
pub(super) fn not_approved(phases: &[PhaseState], before: &[PhaseState]) -> Vec<String> {
    let was_left_out = |id: &str| before.iter().filter_map(|phase| phase.subtask(id)).any(SubtaskState::is_left_out);
    let left_out = phases.iter().flat_map(|phase| &phase.subtasks).filter(|line| line.is_left_out());
    let new = left_out.filter(|line| !was_left_out(&line.subtask_id));
    new.map(|line| format!("subtask {} is left out: {}", line.subtask_id, Omission::NotApproved)).collect()
}

/// Returns notices for the subtasks that another plan drops, with the references of their work.
pub(super) fn dropped(state: &ExecutionState, phases: &[PhaseState], before: &[PhaseState]) -> Vec<String> {
    let lines = before.iter().flat_map(|phase| phase.subtasks.iter().map(move |line| (phase, line)));
    let gone = lines.filter(|(_, line)| phases.iter().all(|phase| phase.subtask(&line.subtask_id).is_none()));
    let name = |(phase, line): (&PhaseState, &SubtaskState)| {
        let name = format!("subtask {} ({})", line.subtask_id, line.title);
        if phase.status == PhaseStatus::Completed && line.status == PhaseStatus::Completed {
            return format!("the new plan does not have {name}, which is done: its commit stays");
        }
        match state.work(&line.subtask_id).salvage {
            Some(kept) => format!("the new plan drops {name}; its work is kept as {kept}"),
            None => format!("the new plan drops {name}"),
        }
    };
    gone.map(name).collect()
}

/// True if a completed phase has all these subtasks.
fn holds(phase: &PhaseState, subtasks: &[SubtaskState]) -> bool {
    subtasks.iter().all(|subtask| phase.subtask(&subtask.subtask_id).is_some())
}
