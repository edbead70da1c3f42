//! The routes after the checks of a task, and after a person's decision on one that did not pass. Pure.

use crate::graph::Labels;
use crate::plan::TaskProgress;

/// The next step after the checks of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterVerify {
    /// The task is reviewed.
    Review,
    /// The task is attempted again.
    Retry,
    /// A person decides.
    Halt,
}

/// Returns the next step after a task's checks; a failed attempt is already counted. `stuck`: another one is useless.
pub fn route_after_verify(progress: &TaskProgress, passed: bool, stuck: bool) -> AfterVerify {
    match (stuck, passed, progress.has_attempts_left()) {
        (true, _, _) | (false, false, false) => AfterVerify::Halt,
        (false, true, _) => AfterVerify::Review,
        (false, false, true) => AfterVerify::Retry,
    }
}

/// The next step after a person's decision on a task that did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterHalting {
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
pub enum AfterBegin {
    /// The agent works on the task.
    Work,
    /// A person decides.
    Halt,
}

/// Returns the next step after a task was started; `blocked`: it needs a person's decision first.
pub fn route_begin(blocked: bool) -> AfterBegin {
    if blocked { AfterBegin::Halt } else { AfterBegin::Work }
}

/// Returns the next step. `ended`: the run ends; `closed`: the task is accepted or skipped.
pub fn route_after_halting(progress: &TaskProgress, ended: bool, closed: bool) -> AfterHalting {
    match (ended, closed, progress.is_last()) {
        (true, _, _) => AfterHalting::End,
        (false, false, _) => AfterHalting::Retry,
        (false, true, false) => AfterHalting::NextTask,
        (false, true, true) => AfterHalting::Complete,
    }
}
