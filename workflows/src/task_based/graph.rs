//! The graph of the workflow: its steps, edges, routers and their targets.

use super::state::ExecutionState;
use super::{decided, done, jobs};
use crate::AttemptOutcome;
use crate::routes::{AfterBegin, AfterHalting, route_after_halting, route_begin};
use superstep::graph::{CompileError, CompiledGraph, END, NodeId, START, StateGraph, targets};
use superstep::nodes::{
    Agents, Crew, architect, commit_task, developer, finalize, halt, human_approval, plan_validator, prepare_workspace,
    reviewer, verify,
};
use superstep::plan::Decision;
use superstep::routes::{
    AfterApproval, AfterPlanReview, AfterStart, AfterTaskReview, AfterVerify, route_after_plan_review,
    route_after_task_review, route_after_verify, route_approval, route_start,
};

/// The nodes of the graph.
#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub enum Step {
    /// Lets an architect write a plan.
    Architect,
    /// Validates the plan.
    PlanValidator,
    /// Asks a person to approve the plan.
    HumanApproval,
    /// Prepares the repository: creates a branch, checks for uncommitted changes.
    PrepareWorkspace,
    /// Lets a developer work on a task.
    Developer,
    /// Runs the task's verify commands.
    Verify,
    /// Lets a reviewer review the work.
    Reviewer,
    /// Commits the task, and starts the next one.
    #[node(name = "next_task_node")]
    NextTask,
    /// Commits the last task, and lets a reviewer review all the work.
    Finalize,
    /// Asks a person about a task that did not pass.
    Halt,
}

type CompileResult<C> = Result<CompiledGraph<ExecutionState, Step, C>, CompileError>;

/// Returns the same [`graph`] for a [`Crew`]. It is compiled with this crate, so a program that uses it is built sooner.
///
/// # Errors
/// As [`graph`].
pub fn crew_graph() -> CompileResult<Crew> {
    graph()
}

/// Returns the graph. Its agents come from the context of the run.
///
/// # Errors
/// Only if the graph is invalid, which is a bug.
pub fn graph<C: Agents>() -> CompileResult<C> {
    StateGraph::new()
        .add_node(Step::Architect, architect(jobs::architect, done::architect).replayable())
        .add_node(
            Step::PlanValidator,
            plan_validator(|s: &ExecutionState| s.source.plan_markdown.clone(), done::plan_validator).replayable(),
        )
        .add_node(Step::HumanApproval, human_approval(jobs::approval, done::approval).replayable())
        .add_node(Step::PrepareWorkspace, prepare_workspace(jobs::prepare, done::prepare).replayable())
        .add_node(Step::Developer, developer(jobs::developer, done::developer).replayable())
        .add_node(Step::Verify, verify(jobs::verify, done::verify).replayable())
        .add_node(Step::Reviewer, reviewer(jobs::reviewer, done::reviewer).replayable())
        .add_node(Step::NextTask, commit_task(jobs::commit, done::next_task).replayable())
        .add_node(Step::Finalize, finalize(jobs::finalize, done::finalize).replayable())
        .add_node(Step::Halt, halt(jobs::halt, decided::halt).replayable())
        .add_conditional_edges(START, after_start)
        .add_edge(Step::Architect, Step::PlanValidator)
        .add_conditional_edges(Step::PlanValidator, after_plan_review)
        .add_conditional_edges(Step::HumanApproval, after_approval)
        .add_conditional_edges(Step::PrepareWorkspace, after_begin)
        .add_edge(Step::Developer, Step::Verify)
        .add_conditional_edges(Step::Verify, after_verify)
        .add_conditional_edges(Step::Reviewer, after_review)
        .add_conditional_edges(Step::NextTask, after_begin)
        .add_conditional_edges(Step::Halt, after_halting)
        .add_edge(Step::Finalize, END)
        .compile()
        .map(|graph| graph.recursion_limit(u64::MAX)) // each loop has its own limit or interrupts
}

pub(crate) fn after_start(state: &ExecutionState) -> AfterStart {
    route_start(state.source.plan_markdown.is_some())
}

pub(crate) fn after_plan_review(state: &ExecutionState) -> AfterPlanReview {
    if state.planning.plan_ended {
        return AfterPlanReview::Escalate; // the approval node then rejects without an interrupt
    }
    let has_architect = state.planning.raw_architect_output.is_some();
    let most = state.request.profile.max_plan_revisions;
    let sent_back = state.planning.plan_revisions.saturating_sub(1); // the current problems are already counted
    route_after_plan_review(state.planning.plan_problems.is_empty(), has_architect, sent_back, most)
}

pub(crate) fn after_approval(state: &ExecutionState) -> AfterApproval {
    let decision = match (state.planning.human_approved, &state.planning.plan_feedback) {
        (Some(true), _) => Some(Decision::approve()),
        (Some(false), Some(feedback)) if state.result.outcome.is_none() => Some(Decision::revise(feedback.clone())),
        (Some(false), _) | (None, _) => None,
    };
    route_approval(decision.as_ref())
}

fn after_begin(state: &ExecutionState) -> AfterBegin {
    route_begin(matches!(state.judgement.standing, AttemptOutcome::Halted(_) | AttemptOutcome::Aborted))
}

fn after_verify(state: &ExecutionState) -> AfterVerify {
    route_after_verify(
        &state.progress(),
        state.judgement.standing == AttemptOutcome::Verified,
        state.judgement.standing.is_stuck(),
    )
}

fn after_review(state: &ExecutionState) -> AfterTaskReview {
    if state.judgement.standing.is_stuck() {
        return AfterTaskReview::Halt;
    }
    route_after_task_review(&state.progress(), state.judgement.standing == AttemptOutcome::Approved)
}

fn after_halting(state: &ExecutionState) -> AfterHalting {
    if let AttemptOutcome::Halted(_) = state.judgement.standing {
        return AfterHalting::Ask;
    }
    let closed = matches!(state.judgement.standing, AttemptOutcome::Approved | AttemptOutcome::Skipped);
    route_after_halting(&state.progress(), state.judgement.standing == AttemptOutcome::Aborted, closed)
}

targets! { Step:
    AfterStart { Plan => Step::Architect, Validate => Step::PlanValidator }
    AfterPlanReview { Approve | Escalate => Step::HumanApproval, Revise => Step::Architect }
    AfterApproval { Approve => Step::PrepareWorkspace, Revise => Step::Architect, Reject => END }
    AfterVerify { Review => Step::Reviewer, Retry => Step::Developer, Halt => Step::Halt }
    AfterTaskReview {
        Retry => Step::Developer,
        NextTask => Step::NextTask,
        Complete => Step::Finalize,
        Halt => Step::Halt,
    }
    AfterHalting {
        Retry => Step::Developer,
        NextTask => Step::NextTask,
        Complete => Step::Finalize,
        Ask => Step::Halt,
        End => END,
    }
    AfterBegin { Work => Step::Developer, Halt => Step::Halt }
}
