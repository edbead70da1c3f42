//! Input of one task's execution.

use std::sync::Arc;

use crate::checkpoint::{FailureRecord, HandledRecord};
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
    pub before_retry: Option<BeforeRetry>,
    /// The time before which the first attempt does not start, in milliseconds since 1970.
    pub not_before: Option<u64>,
}

/// Called before an error handler starts: stores the failure, and waits as the durability requires.
pub(crate) type BeforeHandler = Box<dyn FnOnce(&NodeError) -> Boxed<'static, Result<(), RunError>> + Send + Sync>;

/// Called before the pause between two attempts: stores the failures, and waits as the durability requires.
pub(crate) type BeforeRetry = Box<dyn Fn(NextAttempt) -> Boxed<'static, Result<(), RunError>> + Send + Sync>;

/// An attempt that follows failed ones of the same run.
pub(crate) struct NextAttempt {
    pub failures: Vec<FailureRecord>,
    /// The time before which it does not start, in milliseconds since 1970.
    pub not_before: u64,
    /// Its first subgraph call.
    pub first_call: u32,
}
