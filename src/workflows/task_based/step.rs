//! The steps of the workflow, and where each outcome of a router leads.

use crate::graph::{END, NodeId, Route, Target};
use crate::routes::{
    AfterApproval, AfterBegin, AfterHalting, AfterPlanReview, AfterStart, AfterTaskReview, AfterVerify,
};

/// The steps.
#[derive(NodeId)]
pub enum Step {
    /// Has a plan written.
    #[node(name = "architect")]
    Architect,
    /// Reads the plan and says what is wrong with it.
    #[node(name = "plan_validator")]
    PlanValidator,
    /// Asks a person about the plan.
    #[node(name = "human_approval")]
    HumanApproval,
    /// Makes the repository ready: a branch of its own, nothing of the user's in the way.
    #[node(name = "prepare_workspace")]
    PrepareWorkspace,
    /// Has a task worked on.
    #[node(name = "developer")]
    Developer,
    /// Runs the plan's commands for it.
    #[node(name = "verify")]
    Verify,
    /// Has the work judged.
    #[node(name = "reviewer")]
    Reviewer,
    /// Commits it, and begins the next.
    #[node(name = "next_task_node")]
    NextTask,
    /// Commits the last one, and has all the work judged.
    #[node(name = "finalize")]
    Finalize,
    /// Asks a person about a task that did not pass.
    #[node(name = "halt")]
    Halt,
}

impl Route<Step> for AfterStart {
    fn target(self) -> Target<Step> {
        match self {
            Self::Plan => Step::Architect.into(),
            Self::Validate => Step::PlanValidator.into(),
        }
    }
}

impl Route<Step> for AfterPlanReview {
    fn target(self) -> Target<Step> {
        match self {
            Self::Approve | Self::Escalate => Step::HumanApproval.into(),
            Self::Revise => Step::Architect.into(),
        }
    }
}

impl Route<Step> for AfterApproval {
    fn target(self) -> Target<Step> {
        match self {
            Self::Approve => Step::PrepareWorkspace.into(),
            Self::Revise => Step::Architect.into(),
            Self::Reject => END.into(),
        }
    }
}

impl Route<Step> for AfterVerify {
    fn target(self) -> Target<Step> {
        match self {
            Self::Review => Step::Reviewer.into(),
            Self::Retry => Step::Developer.into(),
            Self::Halt => Step::Halt.into(),
        }
    }
}

impl Route<Step> for AfterTaskReview {
    fn target(self) -> Target<Step> {
        match self {
            Self::Retry => Step::Developer.into(),
            Self::NextTask => Step::NextTask.into(),
            Self::Complete => Step::Finalize.into(),
            Self::Halt => Step::Halt.into(),
        }
    }
}

impl Route<Step> for AfterHalting {
    fn target(self) -> Target<Step> {
        match self {
            Self::Retry => Step::Developer.into(),
            Self::NextTask => Step::NextTask.into(),
            Self::Complete => Step::Finalize.into(),
            Self::Ask => Step::Halt.into(),
            Self::End => END.into(),
        }
    }
}

impl Route<Step> for AfterBegin {
    fn target(self) -> Target<Step> {
        match self {
            Self::Work => Step::Developer.into(),
            Self::Halt => Step::Halt.into(),
        }
    }
}
