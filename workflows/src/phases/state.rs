//! The phases of a plan and their subtasks in the state of a run. Plain data.

use std::fmt;

use serde::{Deserialize, Serialize};

use superstep::plan::{Comment, CommentSeverity};

/// The status of a phase or of a subtask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    /// Not started.
    #[default]
    Pending,
    /// In progress or under review.
    Running,
    /// Done: its work is on the run's branch, or enters it with its phase.
    Completed,
    /// Failed, cancelled, or left out by a person.
    Failed,
    /// Started again after a rejection, a failure or a conflict.
    Retrying,
}

/// A phase: subtasks that depend only on those of the phases before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhaseState {
    /// The index of the phase, from 0.
    pub phase_index: u32,
    /// Its status.
    pub status: PhaseStatus,
    /// The number of the attempt, from 1; 0 before the first.
    pub attempt: u32,
    /// The commit it starts from, recorded once, before the first attempt.
    pub pre_phase_commit: Option<String>,
    /// Its last review.
    pub review_result: Option<PhaseReview>,
    /// Its subtasks, in the order of the plan.
    pub subtasks: Vec<SubtaskState>,
}

/// A summary of a phase's review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseReview {
    /// Set if the work passed.
    pub approved: bool,
    /// The highest severity of the comments.
    pub severity: CommentSeverity,
    /// The findings.
    pub comments: Vec<Comment>,
}

/// A subtask: a task of the plan that runs in its own worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubtaskState {
    /// The id of the task in the plan.
    pub subtask_id: String,
    /// The title of the task.
    pub title: String,
    /// Its status.
    pub status: PhaseStatus,
    /// The attempt of the phase in which it last ran, from 1; 0 before the first.
    pub attempt: u32,
    /// The start time of that attempt, as RFC 3339.
    pub started_at: Option<String>,
    /// The end time of that attempt.
    pub completed_at: Option<String>,
    /// The reason for its failure.
    pub error: Option<String>,
    /// The reason why it is left out; `None` if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omission>,
    /// The id of its commit.
    pub commit: Option<String>,
    /// The cost of its agents, in millionths of a dollar.
    pub cost: u64,
    /// The files that it changed.
    pub files: Vec<String>,
}

/// The reason why a subtask is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Omission {
    /// A person skipped it.
    Skipped,
    /// A person skipped its phase.
    PhaseSkipped,
    /// It was not approved with the plan.
    NotApproved,
    /// It depends on these left-out subtasks.
    DependsOn(Vec<String>),
}

impl fmt::Display for Omission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped => f.write_str("it was skipped"),
            Self::PhaseSkipped => f.write_str("the phase was skipped"),
            Self::NotApproved => f.write_str("it was not approved"),
            Self::DependsOn(ids) => write!(f, "it depends on {}", ids.join(", ")),
        }
    }
}

impl Omission {
    /// Returns the error of a subtask that is left out.
    pub(crate) fn error(&self) -> String {
        format!("left out: {self}")
    }
}

/// A change to the list of phases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseChange {
    /// All phases, replacing the previous ones.
    All(Vec<PhaseState>),
    /// A phase without its subtasks, whose list is unchanged.
    Phase(Box<PhaseState>),
    /// Subtasks, located by id in any phase.
    Subtasks(Vec<SubtaskState>),
}

impl PhaseChange {
    /// Returns the change of a phase without its subtasks.
    pub(crate) fn phase(phase: PhaseState) -> Self {
        Self::Phase(Box::new(PhaseState { subtasks: vec![], ..phase }))
    }
}

impl PhaseState {
    /// Returns a subtask of the phase.
    pub fn subtask(&self, id: &str) -> Option<&SubtaskState> {
        self.subtasks.iter().find(|subtask| subtask.subtask_id == id)
    }

    /// Returns whether no work is left in it.
    pub fn is_closed(&self) -> bool {
        self.status == PhaseStatus::Completed || self.subtasks.iter().all(SubtaskState::is_left_out)
    }
}

impl SubtaskState {
    /// Returns whether a person left it out.
    pub fn is_left_out(&self) -> bool {
        self.status == PhaseStatus::Failed && self.omitted.is_some()
    }
}

impl SubtaskState {
    /// Returns whether it still has to run.
    pub(crate) fn is_open(&self) -> bool {
        self.status != PhaseStatus::Completed && !self.is_left_out()
    }

    /// Returns it as left out by a person.
    pub(crate) fn left_out(self, why: Omission) -> Self {
        Self { status: PhaseStatus::Failed, error: Some(why.error()), omitted: Some(why), commit: None, ..self }
    }

    /// Returns it as ended without a result.
    pub(crate) fn stopped(self, why: &str) -> Self {
        Self { status: PhaseStatus::Failed, error: Some(why.to_owned()), ..self }
    }

    /// Returns it as not started.
    pub(crate) fn unstarted(self) -> Self {
        Self { status: PhaseStatus::Pending, error: None, ..self }
    }

    /// Returns it as started again.
    pub(crate) fn again(self) -> Self {
        Self { status: PhaseStatus::Retrying, error: None, commit: None, completed_at: None, ..self }
    }
}

/// The error of a subtask that was running when a person ended the run.
pub(crate) const ENDED: &str = "the run was ended";

/// Returns a phase and its running subtasks after a person has ended the run.
pub(crate) fn aborted(phase: &PhaseState) -> (PhaseState, Vec<SubtaskState>) {
    let status = if phase.status == PhaseStatus::Completed { phase.status } else { PhaseStatus::Failed };
    let is_under_way = |line: &&SubtaskState| matches!(line.status, PhaseStatus::Running | PhaseStatus::Retrying);
    let under_way = phase.subtasks.iter().filter(is_under_way).cloned();
    (PhaseState { status, ..phase.clone() }, under_way.map(|line| line.stopped(ENDED)).collect())
}

/// Applies a change to the list of phases.
pub(crate) fn change_phases(phases: &mut Vec<PhaseState>, change: PhaseChange) {
    match change {
        PhaseChange::All(all) => *phases = all,
        PhaseChange::Phase(new) => {
            let known = phases.iter_mut().find(|phase| phase.phase_index == new.phase_index);
            known.into_iter().for_each(|phase| {
                let subtasks = std::mem::take(&mut phase.subtasks);
                *phase = PhaseState { subtasks, ..(*new).clone() };
            });
        }
        PhaseChange::Subtasks(new) => {
            let known = phases.iter_mut().flat_map(|phase| &mut phase.subtasks);
            for subtask in known {
                let changed = new.iter().find(|new| new.subtask_id == subtask.subtask_id);
                changed.into_iter().for_each(|new| subtask.clone_from(new));
            }
        }
    }
}
