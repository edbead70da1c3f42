//! The steps of the workflow, and where each outcome of a router leads.

use crate::graph::{END, Labels, NodeId, Route, Target};
use crate::routes::{AfterIntegration, AfterPhaseHalt, AfterPhaseReview, AfterPlanPhases, AfterPlanReview, AfterStart};

/// The steps.
#[derive(NodeId)]
pub enum PhaseStep {
    /// Has a plan written.
    #[node(name = "architect")]
    Architect,
    /// Reads the plan and reports what is wrong with it.
    #[node(name = "plan_validator")]
    PlanValidator,
    /// Asks a person about the plan and its phases.
    #[node(name = "human_approval")]
    HumanApproval,
    /// Executes a plan without phases: the graph of the task workflow.
    #[node(name = "tasks")]
    Tasks,
    /// Makes the repository ready: a branch of its own, nothing of the user's in the way.
    #[node(name = "prepare_workspace")]
    PrepareWorkspace,
    /// Computes the phases.
    #[node(name = "plan_phases")]
    PlanPhases,
    /// Moves the branch to what was approved, and starts the subtasks of a phase.
    #[node(name = "begin_phase")]
    BeginPhase,
    /// Has one subtask worked on, in a worktree of its own.
    #[node(name = "run_subtask")]
    RunSubtask,
    /// Puts the work of the subtasks together, one commit each.
    #[node(name = "integrate_phase")]
    IntegratePhase,
    /// Has the phase judged as a whole.
    #[node(name = "review_phase")]
    ReviewPhase,
    /// Puts a rejected attempt aside.
    #[node(name = "retry_phase")]
    RetryPhase,
    /// Asks a person about a phase that did not pass.
    #[node(name = "halt")]
    Halt,
    /// Moves the branch to the last phase, and has all the work judged.
    #[node(name = "finalize")]
    Finalize,
}

/// What follows the approval of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Labels)]
pub enum AfterPhasesApproval {
    /// It is executed phase by phase.
    Phases,
    /// It is executed phase by phase, and the repository is ready already.
    Replan,
    /// It is executed task by task.
    Tasks,
    /// It is written again.
    Revise,
    /// The run ends.
    Reject,
}

impl Route<PhaseStep> for AfterStart {
    fn target(self) -> Target<PhaseStep> {
        match self {
            Self::Plan => PhaseStep::Architect.into(),
            Self::Validate => PhaseStep::PlanValidator.into(),
        }
    }
}

impl Route<PhaseStep> for AfterPlanReview {
    fn target(self) -> Target<PhaseStep> {
        match self {
            Self::Approve | Self::Escalate => PhaseStep::HumanApproval.into(),
            Self::Revise => PhaseStep::Architect.into(),
        }
    }
}

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

impl Route<PhaseStep> for AfterPlanPhases {
    fn target(self) -> Target<PhaseStep> {
        match self {
            Self::Begin => PhaseStep::BeginPhase.into(),
            Self::Complete => PhaseStep::Finalize.into(),
        }
    }
}

impl Route<PhaseStep> for AfterIntegration {
    fn target(self) -> Target<PhaseStep> {
        match self {
            Self::Review => PhaseStep::ReviewPhase.into(),
            Self::Again => PhaseStep::BeginPhase.into(),
            Self::Halt => PhaseStep::Halt.into(),
        }
    }
}

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
