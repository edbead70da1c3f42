//! The graph of a task: nodes, edges, routers; and a task as a node of any graph. Children run the same graph, one depth
//! further.

use std::sync::Arc;

use super::splitting::{CHILD, child_tasks, child_update};
use super::state::{CodeTask, CodeTaskState, CodeTaskStateUpdate as Update};
use super::step::{AfterExecute, AfterInput, AfterLoad, CodeStep};
use super::verifying::{self, VERIFIER, verifier};
use super::{decided, done, jobs, records};
use superstep::graph::{
    CompileError, CompiledGraph, Ctx, END, Node, NodeError, NodeId, START, Sends, State, StateGraph, Writes, worker,
};
use superstep::nodes::__private::restore_worktree;
use superstep::nodes::{Agents, Crew, developer, node};

type CompileResult<C> = Result<CompiledGraph<CodeTaskState, CodeStep, C>, CompileError>;

/// Returns the same [`graph`] for a [`Crew`]. It is compiled with this crate, so a program that uses it is built sooner.
///
/// # Errors
/// As [`graph`].
pub fn crew_graph() -> CompileResult<Crew> {
    graph()
}

/// Returns the graph. Its agents and verifiers come from the context of the run.
///
/// # Errors
/// Only if the graph is invalid, which is a bug.
pub fn graph<C: Agents>() -> CompileResult<C> {
    children::<C>(attempts(StateGraph::new()))
        .add_node(CodeStep::LoadSpec, node(jobs::begin, done::begin).replayable())
        .add_node(CodeStep::Ask, node(jobs::ask, done::ask).replayable())
        .add_node(CodeStep::Finish, node(jobs::finish, done::finish).replayable())
        .add_conditional_edges(START, after_input)
        .add_conditional_edges(CodeStep::LoadSpec, after_load)
        .add_conditional_edges_to(
            CodeStep::Ask,
            after_ask,
            (CHILD, CodeStep::Execute, CodeStep::Snapshot, CodeStep::Decide, CodeStep::Finish),
        )
        .add_edge(CodeStep::Finish, END)
        .compile()
        .map(|graph| graph.named("code-task").recursion_limit(u64::MAX)) // each loop has its own limit or interrupts
}

type Graph<C> = StateGraph<CodeTaskState, CodeStep, C>;

/// Adds the nodes of an attempt.
fn attempts<C: Agents>(graph: Graph<C>) -> Graph<C> {
    graph
        .add_node(CodeStep::Execute, developer(jobs::execute, done::execute).replayable())
        .add_node(CodeStep::Snapshot, node(jobs::snapshot, done::snapshot).replayable())
        .add_node(CodeStep::VerifyStage, verifying::stage)
        .add_worker(VERIFIER, worker(verifier::<C>).replayable())
        .add_node(CodeStep::Decide, decided::decide::<C>)
        .add_node(CodeStep::Record, node(records::record, done::record).replayable())
        .add_conditional_edges(CodeStep::Execute, after_execute)
        .add_edge(CodeStep::Snapshot, CodeStep::VerifyStage)
        .add_conditional_edges_to(CodeStep::VerifyStage, verifiers, (VERIFIER, CodeStep::Decide, CodeStep::Ask))
        .add_edge(CodeStep::Verifier, CodeStep::VerifyStage)
        .add_edge(CodeStep::Decide, CodeStep::Record)
        .add_conditional_edges(CodeStep::Record, decided::route)
}

/// Adds the nodes of a split.
fn children<C: Agents>(graph: Graph<C>) -> Graph<C> {
    graph
        .add_node(CodeStep::MakeChildren, node(jobs::split, done::split).replayable())
        .add_worker(CHILD, worker(run::<C>).replayable())
        .add_node(CodeStep::AggregateChildren, node(jobs::join, done::join).replayable())
        .add_conditional_edges_to(CodeStep::MakeChildren, next_children, (CHILD, CodeStep::Decide, CodeStep::Ask))
        .add_edge(CodeStep::Child, CodeStep::AggregateChildren)
        .add_conditional_edges_to(
            CodeStep::AggregateChildren,
            after_children,
            (CHILD, CodeStep::Snapshot, CodeStep::Finish),
        )
}

fn after_input(state: &CodeTaskState) -> AfterInput {
    match (&state.start, &state.pending) {
        (Some(_), Some(_)) if state.attempt.files.is_none() => AfterInput::Snapshot,
        (Some(_), Some(_)) => AfterInput::Override,
        _ => AfterInput::Begin,
    }
}

fn after_load(state: &CodeTaskState) -> AfterLoad {
    if state.start.is_some() { AfterLoad::Execute } else { AfterLoad::End }
}

fn after_execute(state: &CodeTaskState) -> AfterExecute {
    let attempt = &state.attempt;
    match (&attempt.tampered, attempt.given_up) {
        (Some(_), _) => AfterExecute::Ask,
        (None, Some(_)) => AfterExecute::Finish,
        (None, None) => AfterExecute::Snapshot,
    }
}

fn verifiers(state: &CodeTaskState) -> Sends<CodeStep> {
    let none = if state.attempt.tampered.is_some() { CodeStep::Ask } else { CodeStep::Decide };
    VERIFIER.each(verifying::jobs(state)).empty(none)
}

fn next_children(state: &CodeTaskState) -> Sends<CodeStep> {
    let none = if state.attempt.tampered.is_some() { CodeStep::Ask } else { CodeStep::Decide };
    CHILD.each(child_tasks(state)).empty(none)
}

fn after_children(state: &CodeTaskState) -> Sends<CodeStep> {
    let none = if state.outcome.is_some() { CodeStep::Finish } else { CodeStep::Snapshot };
    CHILD.each(child_tasks(state)).empty(none)
}

/// Continues after an answer: with the children that a used-up budget has left, another attempt, or the decision.
fn after_ask(state: &CodeTaskState) -> Sends<CodeStep> {
    let has_files = state.attempt.files.is_some();
    let works = state.outcome.is_none() && !state.attempt.decides_now;
    let next = match state.outcome {
        Some(_) => CodeStep::Finish,
        None if works => CodeStep::Execute,
        None if has_files => CodeStep::Decide,
        None => CodeStep::Snapshot,
    };
    CHILD.each(if works { child_tasks(state) } else { vec![] }).empty(next)
}

/// Runs a child. If it gives up, that is a result and does not fail the node.
pub(super) async fn run<C: Agents>(child: Arc<CodeTask>, ctx: Ctx<C>) -> Result<Update, NodeError> {
    if let Some(worktree) = jobs::worktree(&child.place, &child.settings) {
        restore_worktree(&worktree, &ctx).await?;
    }
    Ok(child_update(&*code_task_agent(Arc::unwrap_or_clone(child), &ctx).await?))
}

/// Runs a task from a node of any graph, and returns its final state. Also runs every child.
/// [`code_task`](super::code_task()) is the same as a node, and [`graph`](super::graph()) as a graph.
///
/// # Errors
/// Those of the run, including interrupts. A task that gives up is an [outcome](CodeTaskState::outcome), not an error.
pub async fn code_task_agent<C: Agents>(
    task: impl Into<CodeTask>,
    ctx: &Ctx<C>,
) -> Result<Arc<CodeTaskState>, NodeError> {
    let graph = graph::<C>().map_err(NodeError::permanent)?;
    let CodeTask { spec, place, settings } = task.into();
    let input = CodeTaskState::update().spec(Some(spec)).place(place).settings(settings);
    Ok(ctx.call(&graph, input).await?)
}

/// Returns a node that runs a task: `task` reads it from the state, `done` makes the update from its final state.
///
/// ```
/// # use superstep::prelude::*;
/// # use superstep_workflows::code_task::{CodeTask, TaskOutcome, code_task};
/// # use superstep::nodes::Crew;
/// #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
/// struct Release {
///     task: Option<CodeTask>, // read from a file with `TaskStart::read`
///     is_ready: bool,
/// }
/// # #[derive(NodeId)] enum Step { Work }
/// # fn graph() -> Result<CompiledGraph<Release, Step, Crew>, CompileError> {
/// let work = code_task(
///     |release: &Release| release.task.clone().ok_or("there is no task"),
///     |_, ended| Release::update().is_ready(ended.outcome == Some(TaskOutcome::Done)),
/// );
/// StateGraph::new().add_node(Step::Work, work).add_sequence([Step::Work]).compile()
/// # }
/// ```
pub fn code_task<S, N, C, A, D, E, W>(task: A, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Agents,
    A: Fn(&S) -> Result<CodeTask, E> + Send + Sync + 'static,
    D: Fn(&S, &CodeTaskState) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    let done = Arc::new(done);
    move |state: Arc<S>, ctx: Ctx<C>| {
        let (task, done) = (task(&state).map_err(E::into), Arc::clone(&done));
        async move {
            let ended = code_task_agent(task?, &ctx).await?;
            Ok::<Writes<S>, NodeError>(done(&state, &ended).into())
        }
    }
}
