//! Input of one task's execution.

use std::sync::Arc;

use crate::checkpoint::HandledRecord;
use crate::graph::build::Table;
use crate::graph::context::TaskCtx;
use crate::graph::error::{NodeError, RunError};
use crate::graph::state::{Boxed, Payload, State};

pub(crate) struct Job<S: State, N, C> {
    pub table: Arc<Table<S, N, C>>,
    pub state: Arc<S>,
    pub payload: Option<Arc<dyn Payload>>,
    pub ctx: Arc<TaskCtx<C>>,
    /// First subgraph call of the last attempt in an earlier run.
    pub first_call: u32,
    /// The failure whose handler started in an earlier run: only the handler runs.
    pub handled: Option<HandledRecord>,
    pub before_handler: Option<BeforeHandler>,
}

/// Called before an error handler starts: stores the failure, and waits as the durability requires.
pub(crate) type BeforeHandler = Box<dyn FnOnce(&NodeError) -> Boxed<'static, Result<(), RunError>> + Send + Sync>;
