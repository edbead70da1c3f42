//! The observations of a run, and its expected end. Plain data.

use std::collections::{BTreeMap, BTreeSet};

use superstep_workflows::phased::{PhaseState, SubtaskState};
use superstep_workflows::task_based::RunOutcome;

use super::script::Files;

/// The observations of a run.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The questions about phases and subtasks, in order.
    pub(super) halts: Vec<Halt>,
    /// The questions of developers.
    pub(super) questions: BTreeSet<String>,
    /// The files with which each run of a subtask and each review of a phase started.
    pub(super) starts: BTreeMap<String, Files>,
    /// The commit of the run's branch and the user's files while agents worked on each phase.
    pub(super) checkouts: BTreeMap<u32, BTreeSet<(String, Files)>>,
    /// The commit before each phase, as the state has it.
    pub(super) bases: Vec<Option<String>>,
    /// The ids of the commits of the branch, oldest first.
    pub(super) log: Vec<String>,
    pub(super) end: End,
}

/// A question about a phase or a subtask.
#[derive(Clone, Debug, Default)]
pub(super) struct Halt {
    pub(super) phase: u32,
    pub(super) subtask: Option<String>,
    pub(super) reason: String,
    /// The subtasks of all phases.
    pub(super) lines: Vec<SubtaskState>,
}

/// The end of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct End {
    pub(super) outcome: Option<RunOutcome>,
    /// Each phase with its subtasks.
    pub(super) phases: Vec<String>,
    /// The commits on the branch, oldest first: `SUBJECT: PHASE ATTEMPT`.
    pub(super) commits: Vec<String>,
    /// The kept work, by the name of its run.
    pub(super) kept: BTreeMap<String, Files>,
    pub(super) files: Files,
}

/// Describes a phase in one line: `2 completed, attempt 1`.
pub(super) fn phase(phase: &PhaseState) -> String {
    format!("{} {:?}, attempt {}", phase.phase_index + 1, phase.status, phase.attempt)
}

/// Describes a subtask in one line: `2a Failed 1 left out`.
pub(super) fn line(line: &SubtaskState) -> String {
    let left_out = if line.is_left_out() { " left out" } else { "" };
    let commit = if line.commit.is_some() { " committed" } else { "" };
    format!("{} {:?} {}{left_out}{commit}", line.subtask_id, line.status, line.attempt)
}
