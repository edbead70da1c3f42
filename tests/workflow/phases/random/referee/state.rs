//! The phase in work and its subtasks, as the rules see them. Plain data.

use std::collections::BTreeSet;

use superstep_workflows::phased::PhaseStatus;
use superstep_workflows::task_based::RunOutcome;

use crate::phases::random::script::{Files, id};

/// A subtask as it is shown to people.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) status: PhaseStatus,
    pub(super) attempt: u32,
    pub(super) is_left_out: bool,
    pub(super) is_committed: bool,
    /// Set if a person continues it although one of its dependencies is left out.
    pub(super) goes_without: bool,
}

/// The work of a subtask in the phase.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// The files before and after; `None` if it was not started.
    pub(super) trees: Option<[Files; 2]>,
    pub(super) is_second: bool,
    pub(super) is_accepted: bool,
    pub(super) is_cancelled: bool,
    pub(super) collision: Option<Collision>,
    /// The start of the reason for its failure.
    pub(super) failure: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collision {
    Conflict,
    Check,
    Undeclared,
}

impl Collision {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Conflict => "its changes collide with those of subtasks before it",
            Self::Check => "a check fails once it is put together with the others",
            Self::Undeclared => "it changed files that it does not declare",
        }
    }
}

/// A phase of the plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Phase {
    pub(super) tasks: Vec<usize>,
    pub(super) status: PhaseStatus,
    pub(super) attempt: u32,
}

/// The phase in work.
#[derive(Clone, Debug, Default)]
pub(super) struct Now {
    pub(super) phase: usize,
    pub(super) rejections: u32,
    pub(super) allowed: u32,
    pub(super) tip: Files,
    pub(super) integrated: Vec<usize>,
    pub(super) commits: Vec<String>,
    pub(super) waived: BTreeSet<String>,
}

/// The step after an attempt.
pub(super) enum Step {
    Again,
    Approved,
    /// A person decides about a subtask, or the phase.
    Halted(Option<usize>, &'static str),
}

/// The step after a halt.
pub(super) enum Next {
    Begin,
    Approved,
    LeftOut,
    End(RunOutcome),
}

impl Line {
    /// Describes the subtask in one line, as [`line`](crate::phases::random::seen::line) does.
    pub(super) fn describe(&self, at: usize) -> String {
        let Self { status, attempt, is_left_out, is_committed, .. } = self;
        let left_out = if *is_left_out { " left out" } else { "" };
        let commit = if *is_committed { " committed" } else { "" };
        format!("{} {status:?} {attempt}{left_out}{commit}", id(at))
    }
}
