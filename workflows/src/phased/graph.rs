//! The graph of the workflow: its steps, edges, routers and their targets.

use super::run_subtask::{run, run_subtask};
use super::{decided, done, jobs, view};
use crate::phases::{PhaseStanding, PhaseState, Subtask};
use crate::routes::{AfterIntegration, AfterPhaseHalt, AfterPhaseReview, AfterPlanPhases, route_after_phase_review};
use crate::task_based::{self, ExecutionState};
use superstep::graph::{
    CompileError, CompiledGraph, END, NodeId, Route, START, Sends, StateGraph, Worker, targets, worker,
};
use superstep::nodes::{Agents, Crew, architect, human_approval, node, plan_validator, prepare_workspace};
use superstep::routes::{AfterApproval, AfterPlanReview, AfterStart};

/// The nodes of the graph.
#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub enum PhaseStep {
    /// Lets an architect write a plan.
    Architect,
    /// Validates the plan.
    PlanValidator,
    /// Asks a person to approve the plan and its phases.
    HumanApproval,
    /// Executes a plan without phases: the graph of the task workflow.
    Tasks,
    /// Prepares the repository: creates a branch, checks for uncommitted changes.
    PrepareWorkspace,
    /// Computes the phases.
    PlanPhases,
    /// Moves the branch to the approved work, and starts the subtasks of a phase.
    BeginPhase,
    /// Runs one subtask in its own worktree.
    RunSubtask,
    /// Integrates the work of the subtasks, one commit each.
    IntegratePhase,
    /// Lets a reviewer review the phase as a whole.
    ReviewPhase,
    /// Saves the work of a rejected attempt.
    RetryPhase,
    /// Asks a person about a phase that did not pass.
    Halt,
    /// Moves the branch to the last phase, and lets a reviewer review all the work.
    Finalize,
}

/// The next step after the approval of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route)]
pub(crate) enum AfterPhasesApproval {
    /// The plan is executed phase by phase.
    #[to(PhaseStep::PrepareWorkspace)]
    Phases,
    /// The plan is executed phase by phase, and the repository is already prepared.
    #[to(PhaseStep::PlanPhases)]
    Replan,
    /// The plan is executed task by task.
    #[to(PhaseStep::Tasks)]
    Tasks,
    /// The plan is revised.
    #[to(PhaseStep::Architect)]
    Revise,
    /// The run ends.
    #[to(END)]
    Reject,
}

const RUN_SUBTASK: Worker<PhaseStep, Subtask> = Worker::new(PhaseStep::RunSubtask);

type Phases<C> = StateGraph<ExecutionState, PhaseStep, C>;
type CompileResult<C> = Result<CompiledGraph<ExecutionState, PhaseStep, C>, CompileError>;

/// Returns the same [`graph`] for a [`Crew`]. It is compiled with this crate, so a program that uses it is built sooner.
///
/// # Errors
/// As [`graph`].
pub fn crew_graph() -> CompileResult<Crew> {
    graph()
}

/// Returns the whole workflow. Its agents come from the run's context. A plan without phases is executed task by task.
///
/// # Errors
/// Only if the graph is invalid, which is a bug.
pub fn graph<C: Agents>() -> CompileResult<C> {
    use task_based::{done as tasks_done, graph as tasks, jobs as tasks_jobs};
    let graph = phases(StateGraph::new())?
        .add_node(PhaseStep::Architect, architect(tasks_jobs::architect, tasks_done::architect).replayable())
        .add_node(
            PhaseStep::PlanValidator,
            plan_validator(|s: &ExecutionState| s.source.plan_markdown.clone(), tasks_done::plan_validator)
                .replayable(),
        )
        .add_node(PhaseStep::HumanApproval, human_approval(view::approval, tasks_done::approval).replayable())
        .add_subgraph(PhaseStep::Tasks, task_based::graph::<C>()?)
        .add_conditional_edges(START, tasks::after_start)
        .add_edge(PhaseStep::Architect, PhaseStep::PlanValidator)
        .add_conditional_edges(PhaseStep::PlanValidator, tasks::after_plan_review)
        .add_conditional_edges(PhaseStep::HumanApproval, after_approval)
        .add_edge(PhaseStep::Tasks, END)
        .add_conditional_edges(PhaseStep::Halt, after_halt);
    compile_unlimited(graph)
}

/// Adds the nodes and edges between the preparation of the repository and the end.
fn phases<C: Agents>(graph: Phases<C>) -> Result<Phases<C>, CompileError> {
    use task_based::done as tasks_done;
    Ok(attempts(graph)?
        .add_node(PhaseStep::PrepareWorkspace, prepare_workspace(jobs::prepare, tasks_done::prepare).replayable())
        .add_node(PhaseStep::PlanPhases, node(jobs::plan_phases, done::plan_phases).replayable())
        .add_node(PhaseStep::Halt, node(jobs::halt, decided::halt).replayable())
        .add_node(PhaseStep::Finalize, node(jobs::finalize, done::finalize).replayable())
        .add_edge(PhaseStep::PrepareWorkspace, PhaseStep::PlanPhases)
        .add_conditional_edges(PhaseStep::PlanPhases, after_plan)
        .add_conditional_edges(PhaseStep::IntegratePhase, after_integration)
        .add_conditional_edges(PhaseStep::ReviewPhase, after_review)
        .add_edge(PhaseStep::Finalize, END))
}

/// Adds the nodes of the attempts at a phase.
fn attempts<C: Agents>(graph: Phases<C>) -> Result<Phases<C>, CompileError> {
    let child = run_subtask::<C>()?;
    let body = child.clone();
    let subtask = worker(move |subtask, ctx| run(subtask, body.clone(), ctx)).replayable();
    Ok(graph
        .add_node(PhaseStep::BeginPhase, node(jobs::begin, done::begin).replayable())
        .add_worker(RUN_SUBTASK, subtask)
        .calls(&PhaseStep::RunSubtask, &child)
        .add_node(PhaseStep::IntegratePhase, node(jobs::integrate, done::integrate).replayable())
        .add_node(PhaseStep::ReviewPhase, node(jobs::review, done::review).replayable())
        .add_node(PhaseStep::RetryPhase, node(jobs::retry, done::retry).replayable())
        .add_conditional_edges_to(PhaseStep::BeginPhase, fan_out, (RUN_SUBTASK, PhaseStep::IntegratePhase))
        .add_edge(PhaseStep::RunSubtask, PhaseStep::IntegratePhase)
        .add_edge(PhaseStep::RetryPhase, PhaseStep::BeginPhase))
}

fn compile_unlimited<C: Agents>(graph: Phases<C>) -> CompileResult<C> {
    graph.compile().map(|graph| graph.recursion_limit(u64::MAX)) // each loop has its own limit or interrupts
}

fn fan_out(state: &ExecutionState) -> Sends<PhaseStep> {
    RUN_SUBTASK.each(jobs::subtasks(state)).empty(PhaseStep::IntegratePhase)
}

fn after_approval(state: &ExecutionState) -> AfterPhasesApproval {
    let is_phased = || state.request.profile.phased.enabled && state.plan().is_ok_and(|plan| plan.is_phased());
    match task_based::graph::after_approval(state) {
        AfterApproval::Revise => AfterPhasesApproval::Revise,
        AfterApproval::Reject => AfterPhasesApproval::Reject,
        AfterApproval::Approve if state.run.start.is_some() => AfterPhasesApproval::Replan,
        AfterApproval::Approve if is_phased() => AfterPhasesApproval::Phases,
        AfterApproval::Approve => AfterPhasesApproval::Tasks,
    }
}

pub(super) fn after_plan(state: &ExecutionState) -> AfterPlanPhases {
    if state.phased.phase.standing == PhaseStanding::Aborted {
        return AfterPlanPhases::Halt;
    }
    let is_done = state.phased.phases.iter().all(PhaseState::is_closed);
    if is_done { AfterPlanPhases::Complete } else { AfterPlanPhases::Begin }
}

pub(super) fn after_integration(state: &ExecutionState) -> AfterIntegration {
    match state.phased.phase.standing {
        PhaseStanding::Integrated => AfterIntegration::Review,
        PhaseStanding::Collided => AfterIntegration::Again,
        _ => AfterIntegration::Halt,
    }
}

pub(super) fn after_review(state: &ExecutionState) -> AfterPhaseReview {
    let (approved, is_last) = (state.phased.phase.standing == PhaseStanding::Approved, state.next_phase().is_none());
    if approved || state.phased.phase.standing == PhaseStanding::Rejected {
        return route_after_phase_review(approved, state.phased.phase.rejections, state.phased.phase.allowed, is_last);
    }
    AfterPhaseReview::Halt
}

pub(super) fn after_halt(state: &ExecutionState) -> AfterPhaseHalt {
    let is_last = state.next_phase().is_none();
    match state.phased.phase.standing {
        PhaseStanding::Approved | PhaseStanding::LeftOut if is_last => AfterPhaseHalt::Complete,
        PhaseStanding::ToApprove => AfterPhaseHalt::Approve,
        PhaseStanding::ToPlan => AfterPhaseHalt::Replan,
        PhaseStanding::Aborted => AfterPhaseHalt::End,
        _ => AfterPhaseHalt::Begin,
    }
}

targets! { PhaseStep:
    AfterStart { Plan => PhaseStep::Architect, Validate => PhaseStep::PlanValidator }
    AfterPlanReview { Approve | Escalate => PhaseStep::HumanApproval, Revise => PhaseStep::Architect }
    AfterPlanPhases { Begin => PhaseStep::BeginPhase, Complete => PhaseStep::Finalize, Halt => PhaseStep::Halt }
    AfterIntegration { Review => PhaseStep::ReviewPhase, Again => PhaseStep::BeginPhase, Halt => PhaseStep::Halt }
    AfterPhaseReview {
        NextPhase => PhaseStep::BeginPhase,
        Retry => PhaseStep::RetryPhase,
        Halt => PhaseStep::Halt,
        Complete => PhaseStep::Finalize,
    }
    AfterPhaseHalt {
        Begin => PhaseStep::BeginPhase,
        Complete => PhaseStep::Finalize,
        Replan => PhaseStep::PlanPhases,
        Approve => PhaseStep::HumanApproval,
        End => END,
    }
}
