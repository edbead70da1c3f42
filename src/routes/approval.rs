//! Where a person's decision on a plan leads. Pure.

use crate::graph::Labels;
use crate::plan::Decision;

/// What follows a decision on a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterApproval {
    /// The plan is executed.
    Approve,
    /// The run ends.
    Reject,
    /// The plan is written again.
    Revise,
}

/// Returns what follows a decision. Without one nothing is executed: it counts as a rejection.
pub fn route_approval(decision: Option<&Decision>) -> AfterApproval {
    match decision {
        Some(Decision::Approve { .. } | Decision::EditPlan { .. }) => AfterApproval::Approve,
        Some(Decision::Revise { .. }) => AfterApproval::Revise,
        Some(Decision::Reject { .. }) | None => AfterApproval::Reject,
    }
}
