//! The steps of the workflow, and the targets of its routers.

use crate::graph::{END, Labels, NodeId, Route, Target};
use crate::routes::{AfterIntegration, AfterPhaseHalt, AfterPhaseReview, AfterPlanPhases, AfterPlanReview, AfterStart};

/// The nodes of the graph.
#[derive(NodeId)]
pub enum PhaseStep {
    /// Lets an architect write a plan.
    #[node(name = "architect")]
    Architect,
    /// Validates the plan.
    #[node(name = "plan_validator")]
    PlanValidator,
    /// Asks a person to approve the plan and its phases.
    #[node(name = "human_approval")]
    HumanApproval,
    /// Executes a plan without phases: the graph of the task workflow.
    #[node(name = "tasks")]
    Tasks,
    /// Prepares the repository: creates a branch, checks for uncommitted changes.
    #[node(name = "prepare_workspace")]
    PrepareWorkspace,
    /// Computes the phases.
    #[node(name = "plan_phases")]
    PlanPhases,
    /// Moves the branch to the approved work, and starts the subtasks of a phase.
    #[node(name = "begin_phase")]
    BeginPhase,
    /// Runs one subtask in its own worktree.
    #[node(name = "run_subtask")]
    RunSubtask,
    /// Integrates the work of the subtasks, one commit each.
    #[node(name = "integrate_phase")]
    IntegratePhase,
    /// Lets a reviewer review the phase as a whole.
    #[node(name = "review_phase")]
    ReviewPhase,
    /// Saves the work of a rejected attempt.
    #[node(name = "retry_phase")]
    RetryPhase,
    /// Asks a person about a phase that did not pass.
    #[node(name = "halt")]
    Halt,
    /// Moves the branch to the last phase, and lets a reviewer review all the work.
    #[node(name = "finalize")]
    Finalize,
}

/// The next step after the approval of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterPhasesApproval {
    /// The plan is executed phase by phase.
    Phases,
    /// The plan is executed phase by phase, and the repository is already prepared.
    Replan,
    /// The plan is executed task by task.
    Tasks,
    /// The plan is revised.
    Revise,
    /// The run ends.
    Reject,
}

#[diagnostic::do_not_recommend]
impl Route<PhaseStep> for AfterStart {
    fn target(self) -> Target<PhaseStep> {
        match self {
            Self::Plan => PhaseStep::Architect.into(),
            Self::Validate => PhaseStep::PlanValidator.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<PhaseStep> for AfterPlanReview {
    fn target(self) -> Target<PhaseStep> {
        match self {
            Self::Approve | Self::Escalate => PhaseStep::HumanApproval.into(),
            Self::Revise => PhaseStep::Architect.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<PhaseStep> for AfterPhasesApproval {
    fn target(self) -> Target<PhaseStep> {
        match self {
            Self::Phases => PhaseStep::PrepareWorkspace.into(),
            Self::Replan => PhaseStep::PlanPhases.into(),
            Self::Tasks => PhaseStep::Tasks.into(),
            Self::Revise => PhaseStep::Architect.into(),
            Self::Reject => END.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<PhaseStep> for AfterPlanPhases {
    fn target(self) -> Target<PhaseStep> {
        match self {
            Self::Begin => PhaseStep::BeginPhase.into(),
            Self::Complete => PhaseStep::Finalize.into(),
            Self::Halt => PhaseStep::Halt.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<PhaseStep> for AfterIntegration {
    fn target(self) -> Target<PhaseStep> {
        match self {
            Self::Review => PhaseStep::ReviewPhase.into(),
            Self::Again => PhaseStep::BeginPhase.into(),
            Self::Halt => PhaseStep::Halt.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<PhaseStep> for AfterPhaseReview {
    fn target(self) -> Target<PhaseStep> {
        match self {
            Self::NextPhase => PhaseStep::BeginPhase.into(),
            Self::Retry => PhaseStep::RetryPhase.into(),
            Self::Halt => PhaseStep::Halt.into(),
            Self::Complete => PhaseStep::Finalize.into(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl Route<PhaseStep> for AfterPhaseHalt {
    fn target(self) -> Target<PhaseStep> {
        match self {
            Self::Begin => PhaseStep::BeginPhase.into(),
            Self::Complete => PhaseStep::Finalize.into(),
            Self::Replan => PhaseStep::PlanPhases.into(),
            Self::Approve => PhaseStep::HumanApproval.into(),
            Self::End => END.into(),
        }
    }
}
