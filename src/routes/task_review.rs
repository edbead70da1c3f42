//! The routes after the review of a task. Pure.

use crate::graph::Labels;
use crate::plan::TaskProgress;

/// The next step after the review of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterTaskReview {
    /// The task is attempted again.
    Retry,
    /// The next task starts.
    NextTask,
    /// All tasks are done.
    Complete,
    /// The limit of attempts is reached; the remaining tasks are not started.
    Halt,
}

/// Returns the next step after the review of the current task. The reviewed attempt is already counted: with a limit of
/// 2, a task that always fails gets exactly two attempts.
pub fn route_after_task_review(progress: &TaskProgress, approved: bool) -> AfterTaskReview {
    match (approved, progress.is_last(), progress.has_attempts_left()) {
        (true, true, _) => AfterTaskReview::Complete,
        (true, false, _) => AfterTaskReview::NextTask,
        (false, _, true) => AfterTaskReview::Retry,
        (false, _, false) => AfterTaskReview::Halt,
    }
}

/// The next step after the review of work that is not divided into tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterReview {
    /// The work is attempted again.
    Retry,
    /// The work is done, or the limit of attempts is reached.
    End,
}

/// Returns the next step after the review of undivided work; the reviewed attempt is already counted.
pub fn route_after_review(iteration: u32, most: u32, approved: bool) -> AfterReview {
    if !approved && iteration < most { AfterReview::Retry } else { AfterReview::End }
}

/// Returns the next step after the review of a task, or of a plan without task headings, which is one task.
pub fn route_after_review_or_task(progress: &TaskProgress, approved: bool) -> AfterTaskReview {
    route_after_task_review(progress, approved)
}
