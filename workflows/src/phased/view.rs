//! Queries on the state for the jobs, updates and routers of phases: the current phase, the phases of a plan and what remains
//! of them under another one or after the run was ended. Pure.

use std::collections::BTreeSet;
use std::path::PathBuf;

use superstep_base::gather;

use crate::phases::{Omission, PhaseState, PhaseStatus, SubtaskState, SubtaskWork};
use crate::task_based::{self, ExecutionState};
use superstep::graph::NodeError;
use superstep::nodes::__private::KeptPart;
use superstep::nodes::{ApprovalJob, Base, EventPlace};
use superstep::plan::{Plan, Task, TaskId};
use superstep::workspace::branch_name;

impl ExecutionState {
    /// Returns the current phase; an empty one if there is none.
    pub(super) fn this_phase(&self) -> PhaseState {
        self.current_phase().cloned().unwrap_or_default()
    }

    pub(super) fn work(&self, id: &str) -> SubtaskWork {
        self.phased.works.get(id).cloned().unwrap_or_default()
    }

    /// Returns the index of the next phase: the first one after the current one that is not closed.
    pub(super) fn next_phase(&self) -> Option<u32> {
        self.phased
            .phases
            .iter()
            .find(|phase| phase.phase_index > self.phased.phase_index && !phase.is_closed())
            .map(index)
    }

    /// Returns the position of the run's branch at the start of the current phase.
    pub(super) fn phase_base(&self) -> Result<Base, NodeError> {
        let base = self.phased.phase.base.clone().or_else(|| self.run.start.clone());
        base.ok_or_else(|| NodeError::permanent("the repository was not prepared before a phase began"))
    }

    /// Returns the folder of the run's worktrees. Each branch belongs to one run.
    pub(super) fn worktrees(&self) -> PathBuf {
        self.home().join("worktrees").join(self.branch_folder())
    }

    /// Returns the branch as the name of a folder; unique for each branch.
    fn branch_folder(&self) -> String {
        let branch = self.run.start.as_ref().and_then(|start| start.at.branch.clone()).unwrap_or_default();
        branch_name(&branch).replacen("superstep/", "", 1)
    }

    /// Returns the private reference that earlier versions used for the integration.
    pub(super) fn integration_reference(&self) -> String {
        format!("refs/superstep/integration/{}", self.branch_folder())
    }

    /// Returns the folder of the worktree in which the phase is integrated.
    pub(super) fn integration_folder(&self) -> PathBuf {
        let phase = self.this_phase();
        self.worktrees().join(format!("phase-{}-attempt-{}-integration", phase.phase_index + 1, phase.attempt))
    }

    /// Returns the phase and attempt, for events.
    pub(super) fn place(&self) -> EventPlace {
        let phase = self.this_phase();
        EventPlace { phase_index: phase.phase_index, attempt: phase.attempt, ..EventPlace::default() }
    }

    /// Returns the ids of subtasks and of their direct and indirect dependents.
    pub(super) fn dependents(&self, ids: impl IntoIterator<Item = String>) -> BTreeSet<String> {
        let mut all: BTreeSet<String> = gather(ids);
        let Ok(plan) = self.plan() else { return all };
        let direct: Vec<_> = plan.tasks().filter(|task| all.contains(task.id.as_str())).collect();
        all.extend(direct.iter().flat_map(|task| plan.dependents(task.id)).map(|id| id.to_string()));
        all
    }

    /// Returns the open subtasks of a phase that depend on a left-out one, each with the reason why it needs a decision
    /// before it starts. Only `Depends on` lines count.
    pub(super) fn unmet(&self, phase: &PhaseState) -> Vec<(String, String)> {
        let Ok(plan) = self.plan() else { return vec![] };
        if !plan.names_dependencies() {
            return vec![];
        }
        let lines = || self.phased.phases.iter().flat_map(|phase| &phase.subtasks);
        let is_left_out = |id: &str| lines().any(|line| line.subtask_id == id && line.is_left_out());
        let reason = |line: &SubtaskState| {
            let id = plan.tasks().find(|task| task.id.as_str() == line.subtask_id)?.id;
            let needed = plan.dependencies(id);
            let missing: Vec<&str> = needed.iter().map(|id| id.as_str()).filter(|id| is_left_out(id)).collect();
            match missing.as_slice() {
                [] => None,
                [one] => Some(format!("it depends on subtask {one}, which is left out")),
                several => Some(format!("it depends on the subtasks {}, which are left out", several.join(", "))),
            }
        };
        let open = phase.subtasks.iter().filter(|line| line.is_open() && !self.work(&line.subtask_id).without_needs);
        open.filter_map(|line| Some((line.subtask_id.clone(), reason(line)?))).collect()
    }

    /// Returns the work of the current phase's subtasks that is not saved in git yet.
    pub(super) fn to_keep(&self) -> Vec<KeptPart> {
        let phase = self.this_phase();
        let is_kept = |work: &SubtaskWork| work.salvage.is_some() || work.tree == work.from;
        let part = |subtask: &SubtaskState| {
            let work = self.phased.works.get(&subtask.subtask_id).filter(|work| !is_kept(work))?;
            Some(KeptPart {
                id: subtask.subtask_id.clone(),
                phase: phase.phase_index + 1,
                attempt: subtask.attempt,
                second: work.second,
                at: work.at.clone(),
                tree: work.tree.clone()?,
            })
        };
        phase.subtasks.iter().filter_map(part).collect()
    }

    /// Returns the references that hold work of the current phase.
    pub(super) fn salvage_references(&self) -> Vec<String> {
        let phase = self.this_phase();
        let works = phase.subtasks.iter().filter_map(|subtask| self.phased.works.get(&subtask.subtask_id));
        let kept = works.filter_map(|work| work.salvage.clone());
        kept.chain(self.phased.phase.collided.iter().cloned()).collect()
    }
}

fn index(phase: &PhaseState) -> u32 {
    phase.phase_index
}

/// Returns the job of the approval. A plan that replaces another may come with work that is already integrated.
pub(super) fn approval(state: &ExecutionState) -> Result<ApprovalJob, NodeError> {
    let reference = state.run.start.as_ref().map(|_| (state.integration_reference(), state.folder()));
    Ok(task_based::jobs::approval(state)?.reference(reference))
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
pub(super) fn dropped_notices(state: &ExecutionState, phases: &[PhaseState], before: &[PhaseState]) -> Vec<String> {
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
