//! The node between two tasks. Knows counts only.

use std::future::ready;
use std::sync::Arc;

use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::plan::TaskProgress;

/// Returns a node that moves on to the next task: the index grows by one, attempts are reset to 0. `progress` reads the
/// state, `moved` creates the update.
pub fn next_task_node<S, N, C, P, M, W>(progress: P, moved: M) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    P: Fn(&S) -> TaskProgress + Send + Sync + 'static,
    M: Fn(TaskProgress) -> W + Send + Sync + 'static,
    W: Into<Writes<S>> + 'static,
{
    move |state: Arc<S>, _: Ctx<C>| {
        let writes: Writes<S> = moved(progress(&state).next_task()).into();
        ready(Ok::<_, NodeError>(writes))
    }
}
