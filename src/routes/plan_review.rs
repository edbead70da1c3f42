//! Where a run begins, and where the check of its plan leads. Pure.

use crate::graph::Labels;

/// How a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterStart {
    /// A plan is written.
    Plan,
    /// There is one.
    Validate,
}

/// Returns how a run begins.
pub fn route_start(has_plan: bool) -> AfterStart {
    if has_plan { AfterStart::Validate } else { AfterStart::Plan }
}

/// What follows the check of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterPlanReview {
    /// It goes to a person.
    Approve,
    /// It is written again.
    Revise,
    /// It goes to a person as it is: it was written again as often as it may.
    Escalate,
}

/// Returns what follows the check of a plan. A plan that no architect wrote is not written again.
pub fn route_after_plan_review(is_valid: bool, has_architect: bool, revisions: u32, most: u32) -> AfterPlanReview {
    match (is_valid, has_architect && revisions < most) {
        (true, _) => AfterPlanReview::Approve,
        (false, true) => AfterPlanReview::Revise,
        (false, false) => AfterPlanReview::Escalate,
    }
}
