//! Where the judgement on a task leads. Pure.

use crate::graph::Labels;
use crate::plan::TaskProgress;

/// What follows the judgement on a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterTaskReview {
    /// The task is tried again.
    Retry,
    /// The next task begins.
    NextTask,
    /// All tasks are done.
    Complete,
    /// The task failed as often as it may; the tasks after it are not begun.
    Halt,
}

/// Returns what follows the judgement on the current task. The attempt judged is already counted: a limit of 2 gives a task
/// that always fails exactly two attempts.
pub fn route_after_task_review(progress: &TaskProgress, approved: bool) -> AfterTaskReview {
    match (approved, progress.is_last(), progress.has_attempts_left()) {
        (true, true, _) => AfterTaskReview::Complete,
        (true, false, _) => AfterTaskReview::NextTask,
        (false, _, true) => AfterTaskReview::Retry,
        (false, _, false) => AfterTaskReview::Halt,
    }
}

/// What follows the judgement on work that is not cut into tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterReview {
    /// It is tried again.
    Retry,
    /// It is done, or was tried as often as it may.
    End,
}

/// Returns what follows the judgement on work that is not cut into tasks; the attempt judged is already counted.
pub fn route_after_review(iteration: u32, most: u32, approved: bool) -> AfterReview {
    if !approved && iteration < most { AfterReview::Retry } else { AfterReview::End }
}

/// Returns what follows the judgement on a task, or on a plan without tasks: that is one task, and there is no other way.
pub fn route_after_review_or_task(progress: &TaskProgress, approved: bool) -> AfterTaskReview {
    route_after_task_review(progress, approved)
}
