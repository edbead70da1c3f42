//! The routes between the steps of a phase. Pure.

use crate::graph::Labels;

/// The next step after the phases were computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterPlanPhases {
    /// The first unfinished phase starts.
    Begin,
    /// All phases are done.
    Complete,
    /// A person ended the run, because its branch was moved.
    Halt,
}

/// The next step after a phase was integrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterIntegration {
    /// The phase is reviewed.
    Review,
    /// A subtask runs again, on top of the integrated work.
    Again,
    /// A person decides.
    Halt,
}

/// The next step after the review of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterPhaseReview {
    /// The next phase starts.
    NextPhase,
    /// The phase runs again, from the commit before it.
    Retry,
    /// A person decides.
    Halt,
    /// All phases are done.
    Complete,
}

/// Returns the next step after the review of a phase. The reviewed attempt is already counted: with a limit of 2, a
/// phase that is always rejected gets exactly two attempts.
pub fn route_after_phase_review(approved: bool, rejections: u32, most: u32, is_last: bool) -> AfterPhaseReview {
    match (approved, is_last) {
        (true, true) => AfterPhaseReview::Complete,
        (true, false) => AfterPhaseReview::NextPhase,
        (false, _) if rejections < most => AfterPhaseReview::Retry,
        (false, _) => AfterPhaseReview::Halt,
    }
}

/// The next step after a person's decision on a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterPhaseHalt {
    /// The phase continues, or the next one starts.
    Begin,
    /// All phases are done.
    Complete,
    /// The phases are computed again, from another plan.
    Replan,
    /// A person decides on another plan.
    Approve,
    /// The run ends.
    End,
}
