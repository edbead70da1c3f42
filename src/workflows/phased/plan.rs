//! The phases of a plan as a run begins them, and what another plan keeps of them. Pure.

use std::collections::BTreeSet;

use super::state::{PhaseState, PhaseStatus, SubtaskState};
use crate::plan::{Plan, Task, TaskId};

/// Returns the phases of a plan. Subtasks that are done or were left out under the same id stay so; those in `skipped` are left out.
pub(super) fn phases(plan: &Plan, before: &[PhaseState], skipped: &BTreeSet<String>) -> Vec<PhaseState> {
    let known: Vec<&SubtaskState> = before.iter().flat_map(|phase| &phase.subtasks).collect();
    let subtask = |id: &TaskId| {
        let title = plan.tasks().find(|task| task.id == id).map(|task: Task<'_>| task.title.to_owned());
        let fresh =
            SubtaskState { subtask_id: id.to_string(), title: title.unwrap_or_default(), ..SubtaskState::default() };
        match known.iter().find(|known| known.subtask_id == id.as_str()) {
            Some(known) if known.status == PhaseStatus::Completed || known.is_left_out() => {
                SubtaskState { title: fresh.title, ..(*known).clone() }
            }
            Some(known) => SubtaskState { cost: known.cost, ..fresh },
            None if skipped.contains(id.as_str()) => fresh.left_out("it was not approved"),
            None => fresh,
        }
    };
    let phases = plan.phases().phases;
    let phase = |(index, ids): (usize, &Vec<TaskId>)| {
        let subtasks: Vec<SubtaskState> = ids.iter().map(subtask).collect();
        let phase_index = u32::try_from(index).unwrap_or(u32::MAX);
        let old = before.iter().find(|old| old.status == PhaseStatus::Completed && holds(old, &subtasks));
        match old {
            Some(old) => PhaseState { phase_index, subtasks, ..old.clone() },
            None => PhaseState { phase_index, subtasks, ..PhaseState::default() },
        }
    };
    phases.iter().enumerate().map(phase).collect()
}

/// Whether a completed phase has all these subtasks.
fn holds(phase: &PhaseState, subtasks: &[SubtaskState]) -> bool {
    subtasks.iter().all(|subtask| phase.subtask(&subtask.subtask_id).is_some())
}
