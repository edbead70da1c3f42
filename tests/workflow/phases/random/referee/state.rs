//! The phase in work and the subtasks, as the rules know them. Plain data.

use std::collections::BTreeSet;

use superstep::workflows::phased::PhaseStatus;
use superstep::workflows::task_based::RunOutcome;

use crate::phases::random::script::{Files, id};

/// A subtask as people are shown it.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) status: PhaseStatus,
    pub(super) attempt: u32,
    pub(super) is_left_out: bool,
    pub(super) is_committed: bool,
    /// Whether a person has it worked on though a task that it depends on is left out.
    pub(super) goes_without: bool,
}

/// The work of a subtask in the phase.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// The files before and after; none: it was not started.
    pub(super) trees: Option<[Files; 2]>,
    pub(super) is_second: bool,
    pub(super) is_accepted: bool,
    pub(super) is_cancelled: bool,
    pub(super) collision: Option<Collision>,
    /// The beginning of the reason for its failure.
    pub(super) failure: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collision {
    Conflict,
    Check,
    Undeclared,
}

impl Collision {
    pub(super) fn told(self) -> &'static str {
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

/// What follows an attempt.
pub(super) enum Step {
    Again,
    Approved,
    /// A person decides: about a subtask, or the phase.
    Halted(Option<usize>, &'static str),
}

/// What follows a halt.
pub(super) enum Next {
    Begin,
    Approved,
    LeftOut,
    End(RunOutcome),
}

impl Line {
    /// Returns the subtask in a line, as [`line`](crate::phases::random::seen::line) does.
    pub(super) fn told(&self, at: usize) -> String {
        let Self { status, attempt, is_left_out, is_committed, .. } = self;
        let left_out = if *is_left_out { " left out" } else { "" };
        let commit = if *is_committed { " committed" } else { "" };
        format!("{} {status:?} {attempt}{left_out}{commit}", id(at))
    }
}
