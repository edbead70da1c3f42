//! The steps of the workflow, and the targets of its routers.

use crate::graph::{END, NodeId, Route, Target};
use crate::routes::{
    AfterApproval, AfterBegin, AfterHalting, AfterPlanReview, AfterStart, AfterTaskReview, AfterVerify,
};

/// The nodes of the graph.
#[derive(NodeId)]
pub enum Step {
    /// Lets an architect write a plan.
    #[node(name = "architect")]
    Architect,
    /// Validates the plan.
    #[node(name = "plan_validator")]
    PlanValidator,
    /// Asks a person to approve the plan.
    #[node(name = "human_approval")]
    HumanApproval,
    /// Prepares the repository: creates a branch, checks for uncommitted changes.
    #[node(name = "prepare_workspace")]
    PrepareWorkspace,
    /// Lets a developer work on a task.
    #[node(name = "developer")]
    Developer,
    /// Runs the task's verify commands.
    #[node(name = "verify")]
    Verify,
    /// Lets a reviewer review the work.
    #[node(name = "reviewer")]
    Reviewer,
    /// Commits the task, and starts the next one.
    #[node(name = "next_task_node")]
    NextTask,
    /// Commits the last task, and lets a reviewer review all the work.
    #[node(name = "finalize")]
    Finalize,
    /// Asks a person about a task that did not pass.
    #[node(name = "halt")]
    Halt,
}

#[diagnostic::do_not_recommend]
impl Route<Step> for AfterStart {
    fn target(self) -> Target<Step> {
        match self {
            Self::Plan => Step::Architect.into(),
            Self::Validate => Step::PlanValidator.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<Step> for AfterPlanReview {
    fn target(self) -> Target<Step> {
        match self {
            Self::Approve | Self::Escalate => Step::HumanApproval.into(),
            Self::Revise => Step::Architect.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<Step> for AfterApproval {
    fn target(self) -> Target<Step> {
        match self {
            Self::Approve => Step::PrepareWorkspace.into(),
            Self::Revise => Step::Architect.into(),
            Self::Reject => END.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<Step> for AfterVerify {
    fn target(self) -> Target<Step> {
        match self {
            Self::Review => Step::Reviewer.into(),
            Self::Retry => Step::Developer.into(),
            Self::Halt => Step::Halt.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
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

#[diagnostic::do_not_recommend]
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

#[diagnostic::do_not_recommend]
impl Route<Step> for AfterBegin {
    fn target(self) -> Target<Step> {
        match self {
            Self::Work => Step::Developer.into(),
            Self::Halt => Step::Halt.into(),
        }
    }
}
