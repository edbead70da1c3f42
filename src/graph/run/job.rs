//! The input of one task's execution.

use std::sync::Arc;

use crate::checkpoint::HandledRecord;
use crate::graph::build::Table;
use crate::graph::context::TaskCtx;
use crate::graph::error::{NodeError, RunError};
use crate::graph::state::{Boxed, Payload, State};

/// The input of a task's body.
pub(crate) struct Job<S: State, N, C> {
    pub table: Arc<Table<S, N, C>>,
    pub state: Arc<S>,
    pub payload: Option<Arc<dyn Payload>>,
    pub ctx: Arc<TaskCtx<C>>,
    /// The number of the first subgraph that the last attempt of an earlier run called.
    pub first_call: u32,
    /// The failure that the handler took over in an earlier run: only the handler is left to run.
    pub handled: Option<HandledRecord>,
    /// Called when a handler takes over, before it starts.
    pub taken_over: Option<TakenOver>,
}

/// Notes that a handler takes over, and waits as the durability asks.
pub(crate) type TakenOver = Box<dyn FnOnce(&NodeError) -> Boxed<'static, Result<(), RunError>> + Send + Sync>;
