//! Ready-made routers for graphs that execute plans: pure functions over plain values. They know no state, node or
//! graph; a graph maps each outcome to a node with [`targets!`](crate::graph::targets).
//!
//! ```
//! use superstep::plan::TaskProgress;
//! use superstep::prelude::*;
//! use superstep::routes::{AfterTaskReview, route_after_task_review};
//!
//! # #[derive(NodeId)] enum Step { Develop, NextTask }
//! # struct Job { progress: TaskProgress, approved: bool }
//! targets! { Step:
//!     AfterTaskReview { Retry => Step::Develop, NextTask => Step::NextTask, Complete | Halt => END }
//! }
//! let router = |job: &Job| route_after_task_review(&job.progress, job.approved);
//! ```

use crate::graph::Labels;
use crate::plan::{Decision, TaskProgress};

/// The first step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterStart {
    /// A plan is written.
    Plan,
    /// There is a plan: it is validated.
    Validate,
}

/// Returns the first step of a run.
pub fn route_start(has_plan: bool) -> AfterStart {
    if has_plan { AfterStart::Validate } else { AfterStart::Plan }
}

/// The next step after the validation of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterPlanReview {
    /// A person decides on the plan.
    Approve,
    /// The plan is revised.
    Revise,
    /// A person decides on the plan as it is: the limit of revisions is reached.
    Escalate,
}

/// Returns the next step after the validation of a plan. Only an architect's plan can be revised.
pub fn route_after_plan_review(is_valid: bool, has_architect: bool, revisions: u32, most: u32) -> AfterPlanReview {
    match (is_valid, has_architect && revisions < most) {
        (true, _) => AfterPlanReview::Approve,
        (false, true) => AfterPlanReview::Revise,
        (false, false) => AfterPlanReview::Escalate,
    }
}

/// The next step after a person's decision on a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterApproval {
    /// The plan is executed.
    Approve,
    /// The run ends.
    Reject,
    /// The plan is revised.
    Revise,
}

/// Returns the next step after a decision. Without one the plan is rejected.
pub fn route_approval(decision: Option<&Decision>) -> AfterApproval {
    match decision {
        Some(Decision::Approve { .. } | Decision::EditPlan { .. }) => AfterApproval::Approve,
        Some(Decision::Revise { .. }) => AfterApproval::Revise,
        Some(Decision::Reject { .. }) | None => AfterApproval::Reject,
    }
}

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
