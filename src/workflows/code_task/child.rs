//! A task carried out from a node: of any graph, or as a child of another task, one depth further.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::children::ChildResult;
use super::graph::graph;
use super::records;
use super::start::ReadTask;
use super::state::{CodeTaskState, CodeTaskStateUpdate as Update, Settings, Start, TaskOutcome, TaskPlace, WorkPlace};
use super::step::CodeStep;
use crate::decide::{AttemptKind, Kind};
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Worker, Writes};
use crate::nodes::{Agents, Base};
use crate::spec::TaskSpec;

/// The address of the worker.
pub(super) const CHILD: Worker<CodeStep, CodeTask> = Worker::new(CodeStep::Child);

/// A task to be carried out, at any depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeTask {
    /// The task.
    pub spec: TaskSpec,
    /// Its place.
    pub place: TaskPlace,
    /// How the work is done.
    pub settings: Settings,
}

/// Returns the children that are worked on next.
pub(super) fn jobs(state: &CodeTaskState) -> Vec<CodeTask> {
    let (Some(children), Ok(start)) = (&state.children, state.start()) else { return vec![] };
    if state.attempt.kind != AttemptKind::Children {
        return vec![];
    }
    let task = |(nth, spec): (usize, &TaskSpec)| {
        let mut path = state.place.path.clone();
        path.push(spec.id.to_string());
        let mut spent = state.place.spent;
        spent += state.usage;
        let own = state.spec.as_ref().map(TaskSpec::hash);
        let place = TaskPlace {
            depth: state.place.depth + 1,
            at: place(state, start, path.last().map(String::as_str).unwrap_or_default()),
            path,
            lineage: state.place.lineage.iter().cloned().chain(own).collect(),
            expected: [children.of_others(nth), state.place.expected.clone()].concat(),
            spent,
            raised: state.place.raised.later(state.raised),
        };
        CodeTask { spec: spec.clone(), place, settings: state.settings.clone() }
    };
    children.batch().map(task).collect()
}

/// The place of a child's work.
fn place(state: &CodeTaskState, start: &Start, id: &str) -> WorkPlace {
    let children = state.children.clone().unwrap_or_default();
    match children.at.filter(|_| children.at_once > 1) {
        Some(at) => WorkPlace::Worktree { path: state.worktrees().join(id), at, others: branches(&start.base) },
        None => {
            let at = state.base().map_or_else(|_| start.base.at.clone(), |base| base.at);
            let tree = children.tree.unwrap_or_else(|| start.base.tree.clone());
            WorkPlace::Here(Box::new(Start { base: Base { at, tree }, ..start.clone() }))
        }
    }
}

fn branches(base: &Base) -> Vec<String> {
    base.at.branch.iter().chain(base.at.others.keys()).cloned().collect()
}

impl CodeTask {
    /// Returns a task that is the first of its run: it works in the user's checkout, on a branch of its own.
    pub fn new(spec: TaskSpec, settings: Settings) -> Self {
        Self { spec, place: TaskPlace::default(), settings }
    }
}

/// A task as [`TaskStart::read`](super::TaskStart::read) returns it.
impl From<ReadTask> for CodeTask {
    fn from(ReadTask { spec, settings }: ReadTask) -> Self {
        Self::new(spec, settings)
    }
}

/// Carries out a task from a node of any graph, and returns its last state. Every child goes through it. `CodeTaskAgent` of the request is
/// this function; [`code_task`] is the same as a node, and [`graph`](super::graph()) as a graph.
///
/// # Errors
/// Those of the run; it is interrupted where a person is asked. That a task was given up is an [outcome](CodeTaskState::outcome).
pub async fn code_task_agent<C: Agents>(
    task: impl Into<CodeTask>,
    ctx: &Ctx<C>,
) -> Result<Arc<CodeTaskState>, NodeError> {
    let graph = graph::<C>().map_err(NodeError::permanent)?;
    let CodeTask { spec, place, settings } = task.into();
    let input = CodeTaskState::update().spec(Some(spec)).place(place).settings(settings);
    Ok(ctx.call(&graph, input).await?)
}

/// Returns a node that carries out a task: `task` reads from the state which, `done` makes the update from its last state.
///
/// ```
/// # use superstep::prelude::*;
/// # use superstep::workflows::code_task::{CodeTask, TaskOutcome, code_task};
/// # use superstep::nodes::Crew;
/// #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
/// struct Release {
///     task: Option<CodeTask>, // `TaskStart::read` makes one of a file
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

/// Carries out a child. That it was given up is a result, and no failure of the node.
pub(super) async fn run<C: Agents>(child: Arc<CodeTask>, ctx: Ctx<C>) -> Result<Update, NodeError> {
    Ok(update(&*code_task_agent(Arc::unwrap_or_clone(child), &ctx).await?))
}

fn update(child: &CodeTaskState) -> Update {
    let spec = child.spec.clone();
    let last = child.attempts.last();
    let decision = child.decision.as_ref();
    let result = ChildResult {
        id: spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default(),
        title: spec.map(|spec| spec.title).unwrap_or_default(),
        outcome: child.outcome.unwrap_or(TaskOutcome::GaveUp),
        kind: decision.map_or(Kind::GiveUp, |made| made.decision.kind),
        decision: match (decision, &child.attempt.problem) {
            (Some(made), _) => format!("{}: {}", made.decision.kind, made.decision.reason),
            (None, problem) => format!("GIVE_UP: {}", problem.clone().unwrap_or_default()),
        },
        attempts: child.attempt.number,
        base: child.start.as_ref().map(|start| start.base.clone()),
        tree: child.attempt.files.as_ref().map(|files| files.tree.clone()),
        commit: last.and_then(|line| line.commit.clone()),
        is_spent: child.attempt.is_spent,
        usage: child.usage,
        findings: records::some_findings(&child.outputs),
    };
    let mut notices = child.notices.clone();
    notices.extend(child.attempt.tampered.clone());
    CodeTaskState::update()
        .results(vec![result])
        .usage(child.usage)
        .used(child.used.clone())
        .raised(child.raised)
        .notices(notices)
}
