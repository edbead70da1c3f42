//! Where the steps of a phase lead. Pure.

use crate::graph::Labels;

/// What follows the computation of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterPlanPhases {
    /// The first phase that is not done begins.
    Begin,
    /// All phases are done.
    Complete,
}

/// What follows the integration of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterIntegration {
    /// The phase is reviewed.
    Review,
    /// A subtask runs once more on the integrated work.
    Again,
    /// A person decides.
    Halt,
}

/// What follows the review of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterPhaseReview {
    /// The next phase begins.
    NextPhase,
    /// The phase runs again from the commit before it.
    Retry,
    /// A person decides.
    Halt,
    /// All phases are done.
    Complete,
}

/// Returns what follows the review of a phase; the attempt that was judged is already counted: a limit of 2 gives a phase that is
/// always rejected exactly two attempts.
pub fn route_after_phase_review(approved: bool, rejections: u32, most: u32, is_last: bool) -> AfterPhaseReview {
    match (approved, is_last) {
        (true, true) => AfterPhaseReview::Complete,
        (true, false) => AfterPhaseReview::NextPhase,
        (false, _) if rejections < most => AfterPhaseReview::Retry,
        (false, _) => AfterPhaseReview::Halt,
    }
}

/// What follows a person's decision on a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterPhaseHalt {
    /// Work goes on in the phase, or in the next one.
    Begin,
    /// All phases are done.
    Complete,
    /// The phases are computed anew, from another plan.
    Replan,
    /// A person is asked about another plan.
    Approve,
    /// The run ends.
    End,
}
