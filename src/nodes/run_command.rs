//! The node that runs a shell command. What the command is for, the graph knows.

use std::sync::Arc;

use super::shell::{CommandOutput, ShellCommand};
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};

/// Returns a node that runs a shell command: `command` makes it from the state, `ended` the update from what it came to.
///
/// A command that ends with another code than 0 has ended; the node fails only if the command could not be run. Beside what
/// the command sets itself, its environment names the place it runs at: `SUPERSTEP_THREAD`, `SUPERSTEP_NODE`, and
/// `SUPERSTEP_TASK_ID`, which stays the same when the node runs again after a crash. Output is a sign of life to an idle
/// timeout. If the run is cancelled or the node's time is up, the command's process group is killed.
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

/// The command with the names of where it runs.
fn placed<C>(command: ShellCommand, ctx: &Ctx<C>) -> ShellCommand {
    let command = command.env("SUPERSTEP_NODE", ctx.node()).env("SUPERSTEP_TASK_ID", ctx.task_id());
    match ctx.thread() {
        Some(thread) => command.env("SUPERSTEP_THREAD", thread.as_str()),
        None => command,
    }
}
