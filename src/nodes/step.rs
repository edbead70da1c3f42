//! Constructor of nodes from three functions: read the job from the state, perform it, create the update.

use std::sync::Arc;

use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};

/// Returns a node that reads a job from the state, performs it, and creates the update from the result.
pub(super) fn step<S, N, C, J, R, F, Fut, A, D, E, W>(job: A, perform: F, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    J: Send + 'static,
    R: Send + 'static,
    A: Fn(&S) -> Result<J, E> + Send + Sync + 'static,
    F: Fn(J, Ctx<C>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, NodeError>> + Send + 'static,
    D: Fn(&S, R) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    let done = Arc::new(done);
    move |state: Arc<S>, ctx: Ctx<C>| {
        let (performed, done) = (job(&state).map_err(E::into).map(|job| perform(job, ctx)), Arc::clone(&done));
        async move { Ok::<Writes<S>, NodeError>(done(&state, performed?.await?).into()) }
    }
}
