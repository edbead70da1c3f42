//! Queries on the state for the jobs, updates and routers of phases. Pure.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::state::{Omission, PhaseState, PhaseStatus, SubtaskState};
use super::work::SubtaskWork;
use crate::graph::NodeError;
use crate::nodes::{Base, KeptPart, Place};
use crate::workflows::task_based::ExecutionState;
use crate::workspace::branch_name;

impl ExecutionState {
    pub(super) fn current_phase(&self) -> Option<&PhaseState> {
        self.phases.get(self.phase_index as usize)
    }

    /// Returns the current phase; an empty one if there is none.
    pub(super) fn this_phase(&self) -> PhaseState {
        self.current_phase().cloned().unwrap_or_default()
    }

    pub(super) fn work(&self, id: &str) -> SubtaskWork {
        self.works.get(id).cloned().unwrap_or_default()
    }

    /// Returns the index of the next phase: the first one after the current one that is not closed.
    pub(super) fn next_phase(&self) -> Option<u32> {
        self.phases.iter().find(|phase| phase.phase_index > self.phase_index && !phase.is_closed()).map(index)
    }

    /// Returns the position of the run's branch at the start of the current phase.
    pub(super) fn phase_base(&self) -> Result<Base, NodeError> {
        let base = self.phase.base.clone().or_else(|| self.start.clone());
        base.ok_or_else(|| NodeError::permanent("the repository was not prepared before a phase began"))
    }

    /// Returns the folder of the run's worktrees. Each branch belongs to one run.
    pub(super) fn worktrees(&self) -> PathBuf {
        self.home().join("worktrees").join(self.branch_folder())
    }

    /// Returns the branch as the name of a folder; unique for each branch.
    fn branch_folder(&self) -> String {
        let branch = self.start.as_ref().and_then(|start| start.at.branch.clone()).unwrap_or_default();
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
    pub(super) fn place(&self) -> Place {
        let phase = self.this_phase();
        Place { phase_index: phase.phase_index, attempt: phase.attempt, ..Place::default() }
    }

    /// Returns the ids of subtasks and of their direct and indirect dependents.
    pub(super) fn dependents(&self, ids: impl IntoIterator<Item = String>) -> BTreeSet<String> {
        let mut all: BTreeSet<String> = ids.into_iter().collect();
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
        let lines = || self.phases.iter().flat_map(|phase| &phase.subtasks);
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
            let work = self.works.get(&subtask.subtask_id).filter(|work| !is_kept(work))?;
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
    pub(super) fn kept(&self) -> Vec<String> {
        let phase = self.this_phase();
        let works = phase.subtasks.iter().filter_map(|subtask| self.works.get(&subtask.subtask_id));
        let kept = works.filter_map(|work| work.salvage.clone());
        kept.chain(self.phase.collided.iter().cloned()).collect()
    }
}

fn index(phase: &PhaseState) -> u32 {
    phase.phase_index
}

impl SubtaskState {
    /// Returns whether it still has to run.
    pub(super) fn is_open(&self) -> bool {
        self.status != PhaseStatus::Completed && !self.is_left_out()
    }

    /// Returns it as left out by a person.
    pub(super) fn left_out(self, why: Omission) -> Self {
        Self { status: PhaseStatus::Failed, error: Some(why.error()), omitted: Some(why), commit: None, ..self }
    }

    /// Returns it as ended without a result.
    pub(super) fn stopped(self, why: &str) -> Self {
        Self { status: PhaseStatus::Failed, error: Some(why.to_owned()), ..self }
    }

    /// Returns it as not started.
    pub(super) fn unstarted(self) -> Self {
        Self { status: PhaseStatus::Pending, error: None, ..self }
    }

    /// Returns it as started again.
    pub(super) fn again(self) -> Self {
        Self { status: PhaseStatus::Retrying, error: None, commit: None, completed_at: None, ..self }
    }
}
