//! The routes at the start of a run, and after the validation of its plan. Pure.

use crate::graph::Labels;

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
