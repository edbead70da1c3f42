//! Where a person's decision on a plan leads. Pure.

use crate::graph::Labels;
use crate::plan::{Decision, Verdict};

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
    match decision.map(|decision| decision.verdict) {
        Some(Verdict::Approve) => AfterApproval::Approve,
        Some(Verdict::Revise) => AfterApproval::Revise,
        Some(Verdict::Reject) | None => AfterApproval::Reject,
    }
}
