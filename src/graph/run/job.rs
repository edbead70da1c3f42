//! Input of one task's execution.

use std::sync::Arc;

use crate::checkpoint::HandledRecord;
use crate::graph::build::Table;
use crate::graph::context::TaskCtx;
use crate::graph::error::{NodeError, RunError};
use crate::graph::state::{AnyState, Boxed, Payload};

pub(crate) struct Job {
    pub table: Arc<Table>,
    pub state: AnyState,
    pub payload: Option<Arc<dyn Payload>>,
    pub ctx: Arc<TaskCtx>,
    /// First subgraph call of the last attempt in an earlier run.
    pub first_call: u32,
    /// The failure whose handler started in an earlier run: only the handler runs.
    pub handled: Option<HandledRecord>,
    pub before_handler: Option<BeforeHandler>,
}

/// Called before an error handler starts: stores the failure, and waits as the durability requires.
pub(crate) type BeforeHandler = Box<dyn FnOnce(&NodeError) -> Boxed<'static, Result<(), RunError>> + Send + Sync>;
