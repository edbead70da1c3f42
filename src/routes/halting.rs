//! Where the checks of a task lead, and what a person decides of one that did not pass. Pure.

use crate::graph::Labels;
use crate::plan::TaskProgress;

/// What follows the checks of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterVerify {
    /// It is reviewed.
    Review,
    /// It is tried again.
    Retry,
    /// A person decides.
    Halt,
}

/// Returns what follows the checks of a task; an attempt that failed them is already counted. `stuck`: trying again is no use.
pub fn route_after_verify(progress: &TaskProgress, passed: bool, stuck: bool) -> AfterVerify {
    match (stuck, passed, progress.has_attempts_left()) {
        (true, _, _) | (false, false, false) => AfterVerify::Halt,
        (false, true, _) => AfterVerify::Review,
        (false, false, true) => AfterVerify::Retry,
    }
}

/// What follows a person's decision on a task that did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterHalting {
    /// It is tried again.
    Retry,
    /// It is closed, and the next begins.
    NextTask,
    /// It is closed, and was the last.
    Complete,
    /// Another task comes first, and a person decides on it.
    Ask,
    /// The run ends.
    End,
}

/// What follows the beginning of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterBegin {
    /// It is worked on.
    Work,
    /// A person decides.
    Halt,
}

/// Returns what follows the beginning of a task; `blocked`: it is not started without a person's decision.
pub fn route_begin(blocked: bool) -> AfterBegin {
    if blocked { AfterBegin::Halt } else { AfterBegin::Work }
}

/// Returns what follows: `ended`: the run does; `closed`: the task is accepted or put aside.
pub fn route_after_halting(progress: &TaskProgress, ended: bool, closed: bool) -> AfterHalting {
    match (ended, closed, progress.is_last()) {
        (true, _, _) => AfterHalting::End,
        (false, false, _) => AfterHalting::Retry,
        (false, true, false) => AfterHalting::NextTask,
        (false, true, true) => AfterHalting::Complete,
    }
}
