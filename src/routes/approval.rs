//! The route after a person's decision on a plan. Pure.

use crate::graph::Labels;
use crate::plan::Decision;

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
