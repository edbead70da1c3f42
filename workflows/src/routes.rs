//! The routers of the shipped workflows beside those of `superstep::routes`: pure functions over plain values.

use superstep::graph::Labels;
use superstep::plan::TaskProgress;

/// The next step after a person's decision on a task that did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub(crate) enum AfterHalting {
    /// The task is attempted again.
    Retry,
    /// The task is closed; the next one starts.
    NextTask,
    /// The task is closed, and was the last one.
    Complete,
    /// Another task comes first, and needs a person's decision.
    Ask,
    /// The run ends.
    End,
}

/// The next step after a task was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub(crate) enum AfterBegin {
    /// The agent works on the task.
    Work,
    /// A person decides.
    Halt,
}

/// Returns the next step after a task was started; `blocked`: it needs a person's decision first.
pub(crate) fn route_begin(blocked: bool) -> AfterBegin {
    if blocked { AfterBegin::Halt } else { AfterBegin::Work }
}

/// Returns the next step. `ended`: the run ends; `closed`: the task is accepted or skipped.
pub(crate) fn route_after_halting(progress: &TaskProgress, ended: bool, closed: bool) -> AfterHalting {
    match (ended, closed, progress.is_last()) {
        (true, _, _) => AfterHalting::End,
        (false, false, _) => AfterHalting::Retry,
        (false, true, false) => AfterHalting::NextTask,
        (false, true, true) => AfterHalting::Complete,
    }
}

/// The next step after the phases were computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub(crate) enum AfterPlanPhases {
    /// The first unfinished phase starts.
    Begin,
    /// All phases are done.
    Complete,
    /// A person ended the run, because its branch was moved.
    Halt,
}

/// The next step after a phase was integrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub(crate) enum AfterIntegration {
    /// The phase is reviewed.
    Review,
    /// A subtask runs again, on top of the integrated work.
    Again,
    /// A person decides.
    Halt,
}

/// The next step after the review of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub(crate) enum AfterPhaseReview {
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
pub(crate) fn route_after_phase_review(approved: bool, rejections: u32, most: u32, is_last: bool) -> AfterPhaseReview {
    match (approved, is_last) {
        (true, true) => AfterPhaseReview::Complete,
        (true, false) => AfterPhaseReview::NextPhase,
        (false, _) if rejections < most => AfterPhaseReview::Retry,
        (false, _) => AfterPhaseReview::Halt,
    }
}

/// The next step after a person's decision on a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub(crate) enum AfterPhaseHalt {
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
