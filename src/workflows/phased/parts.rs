//! Parts of the workflow as graphs of their own, for graphs of your own: one attempt at a phase, a phase with its retries, all
//! phases of an approved plan. Each is a node of the next.

use super::graph::{after_halt, after_integration, after_plan, after_review};
use super::run_subtask::{run, run_subtask};
use super::subtask::Subtask;
use super::{decided, done, jobs, review_job};
use crate::graph::{CompileError, CompiledGraph, END, NodeExt, NodeId, START, StateGraph, Target, Worker, worker};
use crate::nodes::{
    Agents, begin_phase, end_phases, halt_phase, integrate, plan_phases, prepare_workspace, retry_phase,
    review_phase as reviewed,
};
use crate::routes::{AfterIntegration, AfterPhaseHalt, AfterPhaseReview, AfterPlanPhases};
use crate::workflows::task_based::ExecutionState;
use crate::workflows::task_based::done as tasks_done;

/// The steps of one attempt at a phase.
#[derive(NodeId)]
pub enum PhaseAttemptStep {
    /// Moves the branch to what was approved, and starts the subtasks.
    #[node(name = "begin_phase")]
    BeginPhase,
    /// Has one subtask worked on.
    #[node(name = "run_subtask")]
    RunSubtask,
    /// Puts their work together.
    #[node(name = "integrate_phase")]
    IntegratePhase,
}

/// The steps of a phase with its retries.
#[derive(NodeId)]
pub enum PhaseRetryStep {
    /// Makes one attempt: the graph of [`run_phase`].
    #[node(name = "run_phase")]
    RunPhase,
    /// Has the phase judged as a whole.
    #[node(name = "review_phase")]
    ReviewPhase,
    /// Puts a rejected attempt aside.
    #[node(name = "retry_phase")]
    RetryPhase,
}

/// The steps of an approved plan.
#[derive(NodeId)]
pub enum PhasedPlanStep {
    /// Makes the repository ready.
    #[node(name = "prepare_workspace")]
    PrepareWorkspace,
    /// Computes the phases.
    #[node(name = "plan_phases")]
    PlanPhases,
    /// Executes one phase: the graph of [`run_phase_with_retry`].
    #[node(name = "run_phase_with_retry")]
    RunPhaseWithRetry,
    /// Asks a person about a phase that did not pass.
    #[node(name = "halt")]
    Halt,
    /// Moves the branch to the last phase, and has all the work judged.
    #[node(name = "finalize")]
    Finalize,
}

/// A compiled part.
type Part<N, C> = Result<CompiledGraph<ExecutionState, N, C>, CompileError>;

const SUBTASK: Worker<PhaseAttemptStep, Subtask> = Worker::new(PhaseAttemptStep::RunSubtask);

/// Returns the graph of one attempt at the phase in work: its subtasks side by side, then their commits. A subtask that collides
/// with others runs once more in it. The state afterwards says what follows: [`PhaseStanding`](super::PhaseStanding).
///
/// # Errors
/// None but a defect of this library.
pub fn run_phase<C: Agents>() -> Part<PhaseAttemptStep, C> {
    use PhaseAttemptStep::{BeginPhase, IntegratePhase, RunSubtask};
    let child = run_subtask::<C>()?;
    let body = child.clone();
    let subtask = worker(move |subtask, ctx| run(subtask, body.clone(), ctx)).replayable();
    let subtasks = |state: &ExecutionState| SUBTASK.each(jobs::subtasks(state)).empty(IntegratePhase);
    let next = |state: &ExecutionState| -> Target<PhaseAttemptStep> {
        match after_integration(state) {
            AfterIntegration::Again => BeginPhase.into(),
            AfterIntegration::Review | AfterIntegration::Halt => END.into(),
        }
    };
    StateGraph::new()
        .add_node(BeginPhase, begin_phase(jobs::begin, done::begin).replayable())
        .add_worker(SUBTASK, subtask)
        .calls(&RunSubtask, &child)
        .add_node(IntegratePhase, integrate(jobs::integrate, done::integrate).replayable())
        .add_edge(START, BeginPhase)
        .add_conditional_edges_to(BeginPhase, subtasks, (SUBTASK, IntegratePhase))
        .add_edge(RunSubtask, IntegratePhase)
        .add_conditional_edges_to(IntegratePhase, next, (BeginPhase, END))
        .compile()
        .map(|graph| graph.recursion_limit(u64::MAX)) // a subtask runs once more and no more often
}

/// Returns the graph of the phase in work: attempts until a review approves one, or as many as the profile allows.
///
/// # Errors
/// None but a defect of this library.
pub fn run_phase_with_retry<C: Agents>() -> Part<PhaseRetryStep, C> {
    use PhaseRetryStep::{RetryPhase, ReviewPhase, RunPhase};
    let judged = |state: &ExecutionState| -> Target<PhaseRetryStep> {
        match after_integration(state) {
            AfterIntegration::Review => ReviewPhase.into(),
            AfterIntegration::Again | AfterIntegration::Halt => END.into(),
        }
    };
    let retried = |state: &ExecutionState| -> Target<PhaseRetryStep> {
        match after_review(state) {
            AfterPhaseReview::Retry => RetryPhase.into(),
            AfterPhaseReview::NextPhase | AfterPhaseReview::Halt | AfterPhaseReview::Complete => END.into(),
        }
    };
    StateGraph::new()
        .add_subgraph(RunPhase, run_phase::<C>()?)
        .add_node(ReviewPhase, reviewed(review_job::review, done::review).replayable())
        .add_node(RetryPhase, retry_phase(jobs::retry, done::retry).replayable())
        .add_edge(START, RunPhase)
        .add_conditional_edges_to(RunPhase, judged, (ReviewPhase, END))
        .add_conditional_edges_to(ReviewPhase, retried, (RetryPhase, END))
        .add_edge(RetryPhase, RunPhase)
        .compile()
        .map(|graph| graph.recursion_limit(u64::MAX)) // the profile limits the attempts
}

/// Returns the graph that executes an approved plan phase by phase. Another plan that a person gives at a halt holds without
/// another approval.
///
/// # Errors
/// None but a defect of this library.
pub fn execute_phased_plan<C: Agents>() -> Part<PhasedPlanStep, C> {
    use PhasedPlanStep::{Finalize, Halt, PlanPhases, PrepareWorkspace, RunPhaseWithRetry};
    let planned = |state: &ExecutionState| -> Target<PhasedPlanStep> {
        match after_plan(state) {
            AfterPlanPhases::Begin => RunPhaseWithRetry.into(),
            AfterPlanPhases::Complete => Finalize.into(),
        }
    };
    let judged = |state: &ExecutionState| -> Target<PhasedPlanStep> {
        match after_review(state) {
            AfterPhaseReview::NextPhase | AfterPhaseReview::Retry => RunPhaseWithRetry.into(),
            AfterPhaseReview::Halt => Halt.into(),
            AfterPhaseReview::Complete => Finalize.into(),
        }
    };
    let decided_on = |state: &ExecutionState| -> Target<PhasedPlanStep> {
        match after_halt(state) {
            AfterPhaseHalt::Begin => RunPhaseWithRetry.into(),
            AfterPhaseHalt::Complete => Finalize.into(),
            AfterPhaseHalt::Replan | AfterPhaseHalt::Approve => PlanPhases.into(),
            AfterPhaseHalt::End => END.into(),
        }
    };
    StateGraph::new()
        .add_node(PrepareWorkspace, prepare_workspace(jobs::prepare, tasks_done::prepare).replayable())
        .add_node(PlanPhases, plan_phases(jobs::plan_phases, done::plan_phases).replayable())
        .add_subgraph(RunPhaseWithRetry, run_phase_with_retry::<C>()?)
        .add_node(Halt, halt_phase(jobs::halt, decided::halt).replayable())
        .add_node(Finalize, end_phases(jobs::finalize, done::finalize).replayable())
        .add_edge(START, PrepareWorkspace)
        .add_edge(PrepareWorkspace, PlanPhases)
        .add_conditional_edges_to(PlanPhases, planned, (RunPhaseWithRetry, Finalize))
        .add_conditional_edges_to(RunPhaseWithRetry, judged, (RunPhaseWithRetry, Halt, Finalize))
        .add_conditional_edges_to(Halt, decided_on, (RunPhaseWithRetry, PlanPhases, Finalize, END))
        .add_edge(Finalize, END)
        .compile()
        .map(|graph| graph.recursion_limit(u64::MAX)) // each loop ends by a count of its own, or asks a person
}
