//! The node that runs a shell command. Must not know its purpose.

use std::sync::Arc;

use super::shell::{CommandOutput, ShellCommand};
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};

/// Returns a node that runs a shell command: `command` creates it from the state, `ended` the update from its result.
///
/// An exit code other than 0 is a result; the node fails only if the command cannot be run. Besides the command's own
/// variables, its environment names the place it runs at: `SUPERSTEP_THREAD`, `SUPERSTEP_NODE`, and
/// `SUPERSTEP_TASK_ID`, which stays the same when the node runs again after a crash. Output counts as activity for an
/// idle timeout. If the run is cancelled or the node times out, the command's process group is killed.
pub fn run_command<S, N, C, R, D, E, W>(command: R, ended: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    R: Fn(&S) -> Result<ShellCommand, E> + Send + Sync + 'static,
    D: Fn(&S, CommandOutput) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    let ended = Arc::new(ended);
    move |state: Arc<S>, ctx: Ctx<C>| {
        let (command, ended) = (command(&state).map_err(E::into), Arc::clone(&ended));
        async move {
            let output = placed(command?, &ctx).run(|| ctx.heartbeat()).await?;
            Ok::<Writes<S>, NodeError>(ended(&state, output).into())
        }
    }
}

/// Adds the variables that name the place.
fn placed<C>(command: ShellCommand, ctx: &Ctx<C>) -> ShellCommand {
    let command = command.env("SUPERSTEP_NODE", ctx.node()).env("SUPERSTEP_TASK_ID", ctx.task_id());
    match ctx.thread() {
        Some(thread) => command.env("SUPERSTEP_THREAD", thread.as_str()),
        None => command,
    }
}
