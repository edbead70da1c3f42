//! Parts of the workflow as separate graphs, for custom graphs: one attempt at a phase, a phase with its retries, all
//! phases of an approved plan. Each is a node of the next.

use super::graph::{after_halt, after_integration, after_plan, after_review};
use super::run_subtask::{run, run_subtask};
use super::{decided, done, jobs};
use crate::phases::Subtask;
use crate::routes::{AfterIntegration, AfterPhaseHalt, AfterPhaseReview, AfterPlanPhases};
use crate::task_based::{ExecutionState, done as tasks_done};
use superstep::graph::{CompileError, CompiledGraph, END, NodeId, START, StateGraph, Worker, targets, worker};
use superstep::nodes::{Agents, node, prepare_workspace};

/// The steps of one attempt at a phase.
#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub enum PhaseAttemptStep {
    /// Moves the branch to the approved work, and starts the subtasks.
    BeginPhase,
    /// Runs one subtask.
    RunSubtask,
    /// Integrates their work.
    IntegratePhase,
}

/// The steps of a phase with its retries.
#[derive(NodeId)]
#[node(rename_all = "snake_case")]
#[allow(clippy::enum_variant_names, reason = "they are names of nodes, which threads store")]
pub enum PhaseRetryStep {
    /// Runs one attempt: the graph of [`run_phase`].
    RunPhase,
    /// Lets a reviewer review the phase as a whole.
    ReviewPhase,
    /// Saves the work of a rejected attempt.
    RetryPhase,
}

/// The steps of an approved plan.
#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub enum PhasedPlanStep {
    /// Prepares the repository.
    PrepareWorkspace,
    /// Computes the phases.
    PlanPhases,
    /// Executes one phase: the graph of [`run_phase_with_retry`].
    RunPhaseWithRetry,
    /// Asks a person about a phase that did not pass.
    Halt,
    /// Moves the branch to the last phase, and lets a reviewer review all the work.
    Finalize,
}

type Part<N, C> = Result<CompiledGraph<ExecutionState, N, C>, CompileError>;

const SUBTASK: Worker<PhaseAttemptStep, Subtask> = Worker::new(PhaseAttemptStep::RunSubtask);

/// Returns the graph of one attempt at the current phase: its subtasks in parallel, then their commits. A subtask that
/// conflicts with others runs again within it. The next step depends on `PhaseStanding`.
///
/// # Errors
/// Only if the graph is invalid, which is a bug.
pub fn run_phase<C: Agents>() -> Part<PhaseAttemptStep, C> {
    use PhaseAttemptStep::{BeginPhase, IntegratePhase, RunSubtask};
    let child = run_subtask::<C>()?;
    let body = child.clone();
    let subtask = worker(move |subtask, ctx| run(subtask, body.clone(), ctx)).replayable();
    let subtasks = |state: &ExecutionState| SUBTASK.each(jobs::subtasks(state)).empty(IntegratePhase);
    StateGraph::new()
        .add_node(BeginPhase, node(jobs::begin, done::begin).replayable())
        .add_worker(SUBTASK, subtask)
        .calls(&RunSubtask, &child)
        .add_node(IntegratePhase, node(jobs::integrate, done::integrate).replayable())
        .add_edge(START, BeginPhase)
        .add_conditional_edges_to(BeginPhase, subtasks, (SUBTASK, IntegratePhase))
        .add_edge(RunSubtask, IntegratePhase)
        .add_conditional_edges(IntegratePhase, after_integration)
        .compile()
        .map(|graph| graph.recursion_limit(u64::MAX)) // a subtask runs again at most once
}

/// Returns the graph of the current phase: attempts until a review approves one or the profile's limit is reached.
///
/// # Errors
/// Only if the graph is invalid, which is a bug.
pub fn run_phase_with_retry<C: Agents>() -> Part<PhaseRetryStep, C> {
    use PhaseRetryStep::{RetryPhase, ReviewPhase, RunPhase};
    StateGraph::new()
        .add_subgraph(RunPhase, run_phase::<C>()?)
        .add_node(ReviewPhase, node(jobs::review, done::review).replayable())
        .add_node(RetryPhase, node(jobs::retry, done::retry).replayable())
        .add_edge(START, RunPhase)
        .add_conditional_edges(RunPhase, after_integration)
        .add_conditional_edges(ReviewPhase, after_review)
        .add_edge(RetryPhase, RunPhase)
        .compile()
        .map(|graph| graph.recursion_limit(u64::MAX)) // the profile limits the attempts
}

/// Returns the graph that executes an approved plan phase by phase. A plan that replaces it at a halt needs no further
/// approval.
///
/// # Errors
/// Only if the graph is invalid, which is a bug.
pub fn execute_phased_plan<C: Agents>() -> Part<PhasedPlanStep, C> {
    use PhasedPlanStep::{Finalize, Halt, PlanPhases, PrepareWorkspace, RunPhaseWithRetry};
    StateGraph::new()
        .add_node(PrepareWorkspace, prepare_workspace(jobs::prepare, tasks_done::prepare).replayable())
        .add_node(PlanPhases, node(jobs::plan_phases, done::plan_phases).replayable())
        .add_subgraph(RunPhaseWithRetry, run_phase_with_retry::<C>()?)
        .add_node(Halt, node(jobs::halt, decided::halt).replayable())
        .add_node(Finalize, node(jobs::finalize, done::finalize).replayable())
        .add_edge(START, PrepareWorkspace)
        .add_edge(PrepareWorkspace, PlanPhases)
        .add_conditional_edges(PlanPhases, after_plan)
        .add_conditional_edges(RunPhaseWithRetry, after_review)
        .add_conditional_edges(Halt, after_halt)
        .add_edge(Finalize, END)
        .compile()
        .map(|graph| graph.recursion_limit(u64::MAX)) // each loop has its own limit or interrupts
}

targets! { PhaseAttemptStep:
    AfterIntegration { Again => PhaseAttemptStep::BeginPhase, Review | Halt => END }
}

targets! { PhaseRetryStep:
    AfterIntegration { Review => PhaseRetryStep::ReviewPhase, Again | Halt => END }
    AfterPhaseReview { Retry => PhaseRetryStep::RetryPhase, NextPhase | Halt | Complete => END }
}

targets! { PhasedPlanStep:
    AfterPlanPhases {
        Begin => PhasedPlanStep::RunPhaseWithRetry,
        Complete => PhasedPlanStep::Finalize,
        Halt => PhasedPlanStep::Halt,
    }
    AfterPhaseReview {
        NextPhase | Retry => PhasedPlanStep::RunPhaseWithRetry,
        Halt => PhasedPlanStep::Halt,
        Complete => PhasedPlanStep::Finalize,
    }
    AfterPhaseHalt {
        Begin => PhasedPlanStep::RunPhaseWithRetry,
        Complete => PhasedPlanStep::Finalize,
        Replan | Approve => PhasedPlanStep::PlanPhases,
        End => END,
    }
}
