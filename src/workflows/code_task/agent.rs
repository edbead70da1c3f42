//! A task as a node of any graph.

use std::sync::Arc;

use super::graph::code_task_agent;
use super::state::CodeTaskState;
use super::task::CodeTask;
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::nodes::Agents;

/// Returns a node that runs a task: `task` reads it from the state, `done` makes the update from its final state.
///
/// ```
/// # use superstep::prelude::*;
/// # use superstep::workflows::code_task::{CodeTask, TaskOutcome, code_task};
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
